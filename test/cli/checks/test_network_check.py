import os
import socket
from pathlib import Path

import pytest

from dp_multiagent.cli.checks import network
from dp_multiagent.cli.checks.finding import Result

HEADER = (
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode'
)


@pytest.fixture
def proc(tmp_path):
    """Return a /proc without sockets, with the ports of Linux."""
    (tmp_path / 'net').mkdir()
    (tmp_path / 'net' / 'udp').write_text(f'{HEADER}\n')
    ports = tmp_path / 'sys' / 'net' / 'ipv4' / 'ip_local_port_range'
    ports.parent.mkdir(parents=True)
    ports.write_text('32768\t60999\n')
    return tmp_path


def listen(proc, port, inode):
    line = f'  1: 00000000:{port:04X} 00000000:0000 07 0:0 00:0 00000000 1000 0 {inode} 2 0 0\n'
    with (proc / 'net' / 'udp').open('a') as table:
        table.write(line)


def hold(proc, pid, name, inode):
    (proc / str(pid) / 'fd').mkdir(parents=True)
    (proc / str(pid) / 'comm').write_text(f'{name}\n')
    (proc / str(pid) / 'fd' / '7').symlink_to(f'socket:[{inode}]')


@pytest.mark.parametrize(
    ('own', 'team', 'result'),
    [
        (43, 42, Result.FINE),
        (101, 1, Result.FINE),
        (42, 42, Result.FAILED),
        (102, 42, Result.FAILED),
        (43, 150, Result.FAILED),
        (214, 42, Result.FAILED),
        (233, 42, Result.FAILED),
        (43, -1, Result.FAILED),
        (215, 232, Result.FINE),
        (0, 42, Result.NOTE),
        (None, 42, Result.SKIPPED),
    ],
)
def test_domains_must_differ_and_have_ports_of_their_own(proc, own, team, result):
    assert network.domains(own, team, proc).result is result


def test_ports_are_those_that_the_middleware_takes():
    # The specification of RTPS: unicast ports 7410 + 250 domain + 2 participant and the next.
    assert {7400 + 250 * 43, 7410 + 250 * 43, 7411 + 250 * 43 + 2 * 119} <= set(network.ports(43))
    assert 7400 + 250 * 44 not in network.ports(43)


@pytest.mark.parametrize(
    ('environment', 'result'),
    [
        ({'ROS_DOMAIN_ID': '43'}, Result.FINE),
        ({'ROS_DOMAIN_ID': '42'}, Result.FAILED),
        ({'ROS_DOMAIN_ID': 'x'}, Result.FAILED),
        ({'ROS_DOMAIN_ID': '7'}, Result.NOTE),
        ({}, Result.NOTE),
    ],
)
def test_shell_must_not_start_drivers_in_the_domain_of_the_team(environment, result):
    assert network.shell(43, 42, environment).result is result


@pytest.mark.parametrize(
    ('environment', 'result'),
    [
        ({}, Result.FAILED),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': ''}, Result.FAILED),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, Result.FAILED),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT'}, Result.FAILED),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, Result.FAILED),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, Result.NOTE),
        ({'ROS_LOCALHOST_ONLY': '1'}, Result.NOTE),
        ({'ROS_LOCALHOST_ONLY': '1', 'ROS_DISCOVERY_SERVER': ''}, Result.NOTE),
        ({'ROS_LOCALHOST_ONLY': '1', 'ROS_DISCOVERY_SERVER': 'base:11811'}, Result.FAILED),
        ({'ROS_LOCALHOST_ONLY': '1', 'FASTDDS_ENVIRONMENT_FILE': 'env.json'}, Result.FAILED),
    ],
)
def test_own_domain_must_not_be_announced_to_the_network(environment, result):
    assert network.reach(43, environment).result is result


def test_peers_are_named_and_the_ports_to_close_too():
    environment = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_STATIC_PEERS': 'base;bob'}
    finding = network.reach(43, environment)
    assert 'driver started here shows the own domain to base, bob' in finding.found
    assert 'without ROS_STATIC_PEERS' in finding.remedy
    assert '18150-18399' in finding.remedy


def test_program_that_announces_the_own_domain_is_named(proc):
    listen(proc, 7400 + 250 * 43, 111)
    hold(proc, 99, 'driver', 111)
    hold(proc, 98, 'innocent', 222)
    finding = network.announced(43, proc)
    assert finding.result is Result.FAILED
    assert 'driver (process 99)' in finding.found
    assert 'innocent' not in finding.found


def test_program_of_another_user_is_found_without_its_name(proc):
    listen(proc, 7400 + 250 * 43, 111)
    finding = network.announced(43, proc)
    assert (finding.result, 'another user' in finding.found) == (Result.FAILED, True)


@pytest.mark.parametrize('port', [7400 + 250 * 42, 7400 + 250 * 43 + 10])
def test_other_domains_and_programs_that_keep_to_the_machine_are_left_alone(proc, port):
    listen(proc, port, 111)
    assert network.announced(43, proc).result is Result.FINE


@pytest.mark.skipif(not Path('/proc/net/udp').exists(), reason='needs the /proc of Linux')
def test_this_very_process_is_found():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        free = iter(range(101, 0, -1))
        while True:
            domain = next(free)
            try:
                taken.bind(('127.0.0.1', 7400 + 250 * domain))
                break
            except OSError:
                continue
        assert f'(process {os.getpid()})' in network.announced(domain).found
