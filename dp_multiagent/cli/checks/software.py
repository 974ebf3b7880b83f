"""Is everything installed that a robot needs, and does its program load nothing else?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import dp_multiagent
from dp_multiagent.cli.checks.finding import Finding, failed, fine, note, skipped

OLDEST_PYTHON = (3, 10)
HEAVY = ('cvxpy', 'networkx', 'torch', 'mujoco', 'matplotlib', 'dask')
MODULES = {'python3-numpy': 'numpy', 'python3-scipy': 'scipy', 'python3-yaml': 'yaml'}
NO_MODULES = {'rosidl_default_runtime'}
LAUNCHING = {'launch', 'launch_ros', 'ros2launch'}
LOADING = (
    'import json, sys, dp_multiagent.nodes.robot\n'
    'print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))\n'
)
PATIENCE = 60.0  # seconds

IsThere = Callable[[str], bool]


def is_there(module: str) -> bool:
    """Tell whether a module can be found, without importing it."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def python(version: Sequence[int] = sys.version_info[:3]) -> Finding:
    """Check the version of Python."""
    said = '.'.join(map(str, version))
    if tuple(version[:2]) < OLDEST_PYTHON:
        return failed('Python', f'{said} is too old', 'use Ubuntu 24.04, which has 3.12')
    return fine('Python', said)


def packages(is_there: IsThere = is_there) -> Finding:
    """Check that what package.xml asks for can be found."""
    needed = [name for name in needed_packages() if name not in NO_MODULES]
    missing = [name for name in needed if not is_there(MODULES.get(name, name))]
    if missing:
        remedy = f'sudo apt install {" ".join(map(_apt_name, missing))}'
        if 'rclpy' in missing:
            remedy = f'source /opt/ros/{_distribution()}/setup.bash, or {remedy}'
        if set(missing) <= LAUNCHING:
            return note('packages', f'no ros2 launch: missing {", ".join(missing)}', remedy)
        return failed('packages', f'missing: {", ".join(missing)}', remedy)
    return fine('packages', f'all {len(needed)} are there')


def interfaces(is_there: IsThere = is_there) -> Finding:
    """Check that our own messages were built."""
    if not is_there('dp_multiagent.msg'):
        remedy = 'colcon build, then source install/setup.bash'
        return failed('interfaces', 'the messages of dp_multiagent are not built', remedy)
    return fine('interfaces', 'built')


def robot_program(is_there: IsThere = is_there) -> Finding:
    """Check that the robot's program loads, and nothing that a robot should not need."""
    if not (is_there('rclpy') and is_there('dp_multiagent.msg')):
        return skipped('robot program', 'needs rclpy and our interfaces')
    ended = subprocess.run(
        [sys.executable, '-c', LOADING], capture_output=True, text=True, timeout=PATIENCE
    )
    if ended.returncode:
        why = (ended.stderr.strip().splitlines() or ['it ended at once'])[-1]
        return failed('robot program', f'does not load: {why}', 'install what it names')
    heavy = sorted(set(json.loads(ended.stdout.splitlines()[-1])) & set(HEAVY))
    if heavy:
        return failed('robot program', f'loads {", ".join(heavy)}', 'report this')
    return fine('robot program', 'loads, and nothing heavy with it')


def needed_packages() -> list[str]:
    """List what package.xml says is needed to run."""
    for folder in Path(dp_multiagent.__file__).parents:
        for path in (folder / 'package.xml', folder / 'share' / 'dp_multiagent' / 'package.xml'):
            if path.is_file():
                root = ElementTree.parse(path).getroot()
                kinds = ('depend', 'exec_depend')
                return sorted(e.text or '' for kind in kinds for e in root.iterfind(kind))
    raise FileNotFoundError('package.xml of dp_multiagent is not installed')


def _apt_name(package: str) -> str:
    if package in MODULES:
        return package
    return f'ros-{_distribution()}-{package.replace("_", "-")}'


def _distribution() -> str:
    return os.environ.get('ROS_DISTRO', 'jazzy')
