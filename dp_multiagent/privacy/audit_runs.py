"""Running a mechanism many times for an audit, with the code and the noise that a robot uses.

Drawing a million times exactly takes most of an audit, so runs are shared where that is sound.
Noise goes on one tape for each side of a pair, and all inputs of a mechanism are released with
the same two tapes: within a pair the sides are independent, and between pairs nothing is assumed.
Where there is no tape (words, symbols) the runs on an input serve all its pairs; the other input
of a pair has runs of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.privacy.audit_attacks import Input, Outputs
from dp_multiagent.privacy.noise import NoiseSampler
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

BLOCK = 20_000

Tick = Callable[[int], None]
NoisyRelease = Callable[[NDArray[np.float64], NoiseSampler], Outputs]


@dataclass(frozen=True)
class Source:
    """Where noise comes from, and who is told how many draws were made.

    `rng` serves only what is labelled as a simulation.
    """

    sampler: NoiseSampler
    rng: np.random.Generator
    tick: Tick = lambda draws: None


class Tape:
    """A sampler that records what another one draws, and plays it again after a rewind."""

    def __init__(self, sampler: NoiseSampler, tick: Tick) -> None:
        self._sampler = sampler
        self._tick = tick
        self._tape: list[tuple[tuple[str, int, int], NDArray[np.int64]]] = []
        self._position = 0

    def rewind(self) -> None:
        """Play from the start."""
        self._position = 0

    def laplace(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Play the next draws if they are of this kind, else record new ones."""
        return self._play('laplace', scale, size)

    def gaussian(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Play the next draws if they are of this kind, else record new ones."""
        return self._play('gaussian', scale, size)

    def _play(self, kind: str, scale: int, size: int) -> NDArray[np.int64]:
        key, at = (kind, scale, size), self._position
        if at == len(self._tape) or self._tape[at][0] != key:
            del self._tape[at:]
            self._tape.append((key, self._record(kind, scale, size)))
        self._position += 1
        return self._tape[at][1]

    def _record(self, kind: str, scale: int, size: int) -> NDArray[np.int64]:
        draw, blocks = getattr(self._sampler, kind), []
        for start in range(0, size, BLOCK):
            blocks.append(draw(scale=scale, size=min(BLOCK, size - start)))
            self._tick(len(blocks[-1]))
        return np.concatenate(blocks)


class NoisyRuns:
    """Runs what adds noise: `release(values, sampler)` with one row of values for each run."""

    def __init__(self, release: NoisyRelease, source: Source) -> None:
        self._release = release
        self._tapes = [Tape(source.sampler, source.tick) for _ in range(2)]

    def __call__(self, values: Input, side: int, n: int) -> Outputs:
        """Release n times, with the noise of a side."""
        tape, one = self._tapes[side], np.asarray(values, dtype=np.float64)
        tape.rewind()
        return self._release(np.broadcast_to(one, (n, *one.shape)), tape)


class SharedRuns:
    """Runs what needs no tape once for each input; `run(input, n)` runs it n times."""

    def __init__(self, run: Callable[[Input, int], Outputs]) -> None:
        self._run = run
        self._runs: dict[tuple[Input, int], Outputs] = {}

    def __call__(self, given: Input, side: int, n: int) -> Outputs:
        """Release n times, or return those of an earlier pair."""
        if (given, n) not in self._runs:
            self._runs[given, n] = self._run(given, n)
        return self._runs[given, n]


def one_by_one(release: Callable[[Input], int], tick: Tick) -> SharedRuns:
    """Run what draws an integer, one call for each run."""

    def run(given: Input, n: int) -> Outputs:
        runs = np.empty(n, dtype=np.int64)
        for i in range(n):
            runs[i] = release(given)
            if i % BLOCK == BLOCK - 1:
                tick(BLOCK)
        return runs

    return SharedRuns(run)


def private_word(mechanism: TrajectoryMechanism, word: Input) -> int:
    """Tell a word as a robot does, state by state; return it as one number."""
    code, last = 0, mechanism.mdp.initial
    for state in word:
        last = mechanism.release(state, last)
        code = code * mechanism.mdp.n_states + last
    return code


def simulated_words(
    mechanism: TrajectoryMechanism, word: Input, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Tell a word n times as simulations do; return each as one number."""
    codes, last = np.zeros(n, dtype=np.int64), np.full(n, mechanism.mdp.initial)
    for state in word:
        last = mechanism.sample(np.full(n, state), last, rng.random(n))
        codes = codes * mechanism.mdp.n_states + last
    return codes
