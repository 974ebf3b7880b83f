"""Direct ascent of the exact private success over local policies.

Let z be a state of the team's chain, o_i what robot i observes of it, x_t(z) its probability
after t steps and V_t(z) the probability of success in the steps that then remain. With

    g_i(o, a) = sum_t sum_{z: o_i(z) = o} x_t(z) Q_i,t(z, a),

Q_i,t the value if robot i plays a at z while the others follow their policies, expectation
maximisation sets pi_i(a | o) proportional to pi_i(a | o) g_i(o, a) for all robots at once and
never lowers V(z_0): the success is the likelihood of a mixture over run lengths, and a policy's
parameters enter it as a product. Over-relaxation takes (g_i / max_a g_i)^eta instead of g_i: eta
grows while the value rises; when it falls the step is redone with a smaller eta, at eta = 1 at
the latest it rises again.

x comes from one forward pass, V from one backward pass, and g from the factors of the chain;
neither the joint kernel nor Q(z, a) is built. Where all runs have ended before the horizon V
hardly depends on t, and the sum over t is taken over x alone. With a table per step there is one
g per step. A discount just below 1 keeps runs short. Deterministic policies are fixed points, so
a start must give every action some probability.

Stop when the value rises by less than `tolerance` per iteration, averaged over a window. The gap
says how near to a stationary point that is: sum_i sum_o (max_a g_i(o, a) - sum_a pi_i g_i), the
most that a step in the direction of any other policies could gain to first order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.chain import TeamChain
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

FloatArray = NDArray[np.float64]
Tables = tuple[FloatArray, ...]

DISCOUNT = 0.9999
TOLERANCE = 1e-6
MOST_ITERATIONS = 400
NEGLIGIBLE = 1e-10
WINDOW = 10
LONGEST = 1000
GROWTH, CUT = 1.3, 0.4
LARGEST_EXPONENT = 1e4


@dataclass(frozen=True, eq=False)
class Ascent:
    """Policies at the end of an ascent, their discounted success and how they got there."""

    policies: tuple[LocalPolicy, ...]
    value: float
    iterations: int
    gap: float


def ascend(
    game: MarkovGame,
    start: Sequence[LocalPolicy],
    mechanisms: Sequence[TrajectoryMechanism],
    *,
    horizon: int | None = None,
    iterations: int | None = None,
    discount: float = DISCOUNT,
    on_iteration: Callable[[int, tuple[LocalPolicy, ...]], None] | None = None,
) -> Ascent:
    """Raise the private success from a start in which every action has some probability."""
    policies, longest = tuple(start), min(horizon or LONGEST, LONGEST)
    value, scores = _score(game, policies, mechanisms, longest, discount)
    exponent, history = 1.0, [value]
    done, most = 0, MOST_ITERATIONS if iterations is None else iterations
    while done < most:
        done += 1
        if on_iteration is not None:
            on_iteration(done, policies)
        candidate = tuple(
            _reweighted(policy, score, exponent)
            for policy, score in zip(policies, scores, strict=True)
        )
        new_value, new_scores = _score(game, candidate, mechanisms, longest, discount)
        if new_value < value - 1e-13 and exponent > 1:
            exponent = max(1.0, CUT * exponent)
            continue
        policies, value, scores = candidate, new_value, new_scores
        exponent = min(LARGEST_EXPONENT, GROWTH * exponent)
        history.append(value)
        settled = len(history) > WINDOW and value - history[-1 - WINDOW] < WINDOW * TOLERANCE
        if settled and iterations is None:
            break
    return Ascent(policies, value, done, _gap(policies, scores))


def _gap(policies: tuple[LocalPolicy, ...], scores: Tables) -> float:
    return sum(
        float((score.max(axis=-1) - (policy.table * score).sum(axis=-1)).sum())
        for policy, score in zip(policies, scores, strict=True)
    )


def _score(
    game: MarkovGame,
    policies: tuple[LocalPolicy, ...],
    mechanisms: Sequence[TrajectoryMechanism],
    horizon: int,
    discount: float,
) -> tuple[float, Tables]:
    """Return the discounted success within the horizon, and g_i for each robot."""
    chain = TeamChain(game, policies, mechanisms)
    active, target = chain.spread(game.active), chain.spread(game.target)
    measures = _measures(chain, chain.steps or horizon, discount)
    value = np.where(target, 1.0, np.zeros(chain.layout.shape))
    scores = [np.zeros(policy.table.shape) for policy in policies]
    all_ended = len(measures) < horizon and not chain.steps
    for step in reversed(range(len(measures))):
        if not all_ended:
            rows = chain.action_values(value, measures[step], step)
            for score, row in zip(scores, rows, strict=True):
                (score[step] if chain.steps else score)[...] += discount * row
        value = np.where(active, discount * chain.pull(value, step), target)
    if all_ended:
        rows = chain.action_values(value, np.sum(measures, axis=0))
        scores = [discount * row for row in rows]
    return float(value[chain.layout.initial]), tuple(scores)


def _measures(chain: TeamChain, horizon: int, discount: float) -> list[FloatArray]:
    """Return the discounted measure of running games for each step until all have ended."""
    active = chain.spread(chain.game.active)
    measures = [chain.initial]
    while len(measures) < horizon:
        measure = discount * chain.push(measures[-1], len(measures) - 1)
        measures.append(np.where(active, measure, 0.0))
        if not chain.steps and measures[-1].sum() <= NEGLIGIBLE:
            break
    return measures


def _reweighted(policy: LocalPolicy, score: FloatArray, exponent: float) -> LocalPolicy:
    """Return pi (g / max g)^eta, normalised; rows that are never used stay as they are."""
    best = score.max(axis=-1, keepdims=True)
    ratio = np.divide(score, best, out=np.ones_like(score), where=best > 0)
    table = policy.table * np.maximum(ratio, 0.0) ** exponent
    total = table.sum(axis=-1, keepdims=True)
    table = np.divide(table, total, out=policy.table.copy(), where=total > 0)
    return replace(policy, table=table)
