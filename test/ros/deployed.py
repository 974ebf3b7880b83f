"""A deployment whose processes a test starts, kills and starts again one by one."""

from __future__ import annotations

import fcntl
import itertools
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from dp_multiagent.deployment.navigation import Options, navigation
from dp_multiagent.deployment.results import Results

OPERATOR_OFFSET = 50
MOST_ROBOTS = 8
LAST_SAFE_DOMAIN = 101  # the ports of higher ones may be taken by any outgoing connection
COMMAND = 'from dp_multiagent.cli.main import main; raise SystemExit(main())'
PATIENCE = 60.0  # seconds, for a machine under load


def is_locked(domain, locks):
    """Tell whether nobody else has a domain; then it is ours until the locks are released."""
    path = Path(tempfile.gettempdir()) / f'dp_multiagent_test_domain_{domain}.lock'
    lock = locks.enter_context(path.open('w'))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def reserve_team(domain_cycle, locks):
    """Reserve the domains of a team and its operator; return the team's."""
    for first in itertools.islice(domain_cycle, LAST_SAFE_DOMAIN):
        wanted = [*range(first, first + 1 + MOST_ROBOTS), first + OPERATOR_OFFSET]
        with ExitStack() as tried:
            if wanted[-1] <= LAST_SAFE_DOMAIN and all(is_locked(each, tried) for each in wanted):
                locks.push(tried.pop_all())
                return first
    raise RuntimeError('all DDS domains are in use')


class Deployed:
    """A team in processes of its own; what they say goes to a file each."""

    def __init__(self, folder, team_domain, **options):
        self.folder = folder
        chosen = {'scenario': 'navigation', 'rate': 0.0, **options}
        self.options = Options(folder=folder, team_domain=team_domain, **chosen)
        self.processes = {each.name: each for each in navigation(self.options).processes}
        self.results = Results(self.options.results)
        self.running = {}

    def start(self, *names, more=()):
        """Start some processes, all if none is named; `more` goes at the end of their options."""
        for name in names or self.processes:
            with (self.folder / f'{name}.log').open('ab') as log:
                command = [*self.processes[name].command, *map(str, more)]
                self.running[name] = subprocess.Popen(command, stdout=log, stderr=log)
        return self

    def kill(self, name):
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()

    def restart(self, name, more=()):
        self.kill(name)
        self.start(name, more=more)

    def wait_for(self, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.logs()
            time.sleep(0.02)

    def wait_for_end(self, seconds=PATIENCE):
        """Wait until the operator has run all its episodes; return them."""
        self.wait_for(lambda: self.running['operator'].poll() is not None, seconds)
        assert self.running['operator'].returncode == 0, self.logs()
        return self.results.episodes()

    def wait_for_line(self, name, text):
        """Wait until a process has said something."""
        self.wait_for(lambda: text in self.log(name))

    def log(self, name):
        return (self.folder / f'{name}.log').read_text(errors='replace')

    def logs(self):
        return '\n'.join(f'--- {name}\n{self.log(name)[-1500:]}' for name in self.running)

    def close(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run_command(*arguments, stderr=subprocess.PIPE):
    """Start `dp_multiagent run` and return the process."""
    command = [sys.executable, '-c', COMMAND, 'run', *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def children_of(parent):
    """Return the processes that a process has started, by the name of their program."""
    found = {}
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            if int(stat.read_text().rpartition(')')[2].split()[1]) != parent:
                continue
            words = stat.with_name('cmdline').read_text().split('\0')
        except (OSError, IndexError):
            continue
        if '-m' in words:
            name = words[words.index('--robot') + 1] if '--robot' in words else ''
            found[name or words[words.index('-m') + 1].rpartition('.')[2]] = int(stat.parent.name)
    return found
