"""Success over epsilon for all methods: Figs 3 and 5 of Chen et al., and the same on `crossing`.

Fig 5 as published cannot be a reference: all its policies were rolled out from one initial state,
and its baseline is one of many optima of a degenerate program. Here each policy is evaluated from
the initial state that it was made for, with both values of beta (0.01 in the authors' code, 0.1 in
the text) and with both baselines. The states are numbered as in the authors' code: 0 nominal,
1 needs repair, 2 in repair, 3 offline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dp_multiagent.models import scenarios
from dp_multiagent.models.sysadmin import STATES
from dp_multiagent.planning.methods import Report
from dp_multiagent.planning.studies.contest import DEPENDENT, Contest, Measured, refuse_a_loser
from dp_multiagent.planning.studies.point import Point
from dp_multiagent.planning.synthesis import MEMORIES, Effort

EPSILONS = tuple(float(epsilon) for epsilon in np.linspace(0.01, 10, 11).round(3))
# The baseline of Fig 3 at EPSILONS, from 1,000 rollouts each.
PUBLISHED = (0.082, 0.087, 0.102, 0.126, 0.155, 0.236, 0.319, 0.413, 0.520, 0.630, 0.731)
CROSSING_EPSILONS = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
SYSADMIN_STARTS = ('0001', '0022', '2233', '1111')
SYSADMIN_EPSILONS = (0.1, 1.0, 10.0)
SYSADMIN_BETAS = (0.01, 0.1)
QUICK_ITERATIONS = 5


def navigation_points(quick: bool) -> Iterator[Point]:
    """Yield one point per epsilon of Fig 3."""
    return _points('navigation', EPSILONS[1::8] if quick else EPSILONS, quick)


def crossing_points(quick: bool) -> Iterator[Point]:
    """Yield one point per epsilon for `crossing`."""
    return _points('crossing', CROSSING_EPSILONS[4:5] if quick else CROSSING_EPSILONS, quick)


def sysadmin_points(quick: bool) -> Iterator[Point]:
    """Yield one point per initial state and epsilon of Fig 5."""
    for start in SYSADMIN_STARTS[-1:] if quick else SYSADMIN_STARTS:
        contest = Contest(sysadmin_from(start, SYSADMIN_BETAS[0]), start, _effort(quick))
        for epsilon in SYSADMIN_EPSILONS[1:2] if quick else SYSADMIN_EPSILONS:
            yield Point(f'{start}, epsilon {epsilon:g}', partial(_servers, contest, epsilon))


def sysadmin_from(start: str, beta: float) -> Any:
    """Return the SysAdmin scenario from states given as digits, with another beta."""
    scenario: Any = scenarios.load(scenarios.find('sysadmin'))
    servers = tuple(
        replace(server, initial=STATES[int(state)])
        for server, state in zip(scenario.servers, start, strict=True)
    )
    return replace(scenario, servers=servers, planning=replace(scenario.planning, beta=beta))


def _points(name: str, epsilons: tuple[float, ...], quick: bool) -> Iterator[Point]:
    scenario = scenarios.load(scenarios.find(name))
    contest = Contest(scenario, name, _effort(quick))
    for epsilon in epsilons:
        yield Point(f'{name}, epsilon {epsilon:g}', partial(_robots, contest, epsilon))


def _robots(contest: Contest, epsilon: float, report: Report) -> list[Measured]:
    contest.effort = replace(contest.effort, report=report)
    rows = [
        *contest.baselines(epsilon),
        *contest.dependent(epsilon),
        *(contest.quiet(epsilon, memory) for memory in MEMORIES),
        *contest.private(epsilon, MEMORIES),
    ]
    refuse_a_loser(rows)
    return rows


def _servers(contest: Contest, epsilon: float, report: Report) -> list[Measured]:
    contest.effort = replace(contest.effort, report=report)
    rows = contest.baselines(epsilon)
    for beta in SYSADMIN_BETAS:
        with_beta = Contest(sysadmin_from(contest.case, beta), contest.case, contest.effort)
        rows += with_beta.dependent(epsilon, f'{DEPENDENT}, beta {beta:g}')
    rows += [contest.quiet(epsilon, memory) for memory in MEMORIES]
    rows += contest.private(epsilon)
    refuse_a_loser(rows)
    return rows


def _effort(quick: bool) -> Effort:
    return Effort(iterations=QUICK_ITERATIONS if quick else None)
