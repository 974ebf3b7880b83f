"""The methods that compute local policies for a task, each from several starts.

baseline              maximum success under truthful communication, then marginalised
minimum-dependency    the convex-concave procedure of `minimum_dependency`, then marginalised
no-communication      ascent of the success of policies that see nobody
private-success       ascent of the exact private success of policies that see private states

Every start gives a candidate; the one with the best *exact private* success wins. With memory
`step` the two ascents go on from their best stationary policies with a table per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan

import numpy as np

from dp_multiagent.models.game import FloatArray
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning import starts as joint_starts
from dp_multiagent.planning.ascent import DISCOUNT, Ascent, ascend
from dp_multiagent.planning.evaluation import evaluate
from dp_multiagent.planning.interior import interior_reachability
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.marginal import marginalise
from dp_multiagent.planning.minimum_dependency import Iterate, iterate, objective, stops
from dp_multiagent.planning.occupancy import Occupancy, PolicyChain, occupancy
from dp_multiagent.planning.reachability import joint_policy, maximum_reachability
from dp_multiagent.planning.request import SynthesisProgress
from dp_multiagent.planning.task import Task

# Called after every iteration; what it is given computes where the synthesis stands.
Report = Callable[[Callable[[], SynthesisProgress]], None]

UNIFORM_PART = 0.2
IMPATIENT_DISCOUNT = 0.99
CONTINUATION = (16.0, 4.0)
UNFINISHED = 1e-6


@dataclass(frozen=True, eq=False)
class Candidate:
    """Where one start led: local policies and what is known of the joint policy behind them.

    `gap` certifies the last step: the method's own measure of what it may still gain.
    """

    start: str
    policies: tuple[LocalPolicy, ...]
    success_truthful: float
    success_private: float
    total_correlation: float | None
    objective: float | None
    iterations: int
    gap: float


def baseline(task: Task, start: str) -> Candidate:
    """Marginalise a joint policy of maximum truthful success, `tie-broken` or `interior`."""
    steps = LiveSteps(task.game)
    if start == 'interior':
        inner = interior_reachability(task.game)
        policy, pairs, gap, iterations = inner.policy, inner.occupancy, inner.gap, inner.iterations
        visited = occupancy(PolicyChain(steps, steps.policy_rows(policy)))
    else:
        best = maximum_reachability(task.game)
        policy, gap, iterations = joint_policy(task.game, best.policy), best.gap, best.iterations
        visited = occupancy(PolicyChain(steps, steps.policy_rows(policy)))
        pairs = _pairs(policy, visited)
    policies = marginalise(pairs, task.graph, task.unvisited)
    return _candidate(task, start, policies, visited, iterations, gap)


def minimum_dependency(
    task: Task, start: str, report: Report, iterations: int | None = None
) -> Candidate:
    """Run the convex-concave procedure from a named start and marginalise its joint policy."""
    last: Iterate | None = None
    joint = joint_starts.STARTS[start](task.game)
    for now in iterate(task.game, joint, delta=task.delta, beta=task.beta):
        report(partial(_progress, task, now))
        done = stops(last, now) if iterations is None else now.iteration == iterations
        last = now
        if done:
            break
    assert last is not None
    policies = marginalise(last.pairs, task.graph, task.unvisited)
    return _candidate(task, start, policies, last.occupancy, last.iteration, last.gap)


def random_ascent(
    task: Task,
    name: str,
    seed: int,
    report: Report,
    iterations: int | None,
    discount: float | None = None,
) -> Candidate:
    """Ascend from a Dirichlet draw, at first with another discount if one is given."""
    start = random_policies(task, np.random.default_rng(seed))
    if discount is not None:
        start = mixed(_ascend(task, start, report, iterations, discount).policies)
    return _ascended(task, name, _ascend(task, start, report, iterations))


def continued_ascent(task: Task, report: Report, iterations: int | None) -> Candidate:
    """Ascend at a larger epsilon first, then at smaller ones down to the task's."""
    policies = random_policies(task, np.random.default_rng(0))
    for factor in CONTINUATION:
        larger = replace(task, epsilon=tuple(factor * max(e, 1.0) for e in task.epsilon))
        policies = mixed(_ascend(larger, policies, report, iterations).policies)
    return _ascended(task, 'continuation', _ascend(task, policies, report, iterations))


def improved(
    task: Task, name: str, policies: Sequence[LocalPolicy], report: Report, iterations: int | None
) -> Candidate:
    """Ascend from given policies, mixed with some uniform."""
    return _ascended(task, name, _ascend(task, mixed(policies), report, iterations))


def stepwise(
    task: Task, candidate: Candidate, report: Report, iterations: int | None
) -> Candidate:
    """Go on from stationary policies with a table for each step that matters."""
    steps = steps_that_matter(task, candidate.policies)
    policies = [
        replace(policy, table=np.repeat(policy.table[None], steps, axis=0), by_step=True)
        for policy in mixed(candidate.policies)
    ]
    name = f'{candidate.start}, by step'
    return _ascended(task, name, _ascend(task, policies, report, iterations))


def steps_that_matter(task: Task, policies: Sequence[LocalPolicy]) -> int:
    """Return after how many steps a run has almost surely ended, at most the horizon.

    The table of the last step serves all later ones.
    """
    run = evaluate(task.game, policies, task.mechanisms, task.horizon, until=UNFINISHED)
    return max(1, run.steps)


def random_policies(task: Task, rng: np.random.Generator) -> tuple[LocalPolicy, ...]:
    """Draw a local policy for each robot, each row uniformly from the simplex."""
    policies = []
    for i, seen in enumerate(task.graph.observed):
        uniform = np.ones(task.game.agents[i].n_actions)
        shape = tuple(task.game.shape[j] for j in (i, *seen))
        table = rng.dirichlet(uniform, size=shape)
        own_state = np.tile(uniform / len(uniform), (shape[0], 1))
        policies.append(LocalPolicy(i, seen, table, own_state))
    return tuple(policies)


def mixed(policies: Sequence[LocalPolicy]) -> tuple[LocalPolicy, ...]:
    """Give every action some probability, because the ascent never takes up one that has none."""
    return tuple(
        replace(
            policy,
            table=(1 - UNIFORM_PART) * policy.table + UNIFORM_PART / policy.table.shape[-1],
        )
        for policy in policies
    )


def seeing(policies: Sequence[LocalPolicy], task: Task) -> tuple[LocalPolicy, ...]:
    """Let policies that see nobody see those of the task's graph, without minding them."""
    result = []
    for i, policy in enumerate(policies):
        seen = task.graph.observed[i]
        shape = tuple(task.game.shape[j] for j in seen)
        lead = policy.table.shape[:-1]
        table = policy.table.reshape(*lead, *(1,) * len(seen), -1)
        table = np.broadcast_to(table, (*lead, *shape, policy.table.shape[-1])).copy()
        result.append(replace(policy, observed=seen, table=table))
    return tuple(result)


def joint_of(task: Task, policies: Sequence[LocalPolicy]) -> FloatArray:
    """Return the joint policy of local ones under truthful communication, interleaved axes."""
    n = task.game.n_agents
    joint = np.ones((1,) * (2 * n))
    for i, policy in enumerate(policies):
        axes = [2 * j for j in (i, *policy.observed)] + [2 * i + 1]
        ordered = policy.table.transpose(tuple(np.argsort(axes)))
        sizes = [1] * (2 * n)
        for axis, size in zip(sorted(axes), ordered.shape, strict=True):
            sizes[axis] = size
        joint = joint * ordered.reshape(sizes)
    return joint


def _ascend(
    task: Task,
    start: Sequence[LocalPolicy],
    report: Report,
    iterations: int | None,
    discount: float = DISCOUNT,
) -> Ascent:
    def progress(iteration: int, policies: tuple[LocalPolicy, ...]) -> None:
        report(partial(_ascent_progress, task, iteration, policies))

    return ascend(
        task.game,
        start,
        task.mechanisms,
        horizon=task.horizon,
        iterations=iterations,
        discount=discount,
        on_iteration=progress,
    )


def _ascended(task: Task, start: str, ascent: Ascent) -> Candidate:
    """Judge ascended policies; what they do when they hear nobody is what they mostly do."""
    visits = task.private(ascent.policies).visits
    policies = tuple(
        replace(policy, own_state=_rows(visited))
        for policy, visited in zip(ascent.policies, visits, strict=True)
    )
    visited = None
    if not policies[0].by_step:
        steps = LiveSteps(task.game)
        visited = occupancy(PolicyChain(steps, steps.policy_rows(joint_of(task, policies))))
    return _candidate(task, start, policies, visited, ascent.iterations, ascent.gap)


def _candidate(
    task: Task,
    start: str,
    policies: tuple[LocalPolicy, ...],
    visited: Occupancy | None,
    iterations: int,
    gap: float,
) -> Candidate:
    return Candidate(
        start,
        policies,
        task.truthful(policies).success,
        task.private(policies).success,
        None if visited is None else visited.total_correlation,
        None if visited is None else objective(visited, task.delta, task.beta),
        iterations,
        gap,
    )


def _ascent_progress(
    task: Task, iteration: int, policies: tuple[LocalPolicy, ...]
) -> SynthesisProgress:
    """Say where an ascent stands; its objective is the private success itself."""
    private = task.private(policies).success
    return SynthesisProgress(
        iteration=iteration,
        objective=private,
        success_truthful=task.truthful(policies).success,
        success_private=private,
        total_correlation=nan,
    )


def _progress(task: Task, now: Iterate) -> SynthesisProgress:
    policies = marginalise(now.pairs, task.graph, task.unvisited)
    return SynthesisProgress(
        iteration=now.iteration,
        objective=now.objective,
        success_truthful=now.success,
        success_private=task.private(policies).success,
        total_correlation=now.total_correlation,
    )


def _pairs(policy: FloatArray, visited: Occupancy) -> FloatArray:
    """Return x(s, a) of a joint policy with the axes of that policy."""
    return policy * np.expand_dims(visited.visits, tuple(range(1, policy.ndim, 2)))


def _rows(visited: FloatArray) -> FloatArray:
    """Return visits (state, action) as a distribution per state, uniform where there are none."""
    total = visited.sum(axis=1, keepdims=True)
    uniform = np.full_like(visited, 1 / visited.shape[1])
    return np.asarray(np.divide(visited, total, out=uniform, where=total > 0))
