"""Install the package with plain pip; colcon reads CMakeLists.txt instead."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent


def version() -> str:
    """Read the version without importing the package."""
    source = (ROOT / 'dp_multiagent' / '__init__.py').read_text(encoding='utf-8')
    match = re.search(r"^__version__ = '(.+)'$", source, re.MULTILINE)
    assert match, 'dp_multiagent/__init__.py has no __version__'
    return match[1]


def shared_files(*directories: str) -> list[tuple[str, list[str]]]:
    """List the files that go to share/dp_multiagent, by directory."""
    found: dict[str, list[str]] = {}
    for directory in directories:
        for path in sorted((ROOT / directory).rglob('*')):
            if path.is_file() and '__pycache__' not in path.parts:
                relative = path.relative_to(ROOT)
                target = Path('share', 'dp_multiagent', relative.parent)
                found.setdefault(str(target), []).append(str(relative))
    return sorted(found.items())


setup(
    name='dp_multiagent',
    version=version(),
    description='Teams of robots that plan and act together under differential privacy.',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=['dp_multiagent', 'dp_multiagent.*']),
    package_data={'': ['py.typed', '*.json']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/dp_multiagent']),
        ('share/dp_multiagent', ['package.xml']),
        *shared_files('config', 'launch', 'worlds'),
    ],
    install_requires=['numpy>=1.26', 'scipy>=1.11', 'PyYAML'],
    extras_require={
        'robot': ['opendp'],
        'base': ['cvxpy', 'networkx', 'dp-accounting'],
        'workstation': ['matplotlib', 'mujoco', 'pillow'],
        'test': ['pytest>=7.4', 'hypothesis', 'jsonschema'],
    },
    entry_points={'console_scripts': ['dp_multiagent = dp_multiagent.cli.main:main']},
)
