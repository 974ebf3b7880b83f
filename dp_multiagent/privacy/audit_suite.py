"""What is audited: every mechanism of the package, on at least 25 pairs of neighbours each.

    trajectory            private words as a robot tells them, `TrajectoryMechanism.release`
    trajectory-simulated  the same as simulations tell them, `TrajectoryMechanism.sample`
    laplace               two values within 1 in l1
    gaussian              two values within 1 in l2, calibrated analytically
    gaussian-paper        a reward table of which one entry differs, the paper's calibration
    messages              all messages of a period: K of norm C, any of them may differ
    randomised-response   one symbol of eight
    laplace-sampler       the sampler of the standard library by itself, on a coarse grid
    gaussian-sampler      the same for Gaussian noise

The noise of the mechanisms is drawn by the sampler that is passed in, the robot's own. Epsilons
differ so that a picture of all of them shows more than one point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.privacy.audit import Target
from dp_multiagent.privacy.audit_attacks import (
    ALONG,
    BITS,
    NEARER,
    OUTCOMES,
    Input,
    Outputs,
    Pair,
)
from dp_multiagent.privacy.audit_runs import (
    NoisyRuns,
    SharedRuns,
    Source,
    one_by_one,
    private_word,
    simulated_words,
)
from dp_multiagent.privacy.exact_sampler import ExactSampler
from dp_multiagent.privacy.gaussian import GaussianMechanism
from dp_multiagent.privacy.laplace import LaplaceMechanism
from dp_multiagent.privacy.noise import NoiseSampler
from dp_multiagent.privacy.randomised_response import RandomisedResponse
from dp_multiagent.privacy.trajectory import TrajectoryMechanism
from dp_multiagent.privacy.units import (
    GaussianEvent,
    Neighbours,
    PrivacyLoss,
    PureEvent,
    Release,
    Unit,
)

MAP = GridMap(('...', '...', '...'), slip=0.1)
START = (1, 1)
WORDS = 8
SIMULATED_WORDS = 10
MESSAGES = 3
COARSE_LAPLACE_SCALE = 3
COARSE_GAUSSIAN_SCALE = 1000


def robot_mechanism(epsilon: float = 1, adjacency: int = 2) -> TrajectoryMechanism:
    """Return the mechanism of a robot on a small map without walls."""
    return TrajectoryMechanism(MAP.mdp(START), epsilon=epsilon, adjacency=adjacency)


def trajectory(source: Source) -> Target:
    """Audit words of three cells that differ in at most two, told exactly."""
    mechanism = robot_mechanism()
    return Target(
        'trajectory',
        'integers from secrets',
        mechanism.planned(),
        _pairs(words(mechanism, length=3, n=WORDS)),
        one_by_one(lambda word: private_word(mechanism, word), source.tick),
        (OUTCOMES,),
        work=WORDS,
    )


def trajectory_simulated(source: Source) -> Target:
    """Audit words of four cells that differ in at most three, as simulations tell them."""
    mechanism = robot_mechanism(epsilon=3, adjacency=3)
    return Target(
        'trajectory-simulated',
        'numpy, simulation only',
        mechanism.planned(),
        _pairs(words(mechanism, length=4, n=SIMULATED_WORDS)),
        SharedRuns(lambda word, n: simulated_words(mechanism, word, n, source.rng)),
        (OUTCOMES,),
    )


def words(mechanism: TrajectoryMechanism, *, length: int, n: int) -> list[Input]:
    """Return feasible words that end where they start and differ in `length` - 1 cells at most."""
    found: list[Input] = [(mechanism.mdp.initial,)]
    for _ in range(length):
        found = [
            (*word, int(state)) for word in found for state in mechanism.mdp.successors(word[-1])
        ]
    closed = [word[1:] for word in found if word[-1] == mechanism.mdp.initial]
    return [closed[i] for i in np.linspace(0, len(closed) - 1, n).astype(int)]


def laplace_mechanism() -> LaplaceMechanism:
    """Return the Laplace mechanism that is audited."""
    unit = Unit(neighbours=Neighbours.STATES_WITHIN_L1, bound=1)
    loss = PrivacyLoss(epsilon=0.5, delta=0)
    return LaplaceMechanism(unit=unit, loss=loss, sensitivity=1, entries=2)


def laplace(source: Source) -> Target:
    """Audit points of an l1 ball of diameter 1."""
    mechanism = laplace_mechanism()
    corners = [(0.5, 0.0), (0.0, 0.5), (-0.5, 0.0), (0.0, -0.5)]
    edges = [(0.25, 0.25), (0.25, -0.25), (-0.25, 0.25), (-0.25, -0.25)]
    return Target(
        'laplace',
        _name(source.sampler),
        mechanism.planned(),
        _pairs(_moved(corners + edges)),
        NoisyRuns(lambda values, noise: mechanism.release(values, sampler=noise), source),
        (NEARER, BITS),
        work=2 * 2,
    )


def gaussian_mechanism() -> GaussianMechanism:
    """Return the Gaussian mechanism that is audited."""
    unit = Unit(neighbours=Neighbours.MESSAGE_INPUTS, bound=0.5)
    loss = PrivacyLoss(epsilon=4, delta='1e-5')
    return GaussianMechanism(unit=unit, loss=loss, sensitivity=1, entries=2)


def gaussian(source: Source) -> Target:
    """Audit points of a circle of diameter 1."""
    mechanism = gaussian_mechanism()
    angles = 0.1 + np.arange(8) * math.tau / 8
    circle = [(math.cos(angle) / 2, math.sin(angle) / 2) for angle in angles]
    return Target(
        'gaussian',
        _name(source.sampler),
        mechanism.planned(),
        _pairs(circle),
        NoisyRuns(lambda values, noise: mechanism.release(values, sampler=noise), source),
        (ALONG, BITS),
        work=2 * 2,
    )


def paper_mechanism() -> GaussianMechanism:
    """Return the Gaussian mechanism of reward tables, as the paper calibrates it."""
    unit = Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound=1)
    loss = PrivacyLoss(epsilon=2, delta='0.01')
    return GaussianMechanism(unit=unit, loss=loss, sensitivity=1, entries=1, calibration='paper')


def gaussian_paper(source: Source) -> Target:
    """Audit reward tables of two entries, of which one differs by at most 1."""
    mechanism = paper_mechanism()
    rewards = (0.1, 0.3, 0.5, 0.7, 0.9, 1.1)
    first, second = ([(r, 0.0) for r in rewards], [(0.0, r) for r in rewards])
    return Target(
        'gaussian-paper',
        _name(source.sampler),
        mechanism.planned(),
        _pairs(first) + _pairs(second),
        NoisyRuns(lambda values, noise: mechanism.release(values, sampler=noise), source),
        (ALONG, BITS),
        work=2 * 2,
    )


def message_mechanism() -> GaussianMechanism:
    """Return the Gaussian mechanism of messages clipped to norm C = 1: any two are within 2."""
    unit = Unit(neighbours=Neighbours.MESSAGE_INPUTS, bound=1)
    loss = PrivacyLoss(epsilon=2, delta='1e-6')
    return GaussianMechanism(unit=unit, loss=loss, sensitivity=2, entries=2)


def messages(source: Source) -> Target:
    """Audit the composed claim of K messages, sent one after the other."""
    mechanism = message_mechanism()
    right, up, zero = (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)
    left, down = (-1.0, 0.0), (0.0, -1.0)
    steady = [(way,) * MESSAGES for way in (right, left, up, down)]
    changing = [(right, left, right), (left, right, left), (up, left, down), (zero, zero, right)]
    return Target(
        'messages',
        _name(source.sampler),
        mechanism.planned(MESSAGES),
        _pairs(steady + changing),
        NoisyRuns(lambda values, noise: send(mechanism, values, noise), source),
        (ALONG, BITS),
        work=2 * 2 * MESSAGES,
    )


def send(
    mechanism: GaussianMechanism, values: NDArray[np.float64], sampler: NoiseSampler
) -> Outputs:
    """Release messages one after the other; the axes are (run, message, entry)."""
    sent = [mechanism.release(message, sampler=sampler) for message in np.moveaxis(values, 1, 0)]
    return np.stack(sent, axis=1)


def response_mechanism() -> RandomisedResponse:
    """Return the randomised response that is audited."""
    unit = Unit(neighbours=Neighbours.ONE_ROBOT_TYPE, bound=1)
    return RandomisedResponse(unit=unit, loss=PrivacyLoss(epsilon='0.7', delta=0), symbols=8)


def randomised_response(source: Source) -> Target:
    """Audit all pairs of eight symbols."""
    mechanism = response_mechanism()
    return Target(
        'randomised-response',
        'integers from secrets',
        mechanism.planned(),
        _pairs([(symbol,) for symbol in range(mechanism.symbols)]),
        one_by_one(lambda symbol: mechanism.release(symbol[0]), source.tick),
        (OUTCOMES,),
        work=mechanism.symbols,
    )


def laplace_sampler(source: Source) -> Target:
    """Audit integers that differ by at most the scale: epsilon = 1."""
    unit = Unit(neighbours=Neighbours.STATES_WITHIN_L1, bound=COARSE_LAPLACE_SCALE)
    loss = PrivacyLoss(epsilon=1, delta=0)
    event = PureEvent(epsilon=1)
    inputs = [(value,) for value in range(11)]

    def release(values: NDArray[np.float64], noise: NoiseSampler) -> Outputs:
        steps = values.astype(np.int64)
        return steps + noise.laplace(scale=COARSE_LAPLACE_SCALE, size=steps.size)[:, None]

    return Target(
        'laplace-sampler',
        'ExactSampler',
        Release(unit=unit, mechanism='laplace sampler', loss=loss, event=event),
        tuple(pair for pair in _pairs(inputs) if pair[1][0] - pair[0][0] <= COARSE_LAPLACE_SCALE),
        NoisyRuns(release, Source(ExactSampler(), source.rng, source.tick)),
        (OUTCOMES,),
        work=2,
    )


def gaussian_sampler(source: Source) -> Target:
    """Audit integers that differ by at most the scale: mu = 1."""
    scale = COARSE_GAUSSIAN_SCALE
    unit = Unit(neighbours=Neighbours.STATES_WITHIN_L1, bound=scale)
    loss = PrivacyLoss(epsilon='4.4', delta='1e-5')
    event = GaussianEvent(rho='1/2', distance=f'1/{16 * scale**2}')
    inputs = [(value,) for value in range(0, scale + 1, scale // 8)]

    def release(values: NDArray[np.float64], noise: NoiseSampler) -> Outputs:
        steps = values.astype(np.int64)
        return steps + noise.gaussian(scale=scale, size=steps.size)[:, None]

    return Target(
        'gaussian-sampler',
        'ExactSampler',
        Release(unit=unit, mechanism='gaussian sampler', loss=loss, event=event),
        _pairs(inputs),
        NoisyRuns(release, Source(ExactSampler(), source.rng, source.tick)),
        (ALONG,),
        work=2,
    )


SUITE: dict[str, Callable[[Source], Target]] = {
    'trajectory': trajectory,
    'trajectory-simulated': trajectory_simulated,
    'laplace': laplace,
    'gaussian': gaussian,
    'gaussian-paper': gaussian_paper,
    'messages': messages,
    'randomised-response': randomised_response,
    'laplace-sampler': laplace_sampler,
    'gaussian-sampler': gaussian_sampler,
}


def targets(source: Source, names: Sequence[str] = ()) -> tuple[Target, ...]:
    """Return the targets of these names, or all."""
    unknown = [name for name in names if name not in SUITE]
    if unknown:
        raise ModelError(f'there is no audit of {unknown[0]!r}, only of {", ".join(SUITE)}')
    return tuple(SUITE[name](source) for name in dict.fromkeys(names or SUITE))


def _pairs(inputs: Sequence[Input]) -> tuple[Pair, ...]:
    return tuple(itertools.combinations(inputs, 2))


def _moved(points: Iterable[tuple[float, float]]) -> list[Input]:
    """Move points off the round numbers, where floats have few bits."""
    return [(x + 0.1, y + 0.3) for x, y in points]


def _name(sampler: NoiseSampler) -> str:
    return type(sampler).__name__
