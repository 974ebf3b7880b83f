"""Plots of studies as matplotlib figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dp_multiagent.cli.map_picture import new_figure
from dp_multiagent.planning.studies import sweeps
from dp_multiagent.planning.studies.contest import (
    BASELINE_INTERIOR,
    DEAF,
    DEPENDENT,
    PRIVATE,
    QUIET,
    WITH_STEP,
    Measured,
)
from dp_multiagent.planning.studies.iterations import Iteration
from dp_multiagent.planning.studies.receiver import Received

SIZE = (5.0, 4.0)
SETTING = 'navigation, epsilon 1, k = 3'
COLOURS = {'baseline': 'C3', DEPENDENT: 'C1', QUIET: 'C7', DEAF: 'C2', PRIVATE: 'C0'}


def success_over_iterations(rows: Sequence[Iteration]) -> Any:
    """Plot truthful and private success over iterations, the baseline as a level."""
    figure, (axes,) = new_figure(SIZE, 1)
    for i, (series, several) in enumerate(_by_series(rows).items()):
        for name, style in (('success_truthful', '--'), ('success_private', '-')):
            values = [getattr(row, name) for row in several]
            label = f'{series}, {name.removeprefix("success_")}'
            if several[0].iteration is None:
                axes.axhline(values[0], color=f'C{i}', linestyle=style, alpha=0.6, label=label)
            else:
                steps = [row.iteration for row in several]
                axes.plot(steps, values, style, color=f'C{i}', label=label)
    axes.set(xlabel='iteration', ylabel='probability of success', ylim=(0, 1.02), title=SETTING)
    _legend(axes)
    return figure


def success_over_correlation(rows: Sequence[Iteration]) -> Any:
    """Plot private success over total correlation."""
    figure, (axes,) = new_figure(SIZE, 1)
    for series, several in _by_series(rows).items():
        x = [row.total_correlation for row in several]
        axes.plot(x, [row.success_private for row in several], 'o', markersize=4, label=series)
    axes.set(xlabel='total correlation', ylabel='private success', ylim=(0, 1.02), title=SETTING)
    _legend(axes)
    return figure


def success_over_epsilon(rows: Sequence[Measured]) -> Any:
    """Plot private success over epsilon, a line per method."""
    figure, (axes,) = new_figure(SIZE, 1)
    for method, several in _by_method(rows).items():
        x = [row.epsilon for row in several]
        axes.plot(x, [row.success_private for row in several], label=method, **_style(method))
        if (several[0].case, method) == ('navigation', BASELINE_INTERIOR):
            y = [sweeps.PUBLISHED[sweeps.EPSILONS.index(epsilon)] for epsilon in x]
            axes.plot(x, y, 'kx', label='baseline, published rollouts')
    axes.set(xlabel='epsilon', ylabel='private success', ylim=(0, 1.02), title=rows[0].case)
    _legend(axes)
    return figure


def failure_by_case(rows: Sequence[Measured]) -> Any:
    """Plot the probability not to succeed over epsilon, a panel per case, a line per method."""
    cases = list(dict.fromkeys(row.case for row in rows))
    figure, all_axes = new_figure((3.2, 3.4), len(cases))
    for case, axes in zip(cases, all_axes, strict=True):
        for method, several in _by_method([row for row in rows if row.case == case]).items():
            y = [1 - row.success_private for row in several]
            axes.loglog([row.epsilon for row in several], y, label=method, **_style(method))
        axes.set(xlabel='epsilon', title=case, ylim=(1e-5, 1))
    all_axes[0].set_ylabel('1 - private success')
    _legend(all_axes[-1])
    return figure


def success_by_receiver(rows: Sequence[Received]) -> Any:
    """Plot rates of the raw and of the filtering receiver as bars."""
    names = list(dict.fromkeys((row.scenario, row.epsilon) for row in rows))
    figure, all_axes = new_figure(SIZE, len(names))
    for (scenario, epsilon), axes in zip(names, all_axes, strict=True):
        several = [row for row in rows if row.scenario == scenario]
        for offset, name in ((-0.2, 'raw'), (0.2, 'filtered')):
            x = [i + offset for i in range(len(several))]
            axes.bar(x, [getattr(row, name) for row in several], width=0.4, label=name)
        axes.set_xticks(range(len(several)), [row.method for row in several], rotation=20)
        axes.set(title=f'{scenario}, epsilon {epsilon:g}', ylim=(0, 1.02))
    all_axes[0].set_ylabel('rate of success')
    _legend(all_axes[-1])
    return figure


def _by_series(rows: Sequence[Iteration]) -> dict[str, list[Iteration]]:
    grouped: dict[str, list[Iteration]] = {}
    for row in rows:
        grouped.setdefault(row.series, []).append(row)
    return grouped


def _by_method(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    grouped: dict[str, list[Measured]] = {}
    for row in rows:
        grouped.setdefault(row.method, []).append(row)
    return grouped


def _style(method: str) -> dict[str, Any]:
    colour = next(colour for name, colour in COLOURS.items() if method.startswith(name))
    other = WITH_STEP in method or 'published' in method or 'tie-broken' in method
    return {
        'color': colour,
        'linestyle': '--' if other else '-',
        'marker': 's' if 'beta 0.1' in method else 'o',
        'markersize': 4,
    }


def _legend(axes: Any) -> None:
    axes.legend(loc='center left', bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)
