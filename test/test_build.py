"""The package is built, installed and set up for real, in a copy of the source tree."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.prefix) / 'bin'
LEFT_OUT = ('.git', '.venv*', '.*cache', '.hypothesis', '__pycache__', '*.egg-info', 'build')
MESSAGES = (
    'import dp_multiagent.msg as msg, dp_multiagent.action as action; '
    'types = [t for t in vars(msg).values() if isinstance(t, type)]; '
    '[t.__import_type_support__() for t in [*map(type, types), type(action.SynthesizePolicies)]]; '
    'print(len(types), msg.__file__)'
)


def environment(**more):
    """Return the variables of a fresh shell, without those that this interpreter leaves."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(('PIP_', 'SSL_'))}
    return {**kept, 'HOME': os.environ['HOME'], 'PATH': os.environ['PATH'], **more}


def ros_environment(**more):
    """Return the variables of a shell in which this interpreter's ROS is sourced."""
    prefix = {'AMENT_PREFIX_PATH': sys.prefix, 'CMAKE_PREFIX_PATH': sys.prefix}
    return environment(**{**prefix, 'PATH': f'{BIN}{os.pathsep}{os.environ["PATH"]}', **more})


def run(*command, cwd, env, status=0):
    """Run a command, check its exit status, and return what it printed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def copy_of_sources(target):
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT, 'install', 'log'))
    return target


@pytest.fixture(scope='module')
def workspace(tmp_path_factory):
    """Return a workspace that `colcon build` has built."""
    root = tmp_path_factory.mktemp('workspace')
    copy_of_sources(root / 'src' / 'dp_multiagent')
    run(BIN / 'colcon', 'build', cwd=root, env=ros_environment())
    return root


def in_workspace(workspace, command, **more):
    """Run a command in a shell that has sourced the workspace."""
    line = f'source install/setup.bash && {command}'
    return run('bash', '-c', line, cwd=workspace, env=ros_environment(**more))


def test_manifest_is_valid():
    warnings = []
    package = parse_package(ROOT, warnings=warnings)
    package.validate(warnings)

    assert warnings == []
    assert package.package_format == 3


def test_colcon_sees_one_ament_cmake_package():
    listed = run(BIN / 'colcon', 'list', '--base-paths', ROOT, cwd='/', env=ros_environment())

    assert [line.split() for line in listed.splitlines()] == [
        ['dp_multiagent', str(ROOT), '(ros.ament_cmake)']
    ]


def test_workspace_has_package_and_messages(workspace):
    package = in_workspace(workspace, 'python -c "import dp_multiagent as p; print(p.__file__)"')
    messages = in_workspace(workspace, f'python -c "{MESSAGES}"').split()

    assert package.startswith(f'{workspace}/install/dp_multiagent/lib/')
    assert messages[0] == str(len(list((ROOT / 'msg').glob('*.msg'))))
    assert messages[1].startswith(f'{workspace}/install/dp_multiagent/lib/')


def test_workspace_runs_the_command_that_ros2_run_starts(workspace):
    executable = 'install/dp_multiagent/lib/dp_multiagent/dp_multiagent'

    assert 'navigation' in in_workspace(workspace, f'{executable} scenario list')


def test_colcon_test_runs_the_tests(workspace):
    only = {'PYTEST_ADDOPTS': '-k version_is_the_same'}
    in_workspace(workspace, 'colcon test --return-code-on-test-failure', **only)
    result = in_workspace(workspace, 'colcon test-result --all')

    assert 'tests, 0 errors, 0 failures, 0 skipped' in result
    assert 'Summary: 0 tests' not in result


def test_symlink_install_follows_an_edit(tmp_path):
    copy_of_sources(tmp_path / 'src' / 'dp_multiagent')
    run(BIN / 'colcon', 'build', '--symlink-install', cwd=tmp_path, env=ros_environment())
    errors = tmp_path / 'src' / 'dp_multiagent' / 'dp_multiagent' / 'errors.py'
    errors.write_text('EDITED = 1\n')

    edited = 'python -c "import dp_multiagent.errors as e; print(e.EDITED)"'
    assert in_workspace(tmp_path, edited).strip() == '1'
    assert in_workspace(tmp_path, f'python -c "{MESSAGES}"')


def test_pip_install_gives_command_and_scenarios(tmp_path):
    sources = copy_of_sources(tmp_path / 'sources')
    run(sys.executable, '-m', 'venv', tmp_path / 'venv', cwd=tmp_path, env=environment())
    pins = environment(PIP_CONSTRAINT=str(ROOT / 'requirements' / 'dev.txt'))
    run(tmp_path / 'venv/bin/pip', 'install', '-q', sources, cwd=tmp_path, env=pins)
    shutil.rmtree(sources)
    command = tmp_path / 'venv' / 'bin' / 'dp_multiagent'

    assert run(command, '--version', cwd=tmp_path, env=environment()).strip()
    assert 'navigation' in run(command, 'scenario', 'list', cwd=tmp_path, env=environment())


def test_wheel_holds_every_module(tmp_path):
    sources = copy_of_sources(tmp_path / 'sources')
    build = ['wheel', '-q', '--no-deps', '--no-build-isolation', '-w', tmp_path, sources]
    run(sys.executable, '-m', 'pip', *build, cwd=tmp_path, env=environment())
    with zipfile.ZipFile(next(tmp_path.glob('*.whl'))) as wheel:
        names = set(wheel.namelist())

    modules = (ROOT / 'dp_multiagent').rglob('*.py')
    assert {str(path.relative_to(ROOT)) for path in modules} <= names


def test_environment_works_with_nothing_sourced():
    nothing = {'HOME': os.environ['HOME'], 'PATH': '/usr/bin:/bin'}

    assert 'navigation' in run(BIN / 'dp_multiagent', 'scenario', 'list', cwd='/', env=nothing)
    assert run(BIN / 'python', '-c', MESSAGES, cwd='/', env=nothing)


def test_environment_takes_the_source_tree_as_it_is():
    paths = 'import dp_multiagent; print(*dp_multiagent.__path__)'
    source, interfaces = run(BIN / 'python', '-c', paths, cwd='/', env=environment()).split()

    assert Path(source) == ROOT / 'dp_multiagent'
    assert not Path(interfaces, 'errors.py').exists()


def test_second_setup_takes_less_than_five_seconds():
    run('make', 'setup', cwd=ROOT, env=environment())
    started = time.monotonic()
    run('make', 'setup', cwd=ROOT, env=environment())

    assert time.monotonic() - started < 5


def test_old_python_is_named_in_one_line(tmp_path):
    old = tmp_path / 'python3'
    old.write_text('#!/bin/sh\nexit 1\n')
    old.chmod(0o755)

    assert setup_error(ROOT, PYTHON=str(old)).startswith(
        'error: needs Python 3.10 to 3.14: install'
    )


def test_missing_compiler_is_named_in_one_line(tmp_path):
    sources = copy_of_sources(tmp_path / 'sources')
    for tool in ('make', 'bash', 'sh', 'test', 'mkdir'):
        (tmp_path / tool).symlink_to(shutil.which(tool))

    error = setup_error(sources, PATH=str(tmp_path), PYTHON=sys.executable)
    assert error.startswith('error: no C++ compiler: install g++')


def test_missing_network_is_named_in_one_line(tmp_path):
    sources = copy_of_sources(tmp_path / 'sources')
    nowhere = {'PIP_INDEX_URL': 'http://127.0.0.1:9/', 'PIP_CONFIG_FILE': os.devnull}
    alone = {'PIP_EXTRA_INDEX_URL': '', 'PIP_FIND_LINKS': '', 'PIP_NO_CACHE_DIR': '1'}

    error = setup_error(sources, PYTHON=sys.executable, PIP_RETRIES='1', **nowhere, **alone)
    assert error.startswith('error: pip reaches no package index')
    assert not (sources / '.venv' / '.stamp-pins').exists()


def setup_error(sources, **variables):
    """Return the one line, besides make's own, in which the set-up says why it stopped."""
    output = run('make', 'setup', cwd=sources, env=environment(**variables), status=2)
    lines = [line for line in output.splitlines() if not line.startswith(('make: ', 'set-up: '))]
    assert len(lines) == 1, output
    return lines[0]
