"""What a team of two should achieve when messages are late or lost and a clock jumps.

A Monte Carlo of its own: it takes the tables of the game, of the mechanism and of the policies
from this package, but neither its step protocol nor its evaluation. Robot 1 looks at nobody.
Robot 2 looks at what robot 1 told: at its own step m it uses the newest word that has arrived of
a step that is not after m, unless that is more than `max_stale` steps old; then it acts by its
own state. A while after a robot chose its move it comes over the border of its cell. Two robots in
one cell at any time, or that exchange their cells at the same moment, have collided.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

NEVER = math.inf
AFTER = 1e-3  # seconds


@dataclass(frozen=True)
class Pace:
    """How long after the begin of a step a robot tells and acts, and how long after that it is
    in the next cell; all in seconds.
    """

    period: float
    tell: float
    act: float
    crossing: float
    horizon: int
    max_stale: int


def steps_of(pace, disturbance, *, jumps):
    """Return when a robot's steps begin in true time, by their number.

    A clock must jump between a move and the next step, both by itself and in truth: a step that
    it jumps over is left out, one that it jumps back to is not made again.
    """
    period, steps, (jump, ahead) = pace.period, range(pace.horizon), disturbance.jump
    if not jumps or not ahead:
        return {m: m * period for m in steps}
    begins = {m: m * period for m in steps if m * period < jump}
    return begins | {
        m: m * period - ahead for m in steps if m not in begins and m * period - ahead > jump
    }


class Model:
    """Many episodes at once; cells, words and their arrivals have an entry for each."""

    def __init__(self, task, policies, pace, disturbance, size, rng):
        self.game, self.policies, self.pace, self.of = task.game, policies, pace, disturbance
        self.mu = task.mechanisms[0].mu
        self.size, self.rng = size, rng
        self.cells = [np.full(size, start) for start in task.game.initial]
        self.words, self.arrivals = {0: self.cells[0]}, {0: np.zeros(size)}
        self.outcomes = np.full(size, '', dtype='U9')

    def play(self):
        """Return which part of all episodes ended in which way."""
        for _, happen in sorted(self._moments(), key=lambda moment: moment[0]):
            happen()
        counts = Counter(self.outcomes.tolist())
        return {name: count / self.size for name, count in counts.items()}

    def _moments(self):
        """Yield all that happens with its time."""
        pace, goals, crossings = self.pace, {}, {}
        steps = [steps_of(pace, self.of, jumps=bool(i)) for i in range(2)]
        for k in range(1, pace.horizon + 1):
            yield k * pace.period, self._judge
        for k, begin in steps[0].items():
            if k > 0:
                yield begin, lambda k=k, when=begin + pace.tell: self._tell(k, when)
        for i, begins in enumerate(steps):
            for m, begin in begins.items():
                act = begin + pace.act
                yield act, lambda key=(i, m), act=act: goals.update({key: self._goal(*key, act)})
                crossings.setdefault(round(act + pace.crossing, 6), []).append((i, m))
        for when, moves in crossings.items():
            yield when, lambda moves=moves: self._cross({i: goals[i, m] for i, m in moves})
        yield pace.horizon * pace.period + AFTER, lambda: self._end(True, 'timeout')

    def _tell(self, step, when):
        """Draw what robot 1 tells at a step, and when it arrives."""
        of, last = self.of, self.words[max(self.words)]
        self.words[step] = self._draw(self.mu[last, self.cells[0]])
        arrival = when + of.delay + np.where(self._chance(of.detours), of.detour, 0.0)
        is_cut = [(of.cut[0] <= each) & (each < of.cut[1]) for each in (when, arrival)]
        is_lost = self._chance(of.loss) | is_cut[0] | is_cut[1]
        self.arrivals[step] = np.where(is_lost, NEVER, arrival)

    def _goal(self, i, m, now):
        """Return the cell that the move of a robot at its step leads to."""
        here = self.cells[i]
        rows = self.policies[0].table[here] if i == 0 else self._listened(here, m, now)
        return self._draw(self.game.agents[i].tensor[here, self._draw(rows)])

    def _listened(self, here, m, now):
        """Return what robot 2 does by the newest word that it has."""
        policy = self.policies[1]
        rows, is_open = policy.own_state[here], np.ones(self.size, dtype=bool)
        for step in sorted(self.words, reverse=True):
            if m - self.pace.max_stale <= step <= m:
                newest = is_open & (self.arrivals[step] <= now)
                rows[newest] = policy.table[here[newest], self.words[step][newest]]
                is_open &= ~newest
        return rows

    def _cross(self, moves):
        before = list(self.cells)
        for i, goal in moves.items():
            self.cells[i] = goal
        one, other = self.cells
        self._end((one == other) | (one == before[1]) & (other == before[0]), 'collision')

    def _judge(self):
        here = tuple(self.cells)
        self._end(self.game.avoid[here], 'collision')
        self._end(self.game.target[here], 'success')

    def _end(self, which, outcome):
        self.outcomes[which & (self.outcomes == '')] = outcome

    def _chance(self, probability):
        return self.rng.random(self.size) < probability

    def _draw(self, rows):
        cumulative = np.cumsum(rows, axis=-1)
        uniforms = self.rng.random(self.size)[:, None] * cumulative[:, -1:]
        return (cumulative <= uniforms).sum(axis=1).clip(max=rows.shape[1] - 1)


def predict(task, policies, pace, disturbance, *, size=20_000, seed=1):
    """Return the probabilities of success, collision and timeout under a disturbance."""
    rng = np.random.default_rng(seed)
    return Model(task, policies, pace, disturbance, size, rng).play()
