"""Minimum dependency step by step on `navigation`: Figs 1 and 2 of Chen et al.

The authors' run: maximum-entropy start, 80 iterations, epsilon = 1, k = 3, a uniform choice at
observations that the joint policy never makes. Beside it the same run with the own-state choice,
and the paper's baseline, the interior solution. The paper plots rates of 1,000 rollouts; here
every number is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning import methods, starts
from dp_multiagent.planning.marginal import Unvisited, marginalise
from dp_multiagent.planning.methods import Report
from dp_multiagent.planning.minimum_dependency import iterate
from dp_multiagent.planning.request import SynthesisProgress
from dp_multiagent.planning.studies.point import Point
from dp_multiagent.planning.task import Task, task_of

ITERATIONS, QUICK_ITERATIONS = 80, 10
# What section 7.1 states of Fig 1, from 1,000 rollouts.
PUBLISHED_BASELINE_TRUTHFUL, PUBLISHED_BASELINE, PUBLISHED = 0.98, 0.10, 0.94


@dataclass(frozen=True)
class Iteration:
    """Exact success of the local policies of one iterate; the baseline has no iteration."""

    series: str
    iteration: int | None
    total_correlation: float
    success_truthful: float
    success_private: float


def points(quick: bool) -> Iterator[Point]:
    """Yield the two runs and the baseline."""
    last = QUICK_ITERATIONS if quick else ITERATIONS
    yield Point('baseline', _baselines)
    for unvisited in (Unvisited.UNIFORM, Unvisited.OWN_STATE):
        yield Point(f'unvisited {unvisited.value}', partial(_run, unvisited, last))


def _baselines(_: Report) -> list[Iteration]:
    result = []
    for unvisited in (Unvisited.UNIFORM, Unvisited.OWN_STATE):
        found = methods.baseline(_task(unvisited), 'interior')
        assert found.total_correlation is not None
        result.append(
            Iteration(
                f'baseline, {unvisited.value}',
                None,
                found.total_correlation,
                found.success_truthful,
                found.success_private,
            )
        )
    return result


def _run(unvisited: Unvisited, last: int, report: Report) -> list[Iteration]:
    task, rows = _task(unvisited), []
    start = starts.maximum_entropy(task.game)
    steps = iterate(task.game, start, delta=task.delta, beta=task.beta)
    for now in islice(steps, last + 1):
        policies = marginalise(now.pairs, task.graph, unvisited)
        row = _row(task, policies, unvisited, now.iteration, now.total_correlation)
        rows.append(row)
        report(partial(_progress, row, now.objective))
    return rows


def _row(
    task: Task,
    policies: tuple[LocalPolicy, ...],
    unvisited: Unvisited,
    iteration: int,
    total_correlation: float,
) -> Iteration:
    return Iteration(
        f'minimum dependency, {unvisited.value}',
        iteration,
        total_correlation,
        task.truthful(policies).success,
        task.private(policies).success,
    )


def _progress(row: Iteration, objective: float) -> SynthesisProgress:
    return SynthesisProgress(
        iteration=row.iteration or 0,
        objective=objective,
        success_truthful=row.success_truthful,
        success_private=row.success_private,
        total_correlation=row.total_correlation,
    )


def _task(unvisited: Unvisited) -> Task:
    scenario = scenarios.load(scenarios.find('navigation'))
    return task_of(scenario, epsilon=1.0, adjacency=3, unvisited=unvisited)
