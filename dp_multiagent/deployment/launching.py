"""A deployment as launch files need it: what they start, and what follows when a process ends.

`nodes.launch_file` passes what stands here to the actions of the `launch` package and decides
nothing, so that it can be tested where that package is not installed.
"""

from __future__ import annotations

import secrets
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from dp_multiagent.deployment.description import Deployment, Process
from dp_multiagent.deployment.launch_arguments import in_launch_words, options_from_text, read
from dp_multiagent.deployment.navigation import Options, base, navigation, refuse_folder_in_use
from dp_multiagent.deployment.robot import RobotOptions, robot
from dp_multiagent.deployment.supervisor import BAD_INPUT
from dp_multiagent.errors import DpMultiagentError

PACKAGE = 'dp_multiagent'
RESPAWN_DELAY = 1.0  # seconds, in which launch learns that there is no use in starting again
LONGEST_WORDS = 2000  # characters

Values = Mapping[str, str]
Described = tuple[Deployment, str]
T = TypeVar('T')


class Next(Enum):
    """What happens when a process has ended."""

    GO_ON = 'the others go on'
    DONE = 'the work is done'
    FAILED = 'all are stopped'


@dataclass(frozen=True)
class Launched:
    """What a launch file starts, and what it says before."""

    deployment: Deployment
    respawn: bool = False
    says: str = ''

    def next(self, name: str, status: int) -> Next:
        """Decide what happens after a process has ended by itself.

        With `respawn`, launch starts it again, unless what it was given is wrong.
        """
        if status == 0:
            return Next.DONE if name == self.deployment.last else Next.GO_ON
        return Next.GO_ON if self.respawn and status != BAD_INPUT else Next.FAILED

    def environment(self, present: Mapping[str, str]) -> dict[str, str]:
        """Return the variables to be set; what the user has set stays."""
        wanted = self.deployment.environment.items()
        return {name: value for name, value in wanted if name not in present}

    def node_keywords(self, process: Process) -> dict[str, Any]:
        """Return the keywords of the action that starts a process.

        Its node keeps the name that it gives itself: a remapping would rename it in the log only.
        """
        keywords: dict[str, Any] = {
            'package': PACKAGE,
            'executable': process.program,
            'exec_name': process.name,
            'arguments': process.arguments,
            'ros_arguments': process.ros_arguments,
            'output': 'screen',
            'respawn': self.respawn,
            'respawn_delay': RESPAWN_DELAY,
        }
        return {**keywords, 'namespace': process.namespace} if process.namespace else keywords


class LastWords:
    """Remembers the last line that a process said."""

    def __init__(self) -> None:
        self._text = ''

    def hear(self, text: bytes) -> None:
        """Take in a piece of its output, which may begin or end within a line."""
        self._text = (self._text + text.decode(errors='replace'))[-LONGEST_WORDS:]

    @property
    def line(self) -> str:
        """Return the last line that is not empty, '' if there is none."""
        lines = [line.strip() for line in self._text.splitlines()]
        return next((line for line in reversed(lines) if line), '')


def navigation_launch(values: Values) -> Launched:
    """Plan for a team, start its robots, and simulate them if that is asked for."""

    def describe(options: Options) -> Described:
        refuse_folder_in_use(options)
        deployment = navigation(options)
        _make(options.folder)
        return deployment, f'plans, ledgers and results are in {options.folder}'

    new = Path(tempfile.gettempdir(), f'dp_multiagent_{secrets.token_hex(4)}')
    return _launched(Options, {**values, 'folder': values['folder'] or str(new)}, describe)


def base_launch(values: Values) -> Launched:
    """Plan for a team whose robots are elsewhere, and run its episodes."""

    def describe(options: Options) -> Described:
        deployment = base(options)
        _make(options.folder)
        return deployment, f'plans and results are in {options.folder}'

    return _launched(Options, {**values, 'simulator': 'none'}, describe)


def robot_launch(values: Values) -> Launched:
    """Start what runs on one real robot."""

    def describe(options: RobotOptions) -> Described:
        return robot(options), f'the ledger is {options.ledger}'

    return _launched(RobotOptions, values, describe)


def failure(name: str, status: int, last_line: str) -> str:
    """Say in one line which process failed, and why.

    >>> failure('robot1', 2, 'speed: 700.0 is not from 0.001 to 100')
    'robot1 failed, exit status 2: speed: 700.0 is not from 0.001 to 100'
    """
    how = f'exit status {status}'
    if status < 0:
        names = {-each.value: f'killed by {each.name}' for each in signal.Signals}
        how = names.get(status, f'killed by signal {-status}')
    return f'{name} failed, {how}' + (f': {last_line}' if last_line else '')


def _make(folder: Path) -> None:
    """Make a folder; nobody else may look into a new one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DpMultiagentError(f'--folder: {folder}: {error.strerror}') from None


def _launched(kind: type[T], values: Values, describe: Callable[[T], Described]) -> Launched:
    chosen = dict(values)
    try:
        respawn = read('respawn', chosen.pop('respawn'), 'bool')
        deployment, says = describe(options_from_text(kind, chosen))
    except DpMultiagentError as error:
        raise in_launch_words(error, values) from None
    return Launched(deployment, respawn, says)
