"""Expected visits of a joint policy, and how much they make the agents depend on each other.

With P(s, y) the probability that a step goes on from the live state s to y (`live_steps`), the
expected visits of a policy pi solve

    x(y) = 1[y = s_I] + sum_s x(s) P(s, y),        x(s, a) = x(s) pi(a | s).

Where the game ends, all agents take the extra action `end`; the length counts that state too.
q_i(a_i | s_i) = x_i(s_i, a_i) / x_i(s_i) are the own-state marginals of agent i, with `end` in the
last column. The total correlation of the policy is at most

    C(x) = sum_i H_i(x_i) - H(x),   H(x) = -sum_{s,a} x(s, a) log pi(a | s),
                                    H_i(x_i) = -sum_{s_i, a_i} x_i(s_i, a_i) log q_i(a_i | s_i);

transition entropies cancel, because agents move independently. The sparse system is solved by
BiCGStab with refinement until its residual is at most `ACCURACY`, or by factorisation if that
does not come about. (Chen et al., sections 2.1, 5 and 6; Karabag et al. 2022.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import splu
from scipy.special import entr, rel_entr

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import FloatArray
from dp_multiagent.planning.live_steps import LiveSteps

ACCURACY = 1e-12
ROUGH = 1e-5
MOST_REFINEMENTS = 20
MOST_PRODUCTS = 1000
ENDS_TOLERANCE = 1e-6
ENDLESS = 'under this policy the game does not end with probability 1'


class PolicyChain:
    """The Markov chain of a policy, given as rows, on the live states."""

    def __init__(self, steps: LiveSteps, rows: FloatArray) -> None:
        self.steps = steps
        self.rows = rows
        self.probabilities = steps.probabilities(rows)

    @cached_property
    def system(self) -> csr_array:
        """Return I - P."""
        n = self.steps.n_live
        onward = self.probabilities[self.steps.goes_on]
        p = csr_array((onward, self.steps.columns, self.steps.row_starts), shape=(n, n))
        identity = csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
        return identity - p

    def total(self, reward: FloatArray, accuracy: float = ACCURACY) -> FloatArray:
        """Return (I - P)^-1 r, the expected sum of a reward per visit from each live state."""
        return _solve(self.system, reward, np.zeros_like(reward), accuracy)

    def visits(self, guess: FloatArray | None = None) -> FloatArray:
        """Return the expected visits of each live state from the initial state."""
        begin = np.zeros(self.steps.n_live)
        begin[self.steps.start] = 1.0
        guess = begin if guess is None else guess
        return _solve(self.system.T, begin, guess, ACCURACY).clip(min=0.0)


def _solve(system: Any, right: FloatArray, guess: FloatArray, accuracy: float) -> FloatArray:
    """Solve until no equation is off by more than `accuracy` of the largest number in it."""
    solution = guess
    for _ in range(MOST_REFINEMENTS):
        residual = right - system @ solution
        error = np.abs(residual).max()
        if error <= accuracy * max(np.abs(right).max(), np.abs(solution).max()):
            return solution
        solution = solution + _bicgstab(system, residual)
    try:
        return np.asarray(splu(system.tocsc()).solve(right))
    except RuntimeError:
        raise ModelError(ENDLESS) from None


def _bicgstab(system: Any, right: FloatArray) -> FloatArray:
    """Solve roughly by the stabilised bi-conjugate gradient method of van der Vorst.

    SciPy's spends most of its time around the products, and its inner products go through BLAS
    threads, which wait for each other on a busy machine.
    """
    solution, residual = np.zeros_like(right), right
    direction, rho = right, _dot(right, right)
    for _ in range(MOST_PRODUCTS):
        image = system @ direction
        along = _dot(right, image)
        if along == 0:
            break
        alpha = rho / along
        half = residual - alpha * image
        smoothed = system @ half
        length = _dot(smoothed, smoothed)
        omega = _dot(smoothed, half) / length if length > 0 else 0.0
        solution = solution + alpha * direction + omega * half
        residual = half - omega * smoothed
        before, rho = rho, _dot(right, residual)
        if _dot(residual, residual) <= ROUGH**2 * _dot(right, right) or omega * before == 0:
            break
        direction = residual + (rho / before) * (alpha / omega) * (direction - omega * image)
    return solution


def _dot(one: FloatArray, other: FloatArray) -> float:
    return float(np.einsum('i,i->', one, other))


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Expected visits of a joint policy and what follows from them.

    `visits` has the shape of the joint states and is 0 where the game is over; `marginals[i]` is
    x_i(s_i, a_i), with the action `end` in the last column.
    """

    visits: FloatArray
    marginals: tuple[FloatArray, ...]
    success: float
    entropy: float

    @property
    def expected_length(self) -> float:
        """Return the expected number of states up to and with the one that ends the game."""
        return float(self.visits.sum()) + 1.0

    @property
    def own_state_policies(self) -> tuple[FloatArray, ...]:
        """Return q_i(a_i | s_i), with `end` in the last column; uniform at unvisited states."""
        return tuple(map(_normalised, self.marginals))

    @property
    def total_correlation(self) -> float:
        """Return C(x), an upper bound of the total correlation of the agents' trajectories."""
        own = (rel_entr(x, x.sum(axis=1, keepdims=True)).sum() for x in self.marginals)
        return float(-sum(own) - self.entropy)


def occupancy(chain: PolicyChain, guess: Occupancy | None = None) -> Occupancy:
    """Compute the expected visits of a chain; those of a similar one speed up large games."""
    steps, game = chain.steps, chain.steps.game
    live_visits = chain.visits(None if guess is None else guess.visits.ravel()[steps.live])
    flow = live_visits[:, None] * chain.probabilities
    ends = np.zeros(game.target.size)
    np.add.at(ends, steps.successors[~steps.goes_on], flow[~steps.goes_on])
    if not abs(ends.sum() - 1) <= ENDS_TOLERANCE:
        raise ModelError(ENDLESS)
    visits = np.zeros(game.target.size)
    visits[steps.live] = live_visits
    marginals = _marginals(steps, live_visits[:, None] * chain.rows, ends.reshape(game.shape))
    return Occupancy(
        visits=visits.reshape(game.shape),
        marginals=marginals,
        success=float(flow[steps.succeeds].sum()),
        entropy=float(live_visits @ entr(chain.rows).sum(axis=1)),
    )


def _marginals(
    steps: LiveSteps, live_pairs: FloatArray, ends: FloatArray
) -> tuple[FloatArray, ...]:
    """Sum x(s, a) and the ends over all agents but one."""
    game = steps.game
    states = np.unravel_index(steps.live, game.shape)
    counts = tuple(agent.n_actions for agent in game.agents)
    by_action = live_pairs.reshape(-1, *counts)
    marginals = []
    for i, (n_states, n_actions) in enumerate(zip(game.shape, counts, strict=True)):
        others = tuple(j for j in range(game.n_agents) if j != i)
        pairs = by_action.sum(axis=tuple(j + 1 for j in others))
        marginal = np.zeros((n_states, n_actions + 1))
        np.add.at(marginal[:, :-1], states[i], pairs)
        marginal[:, -1] = ends.sum(axis=others)
        marginals.append(marginal)
    return tuple(marginals)


def _normalised(marginal: FloatArray) -> FloatArray:
    visits = marginal.sum(axis=1, keepdims=True)
    shares = np.full_like(marginal, 1 / marginal.shape[1])
    np.divide(marginal, visits, out=shares, where=visits > 0)
    return shares
