"""Processes of a deployment, here small programs without ROS."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dp_multiagent.deployment.description import Deployment, Process
from dp_multiagent.deployment.supervisor import Ending, supervise

FOREVER = 'import time; print("up", flush=True); time.sleep(1000)'
DEAF = 'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); ' + FOREVER


@dataclass(frozen=True, kw_only=True)
class Script(Process):
    code: str = ''

    @property
    def command(self):
        return [sys.executable, '-c', self.code]


def script(name, code):
    return Script(name=name, program='', domain=1, team_domain=0, code=code)


class Watcher:
    """Hears what the processes say and decides when to stop."""

    def __init__(self, stop_after=None):
        self.said, self.stop_after = [], stop_after

    def say(self, name, line):
        self.said.append((name, line))

    def stopped(self):
        return self.stop_after is not None and len(self.said) >= self.stop_after

    def run(self, *scripts, **options):
        return supervise(
            Deployment(scripts, last='operator'), say=self.say, stopped=self.stopped, **options
        )


def test_what_processes_say_comes_with_their_names():
    watcher = Watcher()
    code = 'import sys; print("one"); print("two", file=sys.stderr); '
    wait = 'import time; time.sleep(1)'
    assert watcher.run(script('robot1', code + wait), script('operator', wait)).done
    assert set(watcher.said) == {('robot1', 'one'), ('robot1', 'two')}


def test_deployment_is_done_when_its_last_process_ends_with_status_0():
    assert Watcher().run(script('a', FOREVER), script('operator', '')) == Ending(done=True)


def test_process_that_dies_is_named_with_the_last_that_it_said():
    ending = Watcher().run(script('a', FOREVER), script('operator', 'print(1 / 0)'))
    assert (ending.done, ending.died) == (False, 'operator')
    assert ending.why == 'exit status 1: ZeroDivisionError: division by zero'


def test_process_that_is_killed_is_named_with_the_signal():
    suicide = 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'
    assert Watcher().run(script('robot1', suicide)).why == 'killed by SIGKILL'


def test_stop_ends_all_within_two_seconds_even_those_that_do_not_listen():
    watcher = Watcher(stop_after=2)
    before = threading.active_count()
    begin = []

    def stopped():
        if watcher.stopped() and not begin:
            begin.append(time.monotonic())
        return bool(begin)

    scripts = script('a', FOREVER), script('operator', DEAF)
    ending = supervise(Deployment(scripts), say=watcher.say, stopped=stopped)
    assert ending == Ending(done=False)
    assert time.monotonic() - begin[0] < 2.0
    assert threading.active_count() == before


def is_running(pid):
    with suppress(OSError):
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    return False


@pytest.mark.skipif(sys.platform != 'linux', reason='only Linux tells a process of this')
def test_processes_end_when_the_supervisor_is_killed():
    code = (
        'from test_supervisor import *; '
        'whoami = script("operator", "import os; print(os.getpid(), flush=True); " + FOREVER); '
        'supervise(Deployment([whoami]), say=lambda _, line: print(line, flush=True), '
        'stopped=lambda: False)'
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    supervisor = subprocess.Popen(
        [sys.executable, '-c', code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': paths},
    )
    with supervisor, supervisor.stdout as said:
        pid = int(said.readline())
        assert said.readline() == 'up\n'
        supervisor.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < end, 'it goes on without its supervisor'
        time.sleep(0.05)


def test_nothing_is_started_after_a_stop(tmp_path):
    begun = f'import pathlib; pathlib.Path({str(tmp_path / "begun")!r}).touch()'
    watcher = Watcher(stop_after=0)
    assert watcher.run(script('operator', begun)) == Ending(done=False)
    assert not (tmp_path / 'begun').exists()


def test_dead_process_is_started_again_if_asked_for(tmp_path):
    again = f'import pathlib; p = pathlib.Path({str(tmp_path / "lives")!r}); '
    again += 'n = len(p.read_text()) if p.exists() else 0; p.write_text("x" * (n + 1)); '
    watcher = Watcher()
    assert watcher.run(script('operator', again + 'raise SystemExit(n < 2)'), respawn=True).done
    assert (tmp_path / 'lives').read_text() == 'xxx'
    assert watcher.said == [('operator', 'died: exit status 1')] * 2


def test_process_that_was_given_nonsense_is_not_started_again():
    code = 'import sys; print("no such robot", file=sys.stderr); sys.exit(2)'
    ending = Watcher().run(script('robot1', code), respawn=True)
    assert ending == Ending(done=False, died='robot1', why='exit status 2: no such robot')
