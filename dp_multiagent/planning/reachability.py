"""The largest probability with which a team can reach its target and avoid failure.

A joint state is *dead* if it is active but no policy reaches the target from it. At all other
active states the value is the least solution of V = B V,

    (B V)(s) = max_a E[V(y) | s, a],   V = 1 in the target, 0 where failed or dead,

found by value iteration from below, until no value grows by more than RELATIVE_CHANGE of itself.
Several actions are often optimal, and a policy that is merely greedy among them can wait for
ever. The tie-break: an action is *optimal* if it loses at most OPTIMAL_TOLERANCE of the value;
among the policies of optimal actions take the one with the fewest expected steps to the end
(target, failed or dead: the effective length of the paper, less one), the least solution of

    L(s) = 1 + min_{a optimal} E[L(y) | s, a],   L = 0 where the game has ended,

again iterated from below; among actions whose steps agree to STEPS_TOLERANCE take the lowest
joint action, the first agent's action first. As every step costs 1, this policy ends almost
surely, and since its actions keep the value it attains it.

What is certified. `value` is the probability of success of the policy that is returned, iterated
from below, so the policy is at least that good. `residual` is max_s (B V - V)(s) of that value.
Summing it along a trajectory: no policy, of whatever kind, that needs l expected steps succeeds
with more than V(s_I) + residual * l; `gap` is that surplus for the l of the policy returned.
(All to floating-point rounding.) The expectation factorises, so the joint kernel is not built.

(Chen et al., section 2.1. On iteration from below and loops: Baier and Katoen, Principles of
Model Checking, section 10.6.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import BoolArray, FloatArray, MarkovGame, Swaps

RELATIVE_CHANGE = 1e-14
OPTIMAL_TOLERANCE = 1e-10
STEPS_TOLERANCE = 1e-9
MOST_ITERATIONS = 1_000_000
ROUNDING = 1e-14

Scalar = TypeVar('Scalar', bound=np.generic)


@dataclass(frozen=True, eq=False)
class Reachability:
    """The fewest-steps policy of maximum reach-avoid probability and its certificate.

    `policy[i]` is the action of agent i at each joint state, 0 where the game has ended; `value`
    and `expected_steps` belong to that policy.
    """

    value: FloatArray
    policy: NDArray[np.intp]
    expected_steps: FloatArray
    residual: float
    gap: float
    iterations: int
    method: str = 'value iteration from below, fewest steps'


def maximum_reachability(game: MarkovGame) -> Reachability:
    """Find the largest reach-avoid probability from each joint state and a policy for it.

    >>> from dp_multiagent.models.mdp import Mdp
    >>> leap_or_wait = Mdp.from_tensor([[[1, 0], [0.5, 0.5]], [[0, 1], [0, 1]]], initial=0)
    >>> result = maximum_reachability(MarkovGame([leap_or_wait], lambda s: s == 1, {}))
    >>> result.policy[0], result.expected_steps.round(6)
    (array([1, 0]), array([2., 0.]))
    """
    hopeful = game.active & ~dead_states(game)
    target = game.target.astype(float)
    actions = _action_axes(game)

    def best(value: FloatArray) -> FloatArray:
        return np.where(hopeful, game.expectation(value).max(axis=actions), target)

    bound, first = _least_solution(game, best, target)
    policy, second = _fewest_steps(game, hopeful, bound)
    follow = _under(game, hopeful, policy)
    value, third = _least_solution(game, lambda v: follow(v) + target, target)
    zero = np.zeros(game.shape)
    steps, fourth = _least_solution(game, lambda length: follow(length) + hopeful, zero)
    residual = max(0.0, float((best(value) - value).max()))
    return Reachability(
        value=value,
        policy=np.stack(np.unravel_index(policy, _action_counts(game))),
        expected_steps=steps,
        residual=residual,
        gap=residual * float(steps[game.initial]),
        iterations=first + second + third + fourth,
    )


def dead_states(game: MarkovGame) -> BoolArray:
    """Tell which active joint states cannot reach the target under any policy."""
    reaching = game.target.copy()
    while True:
        chance = game.expectation(reaching.astype(float)).max(axis=_action_axes(game))
        grown = reaching | (game.active & (chance > _rounding(game)))
        if np.array_equal(grown, reaching):
            return np.asarray(game.active & ~reaching)
        reaching = grown


def require_reachable(game: MarkovGame) -> None:
    """Refuse a game whose start has failed already or cannot reach the target."""
    for cause, mask in game.causes.items():
        if mask[game.initial]:
            raise ModelError(f'the start is to be avoided: {cause}')
    if dead_states(game)[game.initial]:
        raise ModelError('the target cannot be reached from the start')


def joint_policy(game: MarkovGame, actions: NDArray[np.intp]) -> FloatArray:
    """Return a deterministic policy, one action array per agent, with axes (s_1, a_1, ...)."""
    counts, n = _action_counts(game), game.n_agents
    flat = np.ravel_multi_index(tuple(actions), counts)
    table = (flat[..., None] == np.arange(prod(counts))).astype(float)
    interleaved = [axis for i in range(n) for axis in (i, n + i)]
    return np.asarray(table.reshape(game.shape + counts).transpose(interleaved))


def _fewest_steps(
    game: MarkovGame, hopeful: BoolArray, bound: FloatArray
) -> tuple[NDArray[np.intp], int]:
    """Return the joint action of the tie-break at each joint state, and the iterations."""
    least = _over_actions(game, bound) * (1 - OPTIMAL_TOLERANCE)
    loses = game.expectation(bound) < least

    def cost(steps: FloatArray) -> FloatArray:
        expected = game.expectation(steps)
        expected[loses] = np.inf
        return expected

    def fewest(steps: FloatArray) -> FloatArray:
        return np.where(hopeful, 1 + cost(steps).min(axis=_action_axes(game)), 0.0)

    steps, iterations = _least_solution(game, fewest, np.zeros(game.shape))
    close = cost(steps) <= _over_actions(game, steps * (1 + STEPS_TOLERANCE) - 1)
    lowest = _by_state(game, close).argmax(axis=-1)
    return np.where(hopeful, lowest, 0), iterations


def _under(
    game: MarkovGame, hopeful: BoolArray, policy: NDArray[np.intp]
) -> Callable[[FloatArray], FloatArray]:
    """Return the map from a value to its expectation after a step, 0 where the game ended."""

    def step(value: FloatArray) -> FloatArray:
        expected = _by_state(game, game.expectation(value))
        chosen = np.take_along_axis(expected, policy[..., None], axis=-1)[..., 0]
        return np.where(hopeful, chosen, 0.0)

    return step


def _least_solution(
    game: MarkovGame, operator: Callable[[FloatArray], FloatArray], start: FloatArray
) -> tuple[FloatArray, int]:
    """Iterate a monotone operator from below; return the last value and the iterations."""
    value = start
    for iteration in range(1, MOST_ITERATIONS + 1):
        grown = operator(value)
        if np.all(grown - value <= RELATIVE_CHANGE * grown + _rounding(game)):
            return grown, iteration
        value = grown
    raise ModelError(f'no convergence of the reachability in {MOST_ITERATIONS} iterations')


def _rounding(game: MarkovGame) -> float:
    """Return what an expectation can be off by; without swaps, nothing becomes something."""
    return ROUNDING if game.swaps is Swaps.COLLISION else 0.0


def _action_axes(game: MarkovGame) -> tuple[int, ...]:
    return tuple(range(1, 2 * game.n_agents, 2))


def _action_counts(game: MarkovGame) -> tuple[int, ...]:
    return tuple(agent.n_actions for agent in game.agents)


def _over_actions(game: MarkovGame, values: FloatArray) -> FloatArray:
    """Give an array over joint states axes of length 1 for the actions."""
    return np.expand_dims(values, _action_axes(game))


def _by_state(game: MarkovGame, values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Move the actions behind the states and make one axis of them."""
    n = game.n_agents
    ordered = values.transpose(*range(0, 2 * n, 2), *range(1, 2 * n, 2))
    return np.asarray(ordered.reshape(*game.shape, -1))
