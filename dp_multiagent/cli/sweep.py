"""`dp_multiagent plan SCENARIO --sweep epsilon=LOW:HIGH:N`: success over epsilon, all methods."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.map_picture import new_figure, save
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.planning.request import METHODS
from dp_multiagent.planning.sweep import SweepPoint, sweep
from dp_multiagent.planning.synthesis import Effort
from dp_multiagent.planning.task import Task

HEADER = ('epsilon', *METHODS, 'epsilon-0 control')


def run_sweep(
    task: Task, epsilons: Sequence[float], effort: Effort, csv_file: Path | None, plot: Path | None
) -> Answer:
    """Evaluate every method at every epsilon; write a CSV file and a plot if they are named."""
    points: list[SweepPoint] = []
    for point in sweep(task, epsilons, effort):
        points.append(point)
        print(f'{len(points)} of {len(epsilons)} values of epsilon done', file=sys.stderr)
    rows = [(point.epsilon, *point.success.values(), point.control) for point in points]
    text = table(HEADER, rows)
    if csv_file:
        _write_csv(csv_file, rows)
        text += f'\n\ntable in {csv_file}'
    if plot:
        _plot(points, plot)
        text += f'\n\nplot in {plot}'
    data = [{'epsilon': p.epsilon, **p.success, 'epsilon_0': p.control} for p in points]
    return Answer(text, {'graph': str(task.graph), 'memory': effort.memory, 'sweep': data})


def _write_csv(path: Path, rows: Sequence[Sequence[float]]) -> None:
    try:
        with path.open('w', newline='') as stream:
            csv.writer(stream).writerows([HEADER, *rows])
    except OSError as error:
        raise DpMultiagentError(f'{path}: cannot be written: {error.strerror}') from None


def _plot(points: Sequence[SweepPoint], path: Path) -> None:
    figure, (axes,) = new_figure((6, 4), 1)
    epsilons = [point.epsilon for point in points]
    for method in METHODS:
        axes.plot(epsilons, [p.success[method] for p in points], marker='.', label=method)
    axes.plot(epsilons, [p.control for p in points], 'k:', label='epsilon 0 control')
    axes.set(xlabel='epsilon', ylabel='exact private success', ylim=(0, 1.02))
    axes.legend()
    save(figure, path)
