"""What a receiver that filters what it is told wins back, by rollouts, beside exact success."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from dp_multiagent.models import scenarios
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.methods import Report
from dp_multiagent.planning.rollouts import Rollouts, roll_out
from dp_multiagent.planning.studies.point import Point
from dp_multiagent.planning.synthesis import Effort, synthesise
from dp_multiagent.planning.task import task_of

ROLLOUTS, QUICK_ROLLOUTS = 100_000, 1000
QUICK_ITERATIONS = 5
SETTINGS = (('navigation', 1.0), ('crossing', 3.0))
METHODS = {
    'baseline, interior': ('baseline', ('interior',), Unvisited.UNIFORM),
    'baseline, tie-broken': ('baseline', ('tie-broken',), Unvisited.OWN_STATE),
    'minimum dependency': ('minimum-dependency', (), Unvisited.OWN_STATE),
    'private success': ('private-success', (), Unvisited.OWN_STATE),
}


@dataclass(frozen=True)
class Received:
    """Exact success of the raw receiver, and rates of both with intervals of 99 percent."""

    scenario: str
    epsilon: float
    method: str
    exact: float
    raw: float
    raw_low: float
    raw_high: float
    filtered: float
    filtered_low: float
    filtered_high: float


def points(quick: bool) -> Iterator[Point]:
    """Yield one point per scenario and method."""
    for name, epsilon in SETTINGS:
        for method in METHODS:
            yield Point(f'{name}, {method}', partial(_received, name, epsilon, method, quick))


def _received(
    name: str, epsilon: float, method: str, quick: bool, report: Report
) -> list[Received]:
    search, starts, unvisited = METHODS[method]
    scenario = scenarios.load(scenarios.find(name))
    task = task_of(scenario, epsilon=epsilon, unvisited=unvisited)
    effort = Effort(iterations=QUICK_ITERATIONS if quick else None, report=report)
    found = synthesise(task, search, chosen=starts, effort=effort).best

    def rolled(receiver: str) -> Rollouts:
        return roll_out(
            task.game,
            found.policies,
            task.mechanisms,
            n=QUICK_ROLLOUTS if quick else ROLLOUTS,
            horizon=scenario.planning.horizon,
            rng=np.random.default_rng(0),
            receiver=receiver,
        )

    raw, filtered = rolled('raw'), rolled('filter')
    return [
        Received(
            name,
            epsilon,
            method,
            found.success_private,
            raw.frequency,
            *raw.interval,
            filtered.frequency,
            *filtered.interval,
        )
    ]
