"""Which processes a team consists of."""

from pathlib import Path

import pytest

from dp_multiagent.cli.main import main
from dp_multiagent.deployment.navigation import Options, navigation
from dp_multiagent.errors import DpMultiagentError


def processes(**changes):
    options = Options(**{'scenario': 'navigation', 'folder': Path('here'), **changes})
    return {each.name: each for each in navigation(options).processes}


def test_team_has_a_planner_an_operator_a_simulator_and_a_process_per_robot():
    assert set(processes()) == {'planning_server', 'simulator', 'robot1', 'robot2', 'operator'}
    assert 'simulator' not in processes(simulator='none')


def test_gazebo_takes_the_place_of_the_simulator():
    simulator = processes(simulator='gazebo', window=True)['simulator']
    assert simulator.program == 'gazebo'
    assert '--window' in simulator.arguments
    assert '--use-sim-time' in processes(simulator='gazebo')['robot1'].arguments


def test_every_robot_has_a_domain_of_its_own_and_the_operator_another():
    team = processes(team_domain=7)
    assert {name: each.domain for name, each in team.items()} == {
        'planning_server': 57,
        'simulator': 57,
        'robot1': 8,
        'robot2': 9,
        'operator': 57,
    }
    assert {each.team_domain for each in team.values()} == {7}


def test_robots_give_what_the_operator_asks_for():
    assert processes(epsilon=0.5)['robot2'].options['epsilon'] == 0.5
    assert '--epsilon' not in processes()['robot2'].arguments


def test_budget_is_what_the_episodes_cost_exactly():
    assert processes(episodes=3)['robot1'].options['budget'] == '3'
    assert processes(episodes=3, epsilon=0.1)['robot1'].options['budget'] == '3/10'
    assert processes(episodes=3, budget=2.5)['robot1'].options['budget'] == '2.5'


def test_seed_and_slips_exist_only_in_a_simulation():
    real = processes(simulator='none')
    assert not {'seed', 'slips'} & {
        name for name, value in real['robot1'].options.items() if value is not None
    }
    assert '--use-sim-time' not in [word for each in real.values() for word in each.arguments]


def test_every_program_takes_the_options_that_it_is_given(capsys):
    pytest.importorskip('rclpy', reason='the programs need rclpy: `make test` installs it')
    from importlib import import_module

    parsers = {
        'robot': import_module('dp_multiagent.nodes.robot')._parser,
        'planning_server': import_module('dp_multiagent.nodes.planning_server')._parser,
        'simulator': import_module('dp_multiagent.nodes.simulator')._parser,
        'operator': import_module('dp_multiagent.nodes.operator')._parser,
        'gazebo': import_module('dp_multiagent.nodes.gazebo')._parser,
    }
    embedded = processes(record=Path('films'), epsilon=0.5, adjacency=2)
    gazebo = processes(simulator='gazebo', window=True)
    for each in (*embedded.values(), *gazebo.values()):
        assert parsers[each.program]().parse_args(each.arguments).team_domain == 42


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'simulator': 'gasebo'}, '--simulator'),
        ({'simulator': 'gazebo', 'episodes': 2}, 'Gazebo runs one episode'),
        ({'simulator': 'gazebo', 'rate': 0.0}, 'Gazebo runs one episode'),
        ({'simulator': 'gazebo', 'record': Path('films')}, '--record'),
        ({'episodes': 0}, '--episodes'),
        ({'epsilon': -1.0}, '--epsilon'),
        ({'epsilon': float('inf')}, '--epsilon'),
        ({'budget': float('nan')}, '--budget'),
        ({'adjacency': 0}, '--adjacency'),
        ({'rate': -1.0}, '--rate'),
        ({'rate': float('nan')}, '--rate'),
        ({'deadline': 1.0}, '--deadline'),
        ({'period': 2.0}, '--period: 2 s is too short, a robot needs 3.5'),
        ({'period': float('nan')}, '--period'),
        ({'team_domain': 200}, '--team-domain'),
        ({'team_domain': -1}, '--team-domain'),
        ({'scenario': 'sysadmin'}, 'has no robots that drive'),
        ({'scenario': 'navigatoin'}, 'navigatoin'),
    ],
)
def test_bad_options_are_refused_by_name(changes, fault):
    with pytest.raises(DpMultiagentError, match=fault):
        processes(**changes)


def test_run_shows_what_it_would_start(capsys):
    assert main(['run', 'crossing', '--show']) == 0
    assert '--robot robot2' in capsys.readouterr().out


def test_folder_of_an_earlier_simulation_is_refused(tmp_path, capsys):
    (tmp_path / 'episodes.jsonl').touch()
    assert main(['run', 'navigation', '--folder', str(tmp_path)]) == 2
    assert 'earlier simulation' in capsys.readouterr().err
