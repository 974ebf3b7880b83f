"""The rows of a study as a table that fits a screen."""

from __future__ import annotations

from collections.abc import Sequence

from dp_multiagent.planning.studies import iterations, sweeps
from dp_multiagent.planning.studies.contest import BASELINE_INTERIOR, Measured
from dp_multiagent.planning.studies.iterations import Iteration
from dp_multiagent.planning.studies.point import z_score
from dp_multiagent.planning.studies.receiver import Received

Table = tuple[Sequence[str], Sequence[Sequence[object]]]

SHOWN_ITERATIONS = (0, 1, 2, 3, 5, 10, 20, 40, 60, 80)


def iteration_table(rows: Sequence[Iteration]) -> Table:
    """Show some iterations; the CSV file has them all."""
    header = ('series', 'iteration', 'correlation', 'truthful', 'private', 'published', 'z')
    lines = []
    for row in rows:
        if row.iteration is None or row.iteration in SHOWN_ITERATIONS:
            step = '' if row.iteration is None else row.iteration
            measured = (row.total_correlation, row.success_truthful, row.success_private)
            lines.append((row.series, step, *measured, *_published(row)))
    return header, lines


def sweep_table(rows: Sequence[Measured]) -> Table:
    """Show private success with a line per method and a column per epsilon."""
    epsilons = sorted({row.epsilon for row in rows})
    header = ('case', 'method', 'truthful', *(f'{epsilon:g}' for epsilon in epsilons))
    found = {(row.case, row.method, row.epsilon): row for row in rows}
    lines: list[Sequence[object]] = []
    for case, method in dict.fromkeys((row.case, row.method) for row in rows):
        several = [found[case, method, epsilon] for epsilon in epsilons]
        privately = [row.success_private for row in several]
        lines.append((case, method, _range([r.success_truthful for r in several]), *privately))
        if case == 'navigation' and method == BASELINE_INTERIOR:
            published = [sweeps.PUBLISHED[sweeps.EPSILONS.index(e)] for e in epsilons]
            scores = map(z_score, published, privately)
            lines.append((case, '  as published', '', *published))
            lines.append((case, '  z of 1,000 rollouts', '', *(f'{z:+.1f}' for z in scores)))
    return header, lines


def receiver_table(rows: Sequence[Received]) -> Table:
    """Show rates with their intervals."""
    header = ('scenario', 'epsilon', 'method', 'exact', 'raw', '99 %', 'filter', '99 %')
    lines = [
        (
            row.scenario,
            f'{row.epsilon:g}',
            row.method,
            row.exact,
            row.raw,
            f'{row.raw_low:.4f} to {row.raw_high:.4f}',
            row.filtered,
            f'{row.filtered_low:.4f} to {row.filtered_high:.4f}',
        )
        for row in rows
    ]
    return header, lines


def _published(row: Iteration) -> tuple[str, str]:
    """Return what section 7.1 states, truthful and private or private alone, and how far off."""
    if row.series == 'baseline, uniform':
        truthful, private = iterations.PUBLISHED_BASELINE_TRUTHFUL, iterations.PUBLISHED_BASELINE
        scores = z_score(truthful, row.success_truthful), z_score(private, row.success_private)
        return f'{truthful:.2f}, {private:.2f}', '{:+.1f}, {:+.1f}'.format(*scores)
    if row.series == 'minimum dependency, uniform' and row.iteration == iterations.ITERATIONS:
        published = iterations.PUBLISHED
        return f'{published:.2f}', f'{z_score(published, row.success_private):+.1f}'
    return '', ''


def _range(values: Sequence[float]) -> str:
    low, high = f'{min(values):.4f}', f'{max(values):.4f}'
    return low if low == high else f'{low} to {high}'
