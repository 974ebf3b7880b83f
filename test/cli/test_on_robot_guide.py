"""The guide for robots: our commands in it exist, and its numbers are those of the code."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import dp_multiagent
from dp_multiagent.cli import main
from dp_multiagent.cli.checks import clock, network
from dp_multiagent.deployment import launch_arguments
from dp_multiagent.deployment.navigation import Options
from dp_multiagent.models import scenarios
from dp_multiagent.models.security import Policy
from dp_multiagent.models.team_domain import rights
from dp_multiagent.nodes.discovery import SERVERS

ROOT = Path(dp_multiagent.__file__).parents[1]
GUIDE = ROOT / 'docs' / 'on-robot.md'
OURS = 'ros2 run dp_multiagent dp_multiagent '
OF_OTHERS = {
    *('sudo', 'source', 'cd', 'rosdep', 'colcon', 'export', 'chronyc', 'git', 'cp', 'mkdir'),
    *('ros2 bag', 'ros2 security'),
}
FILES = ('table inet', 'allow ', 'server ', '/**:')

pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason='an installed package has no source')


def blocks():
    text = GUIDE.read_text(encoding='utf-8') if GUIDE.exists() else ''
    return re.findall(r'^```\n(.*?)^```$', text, re.DOTALL | re.MULTILINE)


def commands():
    """List the lines of all blocks that are no files, without variables before them."""
    lines = [
        line for block in blocks() if not block.startswith(FILES) for line in block.split('\n')
    ]
    return [re.sub(r'^(?:[A-Z_]+=\S+ )+', '', line) for line in lines if line]


def ours(start):
    return [line.removeprefix(start).strip() for line in commands() if line.startswith(start)]


def words(line):
    return shlex.split(line.partition(' > ')[0])


def test_every_line_is_a_command_of_ours_or_of_a_known_tool():
    mine = (OURS, 'ros2 launch dp_multiagent ', 'python3 -m dp_multiagent.')
    unknown = [
        line
        for line in commands()
        if not line.startswith(mine)
        and not {line.split()[0], ' '.join(line.split()[:2])} & OF_OTHERS
    ]
    assert unknown == []


def test_guide_shows_the_commands_that_it_is_about():
    shown = {line.split()[0] for line in ours(OURS)}
    assert {'doctor', 'bag', 'ledger', 'scenario'} <= shown


@pytest.mark.parametrize('line', ours(OURS))
def test_command_parses(line):
    assert callable(main._parser().parse_args(words(line)).run)


@pytest.mark.parametrize('line', ours('python3 -m dp_multiagent.cli.'))
def test_module_of_the_command_line_runs_alone(line):
    assert callable(import_module(f'dp_multiagent.cli.{line}').main)


@pytest.mark.ros
@pytest.mark.parametrize('line', ours('python3 -m dp_multiagent.nodes.'))
def test_options_of_a_program_parse(line):
    module, *options = words(line)
    program = import_module('dp_multiagent.nodes.program')
    parser = import_module(f'dp_multiagent.nodes.{module}')._parser()
    arguments = program.parse(parser, options)
    assert arguments.ros_args[:2] == ['--ros-args', '--params-file']


@pytest.mark.ros
@pytest.mark.parametrize('module', ['robot', 'watchdog'])
def test_programs_on_a_robot_keep_their_own_domain_to_themselves_and_the_named(module):
    assert '`--own-peers HOST`' in GUIDE.read_text(encoding='utf-8')
    parser = import_module(f'dp_multiagent.nodes.{module}')._parser()
    required = ['--scenario', 'crossing', '--robot', 'robot1']
    required += ['--ledger', 'file'] if module == 'robot' else []
    assert list(parser.parse_args(required).own_peers) == []
    assert parser.parse_args([*required, '--own-peers', 'body']).own_peers == ['body']


@pytest.mark.parametrize('line', ours('ros2 launch dp_multiagent '))
def test_launch_file_is_there_and_takes_these_arguments(line):
    file, *given = words(line)
    assert (ROOT / 'launch' / file).is_file()
    known = getattr(launch_arguments, file.split('.')[0].upper())
    named = {argument.partition(':=')[0] for argument in given}
    assert named <= {argument.name for argument in known}
    assert {argument.name for argument in known if argument.default is None} <= named


def test_parameters_are_those_of_the_shipped_file():
    (block,) = (block for block in blocks() if block.startswith('/**:'))
    shown = yaml.safe_load(block)['/**']['ros__parameters']
    shipped = yaml.safe_load((ROOT / 'config' / 'nodes' / 'robot.yaml').read_text())
    assert set(shown) <= set(shipped['/**']['ros__parameters'])


def test_firewall_has_the_ports_of_the_own_domain_of_the_example():
    own = network.ports(Options.team_domain + 1)
    (block,) = (block for block in blocks() if block.startswith('table inet'))
    assert block.count(f'udp dport {own[0]}-{own[-1]} drop') == 2


def test_guide_warns_of_all_that_reaches_past_the_own_domain():
    text = GUIDE.read_text(encoding='utf-8')
    assert [name for name in SERVERS if f'`{name}`' not in text] == []


def test_enclaves_are_those_of_the_policies_and_keys_those_of_the_domains():
    scenario = scenarios.load(scenarios.find('crossing'))
    members = rights([member.name for member in scenario.members], scenario.graph)
    shown = set(re.findall(r'(?<![\w/])/team/\w+', GUIDE.read_text(encoding='utf-8')))
    assert {'/team/robot1', '/team/planner', '/team/operator'} <= shown
    assert shown <= {Policy(each).enclave for each in members}
    domain, keystores = None, {}
    for line in commands():
        if line.startswith('export ROS_DOMAIN_ID='):
            domain = int(line.partition('=')[2])
        elif line.startswith('ros2 security create_keystore '):
            keystores[line.split()[-1]] = domain
    team = Options.team_domain
    assert keystores == {'keys': team, 'robot1_own': team + 1}


def test_skew_and_price_are_those_of_the_code():
    text = GUIDE.read_text(encoding='utf-8')
    first = clock.tolerated(Options.period, Options.deadline)
    for bound in (first, first + Options.period, first + 2 * Options.period):
        assert f'| {bound:g} s' in text
    assert f'more than {Options.lead + Options.period * Options.deadline:g} s' in text
    epsilon = scenarios.load(scenarios.find('crossing')).privacy.epsilon
    assert f'An episode of `crossing` costs {epsilon:g},' in text
    assert f'so a budget of {10 * epsilon:g} is ten episodes' in text


def test_topics_that_are_recorded_are_told_to_all():
    scenario = scenarios.load(scenarios.find('crossing'))
    names = [member.name for member in scenario.members]
    told = {topic for member in rights(names, scenario.graph) for topic in member.publishes}
    (line,) = ours('ros2 bag record')
    recorded = {word for word in words(line) if word.startswith('/')}
    assert recorded
    assert recorded <= told - {'/parameter_events'}
