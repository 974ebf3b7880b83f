"""`dp_multiagent reproduce FIGURE`: the experiments of Chen et al., computed exactly.

The points of a study are kept in DIR/FIGURE.json as they are done, so that a run that was
interrupted goes on where it stood; a file of another version of the package is not used.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import dp_multiagent
from dp_multiagent.cli import plots
from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.map_picture import save
from dp_multiagent.cli.progress import Progress
from dp_multiagent.cli.study_tables import Table, iteration_table, receiver_table, sweep_table
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.planning.studies import iterations, receiver, sweeps
from dp_multiagent.planning.studies.contest import Measured
from dp_multiagent.planning.studies.iterations import Iteration
from dp_multiagent.planning.studies.point import Point
from dp_multiagent.planning.studies.receiver import Received


@dataclass(frozen=True)
class Figure:
    """A study: its points, the type of its rows, and how they are shown."""

    about: str
    points: Callable[[bool], Iterator[Point]]
    row: type[Any]
    tables: Callable[[Sequence[Any]], Table]
    plot: Callable[[Sequence[Any]], Any]


FIGURES = {
    'fig1': Figure(
        'success over the iterations of minimum dependency, navigation',
        iterations.points,
        Iteration,
        iteration_table,
        plots.success_over_iterations,
    ),
    'fig2': Figure(
        'private success over total correlation, navigation',
        iterations.points,
        Iteration,
        iteration_table,
        plots.success_over_correlation,
    ),
    'fig3': Figure(
        'private success over epsilon for all methods, navigation',
        sweeps.navigation_points,
        Measured,
        sweep_table,
        plots.success_over_epsilon,
    ),
    'fig5': Figure(
        'private success from four initial states, sysadmin',
        sweeps.sysadmin_points,
        Measured,
        sweep_table,
        plots.failure_by_case,
    ),
    'crossing': Figure(
        'private success over epsilon for all methods, crossing',
        sweeps.crossing_points,
        Measured,
        sweep_table,
        plots.success_over_epsilon,
    ),
    'receiver': Figure(
        'success with a receiver that filters what it is told',
        receiver.points,
        Received,
        receiver_table,
        plots.success_by_receiver,
    ),
}


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    about = 'compute a figure of Chen et al. exactly: table, CSV and PNG'
    listed = '; '.join(f'{name}: {figure.about}' for name, figure in FIGURES.items())
    parser = commands.add_parser(
        'reproduce', help=about, description=f'{about}. {listed}.', parents=[shared]
    )
    parser.add_argument('figure', choices=FIGURES)
    parser.add_argument(
        '--out', type=Path, default=Path('reproduction'), help='the directory (%(default)s)'
    )
    parser.add_argument('--quick', action='store_true', help='few points, few iterations')
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> Answer:
    name, figure, out = arguments.figure, FIGURES[arguments.figure], arguments.out
    stem = f'{name}-quick' if arguments.quick else name
    try:
        out.mkdir(parents=True, exist_ok=True)
        points = list(figure.points(arguments.quick))
        rows = _computed(stem, figure, points, out / f'{stem}.json')
        header, lines = figure.tables(rows)
        _write_csv(out / f'{stem}.csv', figure.row, rows)
        (out / f'{stem}.md').write_text(_markdown(header, lines), encoding='utf-8')
    except OSError as error:
        raise DpMultiagentError(f'{out}: cannot be written: {error.strerror}') from None
    save(figure.plot(rows), out / f'{stem}.png')
    files = [str(out / f'{stem}.{kind}') for kind in ('csv', 'md', 'png')]
    text = f'{table(header, lines)}\n\nwritten to {", ".join(files)}'
    data = {'figure': name, 'rows': [asdict(row) for row in rows], 'files': files}
    return Answer(text, data)


def _computed(stem: str, figure: Figure, points: list[Point], kept: Path) -> list[Any]:
    """Compute the points that are not kept yet; return the rows of all."""
    done = _read(kept)
    for i, point in enumerate(points):
        label = f'{stem}: {point.name} ({i + 1} of {len(points)})'
        if point.name in done:
            print(f'{label}: kept in {kept}', file=sys.stderr)
            continue
        print(f'{label} ...', file=sys.stderr)
        done[point.name] = [asdict(row) for row in point.compute(Progress())]
        partial = kept.with_suffix('.part')
        partial.write_text(_as_json(done), encoding='utf-8')
        partial.replace(kept)
    return [figure.row(**row) for point in points for row in done[point.name]]


def _read(kept: Path) -> dict[str, list[dict[str, Any]]]:
    if not kept.exists():
        return {}
    try:
        found = json.loads(kept.read_text(encoding='utf-8'))
        same = found['version'] == dp_multiagent.__version__
        return dict(found['points']) if same else {}
    except (ValueError, KeyError, TypeError):
        raise DpMultiagentError(f'{kept}: is not what `reproduce` writes; remove it') from None


def _as_json(done: dict[str, list[dict[str, Any]]]) -> str:
    return json.dumps({'version': dp_multiagent.__version__, 'points': done}, indent=1)


def _write_csv(path: Path, row_type: type[Any], rows: Sequence[Any]) -> None:
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, [field.name for field in fields(row_type)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _markdown(header: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    cells = [list(header), ['---'] * len(header), *([_cell(v) for v in line] for line in lines)]
    return ''.join(f'| {" | ".join(row)} |\n' for row in cells)


def _cell(value: object) -> str:
    return f'{value:.4f}' if isinstance(value, float) else str(value)
