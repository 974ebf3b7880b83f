"""The interior solution of the reachability program: the paper's baseline.

Over the expected visits x(s, a) >= 0 of the live joint states (`live_steps`),

    maximise    sum_{s,a} x(s, a) Pr(target | s, a)
    subject to  sum_a x(y, a) = 1[y = s_I] + sum_{s,a} x(s, a) T(s, a, y)   for all live y.

The program is degenerate: many policies are optimal. An interior-point method without crossover
ends near the centre of them all, so that robots choose at random wherever it does not matter;
`reachability` returns the shortest deterministic one instead. If a team can stay alive for ever
without a risk (SysAdmin), the optimal x are unbounded, there is no centre, and where the method
ends, and how long its policy takes, is up to the solver (Clarabel 0.11: about 700 steps there).

The certificate is that of linear programming: `residual` is the largest violation of a flow
constraint or a sign, by the visits or by the duals V(s) >= E[V | s, a]; `gap` is the difference
of the two objectives. (Chen et al., section 7: problem (3) with delta = beta = 0.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye, hstack

from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.models.game import FloatArray, MarkovGame
from dp_multiagent.planning.live_steps import LiveSteps


@dataclass(frozen=True, eq=False)
class InteriorReachability:
    """An interior optimal occupancy and its joint policy, axes (s_1, a_1, ..., s_N, a_N).

    `success` is the objective of the program; `policy` is uniform at states that are not live.
    """

    occupancy: FloatArray
    policy: FloatArray
    success: float
    residual: float
    gap: float
    iterations: int
    method: str = 'Clarabel, no crossover'

    @property
    def expected_steps(self) -> float:
        """Return the expected number of steps until the game is decided."""
        return float(self.occupancy.sum())


def interior_reachability(game: MarkovGame) -> InteriorReachability:
    """Solve the reachability program with an interior-point method."""
    cvxpy = _import_cvxpy()
    steps = LiveSteps(game)
    flow, success = _program(steps)
    begin = (np.arange(steps.n_live) == steps.start).astype(float)
    x = cvxpy.Variable(len(success), nonneg=True)
    balance = flow @ x == begin
    problem = cvxpy.Problem(cvxpy.Maximize(success @ x), [balance])
    problem.solve(solver=cvxpy.CLARABEL)
    if problem.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
        raise ModelError(f'the reachability program ended as {problem.status}')
    value = balance.dual_value
    violations = (np.abs(flow @ x.value - begin), -x.value, success - flow.T @ value)
    occupancy, policy = _by_state(steps, x.value.clip(min=0.0))
    return InteriorReachability(
        occupancy=occupancy,
        policy=policy,
        success=float(problem.value),
        residual=max(float(violation.max()) for violation in violations),
        gap=abs(float(value @ begin) - float(problem.value)),
        iterations=problem.solver_stats.num_iters,
    )


def _program(steps: LiveSteps) -> tuple[csr_array, FloatArray]:
    """Return the flow constraints and the objective; column a * n + s is joint action a in s."""
    n, blocks, success = steps.n_live, [], []
    n_joint_actions = prod(agent.n_actions for agent in steps.game.agents)
    for action in np.eye(n_joint_actions):
        probabilities = steps.probabilities(np.tile(action, (n, 1)))
        onward = (probabilities[steps.goes_on], steps.columns, steps.row_starts)
        blocks.append(csr_array(eye(n)) - csr_array(onward, shape=(n, n)).T)
        success.append((probabilities * steps.succeeds).sum(axis=1))
    return hstack(blocks, format='csr'), np.concatenate(success)


def _by_state(steps: LiveSteps, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return visits and policy with the axes of a joint policy."""
    pairs = x.reshape(-1, steps.n_live).T
    visits = pairs.sum(axis=1, keepdims=True)
    uniform = np.full_like(pairs, 1 / pairs.shape[1])
    policy = steps.policy(np.divide(pairs, visits, out=uniform, where=visits > 0))
    spread = np.zeros(steps.game.shape)
    spread.flat[steps.live] = visits[:, 0]
    actions = tuple(range(1, 2 * steps.game.n_agents, 2))
    return policy * np.expand_dims(spread, actions), policy


def _import_cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise MissingPackageError(
            'the interior baseline needs cvxpy and clarabel: pip install cvxpy clarabel'
        ) from None
    return cvxpy
