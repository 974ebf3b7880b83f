"""Joint policies from which the minimum-dependency procedure starts, by name.

maximum-entropy
    The authors' start: maximise v - c l + c (H(x) + the expected entropy of the transitions),
    c = 0.1, over the policies with l <= L = 20. With the multiplier lam >= 0 of the length it is
    the problem of `soft_bellman` with beta = c, delta = c + lam and
    r_i(s_i, a_i) = c H(T_i(s_i, a_i, .)), because the entropy of a joint step is the sum of the
    agents'. l falls as lam grows, and for long ways 1 / l is nearly linear in lam: lam is the root
    of 1 / l = 1 / L, found by Brent's method. Since V(lam) <= V(lam') + (lam' - lam) l for the
    length l at lam, a lam < lam' at which some policy is worth more than
    V(lam') + (lam' - lam) L has l > L; such a problem need not have a finite value.

soft-reach
    Maximise v - delta l - beta KL(pi || uniform), beta lowered until success is likelier than
    failure. Robust on large maps, where the first start learns to fail early.

baseline-mixed
    A policy of the largest success probability, mixed with some uniform, because the procedure
    never takes up an action again that has no probability.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import FloatArray, MarkovGame
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.occupancy import PolicyChain, occupancy
from dp_multiagent.planning.reachability import joint_policy, maximum_reachability
from dp_multiagent.planning.soft_bellman import GAP, SoftProblem, SoftSolution, iterate, solve

ENTROPY_WEIGHT = 0.1
LONGEST = 20.0
LARGEST_MULTIPLIER = 1e4
REACH_DELTA = 0.01
REACH_BETAS = (0.03, 0.01, 0.003, 0.001)
UNIFORM_PART = 0.2


def maximum_entropy(
    game: MarkovGame, *, weight: float = ENTROPY_WEIGHT, longest: float = LONGEST
) -> FloatArray:
    """Return the joint policy of largest entropy and success among those of bounded length."""
    steps = LiveSteps(game)
    rewards = tuple(weight * entr(agent.tensor).sum(axis=2) for agent in game.agents)

    def priced(multiplier: float) -> SoftProblem:
        return SoftProblem(
            steps=steps,
            rewards=rewards,
            delta=weight + multiplier,
            beta=weight,
            offset=-weight - multiplier,
            longest=longest,
        )

    # At this price no step is worth its entropy, so the problem has a finite value.
    high = sum(r.max() + weight * np.log(r.shape[1]) for r in rewards)
    known = solve(priced(high))
    while _length(steps, known) > longest:
        high *= 4
        if high > LARGEST_MULTIPLIER:
            raise ModelError(f'no policy has an expected length of at most {longest:g}')
        known = solve(priced(high), known.value)

    def excess(multiplier: float) -> float:
        limit = known.objective + (high - multiplier) * longest
        solution = _solve_below(priced(multiplier), known.value, limit)
        return (0.0 if solution is None else 1 / _length(steps, solution)) - 1 / longest

    lowest_is_enough = excess(0.0) >= 0
    multiplier = 0.0 if lowest_is_enough else brentq(excess, 0.0, high, xtol=1e-12)
    return steps.policy(solve(priced(multiplier), known.value).rows)


def soft_reach(game: MarkovGame) -> FloatArray:
    """Return a joint policy that mostly succeeds and is as near to uniform as that allows."""
    steps = LiveSteps(game)
    for beta in REACH_BETAS:
        rows = solve(_reach_problem(steps, REACH_DELTA, beta)).rows
        if occupancy(PolicyChain(steps, rows)).success > 0.5:
            break
    return steps.policy(rows)


def baseline_mixed(game: MarkovGame) -> FloatArray:
    """Return the fewest-steps policy of largest success, mixed with some uniform."""
    best = joint_policy(game, maximum_reachability(game).policy)
    n_joint_actions = prod(agent.n_actions for agent in game.agents)
    return (1 - UNIFORM_PART) * best + UNIFORM_PART / n_joint_actions


STARTS: dict[str, Callable[[MarkovGame], FloatArray]] = {
    'maximum-entropy': maximum_entropy,
    'soft-reach': soft_reach,
    'baseline-mixed': baseline_mixed,
}


def _reach_problem(steps: LiveSteps, delta: float, beta: float) -> SoftProblem:
    """Maximise v - delta l - beta KL(pi || uniform)."""
    shapes = ((agent.n_states, agent.n_actions) for agent in steps.game.agents)
    rewards = tuple(np.full(shape, -beta * np.log(shape[1])) for shape in shapes)
    return SoftProblem(steps=steps, rewards=rewards, delta=delta, beta=beta, offset=-delta)


def _solve_below(problem: SoftProblem, guess: FloatArray, limit: float) -> SoftSolution | None:
    """Solve, or return None once a policy is worth more than the limit."""
    for solution in iterate(problem, guess):
        if solution.objective > limit:
            return None
        if solution.gap <= GAP:
            return solution
    raise AssertionError('the iteration has no end of its own')


def _length(steps: LiveSteps, solution: SoftSolution) -> float:
    return occupancy(PolicyChain(steps, solution.rows)).expected_length
