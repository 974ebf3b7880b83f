"""How a robot keeps the step protocol: how late it tells, what it misses, how old its news is.

Nothing here is derived from the robot's true state, from its pose or from its action: a record is
made from times that whoever hears the robot can measure, and from when others were heard. So it
counts what a robot heard at a deadline even if the robot is lost and does not use it, and how late
a state was told, but not how long it took to draw one or when the robot moved.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Collection

REMEMBERED = 100  # steps


class StepRecord:
    """Counts of one robot since it started; the lateness is that of the last steps.

    `told` and `missed` are the steps in which it told in time and those in which it did not;
    `overslept` those whose deadline to act it noticed in a later step; `stale` those at whose
    deadline the state of a teammate was of an earlier step; `alone` those of these at which it was
    too old, so that the robot acts by its own state.
    """

    def __init__(self) -> None:
        self.told = self.missed = self.overslept = self.stale = self.alone = 0
        self._late_ns: deque[int] = deque(maxlen=REMEMBERED)

    def tell(self, late_ns: int) -> None:
        """Note that a state was told, so long after its slot."""
        self.told += 1
        self._late_ns.append(late_ns)

    def miss(self, steps: int) -> None:
        """Note that nothing was told in so many steps, because it was too late."""
        self.missed += steps

    def oversleep(self) -> None:
        """Note that it was too late to act in a step."""
        self.overslept += 1

    def listen(self, ages: Collection[int], *, max_stale: int) -> None:
        """Note how many steps old the states of the observed robots are at a deadline."""
        oldest = max(ages, default=0)
        self.stale += oldest > 0
        self.alone += oldest > max_stale

    @property
    def median_late_ns(self) -> int:
        """Return the median lateness of the last steps, 0 if nothing was told yet."""
        return round(statistics.median(self._late_ns)) if self._late_ns else 0

    @property
    def max_late_ns(self) -> int:
        """Return the largest lateness of the last steps, 0 if nothing was told yet."""
        return max(self._late_ns, default=0)
