"""Real nodes in real processes, each test in DDS domains of its own on this machine only."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from deployed import LAST_SAFE_DOMAIN, Deployed, is_locked, reserve_team

import dp_multiagent

HERE = Path(__file__).parent
SETTLING = 0.5  # seconds
PATIENCE = 30.0  # seconds, for a machine under load; a passing test needs a fraction of one


def what_is_missing() -> str:
    try:
        import rclpy  # noqa: F401
    except ImportError:
        return 'test/ros needs rclpy: `make test` installs it, or source a ROS 2 installation'
    try:
        import dp_multiagent.msg  # noqa: F401
    except ImportError:
        return 'test/ros needs our interfaces: `make test` builds them, or `colcon build`'
    return ''


MISSING = what_is_missing()
collect_ignore = ['programs']
if MISSING:
    collect_ignore += [path.name for path in HERE.glob('*.py') if path.stem != 'test_present']


class Program:
    """A Python program of test/ros/programs in a process of its own."""

    def __init__(self, name: str, *arguments: object, errors: Path) -> None:
        self._errors = errors
        with errors.open('wb') as stderr:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / 'programs' / f'{name}.py'), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
            )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line.strip())

    def expect(self, line: str) -> None:
        """Wait until the program prints exactly this line next."""
        try:
            assert self._lines.get(timeout=PATIENCE) == line, self.errors()
        except queue.Empty:
            pytest.fail(f'{line!r} was not printed; {self.errors()}')

    def tell(self, line: str) -> None:
        self._process.stdin.write(line + '\n')

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def send_until_it_ends(self, number: signal.Signals) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.send(number)
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(timeout=0.1)
        pytest.fail('it did not end')

    def wait(self) -> int:
        return self._process.wait(timeout=PATIENCE)

    def errors(self) -> str:
        return self._errors.read_text(errors='replace')

    def is_running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def missing() -> str:
    return MISSING


@pytest.fixture(scope='session', autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_LOG_DIR', str(tmp_path_factory.mktemp('ros_log')))
        patch.setenv('PYTHONPATH', str(Path(dp_multiagent.__file__).parents[1]), os.pathsep)
        for name in ('ROS_STATIC_PEERS', 'ROS_LOCALHOST_ONLY', 'ROS_DOMAIN_ID'):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope='session')
def domain_cycle() -> Iterator[int]:
    """Go round all domains: who has left one is still seen in it for a while.

    It begins anywhere, because another run of the tests may have ended just now.
    """
    domains = list(range(1, LAST_SAFE_DOMAIN + 1))
    first = random.SystemRandom().randrange(len(domains))
    return itertools.cycle(domains[first:] + domains[:first])


@pytest.fixture
def new_domain(domain_cycle: Iterator[int]) -> Iterator[Callable[[], int]]:
    """Hand out DDS domains that no other test on this machine is using."""
    with ExitStack() as locks:

        def reserve() -> int:
            for domain in itertools.islice(domain_cycle, LAST_SAFE_DOMAIN):
                if is_locked(domain, locks):
                    return domain
            pytest.fail('all DDS domains are in use')

        yield reserve


@pytest.fixture
def start(tmp_path: Path, new_domain: object) -> Iterator[Callable[..., Program]]:
    """Start programs, and end them with the test, before their domains are free again."""
    programs: list[Program] = []

    def start_program(name: str, *arguments: object) -> Program:
        program = Program(name, *arguments, errors=tmp_path / f'stderr_{len(programs)}')
        programs.append(program)
        return program

    yield start_program
    for program in programs:
        program.close()


@pytest.fixture
def wait_for() -> Callable[..., None]:
    """Serve an executor until a condition holds, or fail the test."""

    def serve_until(executor: Any, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, 'it did not happen in time'
            executor.spin_once(timeout_sec=0.02)
        if getattr(condition, '__name__', '') in ('service_is_ready', 'server_is_ready'):
            # The server may know of our requests before it knows where its answers go.
            settled = time.monotonic() + SETTLING
            while time.monotonic() < settled:
                executor.spin_once(timeout_sec=0.02)

    return serve_until


@pytest.fixture
def join(wait_for: Callable[..., None], new_domain: object) -> Iterator[Callable[[int], Any]]:
    """Give this process a plain node in a domain; `node.wait_for(condition)` serves it."""
    from rclpy.context import Context

    from dp_multiagent.nodes.domains import TeamNode
    from dp_multiagent.nodes.spin import make_executor

    nodes: list[TeamNode] = []

    def join_domain(domain: int) -> TeamNode:
        context = Context()
        context.init(domain_id=domain)
        node = TeamNode('third_party', context=context)
        executor = make_executor(context)
        executor.add_node(node)
        node.wait_for = functools.partial(wait_for, executor)
        nodes.append(node)
        return node

    yield join_domain
    for node in nodes:
        node.executor.shutdown()
        node.destroy_node()
        node.context.try_shutdown()


@pytest.fixture
def team_domain(domain_cycle: Iterator[int]) -> Iterator[int]:
    """Reserve the domains of a team; return the team's."""
    with ExitStack() as locks:
        yield reserve_team(domain_cycle, locks)


@pytest.fixture
def deploy(tmp_path: Path, team_domain: int) -> Iterator[Callable[..., Deployed]]:
    """Describe a deployment whose processes the test starts; they end with it."""
    with ExitStack() as held:

        def deploy_team(**options: Any) -> Deployed:
            team = Deployed(tmp_path, team_domain, **options)
            held.callback(team.close)
            return team

        yield deploy_team
