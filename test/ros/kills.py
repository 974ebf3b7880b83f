"""Kill processes of a team at random moments and look at what was told, paid for and finished.

    kills.py TEAM_DOMAIN KILLS     prints one JSON object

A listener in the team's domain keeps every private state that was ever told. The team runs under
`dp_multiagent run --respawn`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from deployed import children_of, run_command

from dp_multiagent.deployment.results import Results
from dp_multiagent.privacy.ledger_books import Charge
from dp_multiagent.privacy.ledger_check import read

ROBOTS = ('robot1', 'robot2')
VICTIMS = ('planning_server', 'simulator', 'operator', *ROBOTS)
PATIENCE = 60.0  # seconds
LONGEST_LIFE = 1.5  # seconds between the last episode that was finished and the next kill


class Listener:
    """Keeps what was told: (robot, plan, episode, step) to the states."""

    def __init__(self, domain):
        from dp_multiagent.msg import PrivateState
        from rclpy.context import Context

        from dp_multiagent.nodes import qos
        from dp_multiagent.nodes.domains import TeamNode
        from dp_multiagent.nodes.spin import make_executor

        self.told = {}
        self._context = Context()
        self._context.init(domain_id=domain)
        self._node = TeamNode('listener', context=self._context)
        for name in ROBOTS:
            topic = f'/{name}/private_state'
            self._node.create_subscription(PrivateState, topic, self._hear, qos.PRIVATE_STATE)
        self._executor = make_executor(self._context)
        self._executor.add_node(self._node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _hear(self, message):
        key = (message.robot, bytes(message.plan_id), message.episode, message.step)
        self.told.setdefault(key, set()).add(message.state)

    def _serve(self):
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=0.1)

    def close(self):
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


class Killing:
    """A team under `run`, and what happens to it."""

    def __init__(self, folder, domain):
        self.folder, self.results = folder, Results(folder / 'episodes.jsonl')
        self.errors = (folder / 'log').open('w')
        self.process = run_command(
            *('navigation', '--rate', 0, '--episodes', 100_000, '--folder', folder),
            *('--team-domain', domain, '--respawn', '--budget', 1_000_000),
            stderr=self.errors,
        )

    def is_back(self, victim, old):
        return children_of(self.process.pid).get(victim, old) != old

    def wait_for(self, condition, what):
        begin = time.monotonic()
        while not condition():
            if time.monotonic() > begin + PATIENCE or self.process.poll() is not None:
                log = Path(self.errors.name).read_text(errors='replace')
                raise RuntimeError(f'{what} did not happen:\n{log[-3000:]}')
            time.sleep(0.02)
        return time.monotonic() - begin

    def finished(self):
        return sum(result.outcome != 'unknown' for result in self.results.episodes())

    def kill(self, victim, moment):
        """Kill a process at a moment; return how long the team took to finish an episode again."""
        time.sleep(moment)
        old = children_of(self.process.pid)[victim]
        os.kill(old, signal.SIGKILL)
        before = self.finished()
        self.wait_for(lambda: self.is_back(victim, old), f'the return of {victim}')
        # The one that was under way may end as if nothing had happened, so a second one counts.
        return self.wait_for(lambda: self.finished() > before + 1, f'two episodes after {victim}')

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=10)
        self.errors.close()
        return self.process.returncode


def charges(path):
    """Return the episodes that a ledger has charged, in order."""
    return [
        (record.word.plan_id, record.word.episode)
        for record in read(path).records
        if isinstance(record, Charge)
    ]


def run(domain, kills, seed=None):
    """Kill every process so many times; return what was found."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listener, killing = Listener(domain), Killing(folder, domain)
        try:
            killing.wait_for(lambda: killing.finished() > 0, 'the first episode')
            recovery = {victim: [] for victim in VICTIMS}
            for victim in moments.sample(VICTIMS * kills, kills * len(VICTIMS)):
                recovery[victim].append(killing.kill(victim, moments.uniform(0, LONGEST_LIFE)))
        finally:
            status = killing.close()
            listener.close()
        return report(folder, listener.told, recovery, status)


def report(folder, told, recovery, status):
    paid = [charges(folder / f'{robot}.ledger') for robot in ROBOTS]
    log = (folder / 'log').read_text(errors='replace')
    episodes = Results(folder / 'episodes.jsonl').episodes()
    return {
        'kills': {victim: len(times) for victim, times in recovery.items()},
        'longest_recovery_seconds': {v: round(max(t), 1) for v, t in recovery.items()},
        'episodes': len(episodes),
        'outcomes': {
            outcome: sum(result.outcome == outcome for result in episodes)
            for outcome in sorted({result.outcome for result in episodes})
        },
        'private_states': len(told),
        'told_without_charge': sum(key[1:3] not in paid[key[0]] for key in told),
        'told_twice_differently': sum(len(states) > 1 for states in told.values()),
        'episodes_charged_twice': sum(len(each) - len(set(each)) for each in paid),
        'tracebacks': log.count('Traceback'),
        'status': status,
    }


if __name__ == '__main__':
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2])), indent=2))
