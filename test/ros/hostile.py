"""What a stranger does to a process, and whether the process is still well afterwards."""

import os
import time
from contextlib import suppress
from pathlib import Path

from lifecycle_msgs.srv import GetState
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import QoSProfile

EACH = int(os.environ.get('DP_MULTIAGENT_HOSTILE', '500'))  # messages; a benchmark sends more
PAUSE = 0.0004  # seconds; readers keep the last message only
MOST_GROWTH = 40 * 2**20  # bytes; what a process takes anyway while it is young
MOST_LINES = 60  # of a log, per topic: at 1, 2, 4, 8, ... refused messages
STRANGE = 'sequence size exceeds remaining buffer'  # said by the code that reads messages


class Patient:
    """A program in a process of its own, with a node in a domain that this process is in too."""

    def __init__(self, program, own, name):
        self.program, self._own = program, own
        self._states = own.create_client(GetState, f'/{name}/get_state')
        self._memory = self.memory()

    def memory(self):
        """Return the bytes that the process has in memory."""
        status = Path(f'/proc/{self.program._process.pid}/status').read_text(encoding='utf-8')
        return 1024 * int(status.partition('VmRSS:')[2].split()[0])

    def growth(self):
        """Return by how many bytes it has grown since it was met."""
        return self.memory() - self._memory

    def log(self):
        """Return the lines that the process has said, without what the middleware adds."""
        return [line for line in self.program.errors().splitlines() if STRANGE not in line]

    def state(self):
        """Ask the process for the state of its lifecycle."""
        self._own.wait_for(self._states.service_is_ready)
        future = self._states.call_async(GetState.Request())
        self._own.wait_for(future.done)
        return future.result().current_state.label

    def assert_well(self, topics=1, most_growth=MOST_GROWTH, more_lines=0):
        assert self.program.is_running(), self.program.errors()[-2000:]
        assert self.state() == 'active'
        assert self.growth() < most_growth
        assert 'Traceback' not in self.program.errors()
        assert len(self.log()) < MOST_LINES * topics + more_lines


def flood(publisher, messages):
    """Publish messages or their bytes at a rate that a process can follow; return how many.

    Our own middleware sends no more bytes than a message of fixed size has; and with no bytes at
    all a stranger only silences himself, because what he sends next waits for them.
    """
    sent = 0
    for message in messages:
        with suppress(rclpy_implementation.RCLError):
            if message != b'':
                publisher.publish(message)
                sent += 1
        time.sleep(PAUSE)
    return sent


def generous(profile):
    """Return a quality of service that matches another one and drops nothing when it is sent."""
    return QoSProfile(
        reliability=profile.reliability,
        durability=profile.durability,
        history=profile.history,
        depth=1000,
    )
