"""The navigator between a base that tells its pose and obeys, and a robot that asks to drive."""

import importlib.util
import math
import sys
import time
import types

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped, Twist
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from sensor_msgs.msg import LaserScan

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.pilot import STILL
from dp_multiagent.driving.scan import Scan
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.nodes import motion, nav2, qos
from dp_multiagent.nodes.navigator import make_navigator

GRID = GridMap(('...', '.#.'), slip=0.1)
STALE = 0.3


class Rig:
    """A navigator with its base: `commands` are the velocities that the base was told."""

    def __init__(self, join, domain, **parameters):
        self.robot, self.base = join(domain), join(domain)
        for name, value in ({'stale_after': STALE} | parameters).items():
            self.robot.declare_parameter(name, value)
        self.navigator = make_navigator(self.robot, GRID)
        self.commands = []
        self.base.create_subscription(
            Twist,
            'cmd_vel',
            lambda message: self.commands.append(motion.velocity_from_msg(message)),
            qos.VELOCITY,
        )
        self.odom = self.base.create_publisher(Odometry, 'odom', qos.ODOMETRY)
        self.scan = self.base.create_publisher(LaserScan, 'scan', qos.ODOMETRY)
        self.wait(self._is_connected)

    def _is_connected(self):
        heard = [self.odom.get_subscription_count(), self.scan.get_subscription_count()]
        return heard == [1, 1] and self.base.count_publishers('cmd_vel') == 1

    def wait(self, condition, while_waiting=lambda: None):
        def both():
            self.base.executor.spin_once(timeout_sec=0.001)
            while_waiting()
            return condition()

        self.robot.wait_for(both)

    def tell(self, x, y, heading=0.0):
        pose = Pose(x, y, heading)
        self.odom.publish(
            motion.odometry_to_msg(pose, STILL, time_ns=0, frame='odom', child='base_link')
        )

    def see(self, distance):
        """Publish a scan with one beam, straight ahead."""
        scan = Scan(np.array([distance]), 0.0, 0.1, 0.01, 10.0)
        self.scan.publish(motion.scan_to_msg(scan, time_ns=0, frame='laser'))

    def be_at(self, x, y, heading=0.0):
        self.wait(
            lambda: (
                self.navigator.pose is not None
                and self.navigator.pose == pytest.approx((x, y, heading))
            ),
            lambda: self.tell(x, y, heading),
        )


@pytest.fixture
def rig(join, new_domain):
    return lambda **parameters: Rig(join, new_domain(), **parameters)


def test_robot_is_in_the_cell_of_its_odometry(rig):
    base = rig()
    assert base.navigator.cell is None
    base.be_at(0.5, 1.5)
    assert base.navigator.cell == (0, 0)
    base.be_at(2.3, 0.9)
    assert base.navigator.cell == (1, 2)


def test_robot_off_the_map_or_in_a_wall_is_nowhere(rig):
    base = rig()
    for place in ((-0.5, 0.5), (1.5, 0.5)):
        base.be_at(*place)
        assert base.navigator.cell is None


def test_cell_size_origin_and_topics_are_parameters(join, new_domain):
    robot, base = (node := join(new_domain())), node
    for name, value in {
        'cell_size': 2.0,
        'origin_x': 10.0,
        'origin_y': -10.0,
        'odom_topic': '/base/odometry',
    }.items():
        robot.declare_parameter(name, value)
    navigator = make_navigator(robot, GRID)
    odom = base.create_publisher(Odometry, '/base/odometry', qos.ODOMETRY)
    pose = Pose(10.1, -6.1, 0.0)
    message = motion.odometry_to_msg(pose, STILL, time_ns=0, frame='odom', child='base_link')

    def told():
        odom.publish(message)
        return navigator.cell == (0, 0)

    robot.wait_for(told)


def test_each_pose_is_answered_by_a_velocity(rig):
    base = rig()
    for k in range(1, 6):
        base.tell(0.5, 1.5)
        base.wait(lambda k=k: len(base.commands) >= k)
    assert set(base.commands) == {(0, 0)}


def test_robot_turns_towards_its_cell(rig):
    base = rig()
    base.be_at(0.5, 1.5)
    base.navigator.drive_to((1, 0))
    base.wait(
        lambda: base.commands[-1:] and base.commands[-1].turn < -0.1, lambda: base.tell(0.5, 1.5)
    )
    assert not base.navigator.arrived


def test_robot_that_is_there_has_arrived(rig):
    base = rig()
    base.be_at(0.5, 1.5)
    base.navigator.drive_to((0, 0))
    assert base.navigator.arrived
    base.navigator.hold()
    assert not base.navigator.arrived


def test_robot_is_lost_and_brakes_when_its_odometry_ends(rig):
    base = rig()
    base.be_at(0.5, 1.5)
    base.navigator.drive_to((1, 0))
    base.wait(lambda: base.commands and base.commands[-1].turn < -0.1, lambda: base.tell(0.5, 1.5))
    base.wait(lambda: base.navigator.cell is None)
    base.wait(lambda: base.commands[-1] == (0, 0))
    assert not base.navigator.arrived
    base.navigator.drive_to((0, 1))
    base.be_at(0.5, 1.5)
    assert base.commands[-1] == (0, 0)


def test_what_was_measured_before_the_clock_was_set_back_is_not_believed(rig, monkeypatch):
    base = rig()
    base.be_at(0.5, 1.5)
    base.see(5.0)
    base.wait(lambda: base.navigator._scanned_ns is not None, lambda: base.tell(0.5, 1.5))
    earlier = base.robot.get_clock().now() - Duration(seconds=5)
    clock = types.SimpleNamespace(now=lambda: earlier)
    monkeypatch.setattr(base.robot, 'get_clock', lambda: clock)
    assert base.navigator.pose is None
    assert base.navigator.blocked


def test_messages_that_are_no_pose_do_not_count(rig):
    base = rig()
    base.wait(lambda: base.robot.refused['/odom'] >= 3, lambda: base.tell(math.nan, 0.0))
    assert base.navigator.cell is None


def test_robot_drives_only_after_its_scanner_sees_a_free_way(rig):
    base = rig(turn_speed=100.0, turn_acceleration=1000.0)
    base.be_at(0.5, 1.5)

    def stand(sight):
        base.see(sight)
        base.tell(0.5, 1.5)

    base.wait(lambda: base.navigator.blocked, lambda: stand(0.2))
    base.navigator.drive_to((0, 1))
    base.commands.clear()
    begin = time.monotonic()
    base.wait(lambda: time.monotonic() > begin + 1.0, lambda: stand(0.2))
    assert len(base.commands) > 10
    assert all(command.forward <= 0 for command in base.commands)
    base.wait(lambda: base.commands[-1].forward > 0.1, lambda: stand(5.0))


def test_robot_whose_scanner_falls_silent_stands(rig):
    base = rig()
    base.see(5.0)
    base.wait(lambda: base.navigator._scanned_ns is not None, lambda: base.see(5.0))
    assert not base.navigator.blocked
    base.wait(lambda: base.navigator.blocked)


def test_robot_without_a_scanner_is_not_blocked(rig):
    assert not rig().navigator.blocked


@pytest.mark.parametrize('cell', [(1, 1), (5, 0)])
def test_wall_is_no_goal(rig, cell):
    with pytest.raises(ModelError, match='wall or off the map'):
        rig().navigator.drive_to(cell)


@pytest.mark.parametrize(
    'wrong', [{'navigator': 'magic'}, {'pose': 'gps'}, {'radius': 0.0}, {'stale_after': -1.0}]
)
def test_parameter_that_makes_no_sense_is_refused_by_name(wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize(
    ('parameter', 'value', 'package'),
    [('navigator', 'nav2', 'nav2_msgs'), ('pose', 'tf', 'tf2_ros')],
)
def test_missing_package_is_said_in_one_line(join, new_domain, parameter, value, package):
    if importlib.util.find_spec(package):
        pytest.skip(f'{package} is installed here')
    robot = join(new_domain())
    robot.declare_parameter(parameter, value)
    with pytest.raises(MissingPackageError, match=f'needs {package}: apt install'):
        make_navigator(robot, GRID)


class FakeTf:
    """A tf2_ros that is not installed here; `transform` is what it knows, if anything."""

    class TransformException(Exception):  # noqa: N818
        pass

    def __init__(self):
        self.transform, self.asked = None, set()

    def lookup_transform(self, target, source, time):
        self.asked.add((target, source))
        if self.transform is None:
            raise self.TransformException
        return self.transform

    def module(self):
        module = types.ModuleType('tf2_ros')
        module.Buffer = lambda: self
        module.TransformException = self.TransformException
        listener = types.SimpleNamespace(unregister=lambda: None)
        module.TransformListener = lambda buffer, node: listener
        return module


def transform(second, x, y):
    message = TransformStamped()
    message.header.stamp.sec = second
    message.transform.translation.x, message.transform.translation.y = x, y
    return message


def test_pose_of_tf_counts_while_it_is_renewed(monkeypatch, join, new_domain):
    tf = FakeTf()
    monkeypatch.setitem(sys.modules, 'tf2_ros', tf.module())
    robot = join(new_domain())
    for name, value in {'pose': 'tf', 'map_frame': 'hall', 'stale_after': STALE}.items():
        robot.declare_parameter(name, value)
    navigator = make_navigator(robot, GRID)
    robot.wait_for(lambda: tf.asked == {('hall', 'base_link')})
    assert navigator.cell is None
    tf.transform = transform(1, math.nan, 1.5)
    tf.asked.clear()
    robot.wait_for(lambda: bool(tf.asked))
    assert navigator.cell is None
    tf.transform = transform(2, 2.5, 1.5)
    robot.wait_for(lambda: navigator.cell == (0, 2))
    robot.wait_for(lambda: navigator.cell is None)
    tf.transform = transform(3, 2.5, 0.5)
    robot.wait_for(lambda: navigator.cell == (1, 2))


class FakeFuture:
    def __init__(self, result=None):
        self._result, self._callbacks = result, []

    def add_done_callback(self, callback):
        self._callbacks.append(callback)

    def result(self):
        return self._result

    def finish(self, result):
        self._result = result
        for callback in self._callbacks:
            callback(self)


class FakeGoal:
    def __init__(self, accepted=True):
        self.accepted, self.cancelled = accepted, False
        self.end = FakeFuture()

    def get_result_async(self):
        return self.end

    def cancel_goal_async(self):
        self.cancelled = True


class FakeNav2:
    """The action client of a Nav2 that is not installed here; it keeps what it was asked."""

    def __init__(self, node, kind, name):
        self.name, self.asked, self.ready = name, [], True

    def server_is_ready(self):
        return self.ready

    def send_goal_async(self, goal):
        self.asked.append((goal, FakeFuture()))
        return self.asked[-1][1]

    def destroy(self):
        pass


@pytest.fixture
def handed_over(monkeypatch, join, new_domain):
    """Return a navigator that hands over to Nav2, and that Nav2."""
    kind = types.SimpleNamespace(Goal=types.SimpleNamespace)
    module = types.ModuleType('nav2_msgs.action')
    module.NavigateToPose = kind
    monkeypatch.setitem(sys.modules, 'nav2_msgs', types.ModuleType('nav2_msgs'))
    monkeypatch.setitem(sys.modules, 'nav2_msgs.action', module)
    monkeypatch.setattr(nav2, 'ActionClient', FakeNav2)
    robot = join(new_domain())
    robot.declare_parameter('navigator', 'nav2')
    navigator = make_navigator(robot, GRID)
    return navigator, navigator._client


def ended(status):
    return types.SimpleNamespace(status=status)


def test_nav2_is_asked_for_the_middle_of_the_cell(handed_over):
    navigator, client = handed_over
    navigator.drive_to((1, 2))
    ((goal, _),) = client.asked
    assert client.name == 'navigate_to_pose'
    assert goal.pose.header.frame_id == 'map'
    place = goal.pose.pose.position
    assert (place.x, place.y) == Floor(GRID).centre((1, 2))


@pytest.mark.parametrize(('status', 'arrived'), [(4, True), (5, False), (6, False)])
def test_robot_has_arrived_when_nav2_succeeded_and_is_blocked_otherwise(
    handed_over, status, arrived
):
    navigator, client = handed_over
    navigator.drive_to((0, 1))
    goal = FakeGoal()
    client.asked[0][1].finish(goal)
    assert not navigator.arrived
    goal.end.finish(ended(status))
    assert (navigator.arrived, navigator.blocked) == (arrived, not arrived)


def test_new_cell_takes_back_the_last_goal(handed_over):
    navigator, client = handed_over
    first, second = FakeGoal(), FakeGoal()
    navigator.drive_to((0, 1))
    client.asked[0][1].finish(first)
    navigator.drive_to((0, 2))
    assert first.cancelled
    first.end.finish(ended(5))
    client.asked[1][1].finish(second)
    assert [second.cancelled, navigator.arrived, navigator.blocked] == [False] * 3


def test_goal_that_is_accepted_too_late_is_taken_back(handed_over):
    navigator, client = handed_over
    late = FakeGoal()
    navigator.drive_to((0, 1))
    navigator.drive_to((0, 2))
    client.asked[0][1].finish(late)
    assert late.cancelled


def test_robot_is_blocked_if_nav2_refuses_or_is_not_there(handed_over):
    navigator, client = handed_over
    navigator.drive_to((0, 1))
    client.asked[0][1].finish(FakeGoal(accepted=False))
    assert navigator.blocked
    navigator.hold()
    client.ready = False
    navigator.drive_to((0, 1))
    assert navigator.blocked
    assert len(client.asked) == 1
