"""A cooperative Markov game of independent agents with a reach-avoid objective.

The joint state is s = (s_1, ..., s_N); T(s, a, y) = prod_i T_i(s_i, a_i, y_i) is never built.
What every algorithm needs of it is the expectation of a value,

    E[V(y) | s, a] = sum_y V(y) prod_i T_i(s_i, a_i, y_i),

and that contracts one agent at a time: N products of a sparse matrix with a tensor.

With swaps = collision a step in which two agents exchange their cells ends the game in failure
(value 0). The event is a product of two factors, T_i(s_i, a_i, s_j) T_j(s_j, a_j, s_i), and the
value that it would have reached is V with the axes i and j exchanged; so it is subtracted from
the factored expectation. Agents in different cells can swap in one step only in disjoint pairs,
hence the inclusion-exclusion over matchings: the plain sum over pairs for teams of two and three.

(Chen et al., section 2.1; the swap rule is ours.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Predicate = Callable[..., Any]
JointSet = Predicate | Iterable[Sequence[int]] | BoolArray
Matching = tuple[tuple[int, int], ...]

MOST_JOINT_STATES = 4_000_000


class Swaps(Enum):
    """What happens when two agents exchange their cells in one step."""

    ALLOWED = 'allowed'
    COLLISION = 'collision'


class MarkovGame:
    """Independent agents that must reach a target set of joint states and avoid others.

    A set of joint states is given as a predicate, a function of one index array per agent that
    works element by element; as a list of joint states; or as a boolean array. `avoid` names the
    causes of failure. A state that is in both sets counts as failed.

    >>> walk = Mdp.from_tensor([[[0.5, 0.5]], [[0.0, 1.0]]], initial=0)
    >>> game = MarkovGame([walk, walk], target=lambda s, t: (s == 1) & (t == 1), avoid={})
    >>> float(game.expectation(game.target.astype(float))[0, 0, 0, 0])
    0.25
    """

    def __init__(
        self,
        agents: Sequence[Mdp],
        target: JointSet,
        avoid: Mapping[str, JointSet],
        swaps: Swaps = Swaps.ALLOWED,
    ) -> None:
        if not agents:
            raise ModelError('a game needs at least one agent')
        self.agents = tuple(agents)
        self.swaps = swaps
        self._refuse_too_many_states()
        self.causes = {name: self._as_mask(name, states) for name, states in avoid.items()}
        self.avoid = np.zeros(self.shape, dtype=bool)
        for mask in self.causes.values():
            self.avoid |= mask
        self.target = self._as_mask('target', target) & ~self.avoid
        self.active = ~(self.target | self.avoid)
        if not self.target.any():
            raise ModelError('the target set has no state that is not to be avoided')
        if swaps is Swaps.COLLISION:
            self._refuse_unclear_swaps()

    @property
    def n_agents(self) -> int:
        """Return N."""
        return len(self.agents)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (|S_1|, ..., |S_N|)."""
        return tuple(agent.n_states for agent in self.agents)

    @property
    def initial(self) -> tuple[int, ...]:
        """Return the joint initial state s_I."""
        return tuple(agent.initial for agent in self.agents)

    def expectation(self, value: FloatArray) -> FloatArray:
        """Return E[V(y) | s, a] with the axes (s_1, a_1, ..., s_N, a_N); failure is worth 0."""
        result = self._contract(value, ())
        if self.swaps is Swaps.COLLISION:
            for matching in matchings(range(self.n_agents)):
                result += (-1) ** len(matching) * self._contract(value, matching)
        return result

    @cached_property
    def swap_kernels(self) -> dict[int, FloatArray]:
        """Return per agent i the array T_i(s, a, y) without staying, axes (s, a, y)."""
        kernels = {}
        for i, agent in enumerate(self.agents):
            kernel = agent.tensor.copy()
            states = np.arange(agent.n_states)
            kernel[states, :, states] = 0.0
            kernels[i] = kernel
        return kernels

    def _contract(self, value: FloatArray, matching: Matching) -> FloatArray:
        """Contract all agents but the matched pairs, which exchange their states."""
        matched = {i for pair in matching for i in pair}
        for i, j in matching:
            value = value.swapaxes(i, j)
        for i, agent in enumerate(self.agents):
            rows = value.reshape(agent.n_states, -1)
            if i in matched:
                rows = np.repeat(rows, agent.n_actions, axis=0)
            else:
                rows = agent.kernel @ rows
            # The contracted axis goes to the back; after all agents the order is restored.
            value = rows.T
        sizes = [size for agent in self.agents for size in (agent.n_states, agent.n_actions)]
        value = value.reshape(sizes)
        for i, j in matching:
            value = value * self._swap_probability(i, j)
        return value

    def _swap_probability(self, i: int, j: int) -> FloatArray:
        """Return the probability that i and j swap, with axes of length 1 for all others."""
        forth = self.swap_kernels[i][:, :, :, None]
        back = self.swap_kernels[j].transpose(2, 0, 1)[:, None, :, :]
        sizes = [1] * (2 * self.n_agents)
        for k in (i, j):
            sizes[2 * k] = self.agents[k].n_states
            sizes[2 * k + 1] = self.agents[k].n_actions
        product: FloatArray = forth * back
        return product.reshape(sizes)

    def _as_mask(self, name: str, states: JointSet) -> BoolArray:
        if callable(states):
            grid = np.meshgrid(*map(np.arange, self.shape), indexing='ij', sparse=True)
            return np.array(np.broadcast_to(states(*grid), self.shape), dtype=bool)
        if isinstance(states, np.ndarray):
            if states.shape != self.shape or states.dtype != bool:
                raise ModelError(f'{name}: a boolean array of shape {self.shape} is needed')
            return np.array(states)
        mask = np.zeros(self.shape, dtype=bool)
        for state in states:
            inside = len(state) == self.n_agents and all(
                0 <= s < n for s, n in zip(state, self.shape, strict=True)
            )
            if not inside:
                raise ModelError(f'{name}: {tuple(state)} is not a joint state')
            mask[tuple(state)] = True
        return mask

    def _refuse_too_many_states(self) -> None:
        joint = prod(self.shape)
        if joint > MOST_JOINT_STATES:
            raise ModelError(
                f'{self.n_agents} agents have {joint:.1e} joint states, too many to plan for: '
                f'at most {MOST_JOINT_STATES:.1e}'
            )

    def _refuse_unclear_swaps(self) -> None:
        if len({agent.states for agent in self.agents}) > 1:
            raise ModelError('swaps can be collisions only among agents with the same states')
        places = np.meshgrid(*map(np.arange, self.shape), indexing='ij', sparse=True)
        for one, other in combinations(places, 2):
            if np.any(self.active & (one == other)):
                raise ModelError('where swaps are collisions, sharing a state must be avoided')


def matchings(agents: Iterable[int]) -> Iterator[Matching]:
    """List the non-empty sets of disjoint pairs."""
    remaining = list(agents)
    while remaining:
        i = remaining.pop(0)
        for j in remaining:
            yield ((i, j),)
            for others in matchings(k for k in remaining if k != j):
                yield ((i, j), *others)
