"""Where a robot is, from odometry or tf, and in which cell; nowhere if that is too long ago.

In
    odom                nav_msgs/Odometry, with `pose: odom`
    tf, tf_static       from `map_frame` to `base_frame` with its prefix, with `pose: tf`
"""

from __future__ import annotations

from collections.abc import Callable

from nav_msgs.msg import Odometry
from rclpy.time import Time

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import MissingPackageError, RefusedMessageError
from dp_multiagent.models.gridmap import Cell
from dp_multiagent.nodes import motion, qos
from dp_multiagent.nodes.guard import GuardedNode

TF_PERIOD = 0.04  # seconds


class Whereabouts:
    """Follows a robot's pose; `on_pose` is called after each measurement."""

    def __init__(
        self,
        node: GuardedNode,
        floor: Floor,
        settings: Settings,
        on_pose: Callable[[], object] = lambda: None,
    ) -> None:
        self._node, self._floor = node, floor
        self._stale_after_ns = round(settings.stale_after * 1e9)
        self._pose: Pose | None = None
        self._seen_ns = 0
        self._on_pose = on_pose
        if settings.pose == 'odom':
            node.subscribe(
                Odometry,
                settings.odom_topic,
                qos.MEASURED,
                motion.odometry_from_msg,
                self._see,
            )
        else:
            _follow_tf(node, settings, self._see)

    @property
    def pose(self) -> Pose | None:
        """Return where the robot is, None if nobody has said so for too long."""
        age = abs(self._node.get_clock().now().nanoseconds - self._seen_ns)  # it may be set back
        return self._pose if age <= self._stale_after_ns else None

    @property
    def cell(self) -> Cell | None:
        """Return the cell in which the robot is, None if it is lost or off the map."""
        pose = self.pose
        return None if pose is None else self._floor.cell_at(pose.x, pose.y)

    def _see(self, pose: Pose) -> None:
        self._pose = pose
        self._seen_ns = self._node.get_clock().now().nanoseconds
        self._on_pose()


def _follow_tf(node: GuardedNode, settings: Settings, see: Callable[[Pose], object]) -> None:
    try:
        from tf2_ros import Buffer, TransformException, TransformListener
    except ImportError:
        raise MissingPackageError(
            'pose: tf needs tf2_ros: apt install ros-jazzy-tf2-ros'
        ) from None
    buffer = Buffer()
    listener = TransformListener(buffer, node)
    node.on_release(listener.unregister)
    last = -1

    def look() -> None:
        nonlocal last
        try:
            found = buffer.lookup_transform(settings.map_frame, settings.robot_frame, Time())
            stamp = Time.from_msg(found.header.stamp).nanoseconds
            if stamp == last:
                return
            pose = motion.pose_from_transform(
                found.transform.translation, found.transform.rotation
            )
        except (TransformException, RefusedMessageError):
            return
        last = stamp
        see(pose)

    node.every(TF_PERIOD, look)
