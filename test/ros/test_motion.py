"""Poses, velocities and scans to messages and back."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Twist, Vector3
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan

from dp_multiagent.driving.floor import Point, Pose
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.driving.scan import Scan
from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.nodes import motion

metres = st.floats(-1e6, 1e6)
headings = st.floats(-3.14, 3.14)
OPTIONS = {'time_ns': 3_000_000_007, 'frame': 'odom', 'child': 'base_link'}


@given(metres, metres, headings)
def test_pose_survives_odometry(x, y, heading):
    message = motion.odometry_to_msg(Pose(x, y, heading), STILL, **OPTIONS)
    assert motion.odometry_from_msg(message) == pytest.approx((x, y, heading))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 7)
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')


@given(metres, metres)
def test_velocity_survives_its_message(forward, turn):
    message = motion.velocity_to_msg(Velocity(forward, turn))
    assert motion.velocity_from_msg(message) == (forward, turn)


def test_heading_is_read_from_a_tilted_robot_too():
    message = motion.odometry_to_msg(Pose(0, 0, 0), STILL, **OPTIONS)
    turn, pitch = np.array([math.cos(0.5), 0, 0, math.sin(0.5)]), 0.05
    w, z = turn[0], turn[3]
    orientation = message.pose.pose.orientation
    orientation.w, orientation.x = w * math.cos(pitch), -z * math.sin(pitch)
    orientation.y, orientation.z = w * math.sin(pitch), z * math.cos(pitch)
    assert motion.odometry_from_msg(message).heading == pytest.approx(1.0)


def test_scan_survives_its_message():
    scan = Scan(np.array([1.0, math.inf, math.nan, 2.5]), -1.5, 0.25, 0.125, 8.0)
    message = motion.scan_to_msg(scan, time_ns=0, frame='laser')
    again = motion.scan_from_msg(message)
    np.testing.assert_array_equal(again.ranges, scan.ranges)
    assert (again.first_angle, again.increment) == (-1.5, 0.25)
    assert (again.shortest, again.longest) == (0.125, 8.0)


def test_goal_names_place_heading_and_frame():
    message = motion.goal_to_msg(Point(1.5, 2.5), math.pi, time_ns=0, frame='map')
    assert message.header.frame_id == 'map'
    pose = motion.pose_from_transform(message.pose.position, message.pose.orientation)
    assert pose[:2] == (1.5, 2.5)
    assert abs(pose.heading) == pytest.approx(math.pi)


@pytest.mark.parametrize(
    ('part', 'field'),
    [('position', 'x'), ('position', 'y')] + [('orientation', name) for name in 'xyzw'],
)
@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_pose_that_is_no_number_is_refused(part, field, value):
    message = motion.odometry_to_msg(Pose(0, 0, 0), STILL, **OPTIONS)
    setattr(getattr(message.pose.pose, part), field, value)
    with pytest.raises(RefusedMessageError, match=f'{field} is not finite'):
        motion.odometry_from_msg(message)


def test_orientation_that_is_no_rotation_is_refused():
    message = Odometry()
    message.pose.pose.orientation.w = 0.0
    with pytest.raises(RefusedMessageError, match='no rotation'):
        motion.odometry_from_msg(message)


@pytest.mark.parametrize(
    'message', [Twist(linear=Vector3(x=math.nan)), Twist(angular=Vector3(z=math.inf))]
)
def test_velocity_that_is_no_number_is_refused(message):
    with pytest.raises(RefusedMessageError, match='not finite'):
        motion.velocity_from_msg(message)


@pytest.mark.parametrize(
    'message', [LaserScan(), LaserScan(ranges=[1.0], angle_increment=math.nan)]
)
def test_scan_without_beams_or_angles_is_refused(message):
    with pytest.raises(RefusedMessageError):
        motion.scan_from_msg(message)
