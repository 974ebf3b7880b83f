import subprocess
import sys
from pathlib import Path

import pytest

import dp_multiagent
from dp_multiagent.cli.checks import software
from dp_multiagent.cli.checks.finding import Result

ROOT = Path(dp_multiagent.__file__).parents[1]


def without(*missing):
    return lambda module: module not in missing


def test_what_is_needed_is_what_package_xml_asks_for():
    needed = software.needed_packages()
    assert {'rclpy', 'python3-numpy', 'python3-scipy', 'python3-yaml', 'nav_msgs'} <= set(needed)
    assert not {'python3-pytest', 'ament_cmake', 'rosidl_default_generators'} & set(needed)


def test_all_packages_there_is_fine():
    assert software.packages(without()).result is Result.FINE


@pytest.mark.parametrize(
    ('module', 'package'),
    [
        ('rclpy', 'ros-jazzy-rclpy'),
        ('nav_msgs', 'ros-jazzy-nav-msgs'),
        ('numpy', 'python3-numpy'),
        ('yaml', 'python3-yaml'),
    ],
)
def test_missing_package_is_named_with_what_to_install(module, package, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    finding = software.packages(without(module))
    assert finding.result is Result.FAILED
    assert package in finding.remedy


def test_interfaces_that_are_not_built_are_found():
    assert software.interfaces(without('dp_multiagent.msg')).result is Result.FAILED
    assert software.interfaces(without()).result is Result.FINE


def test_old_python_is_refused():
    assert software.python((3, 9, 18)).result is Result.FAILED
    assert software.python((3, 12, 3)).result is Result.FINE


def test_robot_program_is_not_tried_without_ros():
    assert software.robot_program(without('rclpy')).result is Result.SKIPPED


@pytest.mark.ros
def test_robot_program_loads_nothing_heavy():
    assert software.robot_program().result is Result.FINE


@pytest.mark.ros
def test_heavy_package_in_the_robot_program_is_found(monkeypatch):
    monkeypatch.setattr(software, 'HEAVY', ('numpy',))
    assert 'loads numpy' in software.robot_program().found


@pytest.mark.ros
def test_robot_program_that_does_not_load_is_a_finding(monkeypatch):
    monkeypatch.setattr(software, 'LOADING', 'import no_such_module_at_all')
    assert 'no_such_module_at_all' in software.robot_program().found


def test_doctor_needs_nothing_but_the_standard_library_to_start():
    blocked = ('numpy', 'scipy', 'yaml', 'rclpy')
    program = (
        'import sys\n'
        f'for name in {blocked}: sys.modules[name] = None\n'
        'from dp_multiagent.cli.doctor import main\n'
        "raise SystemExit(main(['--seconds', '0.1']))\n"
    )
    ended = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, cwd=ROOT
    )
    assert ended.returncode == 1, ended.stderr
    assert 'Traceback' not in ended.stderr
    assert 'missing: ' in ended.stdout
