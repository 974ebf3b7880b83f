"""The seam to ROS of what drives: poses, velocities and scans to their messages and back.

As in `conversions`, `x_from_msg` checks first and raises RefusedMessageError.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Quaternion, Twist, Vector3
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan

from dp_multiagent.driving.floor import Point, Pose
from dp_multiagent.driving.pilot import Velocity
from dp_multiagent.driving.scan import Scan
from dp_multiagent.nodes.validation import NANOSECONDS, require, require_finite

MAX_BEAMS = 100_000
UNIT_TOLERANCE = 0.05


def time_to_msg(nanoseconds: int) -> Time:
    """Return a time stamp."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return Time(sec=seconds, nanosec=rest)


def pose_from_transform(place: Any, rotation: Quaternion) -> Pose:
    """Return the pose on the floor that a place (with x and y) and a rotation amount to."""
    require_finite(place, 'x', 'y')
    require_finite(rotation, 'x', 'y', 'z', 'w')
    q = rotation
    norm = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w  # powers would raise if they overflow
    require(abs(norm - 1) < UNIT_TOLERANCE, 'its orientation is no rotation')
    heading = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    return Pose(place.x, place.y, heading)


def odometry_to_msg(
    pose: Pose, velocity: Velocity, *, time_ns: int, frame: str, child: str
) -> Odometry:
    """Return the message that tells a pose and a velocity."""
    message = Odometry(child_frame_id=child)
    message.header.stamp = time_to_msg(time_ns)
    message.header.frame_id = frame
    message.pose.pose.position.x = pose.x
    message.pose.pose.position.y = pose.y
    message.pose.pose.orientation = _rotation(pose.heading)
    message.twist.twist = velocity_to_msg(velocity)
    return message


def odometry_from_msg(message: Odometry) -> Pose:
    """Return the pose that odometry tells."""
    pose = message.pose.pose
    return pose_from_transform(pose.position, pose.orientation)


def velocity_to_msg(velocity: Velocity) -> Twist:
    """Return the message that asks for a velocity."""
    return Twist(linear=Vector3(x=velocity.forward), angular=Vector3(z=velocity.turn))


def velocity_from_msg(message: Twist) -> Velocity:
    """Return the velocity that a message asks for."""
    require_finite(message.linear, 'x')
    require_finite(message.angular, 'z')
    return Velocity(message.linear.x, message.angular.z)


def scan_to_msg(scan: Scan, *, time_ns: int, frame: str) -> LaserScan:
    """Return the message that tells a scan."""
    message = LaserScan(
        angle_min=scan.first_angle,
        angle_max=scan.first_angle + scan.increment * (len(scan.ranges) - 1),
        angle_increment=scan.increment,
        range_min=scan.shortest,
        range_max=scan.longest,
        ranges=array('f', scan.ranges),
    )
    message.header.stamp = time_to_msg(time_ns)
    message.header.frame_id = frame
    return message


def scan_from_msg(message: LaserScan) -> Scan:
    """Return the scan that a message tells."""
    require(0 < len(message.ranges) <= MAX_BEAMS, f'a scan of {len(message.ranges)} beams')
    require_finite(message, 'angle_min', 'angle_increment', 'range_min', 'range_max')
    ranges = np.array(message.ranges, dtype=np.float64)
    return Scan(
        ranges,
        message.angle_min,
        message.angle_increment,
        message.range_min,
        message.range_max,
    )


def goal_to_msg(place: Point, heading: float, *, time_ns: int, frame: str) -> PoseStamped:
    """Return the message that names a place to drive to."""
    message = PoseStamped()
    message.header.stamp = time_to_msg(time_ns)
    message.header.frame_id = frame
    message.pose.position.x = place.x
    message.pose.position.y = place.y
    message.pose.orientation = _rotation(heading)
    return message


def _rotation(heading: float) -> Quaternion:
    return Quaternion(z=math.sin(heading / 2), w=math.cos(heading / 2))
