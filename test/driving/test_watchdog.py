"""The wheels turn only while the history of poses and wanted velocities allows it."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.driving.watchdog import Cause, Rules, Stop, Watchdog
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap

LIMITS = Limits(speed=0.5, acceleration=2.0, turn_speed=3.0, turn_acceleration=10.0)
FLOOR = Floor(GridMap(('..', '.#'), slip=0.0))
MS = 10**6
PERIOD, STALE, RESUME = 40 * MS, 80 * MS, 200 * MS
SLOW, FAST = Velocity(0.05, 0.1), Velocity(99.0, -99.0)
HERE, NEAR, FAR = Pose(0.5, 1.5, 0.0), Pose(0.52, 1.5, 0.1), Pose(1.5, 1.5, 0.0)
TURNED = Pose(0.5, 1.5, 2.0)
WALL, OUTSIDE, NOWHERE = Pose(1.5, 0.5, 0.0), Pose(-0.1, 0.5, 0.0), Pose(math.nan, 0.5, 0.0)


class Ride:
    """A watchdog and what it was told: (time, 'pose' | 'wanted' | 'tick', content, answer)."""

    def __init__(self, now=0):
        self.watchdog = Watchdog(FLOOR, LIMITS, Rules())
        self.now, self.events, self.wheels = now, [], STILL

    def do(self, kind, content=None, after=0):
        self.now += after
        told = {'pose': self.watchdog.see, 'wanted': self.watchdog.want}
        arguments = (content, self.now) if kind in told else (self.now,)
        answer = told.get(kind, self.watchdog.tick)(*arguments)
        self.wheels = self.wheels if answer is None else answer
        self.events.append((self.now, kind, content, answer))
        return answer

    def cycle(self, wanted=SLOW, pose=HERE):
        """Let a period pass, with a pose and its answer; return what the wheels do then."""
        self.do('pose', pose, after=PERIOD)
        self.do('wanted', wanted)
        return self.wheels

    def set_off(self):
        """Do all that is needed for the wheels to turn."""
        while self.watchdog.cause is not None:
            assert self.now < 1000 * MS
            self.cycle()
        return self


@pytest.fixture
def ride():
    return Ride().set_off()


def may_turn(events):
    """Tell from the history whether the wheels may turn after the last event."""
    now = events[-1][0]
    window = [event for event in events if now - event[0] < RESUME]
    poses = [event for event in events if event[1] == 'pose']
    return (
        now - events[0][0] >= RESUME
        and bool(poses)
        and all(is_finite(event[2]) for event in window if event[1] != 'tick')
        and all(on_map(event[2]) for event in window if event[1] == 'pose')
        and not any(jumps(a, b) for a, b in itertools.pairwise(poses) if now - b[0] < RESUME)
        and is_fresh([t for t, *_ in poses if now - t < RESUME], now)
        and all(is_answered(event[0], events, now) for event in poses if now - event[0] < RESUME)
    )


def is_finite(values):
    return all(abs(value) < math.inf for value in values)


def on_map(pose):
    return 0 <= pose.x < 2 and 0 <= pose.y < 2 and not (pose.x >= 1 and pose.y < 1)


def jumps(one, other):
    (t, _, p, _), (u, _, q, _) = one, other
    if not (is_finite(p) and is_finite(q)):
        return True
    allowed = (u - t) / 1e9
    between = abs(math.atan2(math.sin(p.heading - q.heading), math.cos(p.heading - q.heading)))
    return math.dist(p[:2], q[:2]) > 0.5 * allowed + 0.05 or between > 3 * allowed + 0.2


def is_fresh(times, now):
    return bool(times) and all(b - a <= STALE for a, b in itertools.pairwise([*times, now]))


def is_answered(asked, events, now):
    wanted = [t for t, kind, *_ in events if kind == 'wanted']
    answered = any(asked - PERIOD // 2 <= t < asked + PERIOD for t in wanted)
    return answered or now < asked + PERIOD


def check(events):
    """Assert what must hold of the wheels after every event, given all that went before."""
    wheels, sent = STILL, None
    for k, (now, kind, _, answer) in enumerate(events):
        if answer is not None:
            assert abs(answer.forward) <= LIMITS.speed
            assert abs(answer.turn) <= LIMITS.turn_speed
            if answer != STILL:
                assert kind == 'wanted'
                passed = min(now - sent, STALE) / 1e9
                assert gained(answer.forward, wheels.forward) <= 2 * passed + 1e-12
                assert gained(answer.turn, wheels.turn) <= 10 * passed + 1e-12
            wheels, sent = answer, now
        assert wheels == STILL or may_turn(events[: k + 1])


def gained(speed, last):
    return abs(speed) - abs(last) if speed * last > 0 else abs(speed)


def test_wanted_velocity_passes_unchanged_while_all_is_well(ride):
    for k in range(50):
        wanted = Velocity(0.05 + 0.001 * k, -0.1)
        assert ride.cycle(wanted) == wanted


def test_pose_and_clock_need_no_word_while_all_is_well(ride):
    assert ride.do('pose', HERE, after=PERIOD) is None
    assert ride.do('tick', after=PERIOD - 1) is None
    assert ride.do('wanted', SLOW) == SLOW
    assert ride.watchdog.cause is None


def test_speeds_are_cut_to_their_limits_and_what_is_gained_to_the_acceleration(ride):
    speeds = [ride.cycle(Velocity(1e300, -1e300)) for _ in range(20)]
    assert speeds[0] == pytest.approx((0.05 + 2 * 0.04, -10 * 0.04))
    assert speeds[1] == pytest.approx((0.05 + 4 * 0.04, -20 * 0.04))
    assert speeds[-1] == (0.5, -3.0)


def test_robot_may_slow_down_at_once_and_reverses_from_zero(ride):
    for _ in range(20):
        ride.cycle(Velocity(0.5, 3.0))
    assert ride.cycle(Velocity(0.1, 0.2)) == (0.1, 0.2)
    for _ in range(20):
        ride.cycle(Velocity(0.5, 3.0))
    assert ride.cycle(Velocity(-0.5, -3.0)) == pytest.approx((-2 * 0.04, -10 * 0.04))
    assert ride.cycle(STILL) == STILL


def test_silence_of_one_period_after_a_pose_stops_the_wheels(ride):
    ride.do('pose', HERE, after=PERIOD)
    assert ride.watchdog.due_ns == ride.now + PERIOD
    assert ride.do('tick', after=PERIOD) == STILL
    assert ride.watchdog.cause is Cause.SILENCE


def test_second_pose_without_an_answer_to_the_first_stops_the_wheels(ride):
    ride.do('pose', HERE, after=PERIOD)
    assert ride.do('pose', HERE, after=PERIOD) == STILL
    assert ride.watchdog.cause is Cause.SILENCE


def test_first_of_several_poses_without_an_answer_counts(ride):
    ride.do('pose', HERE, after=PERIOD)
    for _ in range(3):
        assert ride.do('pose', HERE, after=PERIOD // 4) is None
    assert ride.do('tick', after=PERIOD // 4) == STILL


def test_pose_that_stays_away_stops_the_wheels(ride):
    assert ride.watchdog.due_ns == ride.now + STALE + 1
    assert ride.do('tick', after=STALE) is None
    assert ride.do('tick', after=1) == STILL
    assert ride.watchdog.cause is Cause.STALE


def test_velocities_without_poses_do_not_keep_the_wheels_turning(ride):
    answers = [ride.do('wanted', SLOW, after=10 * MS) for _ in range(20)]
    assert answers == [SLOW] * 8 + [STILL] * 12


@pytest.mark.parametrize(
    ('pose', 'cause'),
    [
        (FAR, Cause.JUMP),
        (TURNED, Cause.JUMP),
        (WALL, Cause.OFF_MAP),
        (OUTSIDE, Cause.OFF_MAP),
        (Pose(1e308, -1e308, 0.0), Cause.OFF_MAP),
        (NOWHERE, Cause.SENSELESS),
        (Pose(0.5, math.inf, 0.0), Cause.SENSELESS),
        (Pose(0.5, 1.5, -math.inf), Cause.SENSELESS),
        (None, Cause.SENSELESS),
    ],
)
def test_pose_that_cannot_be_trusted_stops_the_wheels_at_once(ride, pose, cause):
    assert ride.do('pose', pose, after=PERIOD) == STILL
    assert ride.watchdog.cause is cause
    ride.do('wanted', SLOW)
    assert ride.wheels == STILL


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('field', ['forward', 'turn'])
def test_velocity_that_is_not_finite_stops_the_wheels_at_once(ride, field, value):
    assert ride.cycle(SLOW._replace(**{field: value})) == STILL
    assert ride.watchdog.cause is Cause.SENSELESS
    assert ride.cycle() == STILL


def test_clock_that_goes_back_stops_the_wheels_and_is_lived_with(ride):
    ride.now -= 10 * RESUME
    assert ride.do('tick') == STILL
    assert ride.watchdog.cause is Cause.CLOCK
    ride.set_off()
    assert ride.cycle() == SLOW


def test_clock_that_goes_back_makes_no_old_pose_new(ride):
    ride.now -= 10 * RESUME
    answers = [ride.do('wanted', SLOW, after=MS) for _ in range(500)]
    assert answers == [STILL] + [None] * 499


def test_silence_is_noticed_after_the_clock_went_back(ride):
    ride.do('pose', HERE, after=PERIOD)
    ride.now -= 10 * RESUME
    assert ride.do('pose', HERE) == STILL
    assert ride.do('pose', HERE, after=PERIOD) == STILL
    assert ride.watchdog.cause is Cause.SILENCE


def test_pose_beyond_all_numbers_of_cells_is_off_the_map():
    watchdog = Watchdog(Floor(FLOOR.grid, cell_size=1e-3), LIMITS)
    assert watchdog.see(Pose(1e308, 0.0, 0.0), 0) == STILL
    assert watchdog.cause is Cause.OFF_MAP


def test_clock_that_jumps_ahead_stops_the_wheels(ride):
    assert ride.do('wanted', SLOW, after=10**15) == STILL
    assert ride.watchdog.cause is Cause.STALE


def test_step_that_the_limits_allow_is_no_jump(ride):
    x = HERE.x
    for _ in range(20):
        x += 0.5 * 0.04
        assert ride.cycle(pose=Pose(x, 1.5, 0.0)) == SLOW


def test_turn_over_the_back_is_no_jump(ride):
    for step in range(100):
        heading = math.remainder(3 * 0.04 * step, math.tau)
        assert ride.cycle(pose=Pose(0.5, 1.5, heading)) == SLOW


def test_nothing_moves_before_all_has_been_well_for_a_while():
    ride = Ride()
    assert ride.do('wanted', SLOW, after=PERIOD) is None
    answers = [ride.cycle() for _ in range(8)]
    assert answers == [STILL] * 5 + [SLOW] * 3


@pytest.mark.parametrize('fault', [FAR, OUTSIDE, NOWHERE])
def test_driving_resumes_only_after_good_poses_for_a_while(ride, fault):
    ride.cycle(pose=fault)
    ride.cycle()
    ride.cycle()
    ride.cycle(pose=WALL)
    ride.cycle()  # back from the wall, a jump as well
    answers = [ride.cycle() for _ in range(8)]
    assert answers.count(STILL) in (4, 5)
    assert answers[-1] == SLOW


def test_robot_that_was_carried_elsewhere_drives_on_there(ride):
    ride.cycle(pose=FAR)
    answers = [ride.cycle(pose=FAR) for _ in range(8)]
    assert answers == [STILL] * 4 + [SLOW] * 4


def test_late_word_of_a_dying_executor_does_not_set_it_off_again(ride):
    ride.do('pose', HERE, after=PERIOD)
    ride.do('tick', after=PERIOD)
    assert ride.do('wanted', SLOW) is None
    assert [ride.do('pose', HERE, after=PERIOD) for _ in range(9)] == [None] + [STILL] * 8


def test_executor_that_comes_back_is_waited_for_again(ride):
    ride.do('pose', HERE, after=PERIOD)
    assert ride.do('pose', HERE, after=PERIOD) == STILL
    assert not ride.watchdog.is_waiting
    ride.do('wanted', SLOW)
    assert ride.do('pose', HERE, after=PERIOD) is None
    assert ride.watchdog.is_waiting


def test_every_pose_is_followed_by_one_zero_while_the_wheels_stand():
    ride = Ride()
    for _ in range(5):
        assert ride.do('pose', HERE, after=PERIOD) == STILL
        ride.do('tick', after=1)
    assert ride.do('wanted', SLOW) is None
    for _ in range(3):
        assert ride.do('pose', HERE, after=PERIOD) is None
        assert ride.do('wanted', SLOW) == STILL
        assert ride.do('wanted', SLOW) is None


def test_further_answer_at_the_same_time_is_passed_on_only_if_it_stops_the_wheels(ride):
    ride.cycle()
    assert ride.do('wanted', Velocity(0.06, 0.1)) is None
    assert ride.do('wanted', STILL) == STILL
    assert ride.do('wanted', STILL) is None
    assert ride.do('wanted', SLOW) is None
    assert ride.cycle() == SLOW


def test_velocities_between_two_poses_are_passed_on(ride):
    ride.cycle()
    for speed in (0.05, 0.06, 0.02):
        assert ride.do('wanted', Velocity(speed, 0.1), after=10 * MS) == (speed, 0.1)


def test_answer_that_overtakes_its_pose_answers_it(ride):
    for _ in range(5):
        ride.do('wanted', SLOW, after=PERIOD - MS)
        ride.do('pose', HERE, after=MS)
    assert ride.do('tick', after=PERIOD) is None
    assert ride.do('pose', HERE) is None
    assert ride.do('tick', after=PERIOD) == STILL


def test_answer_to_one_pose_is_none_to_the_next(ride):
    ride.do('pose', HERE, after=PERIOD)
    ride.do('wanted', SLOW, after=PERIOD - MS)
    ride.do('pose', HERE, after=MS)
    assert ride.do('tick', after=PERIOD) == STILL


def test_answer_that_overtakes_answers_one_pose_only(ride):
    ride.do('wanted', SLOW, after=PERIOD - MS)
    ride.do('pose', HERE, after=MS)
    ride.do('pose', HERE, after=MS)
    assert ride.do('tick', after=PERIOD) == STILL


def test_velocity_of_half_a_period_ago_is_no_answer(ride):
    ride.do('wanted', SLOW, after=PERIOD // 4)
    ride.do('pose', HERE, after=PERIOD // 2 + 1)
    assert ride.do('tick', after=PERIOD) == STILL


def test_standing_wheels_are_told_so_again_and_again(ride):
    ride.do('tick', after=STALE + 1)
    for _ in range(3):
        assert ride.watchdog.due_ns == ride.now + 2 * PERIOD
        assert ride.do('tick', after=2 * PERIOD) == STILL


ALPHABET = [
    *(('pose', pose) for pose in (HERE, NEAR, FAR, WALL, NOWHERE)),
    *(('wanted', velocity) for velocity in (SLOW, FAST, Velocity(math.nan, 0.0))),
    ('tick', None),
]


@pytest.mark.parametrize('gaps', [(0, PERIOD), (PERIOD, 0), (25 * MS, 25 * MS), (PERIOD, PERIOD)])
def test_whatever_happens_next_the_answer_is_allowed(gaps):
    """All sequences of four events on the way; then the executor goes on as if nothing was."""
    for events in itertools.product(ALPHABET, repeat=4):
        ride = Ride().set_off()
        for (kind, content), gap in zip(events, gaps * 2, strict=True):
            ride.do(kind, content, after=gap)
        ride.cycle(FAST)
        check(ride.events)


places = [HERE, NEAR, FAR, TURNED, WALL, OUTSIDE]
poses = st.sampled_from(places) | st.builds(Pose, st.floats(), st.floats(), st.floats())
velocities = st.sampled_from([SLOW, FAST]) | st.builds(Velocity, st.floats(), st.floats())
gaps = st.sampled_from([0, 1, MS, PERIOD - 1, PERIOD, STALE, RESUME]) | st.integers(0, 300 * MS)
happenings = st.one_of(
    st.tuples(st.just('pose'), poses, gaps),
    st.tuples(st.just('wanted'), velocities, gaps),
    st.tuples(st.just('tick'), st.none(), gaps),
    st.tuples(st.just('ride'), st.just(HERE), st.integers(1, 9)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(happenings, max_size=25))
def test_answers_are_allowed_whatever_arrives_in_whatever_order(events):
    ride = Ride()
    for kind, content, gap in events:
        if kind == 'ride':
            for _ in range(gap):
                ride.cycle()
        else:
            ride.do(kind, content, after=gap)
    check(ride.events)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(happenings, st.integers(-(2**63), 2**63)), max_size=25))
def test_limits_hold_even_if_time_makes_no_sense(events):
    ride = Ride()
    for (kind, content, gap), time in events:
        ride.now = time
        for _ in range(gap if kind == 'ride' else 0):
            ride.cycle(FAST)
        answer = None if kind == 'ride' else ride.do(kind, content)
        if answer is not None:
            assert abs(answer.forward) <= LIMITS.speed
            assert abs(answer.turn) <= LIMITS.turn_speed


@settings(max_examples=200, deadline=None)
@given(st.lists(happenings, max_size=15))
def test_it_looks_at_the_clock_later_and_then_stops_or_waits(events):
    ride = Ride()
    for kind, content, gap in events:
        if kind == 'ride':
            ride.cycle()
        else:
            ride.do(kind, content, after=gap)
    if events:
        assert ride.now < ride.watchdog.due_ns <= ride.now + STALE + 1
        ride.now = ride.watchdog.due_ns
        assert ride.do('tick') == STILL


@pytest.mark.parametrize('name', ['period', 'stale_after', 'resume_after', 'slack', 'turn_slack'])
@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, math.inf])
def test_rule_without_sense_is_refused_by_name(name, value):
    with pytest.raises(ModelError, match=name):
        Rules(**{name: value})


def test_pose_that_is_stale_before_an_answer_is_due_is_refused():
    with pytest.raises(ModelError, match='stale_after'):
        Rules(period=0.1)


def test_stop_from_the_speed_that_the_docstring_names_is_within_5_cm_and_200_ms():
    stop = Stop.of(0.35, braking=4.0, reaction=0.08)
    assert stop.distance < 0.05
    assert stop.seconds < 0.2
