"""How well local policies do, exactly: success, failure by cause, length and visits.

The chain of `planning.chain` is followed forward from the public initial state. After t steps
the measure x_t over its states is known; what of it lies in the target, in a cause of failure or
was lost to a swap has ended there. A finite horizon leaves the rest as `unfinished`. With an
infinite one the iteration stops when the rest is at most `until`, or no longer falls; so
every reported probability is too small by at most `unfinished`, which is the certificate.

The length of a run counts its states, the last one included, as in Chen et al., section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.chain import TeamChain
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-12
MOST_STEPS = 100_000
CHECK_EVERY = 1000
SWAP = 'swap'
COLLISION = Swaps.COLLISION


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What happens to a team: probabilities of each end, expected length, expected visits.

    `visits` has one array (state, action) per robot: how often it takes an action in a state.
    """

    success: float
    failures: dict[str, float]
    unfinished: float
    expected_length: float
    visits: tuple[FloatArray, ...]
    steps: int


def evaluate(
    game: MarkovGame,
    policies: Sequence[LocalPolicy],
    mechanisms: Sequence[TrajectoryMechanism] | None = None,
    horizon: int | None = None,
    until: float = TOLERANCE,
) -> Evaluation:
    """Evaluate policies exactly, truthfully or, with one mechanism per robot, privately.

    Stop at the horizon, or when at most `until` of all runs is unfinished.
    """
    chain = TeamChain(game, policies, mechanisms)
    causes = exclusive_causes(game)
    private = tuple(range(game.n_agents, len(chain.layout.shape)))
    names = [*causes, SWAP] if game.swaps is COLLISION else [*causes]
    success, failures, length = 0.0, dict.fromkeys(names, 0.0), 0.0
    visits = [np.zeros((agent.n_states, agent.n_actions)) for agent in game.agents]
    unfinished, steps = 0.0, 0
    for step, measure, swapped in forward(chain, horizon, until):
        joint = measure.sum(axis=private)
        success += float(joint[game.target].sum())
        for name, mask in causes.items():
            failures[name] += float(joint[mask].sum())
        if swapped:
            failures[SWAP] += swapped
        length += float(joint.sum()) + swapped
        running = np.where(chain.spread(game.active), measure, 0.0)
        unfinished, steps = float(running.sum()), step
        for i, visited in enumerate(visits):
            visited += chain.own_actions(i, running, step)
    return Evaluation(success, failures, unfinished, length, tuple(visits), steps)


def forward(
    chain: TeamChain, horizon: int | None, until: float
) -> Iterator[tuple[int, FloatArray, float]]:
    """Yield step, measure over the chain's states, and probability just lost to a swap."""
    is_active = chain.spread(chain.game.active)
    measure, checkpoint = chain.initial, 2.0
    yield 0, measure, 0.0
    for step in range(MOST_STEPS if horizon is None else horizon):
        measure = np.where(is_active, measure, 0.0)
        rest = float(measure.sum())
        if rest <= until:
            return
        if horizon is None and step % CHECK_EVERY == 0:
            if rest > (1 - TOLERANCE) * checkpoint:
                return
            checkpoint = rest
        measure = chain.push(measure, step)
        lost = max(0.0, rest - float(measure.sum())) if chain.game.swaps is COLLISION else 0.0
        yield step + 1, measure, lost


def exclusive_causes(game: MarkovGame) -> dict[str, NDArray[np.bool_]]:
    """Give each state to avoid to the first of its causes."""
    taken = np.zeros(game.shape, dtype=bool)
    masks = {}
    for name, mask in game.causes.items():
        masks[name] = mask & ~taken
        taken |= mask
    return masks
