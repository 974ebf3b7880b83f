"""The simulator in a process of its own, with robots that drive in theirs."""

import signal
import time

import pytest
from dp_multiagent.msg import PrivateState
from geometry_msgs.msg import Twist, Vector3
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from dp_multiagent.nodes import motion, qos
from dp_multiagent.nodes.simulator import main
from dp_multiagent.sim.episode import Episode, Outcome, Verdict

pytest.importorskip('mujoco', reason='the simulator needs mujoco: pip install mujoco')

SECOND = 10**9
RATE = 20
SCENARIO = """\
version: 1
kind: navigation
title: Two robots in a small room
map:
  cells: ['...', '.!.']
motion: {{intended: 0.9, slip: 0.1, swaps: collision}}
robots:
  - {{name: robot1, start: [0, 0], target: {target1}}}
  - {{name: robot2, start: [0, 2], target: [1, 2]}}
privacy: {{epsilon: 1.0, adjacency: 1}}
planning: {{delta: 0.01, beta: 0.1, horizon: 20}}
"""


class Team:
    """A simulator, its scenario and domains, and an operator who hears the verdicts."""

    def __init__(self, start, join, new_domain, tmp_path, target1='[1, 0]', options=()):
        self._start, self._join = start, join
        self.scenario = tmp_path / 'room.yaml'
        self.scenario.write_text(SCENARIO.format(target1=target1))
        self.own = [new_domain(), new_domain()]
        self.operator_domain, self.team_domain = new_domain(), new_domain()
        self.simulator = start(
            'simulator',
            *('--scenario', self.scenario, '--rate', RATE),
            *('--robot-domains', *self.own, '--domain', self.operator_domain),
            *('--team-domain', self.team_domain, *options),
        )
        self.verdicts, self.clocks = [], []
        self.operator = join(self.operator_domain)
        self.operator.create_subscription(
            String,
            '/verdict',
            lambda message: self.verdicts.append(Verdict.from_json(message.data)),
            qos.VERDICT,
        )
        self.operator.create_subscription(Clock, '/clock', self._hear_clock, qos.CLOCK)
        self.episodes = self.operator.create_publisher(String, '/episode', qos.EPISODE)
        self.operator.wait_for(lambda: bool(self.clocks))

    def _hear_clock(self, message):
        self.clocks.append(message.clock.sec * SECOND + message.clock.nanosec)

    def now(self):
        """Return the simulated time in nanoseconds."""
        self.clocks.clear()
        self.operator.wait_for(lambda: bool(self.clocks))
        return self.clocks[-1]

    def begin(self, number, horizon=1000, lead_ns=0):
        """Announce an episode with steps of four simulated seconds."""
        self.operator.wait_for(lambda: self.episodes.get_subscription_count() == 1)
        episode = Episode(number, self.now() + lead_ns, 4 * SECOND, horizon)
        self.episodes.publish(String(data=episode.to_json()))
        return episode

    def verdict(self):
        """Return the next verdict."""
        self.operator.wait_for(lambda: bool(self.verdicts))
        return self.verdicts.pop(0)

    def drive(self, robot, *cells):
        """Start a robot's process that drives over cells."""
        return self._start('navigating', self.own[robot], self.scenario, *cells)

    def watch(self, robot):
        """Return a node in a robot's own domain; `node.poses` are those that it heard."""
        node = self._join(self.own[robot])
        node.poses = []
        node.create_subscription(
            Odometry,
            '/odom',
            lambda message: node.poses.append(motion.odometry_from_msg(message)),
            qos.MEASURED,
        )
        node.wait_for(lambda: bool(node.poses))
        return node


@pytest.fixture
def team(start, join, new_domain, tmp_path):
    return lambda **changes: Team(start, join, new_domain, tmp_path, **changes)


def test_robots_that_drive_to_their_targets_succeed(team):
    world = team()
    episode = world.begin(3)
    one, other = world.drive(0, '1,0'), world.drive(1, '1,2')
    for robot, start, goal in ((one, '(0, 0)', '(1, 0)'), (other, '(0, 2)', '(1, 2)')):
        robot.expect(f'at {start}')
        robot.expect(f'arrived at {goal}')
    verdict = world.verdict()
    assert (verdict.episode, verdict.outcome) == (3, Outcome.SUCCESS)
    assert verdict.cells[0] == ((0, 0), (0, 2))
    assert verdict.cells[-1] == ((1, 0), (1, 2))
    assert world.clocks[-1] >= episode.step_ns(verdict.step)


def test_robots_that_head_for_the_same_cell_collide(team):
    world = team()
    world.begin(0)
    world.drive(0, '0,1')
    world.drive(1, '0,1')
    verdict = world.verdict()
    assert verdict.outcome is Outcome.COLLISION
    assert verdict.cause in ('robots 1 and 2 touched', 'robots 1 and 2 are both in cell (0, 1)')


def test_robot_in_a_deadly_cell_dies(team):
    world = team()
    world.begin(0)
    world.drive(0, '0,0', '1,0', '1,1')
    verdict = world.verdict()
    assert verdict.outcome is Outcome.DEATH
    assert verdict.cells[-1] == ((1, 1), (0, 2))


def test_team_that_does_nothing_runs_out_of_time_and_can_begin_again(team):
    world = team()
    for number in (5, 6):
        world.begin(number, horizon=2)
        verdict = world.verdict()
        assert (verdict.episode, verdict.outcome) == (number, Outcome.TIMEOUT)
        assert verdict.cells == (((0, 0), (0, 2)),) * 3


def test_robots_are_put_back_to_their_starts_and_held_until_the_episode_starts(team):
    world = team()
    own = world.watch(0)
    driver = world.drive(0, '1,0')
    driver.expect('at (0, 0)')
    driver.expect('arrived at (1, 0)')
    own.wait_for(lambda: own.poses[-1].y < 0.6)
    velocity = own.create_publisher(Twist, '/cmd_vel', qos.VELOCITY)
    driver.close()
    episode = world.begin(1, lead_ns=20 * SECOND)
    own.wait_for(lambda: own.poses[-1].y > 1.4)
    own.poses.clear()

    def pushed_until(time_ns):
        velocity.publish(Twist(linear=Vector3(x=0.3)))
        return world.now() >= time_ns

    own.wait_for(lambda: pushed_until(episode.start_ns - 5 * SECOND) and own.poses)
    assert {(round(pose.x, 2), round(pose.y, 2)) for pose in own.poses} == {(0.5, 1.5)}
    own.wait_for(lambda: pushed_until(episode.start_ns) and own.poses[-1].x > 0.6)


def test_killed_robot_stops_and_time_goes_on(team):
    world = team()
    own = world.watch(0)
    driver = world.drive(0, '0,1', '0,2', '0,1', '0,2', '0,1')
    driver.expect('at (0, 0)')
    own.wait_for(lambda: own.poses[-1].x > 0.8)
    driver.close()
    killed = world.now()
    own.wait_for(lambda: world.now() > killed + 3 * SECOND)
    own.poses.clear()
    own.wait_for(lambda: world.now() > killed + 6 * SECOND and len(own.poses) > 1)
    assert own.poses[-1] == pytest.approx(own.poses[0], abs=1e-3)
    assert own.poses[-1].x < 2.0


def test_clock_ticks_in_steps_of_40_simulated_milliseconds_at_the_rate_asked_for(team):
    world = team()
    assert pace(world, ticks=50) < 1.2
    world.begin(1)
    assert 1.2 < pace(world, ticks=300) < 1.2 * RATE
    steps = {b - a for a, b in zip(world.clocks, world.clocks[1:], strict=False)}
    assert min(steps) == 40_000_000
    assert all(step % 40_000_000 == 0 for step in steps)


def pace(world, ticks):
    """Return simulated by real time over some ticks."""
    world.clocks.clear()
    begin = time.monotonic()
    world.operator.wait_for(lambda: len(world.clocks) > ticks)
    return (world.clocks[-1] - world.clocks[0]) / SECOND / (time.monotonic() - begin)


def test_episode_starts_when_the_robots_that_drive_are_ready_for_it(team):
    world = team()
    driver = world.drive(0, '1,0')
    driver.expect('at (0, 0)')
    status = world.watch(0).create_publisher(String, '/status', qos.STATUS)
    episode = world.begin(7, lead_ns=SECOND)
    world.operator.wait_for(lambda: world.clocks[-1] >= episode.start_ns - 40_000_000)
    stood = time.monotonic()
    world.operator.wait_for(lambda: world.clocks[-1] >= episode.start_ns)
    assert time.monotonic() - stood > 0.5
    episode = world.begin(8, lead_ns=SECOND)
    status.publish(String(data='episode 8'))
    world.operator.wait_for(lambda: world.clocks[-1] >= episode.start_ns - 40_000_000)
    stood = time.monotonic()
    world.operator.wait_for(lambda: world.clocks[-1] >= episode.start_ns)
    assert time.monotonic() - stood < 0.5


def test_text_that_is_no_episode_is_refused_and_the_simulator_goes_on(team):
    world = team()
    world.operator.wait_for(lambda: world.episodes.get_subscription_count() == 1)
    world.episodes.publish(String(data='{"episode": "now"}'))
    world.begin(1, horizon=1)
    assert world.verdict().outcome is Outcome.TIMEOUT


def test_team_sees_nothing_of_the_simulator(team, join):
    world = team()
    stranger = join(world.team_domain)
    world.begin(1, horizon=1)
    world.verdict()
    assert set(stranger.get_node_names()) == {'third_party'}
    own = world.watch(0)
    own.wait_for(lambda: own.count_subscribers('/cmd_vel') == 1)
    topics = {name for name, _ in own.get_topic_names_and_types()}
    assert topics == {'/clock', '/odom', '/cmd_vel', '/status', '/parameter_events'}


def test_recording_shows_what_was_told_and_adds_only_a_listener_to_the_team(team, join, tmp_path):
    pictures = tmp_path / 'pictures'
    world = team(options=('--record', pictures))
    stranger = join(world.team_domain)
    told = stranger.create_publisher(PrivateState, '/robot1/private_state', qos.PRIVATE_STATE)
    stranger.wait_for(lambda: told.get_subscription_count() == 1)
    world.begin(2, horizon=2)
    told.publish(PrivateState(episode=2, step=0, robot=0, state=10**6))
    told.publish(PrivateState(episode=2, step=0, robot=0, state=1))
    assert world.verdict().outcome is Outcome.TIMEOUT
    assert (pictures / 'episode_0002.png').read_bytes().startswith(b'\x89PNG')
    assert (pictures / 'episode_0002.gif').read_bytes().startswith(b'GIF89a')
    assert set(stranger.get_node_names()) == {'third_party', 'recorder'}
    topics = {name for name, _ in stranger.get_topic_names_and_types()}
    names = {f'/robot{i}/private_state' for i in (1, 2)}
    assert topics == {'/parameter_events'} | names
    assert stranger.get_service_names_and_types() == []


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_simulator_ends_with_status_0_when_asked_to(team, number):
    world = team()
    world.simulator.send(number)
    assert world.simulator.wait() == 0


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (['--scenario', 'sysadmin'], 'no robots that drive'),
        (['--scenario', 'nowhere'], 'no scenario is called'),
        (['--scenario', 'navigation', '--rate', '-1'], 'rate -1.0 is negative'),
        (['--scenario', 'navigation', '--robot-domains', '43'], '2 robots'),
        (['--scenario', 'navigation', '--robot-domains', '43', '43'], '2 robots'),
        (['--scenario', 'navigation', '--robot-domains', '42', '43'], '2 robots'),
        (['--scenario', 'navigation', '--robot-domains', '92', '43'], '2 robots'),
    ],
)
def test_bad_arguments_end_with_status_2_and_one_line(arguments, reason, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count('\n') == 1
