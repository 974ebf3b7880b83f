"""The problems of `planning` as conic programs over occupancy measures, for cvxpy.

Written down from the papers with the full joint kernel, sharing nothing with the solvers under
test: x(s, a) for the joint states that are reachable and active, flow constraints, success v,
length l and the entropy H(x) as relative-entropy cones.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.sparse import csr_array

from dp_multiagent.models.game import MarkovGame, Swaps

cp = pytest.importorskip('cvxpy', reason='the certificate needs cvxpy: pip install cvxpy')


class OccupancyProgram:
    """The variables, constraints and terms that all problems share."""

    def __init__(self, game: MarkovGame) -> None:
        self.game = game
        self.states = list(product(*map(range, game.shape)))
        self.actions = list(product(*(range(agent.n_actions) for agent in game.agents)))
        goes_on = self.onward
        self.live = _reachable(goes_on, self.states.index(game.initial))
        n, m = len(self.live), len(self.actions)
        kernel = goes_on[self.live][:, :, self.live].reshape(n * m, n)
        begin = (self.live == self.states.index(game.initial)).astype(float)
        self.x = cp.Variable((n, m), nonneg=True)
        flat = cp.reshape(self.x, (n * m,), order='C')
        self.out = cp.sum(self.x, axis=1)
        self.constraints = [self.out == begin + csr_array(kernel).T @ flat]
        arrive = self.succeeding[self.live].sum(axis=2)
        self.success = cp.sum(cp.multiply(self.x, arrive))
        self.length = cp.sum(self.x) + 1
        spread = cp.reshape(self.out, (n, 1), order='C') @ np.ones((1, m))
        self.entropy = -cp.sum(cp.rel_entr(self.x, spread))

    def step(self, q: list[np.ndarray], delta: float, beta: float) -> cp.Problem:
        """Return the linearised problem; q[i] has the action `end` in its last column."""
        # What has no probability in q is not reachable here; the floor only avoids 0 * inf.
        log_q = [np.log(np.maximum(table, 1e-300)) for table in q]
        act = np.array(
            [
                [sum(log_q[i][s[i], a[i]] for i in range(len(s))) for a in self.actions]
                for s in self.states
            ]
        )
        end = np.array([sum(log_q[i][s[i], -1] for i in range(len(s))) for s in self.states])
        ending = (self.kernel - self.onward)[self.live] @ end
        linear = cp.sum(cp.multiply(self.x, act[self.live] + ending))
        value = self.success - delta * self.length + beta * (self.entropy + linear)
        return cp.Problem(cp.Maximize(value), self.constraints)

    def maximum_entropy(self, weight: float, longest: float) -> cp.Problem:
        """Return the problem of the authors' start."""
        kernel = self.kernel[self.live]
        with np.errstate(divide='ignore', invalid='ignore'):
            transitions = -np.nansum(kernel * np.log(kernel), axis=2)
        entropy = self.entropy + cp.sum(cp.multiply(self.x, transitions))
        value = self.success - weight * self.length + weight * entropy
        return cp.Problem(cp.Maximize(value), [*self.constraints, self.length <= longest])

    @cached_property
    def kernel(self) -> np.ndarray:
        """T(s, a, y) over joint states and actions; a state that is over goes nowhere."""
        kernel = np.ones((1, 1, 1))
        for agent in self.game.agents:
            kernel = np.einsum('xay,sbt->xsabyt', kernel, agent.tensor)
            kernel = kernel.reshape([prod(kernel.shape[k : k + 2]) for k in (0, 2, 4)])
        return kernel * self.game.active.ravel()[:, None, None]

    @cached_property
    def _no_swap(self) -> np.ndarray:
        if self.game.swaps is Swaps.ALLOWED:
            return np.ones((len(self.states), len(self.states)))
        return np.array([[not _swap(s, y) for y in self.states] for s in self.states], dtype=float)

    @cached_property
    def onward(self) -> np.ndarray:
        hopeful = self.game.target.ravel().copy()
        safe = (self.kernel.max(axis=1) > 0) & (self._no_swap > 0)
        for _ in self.states:
            hopeful |= safe @ hopeful
        hopeful &= self.game.active.ravel()
        return self.kernel * self._no_swap[:, None, :] * hopeful

    @property
    def succeeding(self) -> np.ndarray:
        return self.kernel * self._no_swap[:, None, :] * self.game.target.ravel()


def _swap(s: tuple[int, ...], y: tuple[int, ...]) -> bool:
    pairs = ((i, j) for j in range(len(s)) for i in range(j))
    return any(s[i] == y[j] and s[j] == y[i] and s[i] != s[j] for i, j in pairs)


def _reachable(kernel: np.ndarray, start: int) -> np.ndarray:
    reached = np.zeros(len(kernel), dtype=bool)
    reached[start] = True
    graph = kernel.max(axis=1) > 0
    for _ in kernel:
        reached |= reached @ graph
    return np.flatnonzero(reached)
