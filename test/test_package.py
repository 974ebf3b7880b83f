"""The package as a whole: one version, exact pins, set-up that does nothing twice."""

import importlib.util
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dp_multiagent

ROOT = Path(__file__).resolve().parent.parent
MESSAGE = 'msg/PrivateState.msg'


def test_version_is_the_same_everywhere():
    built = subprocess.run(
        [sys.executable, 'setup.py', '--version'], cwd=ROOT, capture_output=True, text=True
    )
    manifest = ET.parse(ROOT / 'package.xml').findtext('version')
    changelog = re.search(r'^(\d+\.\d+\.\d+)', (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE)

    assert built.stdout.split()[-1] == dp_multiagent.__version__
    assert manifest == dp_multiagent.__version__
    assert changelog[1] == dp_multiagent.__version__


@pytest.mark.parametrize('name', ['dev', 'numpy1.26'])
def test_every_requirement_is_pinned(name):
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    packages = [line for line in lines if not line.startswith('#')]

    assert packages
    assert [line for line in packages if not re.match(r'[\w.-]+==[\w.]+( ;|$)', line)] == []


@pytest.mark.parametrize('path', sorted((ROOT / 'scripts').iterdir()), ids=lambda path: path.name)
def test_executables_are_executable(path):
    assert path.stat().st_mode & 0o111


def load_setup(path):
    spec = importlib.util.spec_from_file_location('setup_venv', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Machine:
    """A small source tree whose set-up runs no real command but remembers each."""

    def __init__(self, root, monkeypatch):
        self.root, self.commands, self.broken = root, [], ''
        for name in ('tools/setup_venv.py', 'package.xml', 'CMakeLists.txt', 'setup.py', MESSAGE):
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        self.pins('numpy==2.2.6', 'ruff==0.9.0', 'setuptools==79.0.1', 'ros-rclpy==7.1.6')
        self.module = load_setup(root / 'tools/setup_venv.py')
        monkeypatch.setattr(self.module, 'run', self.run)
        monkeypatch.setattr(self.module, 'require_tools', lambda interfaces: None)

    def pins(self, *lines):
        (self.root / 'pins.txt').write_text('\n'.join(lines))

    def run(self, command, **_):
        tool = next(name for name in ('colcon', 'pip', 'venv') if name in ' '.join(command[:4]))
        self.commands.append(tool)
        (self.root / '.cache' / 'setup.log').write_text('no luck')
        headers = '.venv/lib/python3.11/site-packages/numpy/_core/include'
        (self.root / headers).mkdir(parents=True, exist_ok=True)
        return int(tool == self.broken)

    def set_up(self):
        self.commands.clear()
        self.module.CACHE.mkdir(exist_ok=True)
        self.module.set_up(self.root / '.venv', self.root / 'pins.txt', interfaces=True)
        return sorted(set(self.commands))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_first_setup_does_everything_and_the_second_nothing(machine):
    assert machine.set_up() == ['colcon', 'pip', 'venv']
    assert machine.set_up() == []


def test_changed_interface_rebuilds_only_the_interfaces(machine):
    machine.set_up()
    (machine.root / MESSAGE).write_text('uint32 step\n')

    assert machine.set_up() == ['colcon']


def test_new_interface_rebuilds_only_the_interfaces(machine):
    machine.set_up()
    (machine.root / 'srv').mkdir()
    (machine.root / 'srv' / 'Ask.srv').write_text('---\n')

    assert machine.set_up() == ['colcon']


def test_changed_pin_is_installed_into_the_environment(machine):
    machine.set_up()
    machine.pins('numpy==2.2.6', 'ruff==0.9.1', 'setuptools==79.0.1', 'ros-rclpy==7.1.6')

    assert machine.set_up() == ['pip']


def test_changed_ros_pin_rebuilds_the_interfaces_too(machine):
    machine.set_up()
    machine.pins('numpy==2.2.6', 'ruff==0.9.0', 'setuptools==79.0.1', 'ros-rclpy==7.1.7')

    assert machine.set_up() == ['colcon', 'pip']


def test_dropped_pin_leaves_no_package_behind(machine):
    machine.set_up()
    machine.pins('numpy==2.2.6', 'setuptools==79.0.1', 'ros-rclpy==7.1.6')

    assert machine.set_up() == ['colcon', 'pip', 'venv']


def test_interrupted_install_starts_afresh(machine):
    machine.broken = 'pip'
    with pytest.raises(machine.module.SetupError, match='pip failed'):
        machine.set_up()
    machine.broken = ''

    assert machine.set_up() == ['colcon', 'pip', 'venv']


def test_interrupted_build_is_done_again(machine):
    machine.broken = 'colcon'
    with pytest.raises(machine.module.SetupError, match='colcon cannot build'):
        machine.set_up()
    machine.broken = ''

    assert machine.set_up() == ['colcon']


def test_python_without_venv_module_is_refused(monkeypatch):
    module = load_setup(ROOT / 'tools' / 'setup_venv.py')
    monkeypatch.setattr(module.importlib.util, 'find_spec', lambda name: None)

    with pytest.raises(module.SetupError, match=r'apt install python3\.\d+-venv'):
        module.require_tools(interfaces=False)


def test_python_without_headers_is_refused(monkeypatch, tmp_path):
    module = load_setup(ROOT / 'tools' / 'setup_venv.py')
    monkeypatch.setattr(module.shutil, 'which', lambda name: name)
    monkeypatch.setattr(module.sysconfig, 'get_path', lambda name: str(tmp_path))

    with pytest.raises(module.SetupError, match=r'apt install python3\.\d+-dev'):
        module.require_tools(interfaces=True)
