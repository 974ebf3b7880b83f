"""Who imports whom: ROS only in nodes/, the layers one way, nothing heavy on a robot."""

from __future__ import annotations

import ast
import importlib.util
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dp_multiagent

PACKAGE = Path(dp_multiagent.__file__).parent
ROS = ('rclpy', 'rcl_interfaces', 'builtin_interfaces', 'rosidl', 'launch', 'ament', 'tf2')
OUR_INTERFACES = ('dp_multiagent.msg', 'dp_multiagent.srv', 'dp_multiagent.action')
HEAVY = {'cvxpy', 'networkx', 'torch', 'mujoco', 'matplotlib', 'dask', 'dp_accounting'}
ON_A_ROBOT = ['models', 'privacy', 'driving', 'nodes']

METHODS = {'planning', 'swarm', 'cloud', 'comms'}
MAY_IMPORT = {
    'models': set(),
    'driving': {'models'},
    'privacy': {'models'},
    **{layer: {'models', 'privacy'} for layer in METHODS},
    'sim': {'models', 'privacy', 'driving'},
    'deployment': {'models', 'driving'},
    'nodes': {'models', 'privacy', 'driving', 'sim', 'deployment'} | METHODS,
    'cli': {'models', 'privacy', 'driving', 'sim', 'deployment', 'nodes'} | METHODS,
}


def imported(source: str) -> Iterator[str]:
    """Yield the full name of everything that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'line {node.lineno}: a relative import'
            yield from (f'{node.module}.{alias.name}' for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ('import_module', '__import__'):
            name = node.args[0]
            assert isinstance(name, ast.Constant), f'line {node.lineno}: import of a computed name'
            yield name.value


def _called(call: ast.Call) -> str:
    return getattr(call.func, 'id', None) or getattr(call.func, 'attr', '')


def is_ros(name: str) -> bool:
    top = name.split('.')[0]
    known = top.endswith(('_msgs', '_ros')) or any(
        top == ros or top.startswith(ros + '_') for ros in ROS
    )
    return known or any(f'{name}.'.startswith(f'{ours}.') for ours in OUR_INTERFACES)


def layer_of(name: str) -> str | None:
    """Return the layer that an imported name of this package belongs to, if any."""
    parts = name.split('.')
    known = parts[0] == 'dp_multiagent' and len(parts) > 1 and parts[1] in MAY_IMPORT
    return parts[1] if known else None


def offences(layer: str, source: str) -> list[str]:
    """List what a module of a layer (or '' at the top of the package) must not import."""
    allowed = MAY_IMPORT.get(layer, set()) | {layer, None}
    return [
        name
        for name in imported(source)
        if (is_ros(name) and layer != 'nodes') or layer_of(name) not in allowed
    ]


def modules() -> list[Path]:
    """List our modules; an installed package has the generated interfaces beside them."""
    ours = (path.relative_to(PACKAGE) for path in PACKAGE.rglob('*.py'))
    return sorted(path for path in ours if path.parts[0] not in ('msg', 'srv', 'action'))


def test_every_folder_of_the_package_is_a_known_layer():
    folders = {path.parts[0] for path in modules() if len(path.parts) > 1}
    assert {'models', 'privacy', 'planning', 'nodes', 'cli'} <= folders <= set(MAY_IMPORT)


@pytest.mark.parametrize('path', modules(), ids=str)
def test_module_imports_only_what_its_layer_may(path):
    layer = path.parts[0] if len(path.parts) > 1 else ''
    assert offences(layer, (PACKAGE / path).read_text(encoding='utf-8')) == []


@pytest.mark.parametrize(
    ('layer', 'source'),
    [
        ('models', 'import rclpy'),
        ('planning', 'import rclpy.node as n'),
        ('cli', 'from rclpy import init'),
        ('privacy', 'def f():\n    if True:\n        import std_msgs.msg'),
        ('models', 'from builtin_interfaces.msg import Time'),
        ('models', 'import rosidl_runtime_py'),
        ('cli', 'from launch_ros.actions import Node'),
        ('cli', 'import tf2_ros'),
        ('planning', 'from dp_multiagent.msg import TeamPlan'),
        ('planning', 'from dp_multiagent import action'),
        ('', 'import dp_multiagent.msg'),
        ('cli', "import importlib\nimportlib.import_module('rclpy')"),
        ('cli', "__import__('rclpy')"),
        ('models', 'from dp_multiagent.privacy import budget'),
        ('models', 'import dp_multiagent.nodes.qos'),
        ('models', 'from dp_multiagent import planning'),
        ('privacy', 'from dp_multiagent.planning.request import METHODS'),
        ('planning', 'from dp_multiagent.nodes import qos'),
        ('planning', 'from dp_multiagent.swarm import network'),
        ('nodes', 'from dp_multiagent.cli import main'),
        ('', 'from dp_multiagent.models import mdp'),
    ],
)
def test_scan_finds_what_is_forbidden(layer, source):
    assert len(offences(layer, source)) == 1


@pytest.mark.parametrize(
    ('layer', 'source'),
    [
        ('models', 'import numpy\nfrom dp_multiagent.models.mdp import Mdp'),
        ('models', 'from dp_multiagent.errors import ModelError'),
        ('planning', 'from dp_multiagent.privacy import budget'),
        ('nodes', 'import rclpy\nfrom dp_multiagent.msg import TeamPlan\nimport std_msgs.msg'),
        ('cli', 'from dp_multiagent.nodes import qos'),
        ('cli', 'import launcher, actions'),
    ],
)
def test_scan_lets_pass_what_is_allowed(layer, source):
    assert offences(layer, source) == []


@pytest.mark.parametrize('source', ['from . import x', 'import_module(name)', '__import__(f())'])
def test_scan_refuses_what_it_cannot_read(source):
    with pytest.raises(AssertionError, match='line 1'):
        list(imported(source))


def submodules(layer: str) -> list[str]:
    package = [str(PACKAGE / layer)]
    return [m.name for m in pkgutil.walk_packages(package, f'dp_multiagent.{layer}.')]


def loaded_by(names: list[str]) -> set[str]:
    """Return the top-level modules that a fresh interpreter has after importing these."""
    program = (
        'import importlib, json, sys\n'
        f'for name in {names!r}: importlib.import_module(name)\n'
        'print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))\n'
    )
    run = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


def there_is_ros() -> bool:
    return all(map(importlib.util.find_spec, ('rclpy', 'dp_multiagent.msg')))


@pytest.mark.parametrize('layer', ON_A_ROBOT)
def test_robot_loads_nothing_heavy(layer):
    if layer == 'nodes' and not there_is_ros():
        pytest.skip('dp_multiagent.nodes needs rclpy and our interfaces')
    names = submodules(layer)
    assert names
    assert loaded_by(names) & HEAVY == set()


def test_what_is_loaded_is_seen():
    assert 'numpy' in loaded_by(['dp_multiagent.models.mdp'])
    assert 'sqlite3' in loaded_by(['sqlite3'])


def test_core_on_a_robot_loads_no_ros():
    loaded = loaded_by(submodules('models') + submodules('privacy'))
    assert [name for name in loaded if is_ros(name)] == []
