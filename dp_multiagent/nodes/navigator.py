"""Drives a robot from cell to cell, in its own domain.

In
    odom or tf          the pose (see `whereabouts`)
    scan                sensor_msgs/LaserScan, optional: the robot stops for what is in its way
Out
    cmd_vel             geometry_msgs/Twist, after each pose

Whoever has been seen with a scanner does not drive without one; without a pose it brakes.
"""

from __future__ import annotations

import math

from geometry_msgs.msg import Twist
from sensor_msgs.msg import LaserScan

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.pilot import STILL, Pilot
from dp_multiagent.driving.scan import Scan, clearance
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import Cell, GridMap
from dp_multiagent.nodes import motion, parameters, qos
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.nav2 import Nav2Navigator
from dp_multiagent.nodes.whereabouts import Whereabouts


class Navigator:
    """Drives with a control law of our own; made and used by the node that it is given."""

    def __init__(self, node: GuardedNode, floor: Floor, settings: Settings) -> None:
        self._node, self._floor, self._settings = node, floor, settings
        self._pilot = Pilot(settings.limits, floor.cell_size)
        self._clearance = math.inf
        self._scanned_ns: int | None = None
        self._velocity = node.advertise(Twist, settings.velocity_topic, qos.VELOCITY)
        node.on_release(lambda: self._velocity.publish(motion.velocity_to_msg(STILL)))
        self._where = Whereabouts(node, floor, settings, on_pose=self._drive)
        node.subscribe(
            LaserScan, settings.scan_topic, qos.MEASURED, motion.scan_from_msg, self._look
        )
        node.every(settings.stale_after / 2, self._watch)

    @property
    def pose(self) -> Pose | None:
        """Return where the robot is, None if nobody has said so for too long."""
        return self._where.pose

    @property
    def cell(self) -> Cell | None:
        """Return the cell in which the robot is, None if it is lost or off the map."""
        return self._where.cell

    @property
    def step_time(self) -> float:
        """Return how many seconds a neighbouring cell takes at most."""
        return self._settings.limits.step_time(self._floor.cell_size)

    @property
    def arrived(self) -> bool:
        """Tell whether the robot is where it was told to drive, at rest."""
        return self._pilot.arrived and self.pose is not None

    @property
    def blocked(self) -> bool:
        """Tell whether something is so near ahead, or the scanner so silent, that it stands."""
        return self._way_ahead() <= 0.01

    def drive_to(self, cell: Cell) -> None:
        """Drive to a neighbouring cell and stay there; a robot that is lost holds instead."""
        if self._floor.grid.is_wall(cell):
            raise ModelError(f'cell {cell} is a wall or off the map')
        pose = self.pose
        if pose is None:
            self.hold()
        else:
            self._pilot.head_for(self._floor.centre(cell), pose)

    def hold(self) -> None:
        """Forget the goal and come to a stop."""
        self._pilot.hold()

    def _drive(self) -> None:
        now = self._now_ns()
        velocity = self._pilot.command(self.pose, now / 1e9, self._way_ahead())
        self._velocity.publish(motion.velocity_to_msg(velocity))

    def _watch(self) -> None:
        if self.pose is None:
            self._drive()

    def _look(self, scan: Scan) -> None:
        settings = self._settings
        self._clearance = clearance(scan, radius=settings.radius, margin=settings.margin)
        self._scanned_ns = self._now_ns()

    def _way_ahead(self) -> float:
        if self._scanned_ns is None:
            return math.inf
        age = abs(self._now_ns() - self._scanned_ns)
        return self._clearance if age <= self._settings.stale_after * 1e9 else 0.0

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)


def make_navigator(node: GuardedNode, grid: GridMap) -> Navigator | Nav2Navigator:
    """Make the navigator that the node's parameters ask for; they are those of `Settings`."""
    settings = parameters.declared(node, Settings)
    if settings.navigator == 'nav2':
        return Nav2Navigator(node, settings.floor(grid), settings)
    return Navigator(node, settings.floor(grid), settings)
