"""The watchdog in a process of its own; this process is the base and the navigator."""

import math
import re
import signal
import sys
import time
import types

import pytest
from geometry_msgs.msg import TransformStamped, Twist
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from rclpy.parameter import Parameter as Override

from dp_multiagent.driving.floor import Pose
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.driving.watchdog import Cause
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.nodes import motion, qos
from dp_multiagent.nodes.watchdog import WatchdogNode, main

HERE = Pose(0.6180339, 1.4142135, 0.7320508)
SLOW = Velocity(0.04, 0.1)
TICK = 0.02
LATEST = 0.45  # seconds, for a machine under load; a base obeys for half a second
SILENCE, STALE, JUMP, OFF_MAP, SENSELESS = (
    cause.value
    for cause in (Cause.SILENCE, Cause.STALE, Cause.JUMP, Cause.OFF_MAP, Cause.SENSELESS)
)


class Rig:
    """A base and a navigator around a watchdog; `commands` are (time, velocity) of the base."""

    def __init__(self, start, join, new_domain, *parameters):
        self.own, self.team = new_domain(), new_domain()
        self.program = start(
            *('node', 'watchdog', '--scenario', 'crossing', '--robot', 'robot1'),
            *('--domain', self.own, '--team-domain', self.team, '--ros-args'),
            *(word for parameter in parameters for word in ('-p', parameter)),
        )
        self.base = join(self.own)
        self.commands = []
        self.base.create_subscription(Twist, 'cmd_vel', self._hear, qos.VELOCITY)
        self.odom = self.base.create_publisher(Odometry, 'odom', qos.ODOMETRY)
        self.wanted = self.base.create_publisher(Twist, 'cmd_vel_wanted', qos.VELOCITY)

    def _hear(self, message):
        self.commands.append((time.monotonic(), motion.velocity_from_msg(message)))

    @property
    def wheels(self):
        return self.commands[-1][1] if self.commands else None

    def tell(self, pose=HERE):
        self.odom.publish(
            motion.odometry_to_msg(pose, STILL, time_ns=0, frame='odom', child='base_link')
        )

    def want(self, velocity=SLOW):
        self.wanted.publish(motion.velocity_to_msg(velocity))

    def drive_until(self, condition, pose=HERE, wanted=SLOW):
        """Tell a pose and answer it, every now and then, until a condition holds."""
        due = time.monotonic()

        def driven():
            nonlocal due
            if time.monotonic() >= due:
                due += TICK
                if pose is not None:
                    self.tell(pose)
                if wanted is not None:
                    self.want(wanted)
            return condition()

        self.base.wait_for(driven)

    def set_off(self):
        self.drive_until(lambda: self.wheels == SLOW)
        return self

    def stops(self, **changes):
        """Change what arrives; return the seconds until the wheels stand."""
        begin = time.monotonic()
        self.drive_until(lambda: self.wheels == STILL, **changes)
        return self.commands[-1][0] - begin

    def says(self, text):
        """Wait until the log has a text, after the last time that the wheels were free to turn."""
        self.base.wait_for(lambda: text in self.log().rpartition('the wheels may turn')[2])

    def log(self):
        """Return the log without its time stamps."""
        return re.sub(r'\[\d+\.\d+\]', '', self.program.errors())


@pytest.fixture
def rig(start, join, new_domain):
    return lambda *parameters: Rig(start, join, new_domain, *parameters)


def test_wheels_stand_whenever_they_must_and_turn_again_when_all_is_well(rig):
    robot = rig()
    elsewhere = HERE._replace(x=3.5)
    for change, cause in (
        ({'wanted': None}, SILENCE),
        ({'pose': None, 'wanted': None}, STALE),
        ({'pose': None}, STALE),
        ({'pose': elsewhere}, JUMP),
        ({'pose': HERE._replace(x=-0.1)}, OFF_MAP),
        ({'pose': HERE._replace(y=math.nan)}, SENSELESS),
        ({'wanted': Velocity(0.04, math.nan)}, SENSELESS),
        ({'wanted': Velocity(math.inf, 0.1)}, SENSELESS),
    ):
        robot.set_off()
        assert robot.stops(**change) < LATEST
        robot.says(cause)
    log = robot.log()
    assert not any(digits in log for digits in ('0.6', '1.4', '0.7', '3.5', '-0.1'))
    assert 'Traceback' not in log


def test_limits_are_parameters_and_hold_whatever_is_wanted(rig):
    robot = rig('speed:=0.3', 'turn_speed:=0.2')
    robot.drive_until(lambda: robot.wheels == (0.3, -0.2), wanted=Velocity(1e9, -1e9))
    assert all(abs(v.forward) <= 0.3 and abs(v.turn) <= 0.2 for _, v in robot.commands)


def test_topics_are_parameters(rig):
    robot = rig('wanted_topic:=nav/velocity', 'wheels_topic:=base/velocity')
    node = robot.base
    node.wait_for(lambda: node.count_subscribers('/nav/velocity') == 1)
    node.wait_for(lambda: node.count_publishers('/base/velocity') == 1)


def test_it_adds_one_topic_to_its_own_domain_and_is_not_in_the_teams(rig, join):
    robot = rig()
    stranger = join(robot.team)
    robot.set_off()
    names = robot.base.get_publisher_names_and_types_by_node('watchdog', '/')
    assert {name for name, _ in names} == {'/cmd_vel', '/rosout', '/parameter_events'}
    assert set(stranger.get_node_names()) == {'third_party'}
    assert {name for name, _ in stranger.get_topic_names_and_types()} == {'/parameter_events'}


def test_wheels_stand_when_the_watchdog_is_ended_in_order(rig):
    robot = rig().set_off()
    begin = time.monotonic()
    robot.program.send(signal.SIGTERM)
    robot.base.wait_for(lambda: robot.wheels == STILL)
    assert robot.commands[-1][0] - begin < LATEST
    assert robot.program.wait() == 0


def test_parameters_are_described_and_cannot_be_set_while_it_runs(rig):
    node = rig().base

    def ask(kind, name, **fields):
        client = node.create_client(kind, f'/watchdog/{name}')
        node.wait_for(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        node.wait_for(future.done)
        return future.result()

    (about,) = ask(DescribeParameters, 'describe_parameters', names=['speed']).descriptors
    assert about.description == 'limit, metres a second'
    assert about.floating_point_range[0].from_value == 0.001
    change = Parameter(name='speed', value=ParameterValue(type=3, double_value=9.0))
    (result,) = ask(SetParameters, 'set_parameters', parameters=[change]).results
    assert not result.successful


def test_it_says_how_far_a_stop_takes(rig):
    rig('speed:=0.35').says('from 0.35 m/s a stop takes 0.043 m, 0.17 s')
    rig().says('from 1.2 m/s a stop takes 0.276 m, 0.38 s; with a lower speed it takes less')


def test_pose_may_come_from_tf(monkeypatch, join, new_domain):
    found = TransformStamped()
    found.transform.translation.x, found.transform.translation.y = HERE.x, HERE.y
    module = types.ModuleType('tf2_ros')
    module.TransformException = type('TransformException', (Exception,), {})
    module.Buffer = lambda: types.SimpleNamespace(lookup_transform=lambda *frames: found)
    module.TransformListener = lambda buffer, node: types.SimpleNamespace(unregister=None)
    monkeypatch.setitem(sys.modules, 'tf2_ros', module)
    base = join(new_domain())
    times = {'control_period': 0.2, 'pose_stale_after': 0.4}
    overrides = [Override(name, value=value) for name, value in ({'pose': 'tf'} | times).items()]
    watchdog = WatchdogNode(
        GridMap(('..', '..'), slip=0.0), context=base.context, parameter_overrides=overrides
    )
    base.executor.add_node(watchdog)
    commands = []
    base.create_subscription(Twist, 'cmd_vel', commands.append, qos.VELOCITY)
    wanted = base.create_publisher(Twist, 'cmd_vel_wanted', qos.VELOCITY)

    def driven(moves):
        found.header.stamp.nanosec += moves
        wanted.publish(motion.velocity_to_msg(SLOW))
        return commands and motion.velocity_from_msg(commands[-1]) == (SLOW if moves else STILL)

    base.wait_for(lambda: driven(1))
    base.wait_for(lambda: driven(0))
    watchdog.destroy_node()


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (['--robot', 'robot9'], "no robot is called 'robot9'; there are robot1, robot2"),
        (['--domain', '7', '--team-domain', '7'], "--domain: 7 is the team's, or not from 0 to"),
        (['--domain', '233'], "--domain: 233 is the team's, or not from 0 to 232"),
        (['--scenario', 'sysadmin'], 'a scenario of kind sysadmin has no robots that drive'),
        (['--ros-args', '-p', 'pose:=gps'], "pose: 'gps' is none of ('odom', 'tf')"),
        (['--ros-args', '-p', 'wanted_topic:=cmd_vel'], 'wanted_topic and wheels_topic are both'),
        (['--ros-args', '-p', 'speed:=-1.0'], 'a parameter is not of its kind or range'),
        (['--ros-args', '-p', 'speed:=1'], 'a parameter is not of its kind or range'),
        (['--ros-args', '-p', 'pose_stale_after:=0.01'], 'stale_after 0.01 is less than'),
    ],
)
def test_bad_input_ends_it_with_one_line_and_status_2(new_domain, capfd, options, said):
    common = ['--scenario', 'crossing', '--robot', 'robot1']
    domains = ['--domain', str(new_domain()), '--team-domain', str(new_domain())]
    assert main([*common, *domains, *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(said)
