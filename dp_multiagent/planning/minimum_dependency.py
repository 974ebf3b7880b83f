"""Minimum-dependency policies: reach the target while depending on each other as little as needed.

Maximise over joint policies, with x the expected visits and q_i the own-state marginals
(`occupancy`),

    F(x) = v(x) - delta l(x) - beta C(x),     C(x) = sum_i H_i(x_i) - H(x),

v the success probability and l the expected length. By Gibbs' inequality H_i(x_i) is at most
-sum x_i log p_i for *any* p_i, with equality just for p_i = q_i where x_i > 0. The convex-concave
procedure therefore maximises in each step, with q_i from the last one, the lower bound

    G(x | q) = v - delta l + beta sum_{s,a} x(s, a) (sum_i log q_i(a_i | s_i) - log pi(a | s)),

and F(x+) >= G(x+ | q) >= G(x | q) = F(x). What q_i is where agent i has never been changes no
term of F(x): uniform there, and a floor under all q_i that keeps logarithms finite, leave the
objective monotone.

G is an entropy-regularised problem: V(s) = beta log sum_a prod_i q_i(a_i | s_i)
exp((E[V(y) | s, a] - delta) / beta) at live states; where the game ends, in success or failure,
W(s) = 1[success] - delta + beta sum_i log q_i(end | s_i). Less what a failure is worth there,
U(s) = V(s) + delta - beta sum_i log q_i(end | s_i) is 1 in success and 0 in failure, also after a
swap that counts as a collision, and solves the equation of `soft_bellman` with

    r_i(s_i, a_i) = beta (log q_i(a_i | s_i) + E[e_i(y_i) | s_i, a_i] - e_i(s_i)),
    e_i(s_i) = log q_i(end | s_i).

A step stops at its certified gap; the procedure stops when the gain of a step and its gap are
together at most the tolerance, or after a given number of iterations. It is a local search: the
start decides where it ends (`starts`). (Chen et al., section 6, and Karabag et al. 2022; the form
of a step is ours.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice, pairwise

import numpy as np

from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models.game import FloatArray, MarkovGame
from dp_multiagent.planning import soft_bellman
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.occupancy import Occupancy, PolicyChain, occupancy
from dp_multiagent.planning.soft_bellman import SoftProblem

TOLERANCE = 1e-5
MOST_ITERATIONS = 1000
ROUNDING = 1e-9
FLOOR = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Iterate:
    """A joint policy on the way of the procedure; iteration 0 is the start.

    `gap` is how much the step that led here can be short of the best step, `solver_iterations`
    what it took.
    """

    iteration: int
    steps: LiveSteps
    rows: FloatArray
    occupancy: Occupancy
    objective: float
    gap: float
    solver_iterations: int

    @property
    def policy(self) -> FloatArray:
        """Return the joint policy with the axes (s_1, a_1, ..., s_N, a_N)."""
        return self.steps.policy(self.rows)

    @property
    def pairs(self) -> FloatArray:
        """Return x(s, a), expected visits, with the axes of the joint policy."""
        policy = self.policy
        visits = np.expand_dims(self.occupancy.visits, tuple(range(1, policy.ndim, 2)))
        return policy * visits

    @property
    def success(self) -> float:
        """Return the success probability under truthful communication."""
        return self.occupancy.success

    @property
    def expected_length(self) -> float:
        """Return the expected length, the state that ends the game included."""
        return self.occupancy.expected_length

    @property
    def total_correlation(self) -> float:
        """Return C(x)."""
        return self.occupancy.total_correlation


def minimum_dependency(
    game: MarkovGame,
    start: FloatArray,
    *,
    delta: float,
    beta: float,
    iterations: int | None = None,
    tolerance: float = TOLERANCE,
) -> Iterate:
    """Return the iterate after `iterations` steps or, by default, when a step gains too little."""
    progress = iterate(game, start, delta=delta, beta=beta)
    if iterations is not None:
        if iterations < 0:
            raise ModelError(f'{iterations} iterations are not possible')
        return next(islice(progress, iterations, None))
    return next(after for before, after in pairwise(progress) if stops(before, after, tolerance))


def stops(before: Iterate | None, after: Iterate, tolerance: float = TOLERANCE) -> bool:
    """Tell whether a step gained too little, its gap included; there is no step to a start."""
    if before is None:
        return False
    gain = after.objective - before.objective + after.gap
    return gain <= tolerance or after.iteration >= MOST_ITERATIONS


def iterate(
    game: MarkovGame, start: FloatArray, *, delta: float, beta: float
) -> Iterator[Iterate]:
    """Yield the start, a joint policy, and then every step of the procedure, without end."""
    steps = LiveSteps(game)
    rows = steps.policy_rows(start)
    visited = occupancy(PolicyChain(steps, rows))
    last = Iterate(0, steps, rows, visited, objective(visited, delta, beta), 0.0, 0)
    value = None
    for iteration in count(1):
        yield last
        problem = linearised(steps, last.occupancy, delta, beta)
        solution = soft_bellman.solve(problem, value)
        value = solution.value
        visited = occupancy(PolicyChain(steps, solution.rows), last.occupancy)
        reached = objective(visited, delta, beta)
        _refuse_a_fall(last.objective, reached, solution.gap)
        last = Iterate(
            iteration, steps, solution.rows, visited, reached, solution.gap, solution.iterations
        )


def objective(visited: Occupancy, delta: float, beta: float) -> float:
    """Return F(x)."""
    dependency = beta * visited.total_correlation
    return visited.success - delta * visited.expected_length - dependency


def linearised(steps: LiveSteps, visited: Occupancy, delta: float, beta: float) -> SoftProblem:
    """Return the problem of one step: maximise G(. | q), q the marginals of the last policy."""
    game = steps.game
    rewards, offset = [], -delta
    for agent, q in zip(game.agents, visited.own_state_policies, strict=True):
        log_q = beta * np.log(np.maximum(q, FLOOR))
        act, end = log_q[:, :-1], log_q[:, -1]
        rewards.append(act + (agent.kernel @ end).reshape(act.shape) - end[:, None])
        offset += float(end[agent.initial])
    return SoftProblem(steps=steps, rewards=tuple(rewards), delta=delta, beta=beta, offset=offset)


def _refuse_a_fall(before: float, after: float, gap: float) -> None:
    if after < before - gap - ROUNDING * max(1.0, abs(before)):
        raise DpMultiagentError(
            f'the objective of minimum dependency fell from {before:.12g} to {after:.12g}, '
            f'which its step of gap {gap:.3g} cannot do: rounding has spoilt the result'
        )
