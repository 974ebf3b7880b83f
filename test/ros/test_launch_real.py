"""The launch files with the real `launch`, where it is installed: real processes come and go."""

import importlib.util
import os
import re
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from deployed import reserve_team
from rcl_interfaces.srv import GetParameters
from std_msgs.msg import String

from dp_multiagent.deployment.results import Results
from dp_multiagent.models import scenarios
from dp_multiagent.nodes import qos

ROOT = scenarios.share()
# Our folder launch/ can look like a package called launch, so the other one is looked for.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch and launch_ros are missing: source a ROS 2 installation, it has them',
)
PROGRAMS = ('planning_server', 'operator', 'robot', 'watchdog', 'simulator')
PATIENCE = 120.0  # seconds, for a machine under load
CLEAN = re.compile(r'\[(\w+)-\d+\]: process has finished cleanly')


@pytest.fixture
def launch(start, tmp_path, monkeypatch):
    """Run a launch file, with our programs where launch looks for them."""
    prefix = tmp_path / 'prefix'
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'dp_multiagent').touch()
    programs = prefix / 'lib' / 'dp_multiagent'
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy(node_script(), programs / name)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix), os.pathsep)
    monkeypatch.setenv('PATH', str(Path(sys.executable).parent), os.pathsep)

    def run(name, **values):
        given = [f'{key}:={value}' for key, value in values.items()]
        return start('launcher', ROOT / 'launch' / f'{name}.launch.py', *given)

    return run


def node_script():
    """Return the script as which every program is installed, here or where colcon puts it."""
    here = ROOT / 'scripts' / 'node'
    return here if here.exists() else ROOT.parents[1] / 'lib' / 'dp_multiagent' / 'robot'


@pytest.fixture
def team_domain(domain_cycle):
    with ExitStack() as locks:
        yield reserve_team(domain_cycle, locks)


def wait(program):
    """Return the exit status of launch; to plan and drive takes longer than the usual patience."""
    end = time.monotonic() + PATIENCE
    while program.is_running():
        assert time.monotonic() < end, program.errors()
        time.sleep(0.05)
    return program.wait()


def wait_until_it_says(program, text):
    end = time.monotonic() + PATIENCE
    while text not in program.errors():
        assert program.is_running(), program.errors()
        assert time.monotonic() < end, program.errors()
        time.sleep(0.05)


def ended_cleanly(program):
    return sorted(CLEAN.findall(program.errors()))


def test_team_plans_and_drives_and_ends_when_the_operator_is_done(launch, team_domain, tmp_path):
    folder = tmp_path / 'team'
    program = launch('navigation', team_domain=team_domain, rate=0, folder=folder)
    assert wait(program) == 0, program.errors()
    everybody = ['operator', 'planning_server', 'robot1', 'robot2', 'simulator']
    assert ended_cleanly(program) == everybody
    assert len(Results(folder / 'episodes.jsonl').episodes()) == 1
    assert 'Traceback' not in program.errors()


def test_process_that_fails_is_named_and_ends_the_others(launch, team_domain, tmp_path):
    (tmp_path / 'robot2.ledger').write_text('this is no ledger')
    program = launch('navigation', team_domain=team_domain, folder=tmp_path)
    assert wait(program) == 1
    (line,) = re.findall(r'Caught exception in launch .*', program.errors())
    assert 'robot2 failed, exit status 2: ' in line
    assert 'robot2.ledger' in line
    assert set(ended_cleanly(program)) <= {'operator', 'planning_server', 'robot1', 'simulator'}
    assert 'Traceback' not in program.errors()


def test_bad_argument_starts_nothing(launch, team_domain):
    program = launch('navigation', team_domain=team_domain, episodes=0)
    assert wait(program) == 1
    assert 'episodes:= 0 is not at least 1' in program.errors()
    assert 'process started' not in program.errors()


def test_base_station_ends_in_order_when_it_is_interrupted(launch, team_domain, tmp_path):
    program = launch('base', team_domain=team_domain, folder=tmp_path, scenario='crossing')
    wait_until_it_says(program, 'waiting for robot1, robot2')
    program.send(signal.SIGINT)
    assert wait(program) == 0
    assert ended_cleanly(program) == ['operator', 'planning_server']
    assert 'Traceback' not in program.errors()


def test_robot_is_in_its_namespace_with_its_parameters(launch, join, team_domain, tmp_path):
    program = launch(
        'robot',
        scenario='crossing',
        robot='robot2',
        ledger=tmp_path / 'ledger',
        budget=1,
        team_domain=team_domain,
        namespace='turtle2',
        frame_prefix='turtle2/',
        odom_topic='/base/odom',
    )
    node, statuses = join(team_domain + 2), []
    node.create_subscription(String, '/status', statuses.append, qos.STATUS)
    node.wait_for(lambda: bool(statuses))
    client = node.create_client(GetParameters, '/turtle2/robot2/get_parameters')
    node.wait_for(client.service_is_ready)
    names = ['frame_prefix', 'odom_topic', 'velocity_topic']
    future = client.call_async(GetParameters.Request(names=names))
    node.wait_for(future.done)
    values = [value.string_value for value in future.result().values]
    assert values == ['turtle2/', '/base/odom', 'cmd_vel_wanted']
    node.wait_for(lambda: node.count_subscribers('/base/odom') == 2)
    node.wait_for(lambda: node.count_publishers('/turtle2/cmd_vel') == 1)
    assert node.count_subscribers('/turtle2/cmd_vel_wanted') == 1
    program.send(signal.SIGINT)
    assert wait(program) == 0
    assert ended_cleanly(program) == ['robot2', 'watchdog']
