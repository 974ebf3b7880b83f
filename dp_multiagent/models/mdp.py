"""A finite Markov decision process M = (S, s_I, A, T) with sparse transitions.

States and actions are indices; their names are for people. Every action is allowed in every
state. A state y is a *feasible successor* of s if T(s, a, y) > 0 for some action a; the
*out-degree* rho(s) counts them (Chen et al., sections 2.1 and 4.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from dp_multiagent.errors import ModelError

ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Mdp:
    """A finite MDP; row s * |A| + a of `kernel` is the distribution T(s, a, .).

    >>> coin = Mdp.from_tensor([[[0.5, 0.5]], [[0.0, 1.0]]], initial=0)
    >>> coin.out_degree
    array([2, 1])
    """

    kernel: csr_array
    initial: int
    states: tuple[str, ...]
    actions: tuple[str, ...]

    def __post_init__(self) -> None:
        for kind, names in (('state', self.states), ('action', self.actions)):
            if not names:
                raise ModelError(f'an MDP needs at least one {kind}')
            if len(set(names)) != len(names):
                raise ModelError(f'two {kind}s have the same name')
        if not 0 <= self.initial < len(self.states):
            raise ModelError(f'initial state {self.initial} is not one of {len(self.states)}')
        if self.kernel.shape != (len(self.states) * len(self.actions), len(self.states)):
            raise ModelError(f'transitions of shape {self.kernel.shape} do not fit the names')
        self._refuse_improper_distributions()

    @classmethod
    def from_tensor(
        cls,
        transitions: ArrayLike,
        initial: int,
        states: tuple[str, ...] | None = None,
        actions: tuple[str, ...] | None = None,
    ) -> Mdp:
        """Build from dense transitions[s][a][y]; names default to numbers."""
        dense = np.asarray(transitions, dtype=float)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2]:
            raise ModelError('transitions must have the axes state, action, next state')
        n_states, n_actions, _ = dense.shape
        return cls(
            csr_array(dense.reshape(n_states * n_actions, n_states)),
            initial,
            states if states is not None else tuple(map(str, range(n_states))),
            actions if actions is not None else tuple(map(str, range(n_actions))),
        )

    @classmethod
    def from_table(
        cls,
        table: Mapping[str, Mapping[Any, Mapping[Any, float]]],
        states: tuple[str, ...],
        initial: str,
    ) -> Mdp:
        """Build from table[action][state][next state] = probability, all by name."""
        index = {state: s for s, state in enumerate(states)}
        dense = np.zeros((len(states), len(table), len(states)))
        for a, (action, rows) in enumerate(table.items()):
            for state, row in rows.items():
                for successor, probability in row.items():
                    for name in (state, successor):
                        if name not in index:
                            raise ModelError(f'{action}, {state}: unknown state {name}')
                    dense[index[state], a, index[successor]] = probability
        if initial not in index:
            raise ModelError(f'unknown initial state {initial}')
        return cls.from_tensor(dense, index[initial], states, tuple(table))

    @property
    def n_states(self) -> int:
        """Return |S|."""
        return len(self.states)

    @property
    def n_actions(self) -> int:
        """Return |A|."""
        return len(self.actions)

    @cached_property
    def tensor(self) -> NDArray[np.float64]:
        """Return T(s, a, y) as a dense array with the axes (s, a, y)."""
        dense: NDArray[np.float64] = self.kernel.toarray()
        return dense.reshape(self.n_states, self.n_actions, self.n_states)

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Tell for each (s, y) whether y is a feasible successor of s."""
        return np.asarray((self.tensor > 0).any(axis=1))

    @cached_property
    def out_degree(self) -> NDArray[np.int64]:
        """Return rho(s), the number of feasible successors of each state."""
        return np.asarray(self.feasible.sum(axis=1))

    def successors(self, state: int) -> NDArray[np.int64]:
        """List the feasible successors of a state in ascending order."""
        return np.flatnonzero(self.feasible[state])

    @cached_property
    def fingerprint(self) -> bytes:
        """Return a SHA-256 digest that is equal just for equal MDPs."""
        digest = hashlib.sha256()
        digest.update(repr((self.initial, self.states, self.actions)).encode())
        digest.update(self.kernel.toarray().astype('<f8').tobytes())
        return digest.digest()

    def _refuse_improper_distributions(self) -> None:
        if not np.all(np.isfinite(self.kernel.data)) or np.any(self.kernel.data < 0):
            raise ModelError('transition probabilities must be finite and not negative')
        sums = np.asarray(self.kernel.sum(axis=1)).ravel()
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
            s, a = divmod(worst, self.n_actions)
            raise ModelError(
                f'{self.actions[a]} in state {self.states[s]}: '
                f'the probabilities sum to {sums[worst]:.9g}, not to 1'
            )
