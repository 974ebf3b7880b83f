"""Scenarios of kind `navigation`: robots on a grid map, each with a start and a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from dp_multiagent.models.game import BoolArray, MarkovGame, Swaps
from dp_multiagent.models.gridmap import DEADLY, FREE, WALL, Cell, GridMap
from dp_multiagent.models.players import Players
from dp_multiagent.models.scenarios import team
from dp_multiagent.models.scenarios.fields import Check, Length, Range

Coordinate = Annotated[int, Range(0, 199)]
Place = tuple[Coordinate, Coordinate]


@dataclass(frozen=True)
class Map:
    """The map, one text per row, row 0 on top."""

    cells: Annotated[
        tuple[Annotated[str, Length(1, 200)], ...],
        Length(1, 200),
        "rows of cells: '.' free, '#' wall, '!' deadly",
    ]

    def drawing_faults(self) -> team.Faults:
        """Report rows of another length or with other signs."""
        width = len(self.cells[0])
        for r, row in enumerate(self.cells):
            unknown = sorted(set(row) - {FREE, WALL, DEADLY})
            if unknown:
                yield f'cells[{r}]', f'has {unknown[0]!r}, which is none of . # !'
            if len(row) != width:
                yield f'cells[{r}]', f'has {len(row)} cells, the first row has {width}'

    checks: ClassVar[tuple[Check, ...]] = (drawing_faults,)


@dataclass(frozen=True)
class Motion:
    """How a robot moves when it wants to."""

    intended: Annotated[team.Probability, 'probability of reaching the intended cell']
    slip: Annotated[team.Probability, 'probability shared by the other feasible cells']
    swaps: Annotated[
        Literal['allowed', 'collision'], 'whether two robots may exchange their cells'
    ] = 'collision'

    def sum_faults(self) -> team.Faults:
        """Report probabilities that do not sum to one."""
        total = self.intended + self.slip
        if abs(total - 1) > team.SUM_TOLERANCE:
            yield 'slip', f'intended and slip sum to {total:g}, not to 1'

    checks: ClassVar[tuple[Check, ...]] = (sum_faults,)


@dataclass(frozen=True)
class Robot:
    """One robot of the team."""

    name: team.Name
    start: Annotated[Place, 'cell where it starts, [row, column]']
    target: Annotated[Place, 'cell where it must be when all are at theirs, [row, column]']
    epsilon: team.Epsilon | None = None
    adjacency: team.Adjacency | None = None


@dataclass(frozen=True)
class Navigation(team.Team):
    """Robots that must reach their targets at the same time, alive and without a collision."""

    version: team.Version
    kind: Literal['navigation']
    title: team.Title
    map: Map
    motion: Motion
    robots: Annotated[tuple[Robot, ...], Length(1, team.LARGEST_TEAM)]
    privacy: team.Privacy
    planning: team.Planning
    dependencies: team.Dependencies = field(default_factory=dict)

    member_field: ClassVar[str] = 'robots'

    @property
    def grid(self) -> GridMap:
        """Return the map with its slip."""
        return GridMap(self.map.cells, self.motion.slip)

    @property
    def players(self) -> Players:
        """Return who plays, and the states that they must reach and avoid."""
        grid = self.grid
        one = grid.mdp(self.robots[0].start)
        agents = (replace(one, initial=grid.index[robot.start]) for robot in self.robots)
        rules = {
            'kind': self.kind,
            'targets': [grid.index[robot.target] for robot in self.robots],
            'deadly': [state for state, deadly in enumerate(grid.deadly) if deadly],
        }
        return Players(tuple(agents), Swaps(self.motion.swaps), rules)

    def game(self) -> MarkovGame:
        """Build the Markov game."""
        players = self.players
        targets, deadly = players.rules['targets'], np.array(self.grid.deadly)

        def at_targets(*states: Any) -> BoolArray:
            return _all(s == t for s, t in zip(states, targets, strict=True))

        avoid: dict[str, Callable[..., Any]] = {
            'deadly cell': lambda *states: ~_all(~deadly[s] for s in states),
            'collision': lambda *states: ~_all(s != t for s, t in combinations(states, 2)),
        }
        return MarkovGame(
            players.agents,
            target=at_targets,
            avoid=avoid,
            swaps=players.swaps,
        )

    def place_faults(self) -> team.Faults:
        """Report starts and targets that cannot be."""
        taken: dict[tuple[str, Cell], int] = {}
        for i, robot in enumerate(self.robots):
            for place in ('start', 'target'):
                cell = getattr(robot, place, None)
                if cell is None:
                    continue
                problem = _place_problem(self.map.cells, cell)
                other = taken.setdefault((place, cell), i)
                if problem:
                    yield f'robots[{i}].{place}', f'cell {cell} {problem}'
                elif other != i:
                    yield f'robots[{i}].{place}', f'cell {cell} is that of robots[{other}] too'

    def path_faults(self) -> team.Faults:
        """Report targets to which no path leads past walls and deadly cells."""
        cells = self.map.cells
        for i, robot in enumerate(self.robots):
            if _place_problem(cells, robot.start) or _place_problem(cells, robot.target):
                continue
            if robot.target not in _connected(cells, robot.start):
                yield f'robots[{i}].target', f'no path leads there from {robot.start}'

    checks: ClassVar[tuple[Check, ...]] = (
        team.Team.name_faults,
        team.Team.dependency_faults,
        place_faults,
        path_faults,
    )


def _all(conditions: Iterator[Any]) -> BoolArray:
    result = np.array(True)
    for condition in conditions:
        result = result & condition
    return result


def _sign(cells: tuple[str, ...], cell: Cell) -> str | None:
    row, column = cell
    if row < 0 or column < 0 or row >= len(cells) or column >= len(cells[row]):
        return None
    return cells[row][column]


def _place_problem(cells: tuple[str, ...], cell: Cell) -> str | None:
    return {None: 'is off the map', WALL: 'is a wall', DEADLY: 'is deadly'}.get(_sign(cells, cell))


def _connected(cells: tuple[str, ...], start: Cell) -> set[Cell]:
    """Return the cells to which steps over free cells lead."""
    reached, frontier = {start}, [start]
    while frontier:
        row, column = frontier.pop()
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if cell not in reached and _sign(cells, cell) == FREE:
                reached.add(cell)
                frontier.append(cell)
    return reached
