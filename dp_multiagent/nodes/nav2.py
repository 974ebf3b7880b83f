"""Hands the cells over to Nav2, in the robot's own domain.

Out
    navigate_to_pose    action nav2_msgs/NavigateToPose, one goal per cell
In
    odom or tf          the pose, for the cell in which the robot is (see `whereabouts`)
"""

from __future__ import annotations

import math
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient

from dp_multiagent.driving.floor import Floor
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.models.gridmap import Cell
from dp_multiagent.nodes import motion
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.whereabouts import Whereabouts


class Nav2Navigator(Whereabouts):
    """Lets Nav2 drive: obstacles, speeds and frames are Nav2's business then."""

    step_time = 0.0  # seconds: nobody knows how fast Nav2 drives

    def __init__(self, node: GuardedNode, floor: Floor, settings: Settings) -> None:
        super().__init__(node, floor, settings)
        self._kind = _import_action()
        self._frame = settings.map_frame
        self._client = ActionClient(node, self._kind, 'navigate_to_pose')
        node.on_release(self._client.destroy)
        self._goal: Any = None
        self._asked = 0
        self.arrived = False
        self.blocked = False

    def drive_to(self, cell: Cell) -> None:
        """Ask Nav2 to drive to a cell; a new goal replaces the last one."""
        if self._floor.grid.is_wall(cell):
            raise ModelError(f'cell {cell} is a wall or off the map')
        self.hold()
        if not self._client.server_is_ready():
            self.blocked = True
            self._node.get_logger().warning('Nav2 does not answer: holding')
            return
        asked = self._asked
        sent = self._client.send_goal_async(self._kind.Goal(pose=self._goal_pose(cell)))
        sent.add_done_callback(lambda future: self._accept(future.result(), asked))

    def hold(self) -> None:
        """Take back the goal, so that Nav2 stops."""
        self._asked += 1
        self.arrived = self.blocked = False
        if self._goal is not None:
            self._goal.cancel_goal_async()
            self._goal = None

    def _goal_pose(self, cell: Cell) -> Any:
        place, pose = self._floor.centre(cell), self.pose
        heading = 0.0 if pose is None else math.atan2(place.y - pose.y, place.x - pose.x)
        now = self._node.get_clock().now().nanoseconds
        return motion.goal_to_msg(place, heading, time_ns=now, frame=self._frame)

    def _accept(self, goal: Any, asked: int) -> None:
        if not goal.accepted:
            self.blocked = self.blocked or asked == self._asked
        elif asked != self._asked:
            goal.cancel_goal_async()
        else:
            self._goal = goal
            result = goal.get_result_async()
            result.add_done_callback(lambda future: self._conclude(future.result(), asked))

    def _conclude(self, answer: Any, asked: int) -> None:
        if asked == self._asked:
            self._goal = None
            self.arrived = answer.status == GoalStatus.STATUS_SUCCEEDED
            self.blocked = not self.arrived


def _import_action() -> Any:
    try:
        from nav2_msgs.action import NavigateToPose
    except ImportError:
        message = 'navigator: nav2 needs nav2_msgs: apt install ros-jazzy-nav2-msgs'
        raise MissingPackageError(message) from None
    return NavigateToPose
