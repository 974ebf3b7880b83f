"""Lower bounds on the private success from the truthful chain (Chen et al., theorem 2).

With tau_m = 1 / ((rho_m - 1) exp(-eps / k) + 1), rho_m the largest out-degree, l the expected
length and C the total correlation,

    v_pr >= v_tr - sqrt(1 - exp(-C) tau_m^(N l))          (theorem 2, exponent corrected)
    v_pr >= v_tr - sqrt(1 - tau_m^(N l))                  (the derivation needs no C: tighter)
    v_pr >= E_tr[ 1_success prod_t prod_j tau_j(s_j) ]    (every private word is true: tighter)

All three are weak at the privacy that people want; exact evaluation is what to rely on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.chain import TeamChain
from dp_multiagent.planning.evaluation import MOST_STEPS, TOLERANCE, Evaluation
from dp_multiagent.privacy.trajectory import TrajectoryMechanism


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on the private success; negative ones say nothing."""

    theorem_2: float
    without_correlation: float
    true_word: float

    @property
    def best(self) -> float:
        """Return the largest of the three, at least 0."""
        return max(0.0, self.theorem_2, self.without_correlation, self.true_word)


def success_bounds(
    game: MarkovGame,
    policies: Sequence[LocalPolicy],
    mechanisms: Sequence[TrajectoryMechanism],
    truthful: Evaluation,
    total_correlation: float,
    horizon: int | None = None,
) -> Bounds:
    """Bound the private success of policies whose truthful evaluation to the horizon is known."""
    largest = max(int(agent.out_degree.max()) for agent in game.agents)
    weakest = min(
        1 / ((largest - 1) * math.exp(-float(mechanism.loss_per_state)) + 1)
        for mechanism in mechanisms
    )
    all_true = weakest ** (game.n_agents * truthful.expected_length)
    return Bounds(
        truthful.success - math.sqrt(1 - math.exp(-max(total_correlation, 0.0)) * all_true),
        truthful.success - math.sqrt(1 - all_true),
        true_word_success(game, policies, mechanisms, horizon),
    )


def true_word_success(
    game: MarkovGame,
    policies: Sequence[LocalPolicy],
    mechanisms: Sequence[TrajectoryMechanism],
    horizon: int | None = None,
) -> float:
    """Return the probability to succeed while every private state that is used is the true one."""
    chain = TeamChain(game, policies, None)
    weight = np.ones((1,) * game.n_agents)
    for j in chain.layout.graph.tellers:
        shape = [-1 if k == j else 1 for k in range(game.n_agents)]
        weight = weight * mechanisms[j].true_transition.reshape(shape)
    measure, success = chain.initial, 0.0
    for step in range(MOST_STEPS if horizon is None else horizon):
        measure = np.where(game.active, measure, 0.0)
        if measure.sum() <= TOLERANCE:
            break
        success += float(chain.push(measure, step)[game.target].sum())
        measure = chain.push(measure * weight, step)
    return success
