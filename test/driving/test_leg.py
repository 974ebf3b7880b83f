"""The trajectory of one step, against finite differences and its limits."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.driving.floor import Point, Pose
from dp_multiagent.driving.leg import RESERVE, Leg, Limits
from dp_multiagent.errors import ModelError

LIMITS = Limits()
SOUTH, WEST, NORTH, EAST = -math.pi / 2, math.pi, math.pi / 2, 0.0
poses = st.builds(Pose, st.floats(-3, 3), st.floats(-3, 3), st.floats(-10, 10))
places = st.builds(Point, st.floats(-3, 3), st.floats(-3, 3))
limits = st.builds(Limits, *[st.floats(0.2, 10)] * 4)


def sampled(leg, points=401):
    times = np.linspace(0, leg.duration, points)
    waypoints = [leg.at(t) for t in times]
    columns = [(*w.pose, w.speed, w.turn_speed) for w in waypoints]
    return times, np.array(columns).T


@given(poses, places, limits)
def test_leg_leads_from_the_pose_to_the_place_and_rests_at_both_ends(pose, goal, limits):
    leg = Leg.plan(pose, goal, limits, cell_size=1.0)
    begin, end = leg.at(0.0), leg.at(leg.duration)
    assert begin.pose == pytest.approx(pose)
    assert end.pose[:2] == pytest.approx(goal, abs=1e-9)
    rest = [begin.speed, begin.turn_speed, end.speed, end.turn_speed]
    assert rest == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert leg.at(leg.duration + 5.0).pose == pytest.approx(end.pose)


@given(poses, places, limits)
def test_pose_is_the_integral_of_the_speeds(pose, goal, limits):
    leg = Leg.plan(pose, goal, limits, cell_size=1.0)
    times, (x, y, heading, speed, turn_speed) = sampled(leg)
    for place, rate in (
        (x, speed * np.cos(heading)),
        (y, speed * np.sin(heading)),
        (heading, turn_speed),
    ):
        travelled = np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(times))
        assert place[1:] - place[0] == pytest.approx(travelled, abs=1e-2)


@given(poses, places, limits)
def test_leg_stays_within_the_part_of_the_limits_that_it_plans_with(pose, goal, limits):
    leg = Leg.plan(pose, goal, limits, cell_size=1.0)
    times, (_, _, _, speed, turn_speed) = sampled(leg)
    slack = 1 + 1e-9
    assert speed.max() <= RESERVE * limits.speed * slack
    assert np.abs(turn_speed).max() <= RESERVE * limits.turn_speed * slack
    step = times[1]
    assert np.abs(np.diff(speed)).max() / step <= RESERVE * limits.acceleration * slack
    assert np.abs(np.diff(turn_speed)).max() / step <= RESERVE * limits.turn_acceleration * slack


def test_longest_step_reaches_one_of_its_limits():
    leg = Leg.plan(Pose(0, 0, 0.0), Point(-1, 0), LIMITS, cell_size=1.0)
    times, (_, _, _, speed, turn_speed) = sampled(leg)
    used = [
        max(rate.max() / most, np.diff(rate).max() / times[1] / more)
        for rate, most, more in (
            (speed, LIMITS.speed, LIMITS.acceleration),
            (np.abs(turn_speed), LIMITS.turn_speed, LIMITS.turn_acceleration),
        )
    ]
    assert used == pytest.approx([RESERVE, RESERVE], rel=1e-2)


@pytest.mark.parametrize('heading', [EAST, NORTH, WEST, SOUTH])
def test_every_step_to_a_neighbour_takes_the_same_time(heading):
    leg = Leg.plan(Pose(0, 0, heading), Point(1, 0), LIMITS, cell_size=1.0)
    assert leg.duration == pytest.approx(LIMITS.step_time(1.0))


@pytest.mark.parametrize(
    ('first', 'second', 'leave', 'enter'),
    [
        ((1, 0), (2, 0), heading, other)
        for heading, other in product((EAST, NORTH, WEST, SOUTH), repeat=2)
    ]
    + [((1, 0), (1, 1), EAST, NORTH), ((1, 0), (1, 1), SOUTH, WEST)],
)
def test_robot_that_enters_a_cell_keeps_off_the_one_that_leaves_it(first, second, leave, enter):
    follower = Leg.plan(Pose(0, 0, enter), Point(*first), LIMITS, cell_size=1.0)
    leader = Leg.plan(Pose(*first, leave), Point(*second), LIMITS, cell_size=1.0)
    _, (x, y, *_) = sampled(follower)
    _, (x2, y2, *_) = sampled(leader)
    assert np.hypot(x2 - x, y2 - y).min() >= 1 / math.sqrt(2) - 1e-9


@pytest.mark.parametrize('name', ['speed', 'acceleration', 'turn_speed', 'turn_acceleration'])
@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, math.inf])
def test_limit_must_be_a_number_above_zero(name, value):
    with pytest.raises(ModelError, match=name):
        Limits(**{name: value})
