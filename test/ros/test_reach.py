"""How far real programs make their domains known, with an environment that reaches far."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dp_multiagent.cli.checks import network

WIRE = Path(__file__).parent / 'programs' / 'wire.py'
ALONE = ('unshare', '--map-root-user', '--net')
CARD = ('ip', 'link', 'add', 'wire', 'type', 'veth', 'peer', 'name', 'far')
EVERYBODY = '239.255.0.1'  # the multicast group of DDS
BODY, MATE = '10.9.0.2', '10.9.0.3'
PATIENCE = 60.0  # seconds


@pytest.fixture(scope='module')
def _wire():
    """Skip where a user cannot have a network of his own."""
    try:
        tried = subprocess.run([*ALONE, *CARD], capture_output=True, text=True)
    except FileNotFoundError as error:
        pytest.skip(f'needs unshare (util-linux): {error}')
    if tried.returncode != 0:
        pytest.skip(f'no network namespace with ip (iproute2) here: {tried.stderr.strip()}')


@pytest.fixture
def sent(_wire, monkeypatch):
    """Run a program of ours alone on a network; return whom it sent to in each domain."""

    def run(team, program, *options, peers=None):
        monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
        if peers is not None:
            monkeypatch.setenv('ROS_STATIC_PEERS', peers)
        command = [sys.executable, '-m', f'dp_multiagent.nodes.{program}', *map(str, options)]
        done = subprocess.run(
            [*ALONE, sys.executable, str(WIRE), str(team), *command],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        found = {}
        for address, port in json.loads(done.stdout):
            found.setdefault((port - 7400) // 250, set()).add(address)
        return found, done.stderr

    return run


def robot(own, team, folder):
    return (
        *('--scenario', 'crossing', '--robot', 'robot1', '--budget', 3),
        *('--domain', own, '--team-domain', team, '--ledger', folder / 'ledger'),
    )


def watchdog(own, team):
    return (
        *('--scenario', 'crossing', '--robot', 'robot1'),
        *('--domain', own, '--team-domain', team),
    )


def test_own_domain_of_a_robot_is_not_announced_to_the_network(sent, new_domain, tmp_path):
    own, team = new_domain(), new_domain()
    found, log = sent(team, 'robot', *robot(own, team, tmp_path), peers=MATE)
    assert 'robot1 is up' in log
    assert found == {team: {EVERYBODY, MATE}}


def test_own_domain_is_announced_to_the_other_computers_of_the_robot(sent, new_domain, tmp_path):
    own, team = new_domain(), new_domain()
    options = (*robot(own, team, tmp_path), '--own-peers', BODY)
    found, log = sent(team, 'robot', *options, peers=MATE)
    assert 'robot1 is up' in log
    assert found == {team: {EVERYBODY, MATE}, own: {BODY}}


def test_watchdog_is_announced_to_the_other_computers_of_its_robot(sent, new_domain):
    own, team = new_domain(), new_domain()
    found, _ = sent(own, 'watchdog', *watchdog(own, team), '--own-peers', BODY, peers=MATE)
    assert found == {own: {BODY}}


def test_domain_of_the_operator_is_announced_as_the_environment_says(sent, new_domain, tmp_path):
    own, team = new_domain(), new_domain()
    found, _ = sent(
        team,
        'planning_server',
        *('--domain', own, '--team-domain', team, '--plans', tmp_path),
    )
    assert found == {team: {EVERYBODY}, own: {EVERYBODY}}


@pytest.mark.skipif(not Path('/proc/net/udp').exists(), reason='needs the /proc of Linux')
def test_robot_that_reaches_its_team_is_known_to_its_machine_in_its_own_domain(
    start, join, new_domain, tmp_path, monkeypatch
):
    own, team = new_domain(), new_domain()
    local = join(own)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    start('robot', tmp_path, *robot(own, team, tmp_path))
    local.wait_for(lambda: 'robot1' in local.get_node_names())
    assert network.announced(own).result.value == 'ok'
    assert network.announced(team).result.value == 'FAILED'
    careless = join(own)
    careless.wait_for(lambda: 'robot1' in careless.get_node_names())


@pytest.mark.skipif(not Path('/proc/net/udp').exists(), reason='needs the /proc of Linux')
def test_watchdog_keeps_to_its_machine(start, join, new_domain, monkeypatch):
    own = new_domain()
    local = join(own)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    start('node', 'watchdog', *watchdog(own, new_domain()))
    local.wait_for(lambda: 'watchdog' in local.get_node_names())
    assert network.announced(own).result.value == 'ok'


def test_bad_peer_is_one_line_and_status_2(start, new_domain, tmp_path):
    options = robot(new_domain(), new_domain(), tmp_path)
    program = start('robot', tmp_path, *options, '--own-peers', BODY, EVERYBODY)
    assert program.wait() == 2
    assert program.errors().startswith(f"own peer '{EVERYBODY}' is not one machine")
    assert program.errors().count('\n') == 1


def test_discovery_server_is_one_line_and_status_2(start, new_domain, tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_DISCOVERY_SERVER', f'{BODY}:11811')
    program = start('robot', tmp_path, *robot(new_domain(), new_domain(), tmp_path))
    assert program.wait() == 2
    assert program.errors().startswith('ROS_DISCOVERY_SERVER is set')
