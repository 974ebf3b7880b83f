"""A robot's parameters and names as those see them who start it, in a process of its own."""

import signal

import pytest
from dp_multiagent.msg import TeamPlan
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from std_msgs.msg import String

from dp_multiagent.driving.parameter import described
from dp_multiagent.driving.settings import Settings
from dp_multiagent.models import plan, scenarios
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.planning.robot_model import RobotModel

FILE = scenarios.share() / 'config' / 'nodes' / 'robot.yaml'
NAMES = [name for name, _ in described(Settings)]
TEAM_TOPICS = {'/parameter_events', '/team_plan', '/robot1/private_state', '/robot1/budget'}


class Robot:
    """A robot that is up, and a node in its own domain that talks to it."""

    def __init__(self, launched, join, own, name='/robot1'):
        self.program, self.name = launched, name
        self.node = join(own)
        statuses = []
        self.node.create_subscription(String, '/status', statuses.append, qos.STATUS)
        self.node.wait_for(lambda: bool(statuses))

    def ask(self, kind, service, **request):
        client = self.node.create_client(kind, f'{self.name}/{service}')
        self.node.wait_for(client.service_is_ready)
        future = client.call_async(kind.Request(**request))
        self.node.wait_for(future.done)
        return future.result()

    def topics(self):
        return {name for name, _ in self.node.get_topic_names_and_types()}


@pytest.fixture
def launch(start, new_domain, tmp_path):
    """Start a robot of the crossing with arguments of ROS; return it and its domains."""

    def launched(*ros_arguments):
        own, team = new_domain(), new_domain()
        program = start(
            'node',
            *('robot', '--scenario', 'crossing', '--robot', 'robot1', '--budget', 3),
            *('--domain', own, '--team-domain', team, '--ledger', tmp_path / 'ledger'),
            *('--ros-args', *ros_arguments),
        )
        return program, own, team

    return launched


@pytest.fixture
def robot(launch, join):
    program, own, _ = launch('--params-file', FILE)
    return Robot(program, join, own)


def test_parameters_are_described_as_they_are_checked(robot):
    answer = robot.ask(DescribeParameters, 'describe_parameters', names=NAMES)
    for told, (name, about) in zip(answer.descriptors, described(Settings), strict=True):
        assert told.name == name
        assert told.description == about.description
        assert told.read_only
        if isinstance(about.default, float):
            assert told.type == ParameterType.PARAMETER_DOUBLE
            (limits,) = told.floating_point_range
            assert (limits.from_value, limits.to_value) == (about.least, about.most)
        else:
            assert told.type == ParameterType.PARAMETER_STRING
            assert told.additional_constraints == ' or '.join(about.choices)


def test_shipped_file_gives_the_defaults(robot):
    answer = robot.ask(GetParameters, 'get_parameters', names=NAMES)
    values = [
        value.string_value if value.type == ParameterType.PARAMETER_STRING else value.double_value
        for value in answer.values
    ]
    assert dict(zip(NAMES, values, strict=True)) == vars(Settings())


def test_parameter_cannot_be_changed_while_the_robot_runs(robot):
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=0.5)
    answer = robot.ask(
        SetParameters, 'set_parameters', parameters=[Parameter(name='speed', value=value)]
    )
    assert not answer.results[0].successful
    assert 'read-only' in answer.results[0].reason


def test_interrupted_robot_ends_with_status_0(robot):
    robot.program.send(signal.SIGINT)
    assert robot.program.wait() == 0
    assert 'Traceback' not in robot.program.errors()


def test_whole_number_is_taken_and_a_name_that_looks_wrong_is_told(launch, join, tmp_path):
    mine = tmp_path / 'mine.yaml'
    mine.write_text('/**:\n  ros__parameters:\n    speed: 1\n    cel_size: 2.0\n')
    program, own, _ = launch('--params-file', mine)
    robot = Robot(program, join, own)
    answer = robot.ask(GetParameters, 'get_parameters', names=['speed', 'cell_size'])
    assert [value.double_value for value in answer.values] == [1.0, 1.0]
    assert "no parameter is called 'cel_size'; is cell_size meant?" in program.errors()


def test_namespace_and_remappings_hold_in_the_own_domain_only(launch, join):
    program, own, team = launch('-r', '__ns:=/turtle1', '-r', 'cmd_vel:=/base/wheels')
    robot = Robot(program, join, own, '/turtle1/robot1')
    onlooker = join(team)
    robot.node.wait_for(lambda: robot.node.count_publishers('/base/wheels') == 1)
    assert {'/turtle1/odom', '/turtle1/scan', '/base/wheels', '/status'} <= robot.topics()
    assert not {'/odom', '/cmd_vel', '/turtle1/cmd_vel', '/turtle1/status'} & robot.topics()
    assert robot.ask(GetParameters, 'get_parameters', names=['speed']).values
    onlooker.wait_for(lambda: onlooker.count_publishers('/robot1/private_state') == 1)
    assert {name for name, _ in onlooker.get_topic_names_and_types()} == TEAM_TOPICS


def test_topics_of_the_robot_itself_can_be_remapped(launch, join):
    _, own, _ = launch('-r', '/status:=/turtle1/status')
    node, statuses = join(own), []
    node.create_subscription(String, '/turtle1/status', statuses.append, qos.STATUS)
    node.wait_for(lambda: bool(statuses))


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (('-p', 'speed:=700.0'), 'speed: 700.0 is not from 0.001 to 100'),
        (('-p', 'speed:=.nan'), 'speed: nan is not from 0.001 to 100'),
        (('-p', 'stale_after:=soon'), "stale_after: 'soon' is not from 0.01 to 60"),
        (('-p', 'navigator:=magic'), "navigator: 'magic' is not own or nav2"),
        (('-p', 'scan_topic:=two words'), "scan_topic: 'two words' is no name of a topic"),
        (('--params-file', 'nowhere.yaml'), "'--params-file nowhere.yaml'"),
        (('-r', 'odom'), "'-r odom'"),
        (('--no-such-option',), '--no-such-option'),
    ],
    ids=lambda value: str(value[-1]) if isinstance(value, tuple) else '',
)
def test_bad_argument_is_one_line_and_status_2(launch, arguments, said):
    program, _, _ = launch(*arguments)
    assert program.wait() == 2
    (line,) = program.errors().splitlines()
    assert said in line


def test_missing_keys_are_one_line_and_status_2(launch, monkeypatch, tmp_path):
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
    monkeypatch.setenv('ROS_SECURITY_KEYSTORE', str(tmp_path / 'nowhere'))
    program, _, _ = launch()
    assert program.wait() == 2
    (line,) = program.errors().splitlines()
    assert line.startswith('ROS 2 refused: ')
    assert 'nowhere' in line


@pytest.mark.parametrize(('speed', 'is_refused'), [(1.2, False), (0.35, True)])
def test_robot_refuses_steps_in_which_it_cannot_reach_the_next_cell(
    launch, join, speed, is_refused
):
    """At 0.35 m/s a metre from rest to rest takes 6.0 s, at 1.2 m/s 1.8 s, a half turn 1.4 s."""
    program, own, team = launch('-p', f'speed:={speed}')
    robot = Robot(program, join, own)
    model = RobotModel.of(scenarios.load(scenarios.find('crossing')), 'robot1')
    offered = plan.TeamPlan(
        plan_id=bytes(16),
        game=model.game.fingerprint,
        episode=0,
        start_ns=robot.node.get_clock().now().nanoseconds + 3600 * 10**9,
        period_ns=4 * 10**9,
        deadline=0.1,
        horizon=10,
        max_stale=2,
        robots=('robot1', 'robot2'),
        graph=model.scenario.graph,
        epsilon=(3.0, 3.0),
        adjacency=(1, 1),
    )
    planner = join(team)
    publisher = planner.advertise(TeamPlan, '/team_plan', qos.TEAM_PLAN)
    publisher.publish(conversions.team_plan_to_msg(offered))
    if is_refused:
        robot.node.wait_for(lambda: 'steps of 4 s are too short' in program.errors())
    else:
        planner.wait_for(lambda: planner.count_subscribers('/robot1/policy') == 1)
