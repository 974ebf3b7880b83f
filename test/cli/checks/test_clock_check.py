"""Clocks: an NTP server that is off by a known time, and the step protocol with skewed clocks."""

import socket
import struct
import threading
import time

import numpy as np
import pytest

from dp_multiagent.cli.checks import clock
from dp_multiagent.cli.checks.finding import Result
from dp_multiagent.deployment.navigation import Options
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import Graph, LocalPolicy, TeamPlan
from dp_multiagent.planning.execution import Part, Timetable
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

SINCE_1900 = 2_208_988_800
MS = 10**6
TRACKING = (
    'C0A80001,{name},3,1700000000.1,{now},0.0001,0.0002,1.5,0.0,0.02,{delay},{disp},64.2,{leap}'
)


class TimeServer:
    """A base whose clock is `ahead` seconds ahead of ours."""

    def __init__(self, ahead=0.0, change=lambda answer: answer):
        self._channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._channel.bind(('127.0.0.1', 0))
        self._channel.settimeout(0.05)
        self.address = f'127.0.0.1:{self._channel.getsockname()[1]}'
        self._ahead, self._change, self._ended = ahead, change, threading.Event()
        self.questions = []
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._channel.close()

    def _serve(self):
        while not self._ended.is_set():
            try:
                question, who = self._channel.recvfrom(100)
            except TimeoutError:
                continue
            self.questions.append(question)
            now = self._stamp()
            head = struct.pack('!BBbb', 0b00_100_100, 2, 6, -20)
            answer = head + bytes(20) + question[40:48] + now + self._stamp()
            answer = self._change(answer)
            if answer:
                self._channel.sendto(answer, who)

    def _stamp(self):
        now = time.time() + self._ahead + SINCE_1900
        return struct.pack('!II', int(now) % 2**32, int(now % 1 * 2**32))


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(clock, 'PATIENCE', 0.2)


@pytest.mark.parametrize('ahead', [0.0, 0.25, -3.0, 86_400.0])
def test_offset_is_measured_within_its_error(ahead):
    with TimeServer(ahead) as base:
        offset = clock.measure(base.address)
    assert abs(offset.seconds - ahead) <= offset.error + 1e-3


def test_time_after_2036_is_understood():
    with TimeServer(20 * 365 * 86_400.0) as base:
        assert abs(clock.measure(base.address).seconds - 20 * 365 * 86_400.0) < 1


def test_question_has_the_size_of_ntp_and_does_not_tell_our_time():
    with TimeServer() as base:
        clock.measure(base.address)
    assert {len(question) for question in base.questions} == {48}
    assert len({question[40:48] for question in base.questions}) == clock.QUESTIONS
    assert {question[:40] for question in base.questions} == {b'\x23' + bytes(39)}


def test_clock_that_is_right_passes_and_one_that_is_off_fails():
    with TimeServer(0.0) as base:
        assert clock.skew(base.address, 0.15).result is Result.FINE
    with TimeServer(0.3) as base:
        finding = clock.skew(base.address, 0.15)
    assert finding.result is Result.FAILED
    assert 'behind' in finding.found


@pytest.mark.parametrize(
    'change',
    [
        lambda answer: None,
        lambda answer: answer[:40],
        lambda answer: answer[:24] + bytes(8) + answer[32:],
        lambda answer: bytes([0b11_100_100]) + answer[1:],
        lambda answer: answer[:1] + b'\x00' + answer[2:],
        lambda answer: bytes([0b00_100_011]) + answer[1:],
    ],
    ids=['silent', 'short', 'forged', 'unset clock', 'kiss of death', 'no server'],
)
@pytest.mark.usefixtures('impatient')
def test_base_that_does_not_tell_the_time_is_a_finding(change):
    with TimeServer(change=change) as base:
        finding = clock.skew(base.address, 0.15)
    assert finding.result is Result.FAILED
    assert 'does not tell the time' in finding.found


def test_without_a_base_nothing_is_claimed():
    assert clock.skew(None, 0.15).result is Result.SKIPPED


def tracking(now='0.0001', delay='0.002', disp='0.001', leap='Normal'):
    return TRACKING.format(name='base', now=now, delay=delay, disp=disp, leap=leap)


@pytest.mark.parametrize(
    ('line', 'result'),
    [
        (tracking(), Result.FINE),
        (tracking(now='-0.2'), Result.FAILED),
        (tracking(delay='0.4'), Result.FAILED),
        (tracking(disp='0.2'), Result.FAILED),
        (tracking(leap='Not synchronised'), Result.FAILED),
        ('506 Cannot talk to daemon', Result.FAILED),
        (None, Result.NOTE),
    ],
)
def test_chrony_is_believed_with_its_error(line, result):
    assert clock.chrony(0.15, lambda: line).result is result


STATES, ALONE = 4, 4  # one action for each state that is heard, and one for hearing nobody
STEPS = 7
PERIOD_MS = 4000


class Word:
    """Tells the number of the step, so that who acts on it shows how old it is."""

    step, state = 0, 0

    def tell(self, step, draw):
        self.step = step
        return step % STATES


def part(robot, observed):
    mdp = Mdp.from_tensor(np.full((STATES, STATES + 1, STATES), 1 / STATES), initial=0)
    mechanism = TrajectoryMechanism(mdp, epsilon=1, adjacency=1)
    hearing = np.broadcast_to(np.eye(STATES, STATES + 1), (STATES, STATES, STATES + 1))
    alone = np.eye(STATES + 1)[[ALONE] * STATES]
    policy = LocalPolicy(robot, observed, hearing if observed else alone, alone)
    plan = TeamPlan(
        plan_id=bytes(16),
        game=bytes(32),
        episode=0,
        start_ns=10**15,
        period_ns=PERIOD_MS * MS,
        deadline=0.1,
        horizon=STEPS,
        max_stale=2,
        robots=('teller', 'listener'),
        graph=Graph(((), (0,))),
        epsilon=(1.0, 1.0),
        adjacency=(1, 1),
    )
    return Part(plan, policy, mechanism, Word(), initial=(0, 0), uniform=lambda: 0.5)


def age_of_what_is_acted_on(ahead_ms):
    """Run a listener whose clock is ahead of the teller's; return how many steps old its news is.

    Messages take no time. The last step counts; None is for who acts alone.
    """
    teller, listener = part(0, ()), part(1, (0,))
    action = None
    for ms in range(-12_000, PERIOD_MS * STEPS + 12_000):
        now = teller.plan.start_ns + ms * MS
        told = teller.advance(now, 0).tell
        if told is not None:
            listener.hear(told)
        move = listener.advance(now + ahead_ms * MS, 0).move
        action = action if move is None else move.action
    return None if action == ALONE else (STEPS - 1 - action) % STATES


@pytest.mark.parametrize(
    ('ahead_ms', 'age'),
    [(-5000, 0), (0, 0), (300, 0), (301, 1), (4300, 1), (4301, 2), (8300, 2), (8301, None)],
)
def test_skew_makes_messages_miss_their_step_where_the_guide_says(ahead_ms, age):
    assert age_of_what_is_acted_on(ahead_ms) == age


def test_tolerated_skew_is_the_one_at_which_messages_begin_to_miss():
    assert clock.tolerated(PERIOD_MS / 1e3, 0.1) == pytest.approx(0.3)
    assert clock.allowance(PERIOD_MS / 1e3, 0.1) == pytest.approx(0.15)


def test_usual_pace_is_that_of_the_deployment():
    assert (Options.period, Options.deadline) == (clock.USUAL_PERIOD, clock.USUAL_DEADLINE)


@pytest.mark.parametrize(('ahead_ms', 'first'), [(0, 0), (2399, 0), (2401, 1), (6401, 2)])
def test_robot_that_is_too_far_ahead_of_the_base_misses_the_first_steps(ahead_ms, first):
    times = Timetable(part(0, ()).plan)
    announced = times.begin(0) - round(Options.lead * 1e9)
    assert max(times.step(times.entry(announced + ahead_ms * MS)), 0) == first
