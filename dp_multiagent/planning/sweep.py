"""How success depends on epsilon, for all methods (Chen et al., figure 3).

What does not depend on epsilon is computed once: silence, and the joint policies of the baseline
and of minimum dependency; of the latter the start with the best private success is chosen anew
at each epsilon. Private success takes all of them up as candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.planning import synthesis
from dp_multiagent.planning.request import METHODS
from dp_multiagent.planning.synthesis import STARTS, Effort, best_of
from dp_multiagent.planning.task import Task

MOST_POINTS = 1000


@dataclass(frozen=True)
class SweepPoint:
    """Exact private success at one epsilon: of each method, and of the control at epsilon 0."""

    epsilon: float
    success: dict[str, float]
    control: float


def sweep(task: Task, epsilons: Sequence[float], effort: Effort) -> Iterator[SweepPoint]:
    """Yield the private success of every method at each epsilon."""
    quiet = best_of(synthesis.no_communication(task, STARTS['no-communication'], effort))
    for epsilon in epsilons:
        now = task.with_epsilon(epsilon)
        baseline = synthesis.baseline(now, ('tie-broken',), effort)
        dependent = synthesis.minimum_dependency(now, STARTS['minimum-dependency'], effort)
        candidates, controls = synthesis.private_success(
            now, STARTS['private-success'], effort, quiet, best_of(dependent)
        )
        found = (baseline, dependent, candidates, [quiet])
        success = {
            method: best_of(each).success_private
            for method, each in zip(METHODS, found, strict=True)
        }
        yield SweepPoint(epsilon, success, controls['epsilon_0'])


def parse_sweep(text: str) -> tuple[float, ...]:
    """Read `epsilon=LOW:HIGH:N`, N values at equal distances, both ends included."""
    name, _, values = text.partition('=')
    parts = values.split(':')
    try:
        low, high, n = float(parts[0]), float(parts[1]), int(parts[2])
    except (IndexError, ValueError):
        low, high, n = np.nan, np.nan, 0
    if name != 'epsilon' or len(parts) != 3 or not 0 <= low <= high < np.inf:
        raise ModelError(f'--sweep: {text!r} is not of the form epsilon=0.01:10:11')
    if not 1 <= n <= MOST_POINTS:
        raise ModelError(f'--sweep: between 1 and {MOST_POINTS} points are possible, not {n}')
    return tuple(float(epsilon) for epsilon in np.linspace(low, high, n))
