"""Show where each robot goes: a map of visits with arrows of its most likely action."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.cli.map_picture import draw_cells, new_figure, save
from dp_multiagent.models.gridmap import MOVES
from dp_multiagent.models.scenarios.navigation import Navigation

FloatArray = NDArray[np.float64]

ARROWS = dict(zip(MOVES, '→↑←↓•', strict=True))
RARELY = 0.01


def visits_as_text(scenario: Navigation, visits: Sequence[FloatArray]) -> str:
    """Draw a map per robot, side by side, with arrows in the cells that it visits."""
    drawings = [
        [robot.name, *_arrows(scenario, visited)]
        for robot, visited in zip(scenario.robots, visits, strict=True)
    ]
    width = max(len(line) for drawing in drawings for line in drawing) + 4
    rows = zip(*drawings, strict=True)
    return '\n'.join(''.join(line.ljust(width) for line in row).rstrip() for row in rows)


def visits_as_png(scenario: Navigation, visits: Sequence[FloatArray], out: Path) -> None:
    """Draw a heat map of expected visits per robot, with arrows."""
    grid = scenario.grid
    size = (0.8 * grid.columns + 1.5, 0.8 * grid.rows + 1)
    figure, all_axes = new_figure(size, len(scenario.robots))
    for i, robot in enumerate(scenario.robots):
        axes, visited = all_axes[i], visits[i]
        draw_cells(axes, grid)
        _shade(figure, axes, scenario, visited.sum(axis=1))
        for s, action in _likely_actions(visited).items():
            _arrow(axes, grid.cells[s], MOVES[action])
        for cell, marker in ((robot.start, 'o'), (robot.target, '*')):
            axes.plot(cell[1], cell[0], marker, color='C3', markersize=14, fillstyle='none')
        axes.set_title(f'{robot.name}: expected visits')
    save(figure, out)


def _arrows(scenario: Navigation, visited: FloatArray) -> list[str]:
    signs = [list(row) for row in scenario.map.cells]
    for s, action in _likely_actions(visited).items():
        row, column = scenario.grid.cells[s]
        signs[row][column] = ARROWS[action]
    return [' '.join(row) for row in signs]


def _likely_actions(visited: FloatArray) -> dict[int, str]:
    """Return the most likely action in each state that is visited more than rarely."""
    names = tuple(MOVES)
    often = np.flatnonzero(visited.sum(axis=1) > RARELY)
    return {int(s): names[int(visited[s].argmax())] for s in often}


def _shade(figure: Any, axes: Any, scenario: Navigation, visits: FloatArray) -> None:
    grid = scenario.grid
    image = np.full((grid.rows, grid.columns), np.nan)
    for cell, visit in zip(grid.cells, visits, strict=True):
        if visit > RARELY:
            image[cell] = visit
    shown = axes.imshow(image, cmap='Blues', vmin=0, alpha=0.8, zorder=2)
    figure.colorbar(shown, ax=axes, fraction=0.046)


def _arrow(axes: Any, cell: tuple[int, int], move: tuple[int, int]) -> None:
    row, column = cell
    if move == (0, 0):
        axes.plot(column, row, '.', color='black', zorder=3)
        return
    tip = (column + 0.3 * move[1], row + 0.3 * move[0])
    tail = (column - 0.3 * move[1], row - 0.3 * move[0])
    axes.annotate('', tip, tail, arrowprops={'arrowstyle': '->'}, zorder=3)
