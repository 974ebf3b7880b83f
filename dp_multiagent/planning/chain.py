"""The absorbing Markov chain that a team with local policies is, as a product of factors.

The chain's state is z = (s_1, ..., s_N, p_j for every robot j that somebody sees): the true
states and the last private ones. One step draws, each from its own factor,

    s_i' ~ k_i(. | s_i, o_i) = sum_a pi_i(a | s_i, o_i) T_i(s_i, a, .),   o_i = (p_j: i sees j),
    p_j' ~ mu_j(. | s_j', p_j).

With truthful communication there are no p, and o_i = (s_j: i sees j). A factor acts on one axis
of a tensor over z and is diagonal in the axes that it is conditioned on, so it is one sparse
matrix. `pull` maps a value V to E[V(z') | z], `push` maps a measure over z to that over z'; both
apply the factors one after the other and never build the chain's kernel. Robots are taken in an
order in which those that are seen come first, so that what a policy sees is current.

Where swaps are collisions a step in which two robots swap ends the chain in failure: its
probability is taken out by inclusion-exclusion over matchings, as in `models.game`, so that a
step loses just the probability of a swap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Matching, Swaps, matchings
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.models.players import Players
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

FloatArray = NDArray[np.float64]


class TeamChain:
    """A game played with local policies, truthfully or through mechanisms."""

    def __init__(
        self,
        game: MarkovGame,
        policies: Sequence[LocalPolicy],
        mechanisms: Sequence[TrajectoryMechanism] | None,
    ) -> None:
        self.layout = Layout(game, graph_of(game, policies), private=mechanisms is not None)
        self.game = game
        self.policies = tuple(policies)
        self.mechanisms = mechanisms
        steps = {policy.steps for policy in policies} - {0}
        if len(steps) > 1:
            raise ModelError('the policies of a team must have tables for the same steps')
        self.steps = steps.pop() if steps else 0
        self._moves: dict[int, tuple[_Factor, ...]] = {}

    @property
    def initial(self) -> FloatArray:
        """Return the measure of the public initial state."""
        start = np.zeros(self.layout.shape)
        start[self.layout.initial] = 1.0
        return start

    def spread(self, joint: NDArray[np.generic]) -> NDArray[np.generic]:
        """Give an array over the true joint states axes of length one for the private ones."""
        return joint.reshape(joint.shape + (1,) * len(self.layout.tellers))

    def pull(self, value: FloatArray, step: int = 0) -> FloatArray:
        """Return E[V(z')] for each z; a swap that ends the game is worth 0."""
        for factor in self._tells:
            value = factor.pull(value)
        moves = self.moves(step)
        result = np.zeros(self.layout.shape)
        for sign, matching in self._matchings:
            term = value
            for i, j in matching:
                term = term.swapaxes(i, j)
            for i in self.layout.order:
                if not _is_matched(i, matching):
                    term = moves[i].pull(term)
            result += sign * term * self._swap_weight(matching, step)
        return result

    def push(self, measure: FloatArray, step: int = 0) -> FloatArray:
        """Return the measure after one step from a measure over active states."""
        moves = self.moves(step)
        result = np.zeros(self.layout.shape)
        for sign, matching in self._matchings:
            term = sign * measure * self._swap_weight(matching, step)
            for i in reversed(self.layout.order):
                if not _is_matched(i, matching):
                    term = moves[i].push(term)
            for i, j in matching:
                term = term.swapaxes(i, j)
            result += term
        for factor in reversed(self._tells):
            result = factor.push(result)
        return result

    def own_actions(self, i: int, measure: FloatArray, step: int = 0) -> FloatArray:
        """Return how much of a measure is robot i in a state and taking an action, (s_i, a)."""
        axes = (i, *self.layout.seen_axes[i])
        others = tuple(k for k in range(measure.ndim) if k not in axes)
        seen = measure.sum(axis=others).transpose(tuple(np.argsort(np.argsort(axes))))
        rows = seen[..., None] * self._table(i, step)
        return np.asarray(rows.sum(axis=tuple(range(1, len(axes)))))

    def action_values(
        self, value: FloatArray, measure: FloatArray, step: int = 0
    ) -> tuple[FloatArray, ...]:
        """Return per robot g_i(s_i, o_i, a) = sum_z x(z) E[V(z') | z, robot i plays a].

        V is pulled back through every factor but robot i's own move, then summed against x.
        """
        for factor in self._tells:
            value = factor.pull(value)
        return tuple(
            self._own_action_values(i, value, measure, step) for i in range(self.game.n_agents)
        )

    def _own_action_values(
        self, i: int, value: FloatArray, measure: FloatArray, step: int
    ) -> FloatArray:
        moves, agent = self.moves(step), self.game.agents[i]
        flow = np.zeros(moves[i].kernel.shape)
        for sign, matching in self._matchings:
            term, partner = value, _partner(i, matching)
            for j, k in matching:
                term = term.swapaxes(j, k)
            for k in self.layout.order:
                if k != i and not _is_matched(k, matching):
                    term = moves[k].pull(term)
            others = tuple(pair for pair in matching if i not in pair)
            term = sign * term * self._swap_weight(others, step)
            if partner is None:
                flow += moves[i].flow(measure, term)
            else:
                swap = measure * term * moves[partner].probability_to(i)
                flow += moves[i].flow_to(swap, partner)
        # (o, s, y) x (s, a, y) -> (s, o, a), with o split into the robots that are seen.
        values = flow.swapaxes(0, 1) @ agent.tensor.swapaxes(1, 2)
        seen = tuple(self.game.shape[j] for j in self.policies[i].observed)
        return np.asarray(values.reshape(agent.n_states, *seen, agent.n_actions))

    def moves(self, step: int) -> tuple[_Factor, ...]:
        """Return the factors k_i of a step, one per robot."""
        key = min(step, self.steps - 1) if self.steps else 0
        if key not in self._moves:
            self._moves[key] = tuple(self._move(i, key) for i in range(self.game.n_agents))
        return self._moves[key]

    def _table(self, i: int, step: int) -> FloatArray:
        policy = self.policies[i]
        return policy.table[min(step, policy.steps - 1)] if policy.by_step else policy.table

    def _move(self, i: int, step: int) -> _Factor:
        agent = self.game.agents[i]
        # (s, o, a) @ (s, a, y) -> (s, o, y), then conditioned on o.
        rows = self._table(i, step).reshape(agent.n_states, -1, agent.n_actions) @ agent.tensor
        return _Factor(rows.swapaxes(0, 1), self.layout.seen_axes[i], i, self.layout.shape)

    @cached_property
    def _tells(self) -> tuple[_Factor, ...]:
        if self.mechanisms is None:
            return ()
        return tuple(
            _Factor(
                self.mechanisms[j].mu.swapaxes(0, 1),
                (j,),
                self.layout.private_axis[j],
                self.layout.shape,
            )
            for j in self.layout.tellers
        )

    @cached_property
    def _matchings(self) -> tuple[tuple[int, Matching], ...]:
        none: tuple[tuple[int, Matching], ...] = ((1, ()),)
        if self.game.swaps is Swaps.ALLOWED:
            return none
        every = matchings(range(self.game.n_agents))
        return none + tuple(((-1) ** len(matching), matching) for matching in every)

    def _swap_weight(self, matching: Matching, step: int) -> FloatArray:
        """Return the probability that the pairs of a matching swap, for each z."""
        weight = np.ones((1,) * len(self.layout.shape))
        for i, j in matching:
            moves = self.moves(step)
            weight = weight * moves[i].probability_to(j) * moves[j].probability_to(i)
        return weight


class Layout:
    """Which axis of a tensor over z stands for what."""

    def __init__(self, game: MarkovGame, graph: Graph, private: bool) -> None:
        n = game.n_agents
        self.graph = graph
        self.tellers = graph.tellers if private else ()
        self.private_axis = {j: n + m for m, j in enumerate(self.tellers)}
        self.shape = game.shape + tuple(game.shape[j] for j in self.tellers)
        self.initial = game.initial + tuple(game.initial[j] for j in self.tellers)
        self.seen_axes = tuple(
            tuple(self.private_axis.get(j, j) for j in seen) for seen in graph.observed
        )
        self.order = tuple(TopologicalSorter(dict(enumerate(graph.observed))).static_order())


class _Factor:
    """A conditional distribution kernel[given, from, to] that acts on one axis of a tensor."""

    def __init__(
        self, kernel: FloatArray, given: tuple[int, ...], axis: int, shape: tuple[int, ...]
    ) -> None:
        rest = [k for k in range(len(shape)) if k != axis and k not in given]
        self.to_front = (*given, axis, *rest)
        self.back = tuple(np.argsort(self.to_front))
        self.shape = tuple(shape[k] for k in self.to_front)
        self.kernel, self.given, self.axis = kernel, given, axis
        self.full_shape = shape
        self.matrix = _block_diagonal(kernel)
        self.transposed = self.matrix.T.tocsr()

    def pull(self, value: FloatArray) -> FloatArray:
        return self._apply(self.matrix, value)

    def push(self, measure: FloatArray) -> FloatArray:
        return self._apply(self.transposed, measure)

    def probability_to(self, other: int) -> FloatArray:
        """Return the probability of moving to the state on another axis, leaving the own one."""
        n = self.full_shape[self.axis]
        leaving = np.where(np.eye(n, dtype=bool), 0.0, self.kernel)
        axes = (*self.given, self.axis)
        kernel = leaving.reshape(*(self.full_shape[k] for k in axes), n)
        if other not in self.given:
            return _expand(kernel, (*axes, other), self.full_shape)
        # The policy sees the very state it would move to: take the diagonal of that axis.
        place = self.given.index(other)
        diagonal = np.moveaxis(kernel.diagonal(axis1=place, axis2=-1), -1, place)
        return _expand(diagonal, axes, self.full_shape)

    def flow(self, measure: FloatArray, value: FloatArray) -> FloatArray:
        """Return sum x(given, from, rest) V(given, to, rest) with the axes (given, from, to)."""
        given, n, _ = self.kernel.shape
        x = measure.transpose(self.to_front).reshape(given, n, -1)
        v = value.transpose(self.to_front).reshape(given, n, -1)
        return np.asarray(x @ v.swapaxes(1, 2))

    def flow_to(self, weight: FloatArray, other: int) -> FloatArray:
        """Sum weights that are for moves to the state on another axis, to (given, from, to)."""
        axes = (*self.given, self.axis, other)
        summed = weight.sum(axis=tuple(k for k in range(weight.ndim) if k not in axes))
        ranks = np.argsort(np.argsort(axes))
        given, n, _ = self.kernel.shape
        flow = summed.transpose(tuple(ranks)).reshape(given, n, n)
        return np.where(np.eye(n, dtype=bool), 0.0, flow)

    def _apply(self, matrix: csr_array, tensor: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(tensor.transpose(self.to_front))
        result = np.asarray(matrix @ rows.reshape(matrix.shape[1], -1))
        return np.asarray(result.reshape(self.shape).transpose(self.back))


def graph_of(game: MarkovGame | Players, policies: Sequence[LocalPolicy]) -> Graph:
    """Return who depends on whom; refuse policies that are not for this game."""
    if [policy.robot for policy in policies] != list(range(game.n_agents)):
        raise ModelError(f'one policy for each of {game.n_agents} robots is needed, in order')
    graph = Graph(tuple(policy.observed for policy in policies))
    for i, policy in enumerate(policies):
        states = (i, *policy.observed)
        shape = (*(game.shape[j] for j in states), game.agents[i].n_actions)
        if policy.table.shape[int(policy.by_step) :] != shape:
            raise ModelError(f'the policy of robot {i + 1} is for another game')
    return graph


def _block_diagonal(kernel: FloatArray) -> csr_array:
    """Return the sparse matrix with one block per condition."""
    given, n, _ = kernel.shape
    rows = csr_array(kernel.reshape(given * n, n))
    offsets = np.repeat(np.arange(given * n) // n * n, np.diff(rows.indptr))
    return csr_array((rows.data, rows.indices + offsets, rows.indptr), shape=(given * n,) * 2)


def _expand(kernel: FloatArray, axes: tuple[int, ...], shape: tuple[int, ...]) -> FloatArray:
    """Put the axes of an array where they belong, with length one everywhere else."""
    ordered = kernel.transpose(tuple(np.argsort(axes)))
    return np.asarray(ordered.reshape([shape[k] if k in axes else 1 for k in range(len(shape))]))


def _partner(i: int, matching: Matching) -> int | None:
    for pair in matching:
        if i in pair:
            return pair[0] + pair[1] - i
    return None


def _is_matched(i: int, matching: Matching) -> bool:
    return any(i in pair for pair in matching)
