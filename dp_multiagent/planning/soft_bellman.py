"""Entropy-regularised reach-avoid problems on a game, solved to a certified gap.

A policy pi of the live states (`live_steps`) earns 1 for ending in the target, sum_i r_i(s_i, a_i)
- delta for each step, and beta times the entropy of its action. The best value U solves

    U(s) = (T U)(s) = beta log sum_a exp((E[U(y) | s, a] + sum_i r_i(s_i, a_i) - delta) / beta)

with U = 1 at the target and 0 in failure, and the policy that attains the maximum in T U is
pi_U(a | s), the soft-max of the exponent. The objective that is reported is U(s_I) plus a
constant `offset`.

Value iteration repeats U <- T U. Policy iteration replaces U by the value of pi_U; because P of
pi_U is the derivative of T at U, that is Newton's method, U <- U + (I - P)^-1 (T U - U). On large
games the system is solved roughly, which only costs iterations.

Certificate. Let V = U(s_I) + offset, lowest <= T U - U <= highest, M = max(highest, 0) and
m = max(-lowest, 0). The value of any policy is V + sum_s x(s) (T_pi U - U)(s) with x its expected
visits. T_pi U <= T U for every policy and equality for pi_U give, with K the expected steps of
the best policy and K_U those of pi_U,

    V* <= V + M K,        V_U >= V - m K_U.

If rewards and entropy together are never positive (they are minus a divergence), every value is
at most 1 - delta (1 + steps); so K <= (1 - delta - V*) / delta, likewise for K_U, and

    V* - V_U <= (1 - delta - V) (M / (delta + M) + m / (delta - m)),     m < delta.

If policies with more than `longest` steps are not admitted, it is longest (M + m). Both methods
stop when this gap is at most the tolerance. (Chen et al., section 6, and errata: each step of the
convex-concave procedure is such a problem. Soft policy iteration: Ziebart 2010.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import FloatArray
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.occupancy import PolicyChain

POLICY_ITERATION = 'policy-iteration'
VALUE_ITERATION = 'value-iteration'
GAP = 1e-9
MOST_ITERATIONS = {POLICY_ITERATION: 60, VALUE_ITERATION: 1_000_000}
ROUGH = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftProblem:
    """A reach-avoid problem with rewards r_i(s_i, a_i) and an entropy bonus."""

    steps: LiveSteps
    rewards: tuple[FloatArray, ...]
    delta: float
    beta: float
    offset: float
    longest: float | None = None

    def __post_init__(self) -> None:
        if not (self.delta > 0 and self.beta > 0):
            raise ModelError('delta and beta must be positive')

    @cached_property
    def scaled_rewards(self) -> FloatArray:
        """Return (sum_i r_i - delta) / beta as rows."""
        total = np.full((1,) * (2 * len(self.rewards)), -self.delta / self.beta)
        for i, reward in enumerate(self.rewards):
            shape = [1] * (2 * len(self.rewards))
            shape[2 * i : 2 * i + 2] = reward.shape
            total = total + (reward / self.beta).reshape(shape)
        return self.steps.rows(total)

    def improve(self, value: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return T U at the live states and the rows of pi_U, for U at the live states."""
        game = self.steps.game
        everywhere = game.target.astype(float)
        everywhere.ravel()[self.steps.live] = value
        rows = self.steps.rows(game.expectation(everywhere))
        rows /= self.beta
        rows += self.scaled_rewards
        top = rows.max(axis=1, keepdims=True)
        rows -= top
        np.exp(rows, out=rows)
        mass = rows.sum(axis=1, keepdims=True)
        rows /= mass
        return self.beta * (top + np.log(mass))[:, 0], rows

    def gap(self, objective: float, lowest: float, highest: float) -> float:
        """Return how much the policy pi_U can fall short of the best one (module docstring)."""
        above, below = max(highest, 0.0), max(-lowest, 0.0)
        if self.longest is not None:
            return self.longest * (above + below)
        if below >= self.delta:
            return inf
        weight = above / (self.delta + above) + below / (self.delta - below)
        return max(1 - self.delta - objective, 0.0) * weight


@dataclass(frozen=True, eq=False)
class SoftSolution:
    """The value U and the policy pi_U, both on the live states, and how good they are."""

    value: FloatArray
    rows: FloatArray
    objective: float
    gap: float
    iterations: int
    method: str


def solve(
    problem: SoftProblem,
    guess: FloatArray | None = None,
    *,
    gap: float = GAP,
    method: str = POLICY_ITERATION,
) -> SoftSolution:
    """Solve until the certified gap is met; the gap of the result says whether it could be."""
    if method not in MOST_ITERATIONS:
        raise ModelError(f'{method!r} is not one of {", ".join(MOST_ITERATIONS)}')
    best: SoftSolution | None = None
    for solution in islice(iterate(problem, guess, method), MOST_ITERATIONS[method]):
        if best is None or solution.gap <= best.gap:
            best = solution
        if best.gap <= gap:
            break
    assert best is not None
    return best


def iterate(
    problem: SoftProblem, guess: FloatArray | None = None, method: str = POLICY_ITERATION
) -> Iterator[SoftSolution]:
    """Yield better and better values, each with its greedy policy and certificate."""
    steps = problem.steps
    value = np.zeros(steps.n_live) if guess is None else guess
    iteration = 0
    while True:
        image, rows = problem.improve(value)
        residual = image - value
        objective = float(value[steps.start]) + problem.offset
        gap = problem.gap(objective, float(residual.min()), float(residual.max()))
        yield SoftSolution(value, rows, objective, gap, iteration, method)
        iteration += 1
        if method == VALUE_ITERATION:
            value = image
        else:
            value = value + PolicyChain(steps, rows).total(residual, ROUGH)
