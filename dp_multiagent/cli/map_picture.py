"""Draw the map of a navigation scenario, in the terminal and as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dp_multiagent.errors import DpMultiagentError, MissingPackageError
from dp_multiagent.models.gridmap import DEADLY, WALL, GridMap
from dp_multiagent.models.scenarios.navigation import Navigation

START_LETTERS = 'ABCDEFGH'
WALL_COLOUR, DEADLY_COLOUR, GRID_COLOUR = '#3b3b3b', '#d9534f', '#cccccc'


def map_as_text(scenario: Navigation) -> str:
    """Draw the map with a capital letter at each start and a small one at each target."""
    signs = [list(row) for row in scenario.map.cells]
    for letter, robot in zip(START_LETTERS, scenario.robots, strict=False):
        _mark(signs, robot.target, letter.lower())
        _mark(signs, robot.start, letter)
    legend = [
        f'{letter} {robot.name}, to {letter.lower()}'
        for letter, robot in zip(START_LETTERS, scenario.robots, strict=False)
    ]
    drawing = '\n'.join(' '.join(row) for row in signs)
    return f'{drawing}\n\n{"; ".join(legend)}; # wall, ! deadly'


def map_as_png(scenario: Navigation, out: Path) -> None:
    """Draw the map with starts, targets, walls and deadly cells."""
    figure, axes = new_map(scenario.grid)
    for i, robot in enumerate(scenario.robots):
        colour = f'C{i}'
        (r, c), (tr, tc) = robot.start, robot.target
        axes.plot(c, r, 'o', color=colour, markersize=16, label=f'{robot.name} start')
        axes.plot(tc, tr, '*', color=colour, markersize=20, label=f'{robot.name} target')
        axes.annotate(str(i + 1), (c, r), color='white', ha='center', va='center')
    axes.set_title(scenario.title)
    axes.plot([], [], 's', color=WALL_COLOUR, markersize=14, label='wall')
    axes.plot([], [], 's', color=DEADLY_COLOUR, markersize=14, label='deadly')
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), labelspacing=1.5, frameon=False)
    save(figure, out)


def new_map(grid: GridMap) -> tuple[Any, Any]:
    """Return a figure and axes with the walls and deadly cells of a map."""
    figure, (axes,) = new_figure((2 + 0.8 * grid.columns, 1 + 0.8 * grid.rows), 1)
    draw_cells(axes, grid)
    return figure, axes


def new_figure(size: tuple[float, float], n: int) -> tuple[Any, Sequence[Any]]:
    """Return a figure with n axes of the given size side by side."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError('pictures need matplotlib: pip install matplotlib') from None
    figure = Figure(figsize=(n * size[0], size[1]))
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, n, squeeze=False)[0]


def draw_cells(axes: Any, grid: GridMap) -> None:
    """Draw the cells of a map."""
    from matplotlib.patches import Rectangle

    for r, row in enumerate(grid.drawing):
        for c, sign in enumerate(row):
            colour = {WALL: WALL_COLOUR, DEADLY: DEADLY_COLOUR}.get(sign, 'white')
            square = Rectangle((c - 0.5, r - 0.5), 1, 1, facecolor=colour, edgecolor=GRID_COLOUR)
            axes.add_patch(square)
    axes.set(xlim=(-0.5, grid.columns - 0.5), ylim=(grid.rows - 0.5, -0.5), aspect='equal')
    axes.set(xlabel='column', ylabel='row', xticks=range(grid.columns), yticks=range(grid.rows))


def save(figure: Any, out: Path) -> None:
    """Write a figure as PNG, or say why that cannot be."""
    try:
        figure.savefig(out, format='png', dpi=100, bbox_inches='tight')
    except OSError as error:
        raise DpMultiagentError(f'{out}: cannot be written: {error.strerror}') from None


def _mark(signs: list[list[str]], cell: tuple[int, int], letter: str) -> None:
    signs[cell[0]][cell[1]] = letter
