"""Play a team many times at once, and say how sure the frequency of success is.

Rollouts stand beside exact evaluation as its check, and serve what has no finite chain: a
receiver that filters what it is told. Everything is vectorised over rollouts; the interval is
that of Clopper and Pearson.

**Privacy-aware receiver.** All private states are public in the team, and so are the policies.
Robot i therefore knows the distribution of what robot j may be in: with b the belief about s_j,

    b'(y) proportional to mu_j(p' | y, p) sum_s b(s) k_j(y | s, o_j),

k_j the move of robot j given the private states that it sees. The policy of robot i is then
averaged over that belief instead of being fed the last private state as if it were the truth.
It is post-processing of private states, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.chain import graph_of
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BATCH = 10_000


@dataclass(frozen=True)
class Rollouts:
    """How many of n rollouts succeeded, with the interval of Clopper and Pearson."""

    successes: int
    n: int
    confidence: float

    @property
    def frequency(self) -> float:
        """Return the fraction of successes."""
        return self.successes / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Return bounds that hold the probability of success with the stated confidence."""
        # scipy.stats takes a second to import, and betaincinv is wrong in the tails in scipy 1.11.
        from scipy.stats import beta

        k, n, tail = self.successes, self.n, (1 - self.confidence) / 2
        low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
        high = float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
        return low, high


def roll_out(
    game: MarkovGame,
    policies: Sequence[LocalPolicy],
    mechanisms: Sequence[TrajectoryMechanism] | None,
    *,
    n: int,
    horizon: int,
    rng: np.random.Generator,
    receiver: str = 'raw',
    confidence: float = 0.99,
) -> Rollouts:
    """Play n times for at most `horizon` steps; `receiver` is raw or filter."""
    if receiver not in ('raw', 'filter'):
        raise ModelError(f'a receiver is raw or filter, not {receiver!r}')
    if n < 1:
        raise ModelError('at least one rollout is needed')
    graph_of(game, policies)
    successes = 0
    for first in range(0, n, BATCH):
        size = min(BATCH, n - first)
        team = _Team(game, policies, mechanisms, size, rng, filters=receiver == 'filter')
        successes += team.play(horizon)
    return Rollouts(successes, n, confidence)


class _Team:
    """A batch of rollouts in progress."""

    def __init__(
        self,
        game: MarkovGame,
        policies: Sequence[LocalPolicy],
        mechanisms: Sequence[TrajectoryMechanism] | None,
        size: int,
        rng: np.random.Generator,
        filters: bool,
    ) -> None:
        self.game, self.policies, self.mechanisms, self.rng = game, policies, mechanisms, rng
        self.states = np.tile(np.array(game.initial)[:, None], size)
        self.told = self.states.copy()
        self.moves = [_MoveSampler(agent) for agent in game.agents]
        seen = {j for policy in policies for j in policy.observed}
        self.beliefs = {
            j: np.tile(np.eye(game.shape[j])[game.initial[j]], (size, 1))
            for j in (seen if filters and mechanisms is not None else ())
        }

    def play(self, horizon: int) -> int:
        """Play until all have ended; return how many succeeded."""
        successes = 0
        for step in range(horizon + 1):
            now = tuple(self.states)
            successes += int(self.game.target[now].sum())
            self._keep(self.game.active[now])
            if step == horizon or not self.states.size:
                break
            self._step(step)
        return successes

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        self.states, self.told = self.states[:, rows], self.told[:, rows]
        self.beliefs = {j: belief[rows] for j, belief in self.beliefs.items()}

    def _step(self, step: int) -> None:
        before = self.states
        after = np.stack(
            [
                self.moves[i].sample(before[i], self._actions(i, step), self._uniforms())
                for i in range(self.game.n_agents)
            ]
        )
        told = after
        if self.mechanisms is not None:
            told = np.stack(
                [
                    mechanism.sample(after[i], self.told[i], self._uniforms())
                    for i, mechanism in enumerate(self.mechanisms)
                ]
            )
        self.beliefs = {j: self._filter(j, told[j], step) for j in self.beliefs}
        self.states, self.told = after, told
        if self.game.swaps is Swaps.COLLISION:
            self._keep(~_swapped(before, after))

    def _actions(self, i: int, step: int) -> IntArray:
        policy = self.policies[i]
        table = policy.table[min(step, policy.steps - 1)] if policy.by_step else policy.table
        rows = table[self.states[i]]
        for j in policy.observed:
            if j in self.beliefs:
                rows = np.einsum('rs,rs...->r...', self.beliefs[j], rows)
            else:
                rows = rows[np.arange(len(rows)), self.told[j]]
        return _inverse(np.cumsum(rows, axis=-1), self._uniforms())

    def _filter(self, j: int, told: IntArray, step: int) -> FloatArray:
        """Return the belief about robot j after its next private state."""
        assert self.mechanisms is not None
        policy = self.policies[j]
        table = policy.table[min(step, policy.steps - 1)] if policy.by_step else policy.table
        seen = tuple(self.told[k] for k in policy.observed)
        choice = np.moveaxis(table, 0, -2)[seen]
        # With no robot seen the choice (s, a) is the same in all rollouts.
        subscripts = 'rs,rsa,say->ry' if policy.observed else 'rs,sa,say->ry'
        agent = self.game.agents[j]
        moved: FloatArray = np.asarray(
            np.einsum(subscripts, self.beliefs[j], choice, agent.tensor, optimize=True)
        )
        belief = moved * self.mechanisms[j].mu[self.told[j], :, told]
        total = belief.sum(axis=1, keepdims=True)
        return np.asarray(belief / np.maximum(total, np.finfo(float).tiny))

    def _uniforms(self) -> FloatArray:
        return np.asarray(self.rng.random(self.states.shape[1]))


class _MoveSampler:
    """Draws next states of one agent from the cumulative rows of its feasible successors."""

    def __init__(self, agent: Mdp) -> None:
        order = np.argsort(~agent.feasible, axis=1, kind='stable')
        self.successors = order[:, : int(agent.out_degree.max())]
        rows = np.take_along_axis(agent.tensor, self.successors[:, None, :], axis=2)
        self.cumulative = np.cumsum(rows, axis=2)

    def sample(self, states: IntArray, actions: IntArray, uniforms: FloatArray) -> IntArray:
        column = _inverse(self.cumulative[states, actions], uniforms)
        return np.asarray(self.successors[states, column])


def _inverse(cumulative: FloatArray, uniforms: FloatArray) -> IntArray:
    """Return the first column whose cumulative probability exceeds the uniform."""
    scaled = uniforms[:, None] * cumulative[:, -1:]
    return np.asarray((cumulative <= scaled).sum(axis=1).clip(max=cumulative.shape[1] - 1))


def _swapped(before: IntArray, after: IntArray) -> NDArray[np.bool_]:
    swapped = np.zeros(before.shape[1], dtype=bool)
    for i in range(len(before)):
        for j in range(i):
            moved = before[i] != before[j]
            swapped |= moved & (after[i] == before[j]) & (after[j] == before[i])
    return swapped
