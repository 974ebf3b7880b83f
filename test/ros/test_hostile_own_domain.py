"""Changed odometry, scans, velocities and episodes in a robot's own domain and the operator's."""

import math

import pytest
from geometry_msgs.msg import Twist
from hostile import EACH, Patient, flood, generous
from mutations import Mutator
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan
from std_msgs.msg import String
from test_diagnostics import Reports
from test_hostile_messages import EPISODE, odometry, scan, velocity
from test_simulator import team  # noqa: F401
from test_watchdog_node import rig  # noqa: F401

from dp_multiagent.driving.settings import Settings
from dp_multiagent.driving.watchdog import Cause
from dp_multiagent.nodes import qos


def changed(sound, seed):
    """Return changed messages, then changed bytes."""
    change = Mutator(seed)
    yield from (change.message(sound) for _ in range(EACH))
    yield from (change.serialised(sound) for _ in range(EACH))


@pytest.fixture
def robot(start, join, new_domain, tmp_path):
    own, team_domain = new_domain(), new_domain()
    program = start(
        *('node', 'robot', '--scenario', 'crossing', '--robot', 'robot1', '--domain', own),
        *('--team-domain', team_domain, '--ledger', tmp_path / 'ledger', '--budget', 3),
    )
    node = join(own)
    node.reports, node.commands = Reports(node), []
    node.create_subscription(Twist, 'cmd_vel', node.commands.append, qos.VELOCITY)
    node.wait_for(lambda: bool(node.reports.last))
    return Patient(program, node, 'robot1'), node


@pytest.mark.parametrize(
    ('kind', 'topic', 'receive'),
    [(Odometry, 'odom', odometry), (LaserScan, 'scan', scan)],
    ids=['odom', 'scan'],
)
def test_robot_withstands_changed_measurements_and_sends_no_wild_velocity(
    robot, kind, topic, receive
):
    patient, node = robot
    publisher = node.create_publisher(kind, topic, generous(qos.CLOCK))
    node.wait_for(lambda: publisher.get_subscription_count() > 0)
    flood(publisher, changed(receive.sound(), seed=5))
    node.wait_for(lambda: bool(node.reports.values('messages')))
    patient.assert_well()
    limits = Settings()
    for message in node.commands:
        assert abs(message.linear.x) <= limits.speed
        assert abs(message.angular.z) <= limits.turn_speed
    count = len(node.commands)
    poses = node.create_publisher(Odometry, 'odom', generous(qos.CLOCK))
    node.wait_for(lambda: poses.get_subscription_count() > 0)
    poses.publish(odometry.sound())
    node.wait_for(lambda: len(node.commands) > count)


@pytest.mark.parametrize(
    ('topic', 'receive'), [('odom', odometry), ('wanted', velocity)], ids=['odom', 'wanted']
)
def test_watchdog_withstands_changed_messages_and_lets_the_wheels_turn_again(rig, topic, receive):  # noqa: F811
    robot = rig().set_off()
    flood(getattr(robot, topic), changed(receive.sound(), seed=7))
    robot.base.wait_for(lambda: robot.program.is_running())
    for _, (forward, turn) in robot.commands:
        assert math.isfinite(forward)
        assert math.isfinite(turn)
    assert 'Traceback' not in robot.program.errors()
    robot.stops(wanted=None)
    assert any(cause.value in robot.log() for cause in Cause)
    robot.set_off()


def test_simulator_withstands_changed_episodes_and_velocities(team):  # noqa: F811
    world = team()
    body = world.watch(0)
    change, text = Mutator(9), EPISODE.to_json()
    wheels = body.create_publisher(Twist, '/cmd_vel', generous(qos.VELOCITY))
    body.wait_for(lambda: wheels.get_subscription_count() > 0)
    flood(world.episodes, (String(data=change.text(text)) for _ in range(EACH)))
    flood(world.episodes, (change.serialised(String(data=text)) for _ in range(EACH)))
    flood(wheels, changed(velocity.sound(), seed=8))
    world.operator.wait_for(lambda: '/episode: refused message 64' in world.simulator.errors())
    world.operator.wait_for(lambda: '/cmd_vel: refused message 64' in world.simulator.errors())
    assert 'Traceback' not in world.simulator.errors()
    body.poses.clear()
    body.wait_for(lambda: bool(body.poses))
    assert all(map(math.isfinite, body.poses[-1]))
    world.verdicts.clear()
    world.begin(3, horizon=1)
    world.operator.wait_for(lambda: any(verdict.episode == 3 for verdict in world.verdicts))
