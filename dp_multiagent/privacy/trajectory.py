"""The online mechanism that makes a robot's state trajectory private, one state at a time.

Given the true state s and the last private state p, the next private state p' is drawn from

    mu(p' | s, p) = tau(p)                       if p' = s is feasible from p,
                    (1 - tau(p)) / (rho(p) - 1)  if p' != s are both feasible from p,
                    1 / rho(p)                   if p' is feasible from p and s is not,
                    0                            if p' is not feasible from p,

with rho(p) the out-degree and

    tau(p) = 1 / ((rho(p) - 1) exp(-epsilon / k) + 1).

Two true words of any length that differ in at most k = `adjacency` states then give every private
word with probabilities that differ by a factor of at most exp(epsilon). That factor is reached
just if k states differ, and some private word takes the one true state at each of those steps
while the other is feasible there too. The paper prints the + 1 of tau in the exponent, which is
no probability for large epsilon and not private for small. Private words are always feasible.

The initial state is public: the private word starts with p = s_I at t = 0, and the first call
is for t = 1. The guarantee is for the whole word; it also holds for true words that are chosen
adaptively and differ in at most k states in all.

(Chen et al., definition 3, algorithm 1 and theorem 1.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from secrets import randbelow as system_randbelow

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.privacy.exact import RandBelow, bernoulli_exp
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, PureEvent, Release, Unit, exact


@dataclass(frozen=True, eq=False)
class TrajectoryMechanism:
    """The mechanism of one robot: epsilon for words that differ in `adjacency` states.

    A float epsilon means its shortest decimal, as in a PrivacyLoss: `release` spends just that.

    >>> coin = Mdp.from_tensor([[[0.5, 0.5]], [[0.5, 0.5]]], initial=0)
    >>> TrajectoryMechanism(coin, epsilon=0, adjacency=1).true_transition
    array([0.5, 0.5])
    """

    mdp: Mdp
    epsilon: float | Fraction = field(kw_only=True)
    adjacency: int = field(kw_only=True)

    def __post_init__(self) -> None:
        if not math.isfinite(self.epsilon) or self.epsilon < 0:
            raise ModelError(f'epsilon must be finite and not negative, not {self.epsilon}')
        if isinstance(self.adjacency, bool) or not isinstance(self.adjacency, int):
            raise ModelError(f'adjacency must be an integer, not {self.adjacency!r}')
        if self.adjacency < 1:
            raise ModelError(f'adjacency must be at least 1, not {self.adjacency}')

    @cached_property
    def loss_per_state(self) -> Fraction:
        """Return epsilon / k, the privacy loss of one differing state."""
        return exact('epsilon', self.epsilon) / self.adjacency

    @cached_property
    def true_transition(self) -> NDArray[np.float64]:
        """Return tau(p), the probability to tell the truth if it is feasible from p."""
        others = self.mdp.out_degree - 1
        return np.asarray(1 / (others * math.exp(-self.loss_per_state) + 1))

    @cached_property
    def mu(self) -> NDArray[np.float64]:
        """Return the table of mu as a dense array with the axes (p, s, p')."""
        rho, tau = self.mdp.out_degree, self.true_transition
        other = math.exp(-self.loss_per_state) * tau
        feasible = self.mdp.feasible
        level = np.where(feasible, other[:, None], 1 / rho[:, None])
        table = level[:, :, None] * feasible[:, None, :]
        p, s = np.nonzero(feasible)
        table[p, s, s] = tau[p]
        return table

    def sample(
        self, states: ArrayLike, previous: ArrayLike, uniforms: ArrayLike
    ) -> NDArray[np.int64]:
        """Map uniforms in [0, 1) to private states of many rollouts; for simulation only.

        One uniform decides whether the truth is told and, rescaled, which other state is.
        """
        s = self._as_states('state', states)
        p = self._as_states('previous private state', previous)
        u = np.asarray(uniforms, dtype=float)
        if np.any(~((u >= 0) & (u < 1))):
            raise ModelError('uniforms must be at least 0 and less than 1')
        position = self._position[p, s]
        feasible = position >= 0
        tau = np.where(feasible, self.true_transition[p], 0.0)
        others = self.mdp.out_degree[p] - feasible
        told = feasible & ((u < tau) | (others == 0))
        rescaled = (u - tau) / np.where(told, 1.0, 1.0 - tau)
        index = np.minimum((rescaled * others).astype(np.int64), others - 1)
        index += feasible & (index >= position)
        return np.asarray(self._successors[p, np.where(told, position, index)])

    def release(self, state: int, previous: int, randbelow: RandBelow = system_randbelow) -> int:
        """Draw the private state that a robot tells, exactly and with integers only.

        Draw a feasible state uniformly; keep the true one, keep another with probability
        exp(-epsilon / k), else draw again. How long that takes depends on the state: tell the
        result at a fixed time.
        """
        self._as_states('state', state)
        self._as_states('previous private state', previous)
        feasible = self.mdp.successors(previous)
        while True:
            candidate = int(feasible[randbelow(len(feasible))])
            if candidate == state or bernoulli_exp(self.loss_per_state, randbelow):
                return candidate

    def planned(self, count: int = 1) -> Release:
        """Return so many episodes as an accountant counts them."""
        unit = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=self.adjacency)
        loss = PrivacyLoss(epsilon=self.epsilon, delta=0)
        event = PureEvent(epsilon=loss.epsilon)
        return Release(unit=unit, mechanism='trajectory', loss=loss, event=event, count=count)

    @cached_property
    def _successors(self) -> NDArray[np.int64]:
        """List the feasible successors of each state, padded to the largest out-degree."""
        padded = np.zeros((self.mdp.n_states, int(self.mdp.out_degree.max())), dtype=np.int64)
        for p in range(self.mdp.n_states):
            padded[p, : self.mdp.out_degree[p]] = self.mdp.successors(p)
        return padded

    @cached_property
    def _position(self) -> NDArray[np.int64]:
        """Return where s stands in the list of successors of p, -1 if it is infeasible."""
        feasible = self.mdp.feasible
        return np.where(feasible, np.cumsum(feasible, axis=1) - 1, -1)

    def _as_states(self, name: str, states: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(states)
        if not np.issubdtype(array.dtype, np.integer):
            raise ModelError(f'{name}: states are given by their indices')
        unknown = (array < 0) | (array >= self.mdp.n_states)
        if np.any(unknown):
            raise ModelError(f'{name} {array[unknown][0]} is not one of {self.mdp.n_states}')
        return array.astype(np.int64)
