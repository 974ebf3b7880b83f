"""Whether a team succeeded, from its true poses.

At every step time, in this order: a robot in a deadly cell is a death; two in one cell, or two
that exchanged their cells since the last step, are a collision; all at their targets is a success;
the horizon is a timeout. Two robots that touch are a collision at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.models.gridmap import DEADLY, Cell
from dp_multiagent.sim.episode import Episode, Outcome, Verdict

Cells = tuple[Cell | None, ...]
Finding = tuple[Outcome, str]


class Judge:
    """Watches one episode until it has a verdict."""

    def __init__(self, floor: Floor, targets: Sequence[Cell], episode: Episode) -> None:
        self._floor = floor
        self._targets = tuple(targets)
        self.episode = episode
        self._trail: list[Cells] = []
        self.verdict: Verdict | None = None

    def observe(
        self, time_ns: int, poses: Sequence[Pose], touched: Iterable[tuple[int, int]] = ()
    ) -> Verdict | None:
        """Look at the team at a time; return the verdict when it falls, just once."""
        if self.verdict is not None or time_ns < self.episode.start_ns:
            return None
        contacts = sorted(touched)
        if contacts:
            one, other = contacts[0]
            return self._close(Outcome.COLLISION, f'robots {one + 1} and {other + 1} touched')
        if time_ns < self.episode.step_ns(len(self._trail)):
            return None
        self._trail.append(tuple(self._floor.cell_at(pose.x, pose.y) for pose in poses))
        finding = self._finding()
        return self._close(*finding) if finding else None

    def _finding(self) -> Finding | None:
        cells = self._trail[-1]
        before = self._trail[-2] if len(self._trail) > 1 else cells
        for i, cell in enumerate(cells):
            if cell is not None and self._floor.grid.drawing[cell[0]][cell[1]] == DEADLY:
                return Outcome.DEATH, f'robot {i + 1} is in the deadly cell {cell}'
        for (i, cell), (j, other) in combinations(enumerate(cells), 2):
            pair = f'robots {i + 1} and {j + 1}'
            if cell is not None and cell == other:
                return Outcome.COLLISION, f'{pair} are both in cell {cell}'
            exchanged = (cell, other) == (before[j], before[i])
            if exchanged and None not in (cell, other):
                return Outcome.COLLISION, f'{pair} exchanged {cell} and {other}'
        if cells == self._targets:
            return Outcome.SUCCESS, 'all robots are at their targets'
        if len(self._trail) > self.episode.horizon:
            return Outcome.TIMEOUT, f'{self.episode.horizon} steps are over'
        return None

    def _close(self, outcome: Outcome, cause: str) -> Verdict:
        step = max(len(self._trail) - 1, 0)
        self.verdict = Verdict(self.episode.episode, outcome, step, cause, tuple(self._trail))
        return self.verdict
