"""The control law: follow a leg on measured poses, within the limits, and stop for obstacles.

With the error (e_x, e_y, e_h) of the pose in the robot's own frame and the leg's speeds v_r, w_r

    v = v_r cos e_h + k_x e_x,    w = w_r + v_r k_y e_y + k_h sin e_h,

then both are cut to the limits of speed and of acceleration. In front of an obstacle at a
clearance d the speed is at most sqrt(2 a d) and k_d d, and the leg slows down with it. A robot
that is half a cell away from where its leg wants it (pushed, carried) gives up and holds.
(Kanayama et al. 1990.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dp_multiagent.driving.floor import Point, Pose, wrapped
from dp_multiagent.driving.leg import RESERVE, Leg, Limits, Waypoint

K_X, K_Y, K_H, K_D = 2.0, 8.0, 4.0, 4.0
ARRIVED = 0.05  # metres from the goal
CLOSE_ENOUGH = 0.02  # metres; who is nearer does not move
LONGEST_TICK = 0.2  # seconds; after a longer silence a robot accelerates as after this one


class Velocity(NamedTuple):
    """What a differential drive is told: metres and radians a second."""

    forward: float
    turn: float


STILL = Velocity(0.0, 0.0)


@dataclass
class _Progress:
    leg: Leg
    goal: Point
    seconds: float = 0.0


class Pilot:
    """Turns poses into velocities that bring a robot to its goal; it keeps the last one."""

    def __init__(self, limits: Limits, cell_size: float) -> None:
        self._limits = limits
        self._cell_size = cell_size
        self._way: _Progress | None = None
        self._last = STILL
        self._time: float | None = None
        self.arrived = False

    def head_for(self, goal: Point, pose: Pose) -> None:
        """Begin a leg to a place; whoever is there already stays."""
        self.arrived = _distance(pose, goal) < CLOSE_ENOUGH
        self._way = None
        if not self.arrived:
            self._way = _Progress(Leg.plan(pose, goal, self._limits, self._cell_size), goal)

    def hold(self) -> None:
        """Forget the goal and come to a stop."""
        self._way, self.arrived = None, False

    def command(self, pose: Pose | None, now: float, clearance: float = math.inf) -> Velocity:
        """Return the velocity for the next tick; without a pose, brake."""
        tick = self._tick(now)
        wanted = STILL
        if pose is not None and self._way is not None:
            wanted = self._follow(self._way, pose, tick, clearance)
        limits = self._limits
        self._last = Velocity(
            _towards(wanted.forward, self._last.forward, limits.speed, limits.acceleration * tick),
            _towards(
                wanted.turn, self._last.turn, limits.turn_speed, limits.turn_acceleration * tick
            ),
        )
        return self._last

    def _tick(self, now: float) -> float:
        tick = 0.0 if self._time is None else now - self._time
        self._time = now
        return min(max(tick, 0.0), LONGEST_TICK)

    def _follow(self, way: _Progress, pose: Pose, tick: float, clearance: float) -> Velocity:
        # A command acts only after the next pose has been measured.
        free = max(clearance - 2 * tick * self._last.forward, 0.0)
        allowed = min(math.sqrt(2 * RESERVE * self._limits.acceleration * free), K_D * free)
        planned = way.leg.at(way.seconds + tick).speed
        pace = 1.0 if planned <= allowed else allowed / planned
        way.seconds += pace * tick
        aim = way.leg.at(way.seconds)
        if _distance(pose, aim.pose) > self._cell_size / 2:
            self.hold()
            return STILL
        over = way.seconds >= way.leg.duration
        self.arrived = over and _distance(pose, way.goal) < ARRIVED
        wanted = _feedback(aim, pose, pace)
        return Velocity(min(wanted.forward, allowed), wanted.turn)


def _feedback(aim: Waypoint, pose: Pose, pace: float) -> Velocity:
    dx, dy = aim.pose.x - pose.x, aim.pose.y - pose.y
    cos, sin = math.cos(pose.heading), math.sin(pose.heading)
    along, aside = cos * dx + sin * dy, cos * dy - sin * dx
    off = wrapped(aim.pose.heading - pose.heading)
    speed = pace * aim.speed
    return Velocity(
        speed * math.cos(off) + K_X * along,
        aim.turn_speed + speed * K_Y * aside + K_H * math.sin(off),
    )


def _towards(wanted: float, last: float, largest: float, change: float) -> float:
    near = min(max(wanted, last - change), last + change)
    return min(max(near, -largest), largest)


def _distance(pose: Pose, goal: Point | Pose) -> float:
    return math.hypot(goal.x - pose.x, goal.y - pose.y)
