"""Does this robot's clock agree with the base's?

A robot tells its private state at the end of the first of SLOTS slots before the deadline and
acts on what it has heard at the deadline, each by its own clock. With period P and deadline
fraction d a message is late if its receiver's clock is ahead of its sender's by more than

    (1 - 1 / SLOTS) d P - latency.

Two robots may be off in opposite directions, so each may be off from the base by half of that.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from dp_multiagent.cli.checks.finding import Finding, failed, fine, note, skipped

NTP_PORT = 123
EPOCH = 2_208_988_800  # seconds from 1900, where NTP begins, to 1970
ERA = 2**32
PATIENCE = 1.0  # seconds
QUESTIONS = 4
CHRONY = ['chronyc', '-c', 'tracking']
USUAL_PERIOD, USUAL_DEADLINE = 4.0, 0.1  # those of the launch files


@dataclass(frozen=True)
class Offset:
    """By how much the base is ahead of this clock, in seconds, give or take `error`."""

    seconds: float
    error: float

    def __str__(self) -> str:
        way = 'behind' if self.seconds >= 0 else 'ahead'
        return f'{abs(self.seconds) * 1e3:.1f} ms {way}, give or take {self.error * 1e3:.1f} ms'


def tolerated(period: float = USUAL_PERIOD, deadline: float = USUAL_DEADLINE) -> float:
    """Return how much ahead of its sender, in seconds, a receiver may be with no latency."""
    from dp_multiagent.planning.execution import SLOTS

    return (1 - 1 / SLOTS) * deadline * period


def allowance(period: float = USUAL_PERIOD, deadline: float = USUAL_DEADLINE) -> float:
    """Return how far a robot's clock may be off from the base's, in seconds."""
    return tolerated(period, deadline) / 2


def skew(base: str | None, limit: float, ask: Callable[[str], Offset] | None = None) -> Finding:
    """Check the offset against the base, asked by NTP; `limit` is in seconds."""
    check = 'clock against base'
    if base is None:
        return skipped(check, 'no base to ask', 'give --base HOST, which must serve NTP')
    try:
        offset = (ask or measure)(base)
    except OSError as error:
        why = error.strerror or str(error) or 'no answer'
        return failed(check, f'{base} does not tell the time: {why}', 'run chrony there, allow us')
    if abs(offset.seconds) + offset.error > limit:
        found = f'{offset}; at most {limit * 1e3:.0f} ms are harmless'
        return failed(check, found, 'point chrony here at the base, see docs/on-robot.md, clocks')
    return fine(check, str(offset))


def chrony(limit: float, read: Callable[[], str | None] | None = None) -> Finding:
    """Check what chrony says of this clock; it knows its own reference, not the team's."""
    check = 'chrony'
    line = (read or _tracking)()
    if line is None:
        return note(
            check, 'does not run: nothing keeps this clock right', 'sudo apt install chrony'
        )
    columns = line.strip().split(',')
    if len(columns) < 14:
        return failed(check, f'says what we do not understand: {line.strip()[:60]}', 'report this')
    reference, leap = columns[1] or columns[0], columns[13]
    if leap == 'Not synchronised':
        return failed(check, 'is not synchronised', 'chronyc sources -v says why')
    now, delay, dispersion = (abs(float(columns[i])) for i in (4, 10, 11))
    error = now + delay / 2 + dispersion
    if error > limit:
        found = f'up to {error * 1e3:.1f} ms off {reference}'
        return failed(check, found, 'chronyc sources -v; prefer the base as source')
    return fine(check, f'at most {error * 1e3:.1f} ms off {reference}')


def measure(base: str, clock: Callable[[], float] = time.time) -> Offset:
    """Ask a host (HOST or HOST:PORT) for the time and take the answer with the least delay."""
    host, _, port = base.partition(':')
    answers = []
    for _ in range(QUESTIONS):
        try:
            answers.append(_ask(host, int(port or NTP_PORT), clock))
        except TimeoutError:
            if len(answers) == 0:
                raise
    return min(answers, key=lambda answer: answer.error)


def _ask(host: str, port: int, clock: Callable[[], float]) -> Offset:
    cookie = secrets.token_bytes(8)  # in place of our time, which is nobody's business
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.settimeout(PATIENCE)
        channel.connect((host, port))
        asked = clock()
        channel.send(struct.pack('!B39x', 0b00_100_011) + cookie)
        answer = channel.recv(1024)
        answered = clock()
    if len(answer) < 48 or answer[0] & 0b111 != 4 or answer[24:32] != cookie:
        raise OSError(f'{host} answered something else than the time')
    if answer[0] >> 6 == 3 or answer[1] == 0:
        raise OSError(f'{host} has no time to tell, its clock is not set')
    received, sent = _timestamp(answer[32:40]), _timestamp(answer[40:48])
    delay = max((answered - asked) - (sent - received), 0.0)
    return Offset(((received - asked) + (sent - answered)) / 2, delay / 2)


def _timestamp(field: bytes) -> float:
    """Return the seconds since 1970; small numbers are those after 2036."""
    seconds, fraction = struct.unpack('!II', field)
    return float((seconds if seconds >= ERA // 2 else seconds + ERA) - EPOCH + fraction / ERA)


def _tracking() -> str | None:
    if shutil.which(CHRONY[0]) is None:
        return None
    ended = subprocess.run(CHRONY, capture_output=True, text=True, timeout=PATIENCE * 5)
    return ended.stdout if ended.returncode == 0 else None
