"""What a team executes: the plan that all share, one local policy per robot, one private state.

A local policy is a table pi_i(a | o). The observation o of robot i is its own true state and the
private states of the robots it depends on; with a step counter it is the step number as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError

FloatArray = NDArray[np.float64]

ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Graph:
    """Who depends on whom: `observed[i]` are the robots whose private state robot i sees."""

    observed: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        n = len(self.observed)
        for i, seen in enumerate(self.observed):
            if list(seen) != sorted(set(seen)) or i in seen or not all(0 <= j < n for j in seen):
                raise ModelError(f'robot {i} cannot depend on {list(seen)} in a team of {n}')
        try:
            TopologicalSorter(dict(enumerate(self.observed))).prepare()
        except CycleError as error:
            cycle = ' > '.join(str(i + 1) for i in error.args[1])
            raise ModelError(f'the dependency graph has the cycle {cycle}') from None

    @classmethod
    def from_edges(cls, n: int, edges: Iterable[tuple[int, int]]) -> Graph:
        """Build from edges (i, j): robot i sees the private state of robot j, of n robots."""
        seen: list[set[int]] = [set() for _ in range(n)]
        for i, j in edges:
            if not 0 <= i < n:
                raise ModelError(f'robot {i} is not in a team of {n}')
            seen[i].add(j)
        return cls(tuple(tuple(sorted(s)) for s in seen))

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """All edges (i, j), robot i sees robot j, in ascending order."""
        return tuple((i, j) for i, seen in enumerate(self.observed) for j in seen)

    @property
    def tellers(self) -> tuple[int, ...]:
        """The robots whose private state somebody sees."""
        return tuple(sorted({j for seen in self.observed for j in seen}))

    def __str__(self) -> str:
        return ' '.join(f'{i + 1}>{j + 1}' for i, j in self.edges) or 'none'


@dataclass(frozen=True, eq=False)
class LocalPolicy:
    """The table pi_i(a | own state, private states of `observed`[, step]) of one robot.

    `table` has the axes (own state, one per observed robot, action), preceded by the step if
    `by_step`. `own_state` (state, action) is what the robot does when it hears nobody.
    """

    robot: int
    observed: tuple[int, ...]
    table: FloatArray
    own_state: FloatArray
    by_step: bool = False

    def __post_init__(self) -> None:
        expected = 2 + len(self.observed) + self.by_step
        if self.table.ndim != expected:
            raise ModelError(f'policy of robot {self.robot}: {expected} axes expected')
        own_shape = (self.table.shape[int(self.by_step)], self.table.shape[-1])
        if self.own_state.shape != own_shape:
            raise ModelError(f'policy of robot {self.robot}: own_state is not {own_shape}')
        for name in ('table', 'own_state'):
            _refuse_improper_rows(f'policy of robot {self.robot}: {name}', getattr(self, name))

    @property
    def steps(self) -> int:
        """Number of steps that have a table of their own, 0 if all share one."""
        return self.table.shape[0] if self.by_step else 0

    def equals(self, other: LocalPolicy) -> bool:
        """Tell whether another policy is the same, number by number."""
        return (self.robot, self.observed) == (other.robot, other.observed) and all(
            np.array_equal(*tables)
            for tables in ((self.table, other.table), (self.own_state, other.own_state))
        )


@dataclass(frozen=True)
class TeamPlan:
    """What every robot of a team must know to execute a plan together. Times in nanoseconds."""

    plan_id: bytes
    game: bytes
    episode: int
    start_ns: int
    period_ns: int
    deadline: float
    horizon: int
    max_stale: int
    robots: tuple[str, ...]
    graph: Graph
    epsilon: tuple[float, ...]
    adjacency: tuple[int, ...]

    def __post_init__(self) -> None:
        n = len(self.robots)
        if len(self.plan_id) != 16 or len(self.game) != 32:
            raise ModelError('a plan has an identity of 16 bytes and a game of 32')
        if not n or len(set(self.robots)) != n:
            raise ModelError('a plan names each of its robots once')
        if not len(self.graph.observed) == len(self.epsilon) == len(self.adjacency) == n:
            raise ModelError(f'graph, epsilon and adjacency must be given for {n} robots')
        if self.period_ns <= 0 or not 0 < self.deadline < 1 or self.horizon <= 0:
            raise ModelError('period and horizon must be positive, deadline between 0 and 1')
        if not all(e >= 0 and np.isfinite(e) for e in self.epsilon) or min(self.adjacency) < 1:
            raise ModelError('epsilon must be finite and not negative, adjacency at least 1')

    def replaces(self, other: TeamPlan) -> bool:
        """Tell whether this is news to who executes another plan: one that comes late is not.

        Of one episode the earlier start counts: before it is announced it starts at the end of
        time.
        """
        if self.plan_id != other.plan_id:
            return True
        return (self.episode, -self.start_ns) > (other.episode, -other.start_ns)


@dataclass(frozen=True)
class PrivateState:
    """What a robot tells its team at one step: a state out of the trajectory mechanism."""

    plan_id: bytes
    episode: int
    step: int
    robot: int
    state: int


def _refuse_improper_rows(name: str, rows: FloatArray) -> None:
    if not np.all(np.isfinite(rows)) or np.any(rows < 0):
        raise ModelError(f'{name}: probabilities must be finite and not negative')
    if np.any(np.abs(rows.sum(axis=-1) - 1) > ROW_SUM_TOLERANCE):
        raise ModelError(f'{name}: the probabilities of an observation must sum to 1')
