"""What the launch files hand to launch: arguments, keywords, and what follows when one ends."""

from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest

from dp_multiagent.deployment.description import Deployment, Process
from dp_multiagent.deployment.launch_arguments import (
    BASE,
    NAVIGATION,
    ROBOT,
    options_from_text,
)
from dp_multiagent.deployment.launching import (
    LastWords,
    Launched,
    Next,
    base_launch,
    failure,
    navigation_launch,
    robot_launch,
)
from dp_multiagent.deployment.navigation import Options, navigation
from dp_multiagent.deployment.robot import RobotOptions
from dp_multiagent.errors import DpMultiagentError

TURTLE = Process(name='robot1', program='robot', domain=43, team_domain=42, namespace='turtle1')


def given(arguments, **changes):
    """Return the values of a launch file's arguments as launch has them."""
    return {each.name: each.default or '' for each in arguments} | changes


@pytest.mark.parametrize(
    ('arguments', 'kind', 'left_out'),
    [
        (NAVIGATION, Options, set()),
        (BASE, Options, {'simulator', 'budget', 'rate', 'record', 'slips', 'seed', 'window'}),
        (ROBOT, RobotOptions, set()),
    ],
)
def test_every_option_is_an_argument(arguments, kind, left_out):
    names = {each.name for each in fields(kind)} - left_out
    assert sorted(each.name for each in arguments) == sorted(names | {'respawn'})


@pytest.mark.parametrize(
    ('arguments', 'kind'), [(NAVIGATION, Options), (BASE, Options), (ROBOT, RobotOptions)]
)
def test_default_of_an_argument_is_that_of_its_option(arguments, kind):
    needed = {each.name: 'x' for each in fields(kind) if each.default is MISSING}
    given_only = {name: text for name, text in needed.items() if name != 'scenario'}
    if kind is RobotOptions:
        needed |= {'budget': '1'}
        given_only |= {'budget': '1'}
    defaults = given(arguments) | given_only
    defaults.pop('respawn')
    bare = options_from_text(kind, needed)
    assert options_from_text(kind, defaults) == replace(bare, scenario='navigation')


def test_required_argument_has_no_default_and_a_choice_is_one():
    required = {each.name for each in (*NAVIGATION, *BASE, *ROBOT) if each.default is None}
    assert required == {'robot', 'ledger', 'folder'}
    for each in (*NAVIGATION, *BASE, *ROBOT):
        assert ('default_value' in each.keywords) == (each.default is not None)
        assert not each.choices or each.default in each.keywords['choices']


def test_texts_are_read_as_what_they_mean(tmp_path):
    texts = given(NAVIGATION, folder=str(tmp_path), rate='0', slips='false', epsilon='0.5')
    texts.pop('respawn')
    options = options_from_text(Options, texts)
    assert (options.rate, options.slips, options.epsilon) == (0.0, False, 0.5)
    assert options.folder == tmp_path
    assert options.record is None


def test_path_may_be_relative_or_at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('HOME', '/home/robot')
    texts = {'robot': 'robot1', 'ledger': '~/ledger', 'budget': '1', 'parameters': 'mine.yaml'}
    options = options_from_text(RobotOptions, texts)
    assert options.ledger == Path('/home/robot/ledger')
    assert options.parameters == tmp_path / 'mine.yaml'


@pytest.mark.parametrize(
    ('launch', 'arguments', 'changes', 'fault'),
    [
        (navigation_launch, NAVIGATION, {'episodes': 'many'}, "^episodes:= 'many' is not a num"),
        (navigation_launch, NAVIGATION, {'rate': 'nan'}, '^rate:='),
        (navigation_launch, NAVIGATION, {'slips': 'perhaps'}, '^slips:= .* true or false'),
        (navigation_launch, NAVIGATION, {'respawn': ''}, '^respawn:='),
        (navigation_launch, NAVIGATION, {'team_domain': '200'}, '^team_domain:= 200'),
        (navigation_launch, NAVIGATION, {'max_stale': '-1'}, '^max_stale:='),
        (navigation_launch, NAVIGATION, {'folder': '/dev/null/here'}, '^folder:='),
        (base_launch, BASE, {}, '^folder:= must not be empty'),
        (robot_launch, ROBOT, {'ledger': 'here'}, '^robot:= must not be empty'),
        (robot_launch, ROBOT, {'ledger': 'nowhere', 'robot': 'robot1'}, '^ledger:='),
        (robot_launch, ROBOT, {'ledger': 'a', 'budget': '1', 'robot': 'x'}, '^robot:='),
    ],
)
def test_bad_argument_is_refused_as_launch_calls_it(launch, arguments, changes, fault):
    with pytest.raises(DpMultiagentError, match=fault):
        launch(given(arguments, **changes))


def test_team_that_is_launched_is_the_one_that_is_run(tmp_path):
    launched = navigation_launch(given(NAVIGATION, folder=str(tmp_path), respawn='true'))
    assert launched.deployment == navigation(Options(scenario='navigation', folder=tmp_path))
    assert launched.respawn
    assert str(tmp_path) in launched.says


def test_new_folder_is_for_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    navigation_launch(given(NAVIGATION))
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0


def test_folder_of_an_earlier_simulation_is_refused(tmp_path):
    (tmp_path / 'episodes.jsonl').touch()
    with pytest.raises(DpMultiagentError, match='earlier simulation'):
        navigation_launch(given(NAVIGATION, folder=str(tmp_path)))


def test_base_station_has_planner_and_operator_and_goes_on_with_its_results(tmp_path):
    (tmp_path / 'episodes.jsonl').touch()
    launched = base_launch(given(BASE, folder=str(tmp_path)))
    programs = [each.program for each in launched.deployment.processes]
    assert programs == ['planning_server', 'operator']
    assert all('--use-sim-time' not in each.arguments for each in launched.deployment.processes)
    assert launched.environment({}) == {}


def test_simulation_stays_on_its_machine_unless_the_user_says_otherwise(tmp_path):
    launched = navigation_launch(given(NAVIGATION, folder=str(tmp_path)))
    assert launched.environment({}) == {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    assert launched.environment({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}) == {}


def test_node_gets_its_arguments_and_keeps_its_name():
    robot = replace(TURTLE, options={'robot': 'robot1'}, parameters={'speed': 0.5, 'pose': 'tf'})
    keywords = Launched(Deployment((robot,))).node_keywords(robot)
    assert keywords['package'] == 'dp_multiagent'
    assert keywords['executable'] == 'robot'
    assert keywords['exec_name'] == 'robot1'
    assert keywords['namespace'] == 'turtle1'
    assert keywords['arguments'] == [
        *('--domain', '43', '--team-domain', '42', '--robot', 'robot1')
    ]
    assert keywords['ros_arguments'] == ['-p', 'speed:=0.5', '-p', 'pose:="tf"']
    assert 'name' not in keywords


def test_node_without_a_namespace_takes_that_of_who_includes_the_file():
    plain = replace(TURTLE, namespace='')
    assert 'namespace' not in Launched(Deployment((plain,))).node_keywords(plain)


@pytest.mark.parametrize(
    ('name', 'status', 'respawn', 'then'),
    [
        ('operator', 0, False, Next.DONE),
        ('operator', 1, False, Next.FAILED),
        ('robot1', 0, False, Next.GO_ON),
        ('robot1', 2, False, Next.FAILED),
        ('robot1', -11, False, Next.FAILED),
        ('robot1', -11, True, Next.GO_ON),
        ('robot1', 2, True, Next.FAILED),
        ('operator', 0, True, Next.DONE),
    ],
)
def test_what_follows_when_a_process_ends(name, status, respawn, then):
    assert Launched(Deployment((TURTLE,)), respawn).next(name, status) is then


def test_failure_names_the_process_and_how_it_ended():
    assert failure('robot1', 2, 'no ledger') == 'robot1 failed, exit status 2: no ledger'
    assert failure('robot1', -9, '') == 'robot1 failed, killed by SIGKILL'
    assert failure('robot1', -99, '') == 'robot1 failed, killed by signal 99'


def test_last_words_are_the_last_line_however_it_arrives():
    words = LastWords()
    assert words.line == ''
    for piece in (b'up\nspe', b'ed: 7 is too fas', b't\n', b' \n'):
        words.hear(piece)
    assert words.line == 'speed: 7 is too fast'
    words.hear(b'\xff\n')
    assert words.line == '\ufffd'


def test_last_words_of_a_flood_are_kept_and_no_more():
    words = LastWords()
    words.hear(b'x' * 10**6)
    words.hear(b'\nthe end\n')
    assert words.line == 'the end'
    assert len(words._text) < 10**4


def test_namespace_is_absolute_on_a_command_line():
    assert TURTLE.command[-3:] == ['--ros-args', '-r', '__ns:=/turtle1']
    assert replace(TURTLE, namespace='/a/b/').command[-1] == '__ns:=/a/b'


def test_text_that_looks_like_a_number_stays_a_text():
    named = replace(TURTLE, parameters={'frame_prefix': '', 'map_frame': '7', 'pose': 'true'})
    assert named.ros_arguments[1::2] == ['frame_prefix:=""', 'map_frame:="7"', 'pose:="true"']
