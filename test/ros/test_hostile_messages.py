"""10,000 changed messages of each type: each is refused in one line, or what it says is sound."""

import math
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from mutations import Mutator
from rclpy.serialization import serialize_message
from test_validation import ALL, PLAN, Receiver, local_policy, private_state, team_plan

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.pilot import Velocity
from dp_multiagent.driving.scan import Scan, clearance
from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.nodes import conversions as convert
from dp_multiagent.nodes import guard, motion
from dp_multiagent.sim.episode import Episode, Outcome, Verdict

EACH = 10_000
SEED = 6
LONGEST_REASON = 400  # characters
FLOOR = Floor(GridMap(('..', '#.'), slip=0.0), cell_size=0.5)

odometry = Receiver(
    'odometry',
    partial(
        motion.odometry_to_msg,
        Pose(1.0, 2.0, 0.5),
        Velocity(0.1, 0.2),
        time_ns=3,
        frame='odom',
        child='base_link',
    ),
    motion.odometry_from_msg,
)
velocity = Receiver(
    'velocity',
    partial(motion.velocity_to_msg, Velocity(0.1, 0.2)),
    motion.velocity_from_msg,
)
BEAMS = Scan(np.full(90, 1.5), -1.0, 0.02, 0.1, 10.0)
scan = Receiver(
    'scan', partial(motion.scan_to_msg, BEAMS, time_ns=3, frame='laser'), motion.scan_from_msg
)
EVERYTHING = [*ALL, odometry, velocity, scan]

EPISODE = Episode(episode=3, start_ns=10**9, period_ns=4 * 10**9, horizon=20)
VERDICT = Verdict(3, Outcome.SUCCESS, 2, 'all there', (((0, 1), None), ((0, 1), (2, 2))))


def is_sound(content):
    """Tell whether what was taken can be worked with, by what it is for."""
    kind = type(content).__name__
    if kind == 'TeamPlan':
        again = convert.team_plan_from_msg(convert.team_plan_to_msg(content))
        return again == content and all(0 <= each < math.inf for each in content.epsilon)
    if kind == 'LocalPolicy':
        rows = content.table.sum(axis=-1)
        return content.observed == (0,) and rows.shape == (4, 5) and np.allclose(rows, 1)
    if kind == 'PrivateState':
        told = (content.plan_id, content.episode, content.robot)
        return told == (PLAN.plan_id, 2, 1) and content.step <= 3 and content.state < 7
    if kind == 'Pose':
        return FLOOR.cell_at(content.x, content.y) in (*FLOOR.grid.cells, None)
    if kind == 'Scan':
        return clearance(content, radius=0.2, margin=0.1) >= 0
    if kind in ('Episode', 'Verdict'):
        return type(content).from_json(content.to_json()) == content and {content}
    numbers = content if kind == 'Velocity' else vars(content).values()
    return all(math.isfinite(each) for each in numbers if isinstance(each, float))


def tally(messages, take):
    """Count what was taken and what was refused; whatever else happens fails the test."""
    counts = Counter()
    for message in messages:
        content, reason = None, ''
        try:
            content = take(message)
        except RefusedMessageError as refusal:
            reason = str(refusal)
        counts['refused' if content is None else 'taken'] += 1
        assert (reason and reason.isprintable()) if content is None else is_sound(content)
        assert len(reason) < LONGEST_REASON
    print(dict(counts))
    return counts


@pytest.mark.parametrize('receive', EVERYTHING, ids=repr)
def test_changed_fields(receive):
    mutator, sound = Mutator(SEED), receive.sound()
    counts = tally((mutator.message(sound) for _ in range(EACH)), receive.take)
    assert counts['refused'] > EACH / 20


@pytest.mark.parametrize('receive', EVERYTHING, ids=repr)
def test_changed_bytes(receive):
    mutator, sound = Mutator(SEED), receive.sound()

    def take(serialised):
        return receive.take(guard._read(type(sound), serialised, guard.MAX_BYTES))

    counts = tally((mutator.serialised(sound) for _ in range(EACH)), take)
    assert counts['refused'] > EACH / 20


@pytest.mark.parametrize('sound', [EPISODE, VERDICT], ids=['episode', 'verdict'])
def test_changed_texts(sound):
    mutator, text = Mutator(SEED), sound.to_json()
    counts = tally((mutator.text(text) for _ in range(EACH)), type(sound).from_json)
    assert counts['refused'] > EACH / 20
    assert counts['taken'] > EACH / 100


@pytest.mark.parametrize('receive', [private_state, local_policy, team_plan], ids=repr)
def test_sound_messages_are_taken_beside_the_changed_ones(receive):
    kind, serialised = type(receive.sound()), serialize_message(receive.sound())
    assert is_sound(receive.take(guard._read(kind, serialised, guard.MAX_BYTES)))


def with_count(serialised, near, count):
    """Return the bytes of a message in which the array before `near` claims another length."""
    at = serialised.index(near) - 4
    return serialised[:at] + count.to_bytes(4, 'little') + serialised[at + 4 :]


@pytest.mark.parametrize('count', [10**6, 10**9, 2**31, 2**32 - 1])
@pytest.mark.parametrize(
    ('receive', 'fields', 'near'),
    [
        (local_policy, {'observed_states': [7_777_777]}, (7_777_777).to_bytes(4, 'little')),
        (local_policy, {'observed': [7_777]}, (7_777).to_bytes(2, 'little')),
        (team_plan, {'robots': ['anna']}, (5).to_bytes(4, 'little') + b'anna'),
        (team_plan, {'dependents': [7_777]}, (7_777).to_bytes(2, 'little')),
    ],
    ids=['observed_states', 'observed', 'robots', 'dependents'],
)
def test_small_message_that_claims_a_huge_array_takes_no_memory(receive, fields, near, count):
    message = receive.message(**fields)
    claim = with_count(serialize_message(message), near, count)
    tracemalloc.start()
    before = peak_memory()
    with pytest.raises(RefusedMessageError):
        receive.take(guard._read(type(message), claim, guard.MAX_BYTES))
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    assert peak_memory() - before < 2**20


def peak_memory():
    """Return the most bytes that this process ever had, not only in Python."""
    status = Path('/proc/self/status').read_text(encoding='utf-8')
    return 1024 * int(status.partition('VmPeak:')[2].split()[0])
