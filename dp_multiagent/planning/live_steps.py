"""The steps out of the live joint states of a game, listed once for all policies.

A joint state is *live* if it can be reached from s_I and is neither a target, nor to be avoided,
nor *dead* (the target cannot be reached from it under any policy). A step out of a live state
either goes on to a live state or ends the game: in the target, in failure, or in a swap that
counts as a collision. Agents choose their actions freely, so y is a successor of s just if every
y_i is a feasible successor of s_i: the list has prod_i rho(s_i) entries per state, and the
probabilities of all entries under a policy come from contracting it with one agent's transitions
at a time. The kernel over joint states, actions and successors is never built.

A *joint policy* is an array pi(a | s) with the axes (s_1, a_1, ..., s_N, a_N), as in
`MarkovGame.expectation`; what it says at states that are not live does not matter. The solvers
hold it as *rows*: one row per live state, one column per joint action.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import BoolArray, FloatArray, MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp

IntArray = NDArray[np.intp]

ROW_SUM_TOLERANCE = 1e-9


class LiveSteps:
    """Live states, their successors, and which steps go on or succeed.

    `live[r]` is the flat index of the live state of row r, `successors[r]` are those of all its
    successors; `goes_on` and `succeeds` tell what each step comes to; `start` is the row of s_I.
    `columns` and `row_starts` are the sparsity (CSR) of the steps that go on.
    """

    def __init__(self, game: MarkovGame) -> None:
        if not game.active[game.initial]:
            raise ModelError('the start is a target or to be avoided')
        self.game = game
        self._agents = tuple(_feasible_transitions(agent) for agent in game.agents)
        target, active = game.target.ravel(), np.flatnonzero(game.active)
        start = int(np.ravel_multi_index(game.initial, game.shape))
        successors, safe = self._list_steps(active)
        hopeful = _states_that_reach(target, active, successors, safe)
        if not hopeful[start]:
            raise ModelError('the target cannot be reached from the start')
        hopeful &= ~target
        reached = _states_reached(start, active, successors, safe & hopeful[successors])
        kept = reached[active]
        self.live = active[kept]
        self.successors = successors[kept]
        self.goes_on = safe[kept] & reached[self.successors]
        self.succeeds = safe[kept] & target[self.successors]
        self.start = int(np.searchsorted(self.live, start))
        onward = self.successors[self.goes_on]
        self.columns = np.searchsorted(self.live, onward).astype(np.int32)
        self.row_starts = np.r_[0, self.goes_on.sum(axis=1).cumsum()].astype(np.int32)

    @property
    def n_live(self) -> int:
        """Return the number of live states."""
        return int(self.live.size)

    @property
    def joint_shape(self) -> tuple[int, ...]:
        """Return (|S_1|, |A_1|, ..., |S_N|, |A_N|), the shape of a joint policy."""
        return tuple(n for agent in self.game.agents for n in (agent.n_states, agent.n_actions))

    def rows(self, joint: FloatArray) -> FloatArray:
        """Return an array with the axes of a joint policy as one row per live state."""
        n = self.game.n_agents
        by_state = joint.transpose(*range(0, 2 * n, 2), *range(1, 2 * n, 2))
        rows: FloatArray = by_state.reshape(prod(self.game.shape), -1)[self.live]
        return rows

    def policy_rows(self, policy: FloatArray) -> FloatArray:
        """Return the rows of a joint policy; refuse what is no policy of this game."""
        if policy.shape != self.joint_shape:
            raise ModelError(f'a joint policy of this game has the shape {self.joint_shape}')
        rows = self.rows(policy)
        if not np.all(rows >= 0) or np.any(np.abs(rows.sum(axis=1) - 1) > ROW_SUM_TOLERANCE):
            raise ModelError('the probabilities of a joint policy must sum to 1 at each state')
        return rows

    def policy(self, rows: FloatArray) -> FloatArray:
        """Return the joint policy with the given rows, uniform at all other states."""
        n, counts = self.game.n_agents, tuple(agent.n_actions for agent in self.game.agents)
        by_state = np.full((prod(self.game.shape), prod(counts)), 1 / prod(counts))
        by_state[self.live] = rows
        axes = [axis for i in range(n) for axis in (i, n + i)]
        policy: FloatArray = by_state.reshape(self.game.shape + counts).transpose(axes)
        return policy

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Return the probability of each listed step under a policy given as rows."""
        joint = self.policy(rows)
        shape: list[int] = []
        for successors, transitions in self._agents:
            n_states, n_actions = transitions.shape[0], transitions.shape[2]
            contracted = transitions @ joint.reshape(n_states, n_actions, -1)
            # The contracted axes go to the back; after all agents the order is restored.
            joint = contracted.reshape(successors.size, -1).T
            shape += successors.shape
        return self.rows(joint.reshape(shape))

    def _list_steps(self, states: IntArray) -> tuple[IntArray, BoolArray]:
        """Return per state the flat indices of its successors, and which are real and no swap."""
        n = self.game.n_agents
        here = np.unravel_index(states, self.game.shape)
        there, real = [], []
        for i, (successors, transitions) in enumerate(self._agents):
            shape = [1] * (n + 1)
            shape[0], shape[i + 1] = len(states), successors.shape[1]
            there.append(successors[here[i]].reshape(shape))
            real.append(np.asarray((transitions > 0).any(axis=2))[here[i]].reshape(shape))
        listed = np.ravel_multi_index(np.broadcast_arrays(*there), self.game.shape)
        safe = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*real)), listed.shape)
        if self.game.swaps is Swaps.COLLISION:
            safe = safe & ~_exchanged(here, there, listed.shape)
        return listed.reshape(len(states), -1), safe.reshape(len(states), -1)


def _feasible_transitions(agent: Mdp) -> tuple[IntArray, FloatArray]:
    """Return the feasible successors of each state, and T with the axes (s, successor, a).

    All states get as many successors as the one with the most; the surplus has no probability.
    """
    order = np.argsort(~agent.feasible, axis=1, kind='stable')[:, : int(agent.out_degree.max())]
    transitions = np.take_along_axis(agent.tensor, order[:, None, :], axis=2)
    return order, np.ascontiguousarray(transitions.swapaxes(1, 2))


def _exchanged(
    here: tuple[IntArray, ...], there: list[IntArray], shape: tuple[int, ...]
) -> BoolArray:
    """Tell for each step whether two agents exchange their states in it."""
    columns = [states.reshape(-1, *[1] * len(there)) for states in here]
    swapped: BoolArray = np.zeros(shape, dtype=bool)
    for j in range(len(there)):
        for i in range(j):
            apart = columns[i] != columns[j]
            swapped |= (there[i] == columns[j]) & (there[j] == columns[i]) & apart
    return swapped


def _states_that_reach(
    target: BoolArray, states: IntArray, successors: IntArray, safe: BoolArray
) -> BoolArray:
    """Tell for each joint state whether some steps lead to the target."""
    reaches: BoolArray = target.copy()
    while True:
        found = np.asarray((reaches[successors] & safe).any(axis=1))
        if np.array_equal(found, reaches[states]):
            return reaches
        reaches[states] = found


def _states_reached(
    start: int, states: IntArray, successors: IntArray, goes_on: BoolArray
) -> BoolArray:
    """Tell for each joint state whether it is visited on the way from the start."""
    reached = np.zeros(int(max(successors.max(), states.max())) + 1, dtype=bool)
    reached[start] = True
    frontier = np.array([start])
    while frontier.size:
        rows = np.searchsorted(states, frontier)
        found = np.unique(successors[rows][goes_on[rows]])
        frontier = found[~reached[found]]
        reached[frontier] = True
    return reached
