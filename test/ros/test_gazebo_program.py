"""Gazebo as a simulator: what is started where. Gazebo and its bridge are scripts that say so."""

import os
import re
import signal
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

PATIENCE = 30.0  # seconds, for a machine under load
GAZEBO = '#!/bin/sh\necho "Gazebo $* in $GZ_PARTITION at $GZ_IP"\nexec sleep 60\n'
BRIDGE = '#!/bin/sh\necho "Bridge $* for $ROS_DOMAIN_ID in $GZ_PARTITION"\nexec sleep 60\n'


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Pretend that Gazebo and its bridge are installed; return how to install something."""

    def install(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    prefix = tmp_path / 'prefix'
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'ros_gz_bridge'
    install(index, '')
    install(prefix / 'lib' / 'ros_gz_bridge' / 'parameter_bridge', BRIDGE)
    install(tmp_path / 'bin' / 'gz', GAZEBO)
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'), os.pathsep)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix), os.pathsep)
    return install


@pytest.fixture
def gazebo(start, tmp_path):
    def run(*options):
        return start(
            'node',
            *('gazebo', '--scenario', 'crossing', '--team-domain', 60),
            *('--folder', tmp_path / 'files', *options),
        )

    return run


def wait_until_it_says(program, pattern, count=1):
    end = time.monotonic() + PATIENCE
    while len(found := re.findall(pattern, program.errors())) < count:
        assert program.is_running(), program.errors()
        assert time.monotonic() < end, program.errors()
        time.sleep(0.05)
    return found


def test_every_domain_but_the_teams_gets_its_bridge(machine, gazebo, tmp_path):
    program = gazebo()
    folder = tmp_path / 'files'
    said = wait_until_it_says(program, r'Bridge .* config_file:=(\S+) for (\d+) in (\S+)', 3)
    assert {(Path(file), int(domain)) for file, domain, _ in said} == {
        (folder / 'robot1.yaml', 61),
        (folder / 'robot2.yaml', 62),
        (folder / 'operator-clock.yaml', 110),
    }
    crossing = yaml.safe_load((folder / 'operator-clock.yaml').read_text())
    assert [each['ros_topic_name'] for each in crossing] == ['/clock']
    ((world, partition),) = wait_until_it_says(
        program, r'Gazebo sim -r -s (\S+) in (\S+) at 127.0.0.1'
    )
    assert ET.parse(world).getroot().tag == 'sdf'
    assert {partition} == {where for _, _, where in said}
    program.send(signal.SIGINT)
    assert program.wait() == 0


def test_window_is_shown_if_it_is_asked_for(machine, gazebo):
    assert wait_until_it_says(gazebo('--window'), r'Gazebo sim -r (\S+)') != ['-s']


def test_gazebo_that_dies_ends_the_simulation_and_is_named(machine, gazebo, tmp_path):
    machine(tmp_path / 'bin' / 'gz', '#!/bin/sh\necho no display\nexit 3\n')
    program = gazebo()
    assert program.wait() == 1
    assert program.errors().splitlines()[-1] == 'gazebo died: exit status 3: no display'


def test_missing_gazebo_is_one_line_and_status_2(machine, gazebo, tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path / 'nothing'))
    program = gazebo()
    assert program.wait() == 2
    (line,) = program.errors().splitlines()
    assert line.startswith('Gazebo is not installed: apt install')


def test_missing_bridge_is_one_line_and_status_2(machine, gazebo, tmp_path):
    (tmp_path / 'prefix/share/ament_index/resource_index/packages/ros_gz_bridge').unlink()
    program = gazebo()
    assert program.wait() == 2
    (line,) = program.errors().splitlines()
    assert line.startswith('the bridge to Gazebo is not installed: apt install')
