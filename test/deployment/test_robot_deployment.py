"""Which processes run on one real robot, and with what."""

import pytest

from dp_multiagent.deployment.robot import RobotOptions, robot
from dp_multiagent.errors import DpMultiagentError

SLOW = '/**:\n  ros__parameters:\n    speed: 0.2\n    odom_topic: wheels/odom\n'


@pytest.fixture
def processes(tmp_path):
    """Return the processes of robot2 of the crossing by name, with changed options."""

    def described(**changes):
        given = {
            'robot': 'robot2',
            'scenario': 'crossing',
            'ledger': tmp_path / 'ledger',
            'budget': '3',
        }
        deployment = robot(RobotOptions(**{**given, **changes}))
        assert deployment.last == 'robot2'
        return {each.name: each for each in deployment.processes}

    return described


def test_robot_runs_with_a_watchdog_in_a_domain_of_its_own(processes):
    both = processes(team_domain=7)
    assert {name: each.program for name, each in both.items()} == {
        'watchdog': 'watchdog',
        'robot2': 'robot',
    }
    assert {each.domain for each in both.values()} == {7 + 2}
    assert {each.domain for each in processes(domain=99).values()} == {99}


def test_watchdog_stands_between_the_robot_and_its_base(processes):
    both = processes(velocity_topic='/base/cmd_vel')
    wanted = both['robot2'].parameters['velocity_topic']
    assert both['watchdog'].parameters['wanted_topic'] == wanted != '/base/cmd_vel'
    assert both['watchdog'].parameters['wheels_topic'] == '/base/cmd_vel'


def test_without_a_watchdog_the_robot_commands_its_base(processes):
    (alone,) = processes(watchdog=False, velocity_topic='/base/cmd_vel').values()
    assert alone.parameters == {'velocity_topic': '/base/cmd_vel'}


def test_nav2_commands_its_base_itself(processes, tmp_path):
    file = tmp_path / 'nav2.yaml'
    file.write_text('/**: {ros__parameters: {navigator: nav2}}')
    assert set(processes(parameters=file)) == {'robot2'}


def test_everything_honours_namespace_prefix_and_remappings(processes):
    both = processes(
        namespace='turtle2', frame_prefix='turtle2/', remappings='/tf:=tf /tf_static:=tf_static'
    )
    for each in both.values():
        assert each.namespace == 'turtle2'
        assert each.remappings == {'/tf': 'tf', '/tf_static': 'tf_static'}
    assert both['robot2'].parameters['frame_prefix'] == 'turtle2/'
    assert both['watchdog'].parameters['base_frame'] == 'turtle2/base_link'


def test_argument_goes_before_the_file_and_the_file_before_the_default(processes, tmp_path):
    file = tmp_path / 'slow.yaml'
    file.write_text(SLOW)
    both = processes(parameters=file)
    assert {each.parameter_file for each in both.values()} == {str(file)}
    assert both['watchdog'].parameters['odom_topic'] == 'wheels/odom'
    assert 'odom_topic' not in both['robot2'].parameters
    changed = processes(parameters=file, odom_topic='odom_filtered')
    assert {each.parameters['odom_topic'] for each in changed.values()} == {'odom_filtered'}
    words = changed['robot2'].ros_arguments
    assert words.index('--params-file') < words.index('odom_topic:="odom_filtered"')


def test_seed_and_slips_are_not_for_a_real_robot(processes):
    words = [word for each in processes().values() for word in each.arguments]
    assert not {'--seed', '--slips', '--use-sim-time'} & set(words)
    simulated = processes(use_sim_time=True).values()
    assert all('--use-sim-time' in each.arguments for each in simulated)


def test_other_computers_of_the_robot_are_named_to_both(processes):
    for each in processes(own_peers='192.168.186.2 base.local').values():
        at = each.arguments.index('--own-peers')
        assert each.arguments[at + 1 : at + 3] == ['192.168.186.2', 'base.local']
    assert '--own-peers' not in processes()['robot2'].arguments


def test_robot_is_told_what_an_episode_may_cost_and_how_long_it_stays_in_one(processes):
    words = processes(epsilon=0.5, rest=90.0)['robot2'].arguments
    assert words[words.index('--epsilon') + 1] == '0.5'
    assert words[words.index('--rest') + 1] == '90.0'
    assert not {'--epsilon', '--rest'} & set(processes()['robot2'].arguments)


def test_every_program_takes_the_options_that_it_is_given(processes):
    pytest.importorskip('rclpy', reason='the programs need rclpy: `make test` installs it')
    from importlib import import_module

    for each in processes(adjacency=2, use_sim_time=True).values():
        parser = import_module(f'dp_multiagent.nodes.{each.program}')._parser()
        assert parser.parse_args(each.arguments).robot == 'robot2'


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'robot': 'robot9'}, "--robot: 'robot9' is none of robot1, robot2"),
        ({'scenario': 'sysadmin'}, 'no robots that drive'),
        ({'epsilon': float('nan')}, '--epsilon: nan'),
        ({'rest': -1.0}, '--rest: -1.0'),
        ({'domain': 42}, "--domain: 42 is the team's"),
        ({'team_domain': 232}, '--domain: 234'),
        ({'budget': None}, '--ledger: .* is not there; with --budget'),
        ({'namespace': 'two words'}, '--namespace'),
        ({'namespace': '9lives'}, '--namespace'),
        ({'remappings': '/tf=tf'}, '--remappings: .*from:=to'),
        ({'frame_prefix': '/turtle2/'}, 'frame_prefix'),
        ({'velocity_topic': 'cmd vel'}, 'velocity_topic'),
    ],
)
def test_bad_options_are_refused_by_name(processes, changes, fault):
    with pytest.raises(DpMultiagentError, match=fault):
        processes(**changes)


@pytest.mark.parametrize(
    ('content', 'fault'),
    [
        (None, 'No such file'),
        ('[', 'is no parameter file'),
        ('- 1', 'is no parameter file'),
        ('/**: 3', 'is no parameter file'),
        ('/**: {ros__parameters: {speed: 700}}', 'speed: 700 is not from'),
    ],
)
def test_bad_parameter_file_is_refused_by_name(processes, tmp_path, content, fault):
    file = tmp_path / 'mine.yaml'
    if content is not None:
        file.write_text(content)
    with pytest.raises(DpMultiagentError, match=f'mine.yaml: .*{fault}'):
        processes(parameters=file)
