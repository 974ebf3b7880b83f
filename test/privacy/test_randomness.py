"""No module that a robot releases from uses `random` or `numpy.random`: it can be undone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dp_multiagent

PACKAGE = Path(dp_multiagent.__file__).parent
ON_A_ROBOT = ('models', 'privacy', 'nodes')
ATTACKS = 'audit'
BANNED = ('random', 'numpy.random')
BANNED_NAMES = {'default_rng', 'RandomState', 'SystemRandom', 'rvs'}


def offences(source: str) -> list[str]:
    """List what a source uses of banned randomness, with the lines."""
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return [
        f'line {getattr(node, "lineno", 0)}: {name}'
        for node in ast.walk(tree)
        for name in used(node, aliases)
        if is_banned(name)
    ]


def used(node: ast.AST, aliases: dict[str, str]) -> list[str]:
    """Return the full names that one node imports or refers to."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f'{node.module}.{alias.name}' for alias in node.names]
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        return [f'{aliases.get(owner, owner)}.{node.attr}']
    if isinstance(node, ast.Constant) and node.value in BANNED:
        return [node.value]
    return []


def is_banned(name: str) -> bool:
    module = any(f'{name}.'.startswith(f'{banned}.') for banned in BANNED)
    return module or name.split('.')[-1] in BANNED_NAMES


def release_modules() -> list[Path]:
    """List the modules on a robot; an audit attacks mechanisms and never runs on one."""
    paths = (path for folder in ON_A_ROBOT for path in (PACKAGE / folder).rglob('*.py'))
    return sorted(path for path in paths if not path.name.startswith(ATTACKS))


@pytest.mark.parametrize('path', release_modules(), ids=lambda path: str(path.name))
def test_module_uses_no_randomness_that_can_be_undone(path):
    assert offences(path.read_text(encoding='utf-8')) == []


def test_the_mechanisms_and_samplers_are_among_those_scanned():
    scanned = {path.stem for path in release_modules()}
    assert scanned >= {
        'exact',
        'exact_sampler',
        'gaussian',
        'laplace',
        'trajectory',
        'conversions',
    }


@pytest.mark.parametrize(
    'source',
    [
        'import random',
        'import random as r',
        'from random import gauss',
        'def f():\n    import numpy.random',
        'from numpy import random',
        'from numpy.random import default_rng',
        'import numpy.random as nr',
        'import numpy as np\nx = np.random.normal()',
        'import numpy\nx = numpy.random.laplace()',
        'import numpy as anything\nx = anything.random',
        'x = rng_module.default_rng()',
        'from secrets import SystemRandom',
        'from scipy.stats import norm\nx = norm.rvs()',
        "import importlib\nx = importlib.import_module('random')",
        "__import__('numpy.random')",
    ],
)
def test_scan_finds_planted_randomness(source):
    assert offences(source) != []


@pytest.mark.parametrize(
    'source',
    [
        'from secrets import randbelow',
        'import numpy as np\nx = np.linalg.norm(y)',
        'from dp_multiagent.privacy.randomised_response import RandomisedResponse',
        'random = 3\nx = self.random',
    ],
)
def test_scan_lets_pass_what_is_allowed(source):
    assert offences(source) == []
