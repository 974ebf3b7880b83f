"""The trajectory of one step: turn on the spot towards a place, then drive straight to it.

Both parts follow the polynomial with the least jerk from rest to rest,

    s(u) = 10 u^3 - 15 u^4 + 6 u^5,  u = t / T,

whose speed is at most 15/8 of the mean one, and whose acceleration at most 10/sqrt(3) D / T^2.

The turn always takes the time of a half turn, and the drive at least that of one cell. So robots
that begin a step together also set off and arrive together: one that enters a cell which another
one leaves keeps a distance of at least 1/sqrt(2) cells. (Flash and Hogan 1985 for the polynomial.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dp_multiagent.driving.floor import Point, Pose, wrapped
from dp_multiagent.errors import ModelError

PEAK_SPEED = 15 / 8
PEAK_ACCELERATION = 10 / math.sqrt(3)
RESERVE = 0.9  # of the limits is planned with, the rest is left to feedback


@dataclass(frozen=True)
class Limits:
    """What a robot can do, in metres, radians and seconds."""

    speed: float = 1.2
    acceleration: float = 2.0
    turn_speed: float = 5.0
    turn_acceleration: float = 10.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0):
                raise ModelError(f'{name} {value} is not a limit above zero')

    @property
    def half_turn_time(self) -> float:
        """Return how long a robot takes to look back, from rest to rest."""
        return _duration(math.pi, self.turn_speed, self.turn_acceleration)

    def drive_time(self, distance: float) -> float:
        """Return how long a robot takes to drive so far, from rest to rest."""
        return _duration(distance, self.speed, self.acceleration)

    def step_time(self, cell_size: float) -> float:
        """Return how long a robot takes to any neighbouring cell, whatever way it looks.

        >>> round(Limits().step_time(1.0), 2)
        3.21
        """
        return self.half_turn_time + self.drive_time(cell_size)


@dataclass(frozen=True)
class Waypoint:
    """Where a robot should be at a time, and how fast."""

    pose: Pose
    speed: float
    turn_speed: float


@dataclass(frozen=True)
class Leg:
    """A way from a pose to a place, parameterised by the seconds since it began."""

    start: Pose
    turn: float
    turn_time: float
    distance: float
    drive_time: float

    @classmethod
    def plan(cls, start: Pose, goal: Point, limits: Limits, cell_size: float) -> Leg:
        """Plan the way to a place; one that is farther than a cell takes longer."""
        dx, dy = goal.x - start.x, goal.y - start.y
        distance = math.hypot(dx, dy)
        turn = wrapped(math.atan2(dy, dx) - start.heading) if distance > 0 else 0.0
        drive_time = limits.drive_time(max(distance, cell_size))
        return cls(start, turn, limits.half_turn_time, distance, drive_time)

    @property
    def duration(self) -> float:
        """Return the seconds from rest to rest."""
        return self.turn_time + self.drive_time

    def at(self, time: float) -> Waypoint:
        """Return where the robot should be; it waits before the beginning and after the end."""
        turned, turn_speed = _smooth(time, self.turn_time)
        driven, speed = _smooth(time - self.turn_time, self.drive_time)
        direction = self.start.heading + self.turn
        pose = Pose(
            self.start.x + driven * self.distance * math.cos(direction),
            self.start.y + driven * self.distance * math.sin(direction),
            self.start.heading + turned * self.turn,
        )
        return Waypoint(pose, speed * self.distance, turn_speed * self.turn)


def _duration(distance: float, speed: float, acceleration: float) -> float:
    return max(
        PEAK_SPEED * distance / (RESERVE * speed),
        math.sqrt(PEAK_ACCELERATION * distance / (RESERVE * acceleration)),
    )


def _smooth(time: float, duration: float) -> tuple[float, float]:
    """Return the fraction of the way at a time, and its derivative."""
    u = min(max(time / duration, 0.0), 1.0)
    return u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2 / duration
