"""The launch files, read with modules in the place of `launch` that note what they are given."""

import importlib.util
import re
import sys
import types

import pytest

from dp_multiagent.deployment.launch_arguments import BASE, NAVIGATION, ROBOT
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models import scenarios

FOLDER = scenarios.share() / 'launch'
ARGUMENTS = {'navigation': NAVIGATION, 'base': BASE, 'robot': ROBOT}
ACTIONS = {
    'launch': ['LaunchDescription'],
    'launch.actions': [
        *('DeclareLaunchArgument', 'LogInfo', 'OpaqueFunction'),
        *('RegisterEventHandler', 'SetEnvironmentVariable', 'Shutdown'),
    ],
    'launch.event_handlers': ['OnProcessExit', 'OnProcessIO'],
    'launch_ros': [],
    'launch_ros.actions': ['Node'],
}


class Noted:
    """An action of launch that only notes how it was made."""

    def __init__(self, *args, **keywords):
        self.args, self.keywords = args, keywords


@pytest.fixture
def stand_in(monkeypatch):
    """Put modules that only note in the place of launch, which may not be installed."""
    monkeypatch.delenv('ROS_AUTOMATIC_DISCOVERY_RANGE', raising=False)
    for name, actions in ACTIONS.items():
        module = types.ModuleType(name)
        for action in actions:
            setattr(module, action, type(action, (Noted,), {}))
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def started(stand_in):
    """Return the actions that a launch file takes when it is given some arguments."""

    def start(name, **values):
        *declared, start = read(name).args[0]
        texts = {each.keywords['name']: each.keywords.get('default_value') for each in declared}
        context = types.SimpleNamespace(launch_configurations={**texts, **values})
        return start.keywords['function'](context)

    return start


def read(name):
    path = FOLDER / f'{name}.launch.py'
    spec = importlib.util.spec_from_file_location(f'{name}_launch', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def of_kind(kind, actions):
    return [each for each in actions if type(each).__name__ == kind]


def nodes(actions):
    return {each.keywords['exec_name']: each for each in of_kind('Node', actions)}


def handlers(actions, node, kind):
    """Return the keywords of the handlers of a kind of event that are about a node."""
    registered = [each.args[0] for each in of_kind('RegisterEventHandler', actions)]
    about = [each for each in of_kind(kind, registered) if each.keywords['target_action'] is node]
    return [each.keywords for each in about]


@pytest.mark.parametrize('name', ARGUMENTS)
def test_every_launch_file_declares_its_arguments(stand_in, name):
    *declared, last = read(name).args[0]
    assert [each.keywords for each in declared] == [each.keywords for each in ARGUMENTS[name]]
    assert type(last).__name__ == 'OpaqueFunction'


def test_no_launch_file_is_without_a_test():
    assert {path.name.partition('.')[0] for path in FOLDER.glob('*.py')} == set(ARGUMENTS)


@pytest.mark.skipif(not (FOLDER.parent / 'CMakeLists.txt').exists(), reason='not the source tree')
def test_every_program_that_is_started_is_installed(started, tmp_path):
    folder, ledger = str(tmp_path), str(tmp_path / 'ledger')
    actions = started('navigation', folder=folder)
    actions += started('navigation', folder=folder, simulator='gazebo')
    actions += started('robot', robot='robot1', ledger=ledger, budget='1')
    programs = {each.keywords['executable'] for each in of_kind('Node', actions)}
    recipe = (FOLDER.parent / 'CMakeLists.txt').read_text()
    installed = set(re.search(r'foreach\(node ([\w ]+)\)', recipe)[1].split())
    assert programs <= installed
    for name in installed:
        assert (FOLDER.parent / 'dp_multiagent' / 'nodes' / f'{name}.py').exists()


def test_navigation_starts_a_team_and_keeps_it_on_this_machine(started, tmp_path):
    actions = started('navigation', folder=str(tmp_path / 'new'))
    assert list(nodes(actions)) == ['planning_server', 'simulator', 'robot1', 'robot2', 'operator']
    (variable,) = of_kind('SetEnvironmentVariable', actions)
    assert variable.args == ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    assert (tmp_path / 'new').is_dir()


def test_base_and_robot_start_what_runs_there(started, tmp_path):
    base = started('base', folder=str(tmp_path))
    robot = started('robot', robot='robot1', ledger=str(tmp_path / 'ledger'), budget='1')
    assert list(nodes(base)) == ['planning_server', 'operator']
    assert list(nodes(robot)) == ['watchdog', 'robot1']
    assert not of_kind('SetEnvironmentVariable', base + robot)


def test_end_of_a_process_is_watched_before_it_begins(started, tmp_path):
    actions = started('base', folder=str(tmp_path))
    for node in nodes(actions).values():
        before = actions[: actions.index(node)]
        assert len(handlers(before, node, 'OnProcessExit')) == 1
        assert len(handlers(before, node, 'OnProcessIO')) == 1


class Team:
    """A launched team whose processes end as the test says."""

    def __init__(self, actions):
        self._actions = actions

    def says(self, name, text, stream='on_stderr'):
        (keywords,) = handlers(self._actions, nodes(self._actions)[name], 'OnProcessIO')
        keywords[stream](types.SimpleNamespace(text=text))

    def ends(self, name, status, is_shutdown=False):
        (keywords,) = handlers(self._actions, nodes(self._actions)[name], 'OnProcessExit')
        event = types.SimpleNamespace(returncode=status)
        return keywords['on_exit'](event, types.SimpleNamespace(is_shutdown=is_shutdown))


@pytest.fixture
def team(started, tmp_path):
    return Team(started('navigation', folder=str(tmp_path)))


def test_failed_process_is_named_with_its_last_words(team):
    team.says('robot2', b'starting\n', 'on_stdout')
    team.says('robot2', b'speed: 700.0 is not from 0.001 to 100\n')
    team.says('robot1', b'waiting for a plan\n')
    with pytest.raises(DpMultiagentError, match='robot2 failed, exit status 2: speed: 700'):
        team.ends('robot2', 2)


def test_everything_ends_when_the_operator_is_done(team):
    (shutdown,) = team.ends('operator', 0)
    assert shutdown.keywords == {'reason': 'operator is done'}


def test_robot_that_was_stopped_stops_nobody_else(team):
    assert team.ends('robot1', 0) == []


def test_who_dies_in_a_shutdown_is_no_failure(team):
    assert team.ends('robot1', -9, is_shutdown=True) == []
