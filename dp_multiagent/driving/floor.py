"""Where the cells of a map lie on the floor, in metres.

The centre of cell (row, column) is at x = x0 + (column + 1/2) size, y = y0 + (rows - row - 1/2)
size: x points along the rows, y to row 0, and the origin (x0, y0) is the map's lower left corner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import Cell, GridMap


class Point(NamedTuple):
    """A place on the floor, in metres."""

    x: float
    y: float


ORIGIN = Point(0.0, 0.0)


class Pose(NamedTuple):
    """Where a robot is and where it looks, in metres and radians from the x axis."""

    x: float
    y: float
    heading: float


@dataclass(frozen=True)
class Floor:
    """A grid map laid out on the floor.

    >>> floor = Floor(GridMap(('..', '#.'), slip=0.0), cell_size=2.0)
    >>> floor.centre((0, 1))
    Point(x=3.0, y=3.0)
    >>> floor.cell_at(0.1, 3.9), floor.cell_at(0.1, 0.1), floor.cell_at(0.1, 4.1)
    ((0, 0), None, None)
    """

    grid: GridMap
    cell_size: float = 1.0
    origin: Point = ORIGIN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cell_size) and self.cell_size > 0):
            raise ModelError(f'cell_size {self.cell_size} is not a length')
        if not all(map(math.isfinite, self.origin)):
            raise ModelError(f'origin {tuple(self.origin)} is not a place')

    def centre(self, cell: Cell) -> Point:
        """Return the middle of a cell."""
        row, column = cell
        return Point(
            self.origin.x + (column + 0.5) * self.cell_size,
            self.origin.y + (self.grid.rows - row - 0.5) * self.cell_size,
        )

    def cell_at(self, x: float, y: float) -> Cell | None:
        """Return the cell that a place lies in, None in a wall or off the map."""
        right, up = (x - self.origin.x) / self.cell_size, (y - self.origin.y) / self.cell_size
        if not (math.isfinite(right) and math.isfinite(up)):
            return None
        cell = self.grid.rows - 1 - math.floor(up), math.floor(right)
        return None if self.grid.is_wall(cell) else cell


def wrapped(angle: float) -> float:
    """Return the same angle between -pi and pi.

    >>> wrapped(1.5) == wrapped(1.5 + 4 * math.pi) == 1.5
    True
    """
    return math.remainder(angle, math.tau)
