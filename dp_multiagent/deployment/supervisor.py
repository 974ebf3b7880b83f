"""Run the processes of a deployment: pass on what they say, end them together, say who died.

A process that ends by itself with status 0 is done; any other end is a death. A dead one is
started again if that was asked for, unless it ended with status 2: what it was given is wrong and
will stay so. Otherwise its death ends the deployment. On a stop every process gets SIGTERM, which
they obey in order, and SIGKILL if it is still there after `GRACE`. If the supervisor itself is
killed, Linux sends them the SIGTERM.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dp_multiagent.deployment.description import Deployment, Process

GRACE = 1.5  # seconds
POLL = 0.05  # seconds
BAD_INPUT = 2
SIGNAL_OF_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)

_libc = ctypes.CDLL(None)

Say = Callable[[str, str], None]


@dataclass(frozen=True)
class Ending:
    """How a deployment ended: its work was done, it was stopped, or a process died."""

    done: bool
    died: str | None = None
    why: str = ''


class _Running:
    """A process and the thread that passes on what it says."""

    def __init__(self, process: Process, say: Say, environment: Mapping[str, str]) -> None:
        self.process = process
        self._last_line = ''
        # A session of its own: Ctrl-C reaches the supervisor alone, which ends all in order.
        self._popen = subprocess.Popen(
            process.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env=dict(environment),
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self._reader = threading.Thread(target=self._pass_on, args=(say,), daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        return self._popen.poll()

    def signal(self, number: signal.Signals) -> None:
        if self.status is None:
            self._popen.send_signal(number)

    def finish(self) -> None:
        self._popen.wait()
        self._reader.join(timeout=POLL)

    def why(self) -> str:
        """Say how it ended, with the last that it said."""
        self.finish()
        status = self._popen.returncode
        how = f'killed by {_signal_name(-status)}' if status < 0 else f'exit status {status}'
        return f'{how}: {self._last_line}' if self._last_line else how

    def _pass_on(self, say: Say) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as lines:
            for line in lines:
                self._last_line = line.strip()
                say(self.process.name, line.rstrip())


def supervise(
    deployment: Deployment,
    *,
    say: Say,
    stopped: Callable[[], bool],
    respawn: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Ending:
    """Run a deployment until its work is done, somebody says stop or a process dies."""
    running: dict[str, _Running] = {}
    try:
        for process in deployment.processes:
            if not stopped():
                running[process.name] = _Running(process, say, environment)
        while not stopped():
            for name, each in running.items():
                status = each.status
                if status == 0 and name == deployment.last:
                    return Ending(done=True)
                if status is None or status == 0:
                    continue
                why = each.why()
                say(name, f'died: {why}')
                if not respawn or status == BAD_INPUT:
                    return Ending(done=False, died=name, why=why)
                running[name] = _Running(each.process, say, environment)
            time.sleep(POLL)
        return Ending(done=False)
    finally:
        _end(list(running.values()))


def _end(running: list[_Running]) -> None:
    for each in running:
        each.signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and any(each.status is None for each in running):
        time.sleep(POLL)
    for each in running:
        each.signal(signal.SIGKILL)
        each.finish()


def _end_with_parent() -> None:
    if sys.platform == 'linux':
        _libc.prctl(SIGNAL_OF_PARENTS_DEATH, signal.SIGTERM)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'
