"""Set up a virtual environment from pins and, in the main one, the ROS interfaces with colcon.

Nothing is done twice: a stamp, written last, says what the environment was made from. What goes
wrong is told in one line, with a log beside it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / '.cache'
LOG = CACHE / 'setup.log'
NETWORK_FAULTS = ('Retrying (Retry', 'ConnectionError', 'Connection refused', 'timed out')
BUILD_PINS = ('ros-', 'numpy', 'cmake', 'empy', 'colcon', 'catkin', 'lark')


class SetupError(Exception):
    """The set-up cannot go on; the message says what to do."""


def main() -> int:
    """Bring the environment up to date and return an exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('venv', help='directory of the environment, in the source tree')
    parser.add_argument('pins', help='requirements file that names every package')
    parser.add_argument('--interfaces', action='store_true', help='build the ROS interfaces too')
    arguments = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    with (CACHE / 'setup.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            set_up(ROOT / arguments.venv, ROOT / arguments.pins, arguments.interfaces)
        except SetupError as error:
            print(f'error: {error}', file=sys.stderr)
            return 1
    return 0


def set_up(venv: Path, pins: Path, interfaces: bool) -> None:
    """Install what is pinned, then build the interfaces, each only when its inputs changed."""
    done, wanted = venv / '.stamp-pins', pin_inputs(pins)
    if read(done) != wanted:
        require_tools(interfaces)
        before = read(done)
        done.unlink(missing_ok=True)
        if interpreter(before) != interpreter(wanted) or names(before) - names(wanted):
            create(venv)
        install(venv, pins)
        if interfaces:
            repair_include_directories(venv)
        write(done, wanted)
    built, sources = venv / '.stamp-interfaces', interface_inputs(wanted)
    if interfaces and read(built) != sources:
        require_tools(interfaces)
        built.unlink(missing_ok=True)
        build_interfaces(venv)
        write(built, sources)


def read(stamp: Path) -> str:
    """Return what a step was last done from."""
    return stamp.read_text() if stamp.exists() else ''


def write(stamp: Path, inputs: str) -> None:
    """Say that a step is done, and from what."""
    partial = stamp.with_suffix('.partial')
    partial.write_text(inputs)
    partial.rename(stamp)


def pin_inputs(pins: Path) -> str:
    """Name everything that the installed packages depend on."""
    setup = sha256(ROOT / 'setup.py')
    return f'{sys.base_prefix} {sys.version!r} {ROOT}\n{setup}\n{pins.read_text()}'


def interpreter(inputs: str) -> str:
    """Return the line of a stamp that names the interpreter."""
    return inputs.partition('\n')[0]


def names(inputs: str) -> set[str]:
    """Return the packages that a stamp pins."""
    return set(re.findall(r'^([\w.-]+)==', inputs, re.MULTILINE))


def interface_inputs(pins: str) -> str:
    """Name everything that the built interfaces depend on."""
    lines = [line for line in pins.splitlines() if line.startswith(BUILD_PINS)]
    files = [ROOT / name for name in ('package.xml', 'CMakeLists.txt', 'tools/setup_venv.py')]
    for kind in ('msg', 'srv', 'action'):
        files += sorted((ROOT / kind).glob(f'*.{kind}'))
    lines += [f'{path.relative_to(ROOT)} {sha256(path)}' for path in files]
    return '\n'.join([interpreter(pins), *lines])


def sha256(path: Path) -> str:
    """Return the fingerprint of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def require_tools(interfaces: bool) -> None:
    """Refuse, by name, a machine that lacks what the set-up needs."""
    python = f'python{sys.version_info.major}.{sys.version_info.minor}'
    if importlib.util.find_spec('ensurepip') is None:
        raise SetupError(
            f'{sys.executable} cannot make virtual environments: install its venv module '
            f'(Debian, Ubuntu: apt install {python}-venv)'
        )
    if not interfaces:
        return
    if shutil.which('g++') is None:
        raise SetupError(
            'no C++ compiler: install g++ '
            '(Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++)'
        )
    if not Path(sysconfig.get_path('include'), 'Python.h').exists():
        raise SetupError(
            f'{sys.executable} has no C headers: install them '
            f'(Debian, Ubuntu: apt install {python}-dev; Fedora: dnf install python3-devel)'
        )


def create(venv: Path) -> None:
    """Make an empty environment in place of what was there."""
    version = platform.python_version()
    say(f'creating {venv.name} with Python {version}')
    if venv.exists():
        shutil.rmtree(venv)
    base = getattr(sys, '_base_executable', sys.executable)
    if run([base, '-m', 'venv', str(venv)]):
        raise SetupError(f'{base} -m venv failed: read {LOG.relative_to(ROOT)}')


def install(venv: Path, pins: Path) -> None:
    """Install the pinned wheels, and the source tree so that an edit needs no new set-up."""
    say(
        f'installing {len(names(pins.read_text()))} pinned packages (about a minute, log: {log()})'
    )
    pip = [str(venv / 'bin' / 'python'), '-m', 'pip', 'install', '--no-deps', '--no-input']
    pip += ['--disable-pip-version-check', '--only-binary', ':all:']
    setuptools = re.findall(r'^setuptools==.*$', pins.read_text(), re.MULTILINE)
    # empy has no wheel; it and the source tree are built with the pinned setuptools.
    build = ['--no-build-isolation', '--no-binary', 'empy', '-r', str(pins), '-e', str(ROOT)]
    if run([*pip, *setuptools]) or run([*pip, *build]):
        raise SetupError(why_pip_failed(LOG.read_text(errors='replace'), pins))


def why_pip_failed(text: str, pins: Path) -> str:
    """Say in one line what to do about a failed pip."""
    if any(fault in text for fault in NETWORK_FAULTS):
        return (
            'pip reaches no package index: connect this machine, '
            f'or set PIP_INDEX_URL (log: {log()})'
        )
    missing = re.search(r'No matching distribution found for (\S+)', text)
    if missing:
        return (
            f'no wheel of {missing[1]} for Python {platform.python_version()} on '
            f'{platform.system()} {platform.machine()}: '
            'choose another Python with make PYTHON=python3.12 '
            f'(pins: {pins.relative_to(ROOT)}, log: {log()})'
        )
    return f'pip failed: read {log()}'


def repair_include_directories(venv: Path) -> None:
    """Point the wheels' cmake files, which name their build machine, to the headers here."""
    numpy_headers = next(venv.glob('lib/python*/site-packages/numpy/_core/include'))
    for path in venv.glob('share/*/cmake/*.cmake'):
        text = path.read_text()
        fixed = re.sub(r'/opt/python/[^;"]*/numpy/_core/include', str(numpy_headers), text)
        fixed = re.sub(
            r'/opt/python/[^;"]*/include/python[\d.]+', sysconfig.get_path('include'), fixed
        )
        if fixed != text:
            path.write_text(fixed)


def build_interfaces(venv: Path) -> None:
    """Build msg/, srv/ and action/ into the environment.

    The libraries go to its lib/, where the wheels look for them. The Python part goes beside
    site-packages, so that it never hides the source tree, and `extend_path` in
    dp_multiagent/__init__.py finds it through dp_multiagent.pkg.
    """
    say(f'building the ROS interfaces with colcon (about 30 s, log: {log()})')
    python_dir = 'share/dp_multiagent/python'
    remove(
        [venv / 'build', venv / 'share' / 'dp_multiagent', *venv.glob('lib/libdp_multiagent__*')]
    )
    command = [str(venv / 'bin' / 'colcon'), '--log-base', str(venv / 'build' / 'log'), 'build']
    command += ['--merge-install', '--install-base', str(venv)]
    command += ['--build-base', str(venv / 'build'), '--base-paths', str(ROOT)]
    command += [
        '--packages-select',
        'dp_multiagent',
        '--cmake-args',
        '-DBUILD_TESTING=OFF',
        '-DINTERFACES_ONLY=ON',
    ]
    command += [f'-DPYTHON_INSTALL_DIR={python_dir}']
    command += [f'-DPython3_EXECUTABLE={venv / "bin" / "python"}']
    if run(command, path=venv / 'bin', prefix=venv):
        raise SetupError(f'colcon cannot build the interfaces: read {log()}')
    site_packages = next(venv.glob('lib/python*/site-packages'))
    (site_packages / 'dp_multiagent.pkg').write_text(f'{venv / python_dir / "dp_multiagent"}\n')


def remove(paths: Iterable[Path]) -> None:
    """Delete files and directories, there or not."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run(command: list[str], path: Path | None = None, prefix: Path | None = None) -> int:
    """Run a command, its output in the log, and return its exit status."""
    environment = dict(os.environ)
    # An environment's interpreter leaves these to its children, and they would then look there.
    for name in ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH'):
        environment.pop(name, None)
    if path is not None:
        environment['PATH'] = f'{path}{os.pathsep}{environment["PATH"]}'
    if prefix is not None:
        environment['AMENT_PREFIX_PATH'] = environment['CMAKE_PREFIX_PATH'] = str(prefix)
    with LOG.open('w') as output:
        return subprocess.run(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False
        ).returncode


def say(message: str) -> None:
    """Tell what takes time."""
    print(f'set-up: {message}', flush=True)


def log() -> str:
    """Name the log as the user sees it."""
    return str(LOG.relative_to(ROOT))


if __name__ == '__main__':
    sys.exit(main())
