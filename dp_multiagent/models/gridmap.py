"""A grid map on which a robot moves from cell to cell, and the MDP that it gives rise to.

Cells are (row, column), row 0 on top. A robot intends to move right, up, left, down or to stay;
with probability 1 - slip it gets there, and the other feasible successors (the free neighbours
and the own cell) share the slip equally. An action into a wall or over the border ends in any
of the feasible successors with the same probability. (Two-agent navigation of Chen et al., as
the authors' code has it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp

Cell = tuple[int, int]

FREE, WALL, DEADLY = '.', '#', '!'
MOVES: dict[str, Cell] = {
    'right': (0, 1),
    'up': (-1, 0),
    'left': (0, -1),
    'down': (1, 0),
    'stay': (0, 0),
}


@dataclass(frozen=True)
class GridMap:
    """A rectangular map drawn with one string per row: '.' free, '#' wall, '!' deadly.

    >>> corridor = GridMap(('..#', '#..'), slip=0.1)
    >>> corridor.cells
    ((0, 0), (0, 1), (1, 1), (1, 2))
    >>> corridor.mdp(start=(0, 0)).states[0]
    '(0, 0)'
    """

    drawing: tuple[str, ...]
    slip: float

    def __post_init__(self) -> None:
        if not self.drawing or not self.drawing[0]:
            raise ModelError('a map needs at least one cell')
        for r, row in enumerate(self.drawing):
            if len(row) != self.columns:
                raise ModelError(f'row {r} has {len(row)} cells, row 0 has {self.columns}')
            unknown = set(row) - {FREE, WALL, DEADLY}
            if unknown:
                raise ModelError(f'row {r} has {sorted(unknown)[0]!r}, not one of . # !')
        if not 0 <= self.slip <= 1:
            raise ModelError(f'slip {self.slip} is not a probability')

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.drawing)

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return len(self.drawing[0])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """List the cells that are not walls; the position is the index of the state."""
        return tuple(
            (r, c)
            for r in range(self.rows)
            for c in range(self.columns)
            if not self.is_wall((r, c))
        )

    @cached_property
    def index(self) -> dict[Cell, int]:
        """Map each cell that is not a wall to the index of its state."""
        return {cell: s for s, cell in enumerate(self.cells)}

    @property
    def deadly(self) -> tuple[bool, ...]:
        """Tell for each state whether its cell is deadly."""
        return tuple(self.drawing[r][c] == DEADLY for r, c in self.cells)

    def contains(self, cell: Cell) -> bool:
        """Tell whether a cell lies on the map."""
        return 0 <= cell[0] < self.rows and 0 <= cell[1] < self.columns

    def is_wall(self, cell: Cell) -> bool:
        """Tell whether a cell cannot be entered: a wall, or off the map."""
        return not self.contains(cell) or self.drawing[cell[0]][cell[1]] == WALL

    def mdp(self, start: Cell) -> Mdp:
        """Return the MDP of one robot that starts in the given cell."""
        if self.is_wall(start):
            raise ModelError(f'start {start} is a wall or off the map')
        n_states, moves = len(self.cells), tuple(MOVES.values())
        transitions = np.zeros((n_states, len(moves), n_states))
        for s, cell in enumerate(self.cells):
            feasible = self._feasible(cell, moves)
            for a, move in enumerate(moves):
                aim = self.index.get((cell[0] + move[0], cell[1] + move[1]))
                transitions[s, a, feasible] = self._outcome(feasible, aim)
        names = tuple(map(str, self.cells))
        return Mdp.from_tensor(transitions, self.index[start], names, tuple(MOVES))

    def _feasible(self, cell: Cell, moves: Sequence[Cell]) -> list[int]:
        around = ((cell[0] + dr, cell[1] + dc) for dr, dc in moves)
        return sorted({self.index[other] for other in around if other in self.index})

    def _outcome(self, feasible: list[int], aim: int | None) -> list[float]:
        n = len(feasible)
        if aim is None or n == 1:
            return [1 / n] * n
        return [1 - self.slip if s == aim else self.slip / (n - 1) for s in feasible]
