"""Bring a whole team up and down, and look for what is left of it.

What belongs to a run is known by a mark in the environment of its processes; by a home, a working
and a temporary folder that nobody else uses; and by the shared memory that its processes had
mapped.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

from deployed import COMMAND, children_of

ENDS = ('done', 'stopped', 'killed')
LONGEST_LIFE = 8.0  # seconds, after which a team has finished on an idle machine
LOOK_EVERY = 0.1  # seconds
PATIENCE = 120.0  # seconds
SHARED_MEMORY = Path('/dev/shm')


class Run:
    """One `dp_multiagent run crossing`; `shared` is the shared memory that it was seen to use."""

    def __init__(self, folder, domain):
        self._mark = f'DP_MULTIAGENT_TEST_RUN={uuid.uuid4()}'.encode()
        self.shared = set()
        places = {'HOME': folder / 'home', 'TMPDIR': folder / 'tmp', 'PWD': folder / 'work'}
        for place in places.values():
            place.mkdir(parents=True)
        self._places = places.values()
        name, _, value = self._mark.decode().partition('=')
        environment = {**os.environ, **{k: str(v) for k, v in places.items()}, name: value}
        environment.pop('ROS_LOG_DIR', None)
        self._log = (folder / 'log').open('w')
        self.process = subprocess.Popen(
            [sys.executable, '-c', COMMAND, *map(str, arguments_of(domain))],
            stdout=self._log,
            stderr=self._log,
            env=environment,
            cwd=places['PWD'],
        )

    def processes(self):
        """Return the processes that carry the mark."""
        found = []
        for path in Path('/proc').glob('[0-9]*/environ'):
            try:
                if self._mark in path.read_bytes().split(b'\0'):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def look(self):
        """Note the shared memory that is mapped now."""
        for pid in self.processes():
            self.shared |= mapped(pid)

    def wait(self, seconds=PATIENCE):
        """Wait until it has ended, or for so long."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.look()
            time.sleep(min(LOOK_EVERY, max(end - time.monotonic(), 0)))

    def close(self):
        """End it by force, if it has not ended."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        end = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < end:
            time.sleep(LOOK_EVERY)
        self._log.close()

    def left(self):
        """Return what is left: processes, files, shared memory that nobody uses any more."""
        files = [str(path) for place in self._places for path in place.rglob('*')]
        used = set().union(*(mapped(path.name) for path in Path('/proc').glob('[0-9]*')))
        shared = [name for name in self.shared - used if (SHARED_MEMORY / name).exists()]
        return {'processes': self.processes(), 'files': files, 'shared_memory': shared}


def mapped(pid):
    """Return the names of the shared memory that a process has mapped."""
    try:
        lines = Path(f'/proc/{pid}/maps').read_text().splitlines()
    except OSError:
        return set()
    names = (line.rpartition('/')[2] for line in lines if f' {SHARED_MEMORY}/' in line)
    # The library that traces ROS keeps two files for all processes, for ever.
    return {name for name in names if not name.startswith('lttng-ust')}


def arguments_of(domain):
    """Return the command line."""
    return 'run', 'crossing', '--rate', 0, '--episodes', 1, '--team-domain', domain


def once(folder, domain, how, moments):
    """Bring a team up; let it finish, stop it, or kill one of its processes; return the rest."""
    run = Run(folder, domain)
    try:
        if how == 'done':
            run.wait()
        else:
            run.wait(moments.uniform(0, LONGEST_LIFE))
        begin = time.monotonic()
        if how == 'stopped' and run.process.poll() is None:
            run.process.send_signal(moments.choice((signal.SIGINT, signal.SIGTERM)))
        elif how == 'killed':
            _kill_one(run, moments)
        run.wait()
        seconds = time.monotonic() - begin
        return {'how': how, 'status': run.process.poll(), 'seconds': seconds, **run.left()}
    finally:
        run.close()


def _kill_one(run, moments):
    children = sorted(children_of(run.process.pid).items())
    if children:
        os.kill(moments.choice(children)[1], signal.SIGKILL)


def many(folder, domain, ends, seed=None):
    """Bring teams up and down, one for each end; return how many of them left what."""
    moments = random.Random(seed)
    found = [once(folder / str(i), domain, how, moments) for i, how in enumerate(ends)]
    stopped = [each['seconds'] for each in found if each['how'] == 'stopped']
    return {
        'runs': {how: sum(each['how'] == how for each in found) for how in ENDS},
        'statuses': {
            how: sorted({each['status'] for each in found if each['how'] == how}) for how in ENDS
        },
        'longest_stop_seconds': round(max(stopped, default=0.0), 2),
        'left': {
            what: sum(len(each[what]) for each in found)
            for what in ('processes', 'files', 'shared_memory')
        },
        'names_left': [
            name for each in found for what in ('files', 'shared_memory') for name in each[what]
        ],
    }


def cycles(folder, domains, kind, how, count):
    """Bring a node up and down in one process; return what it held before and afterwards."""
    program = Path(__file__).parent / 'programs' / 'cycling.py'
    command = [sys.executable, program, kind, how, count, folder, *domains]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
