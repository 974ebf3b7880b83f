"""What a scan says about the way ahead, against a disc that is pushed along until it touches."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.driving.scan import Scan, clearance

RADIUS, MARGIN = 0.2, 0.05


def scan_of(*echoes, shortest=0.01, longest=20.0, beams=360):
    """Return a full scan in which each echo (distance, angle) fills the beam nearest to it."""
    ranges = np.full(beams, np.inf)
    increment = math.tau / beams
    for distance, angle in echoes:
        ranges[round((angle + math.pi) / increment) % beams] = distance
    return Scan(ranges, -math.pi, increment, shortest, longest)


def test_nothing_in_sight_is_an_infinite_way():
    assert clearance(scan_of(), radius=RADIUS, margin=MARGIN) == math.inf


def test_wall_straight_ahead_leaves_its_distance_without_radius_and_margin():
    assert clearance(scan_of((1.5, 0.0)), radius=RADIUS, margin=MARGIN) == pytest.approx(1.25)


@pytest.mark.parametrize('angle', [math.pi / 2, -math.pi / 2, math.pi * 0.99, 0.3])
def test_what_is_beside_or_behind_is_not_in_the_way(angle):
    assert clearance(scan_of((1.0, angle)), radius=RADIUS, margin=MARGIN) == math.inf


def test_what_touches_leaves_nothing():
    assert clearance(scan_of((0.1, 0.0)), radius=RADIUS, margin=MARGIN) == 0.0


@pytest.mark.parametrize('reading', [math.nan, math.inf, 0.0, -1.0, 0.05, 50.0])
def test_reading_that_is_no_measurement_is_left_out(reading):
    scan = scan_of((reading, 0.0), (2.0, 0.0 + math.tau / 360), shortest=0.1, longest=10.0)
    expected = clearance(scan_of((2.0, math.tau / 360)), radius=RADIUS, margin=MARGIN)
    assert clearance(scan, radius=RADIUS, margin=MARGIN) == expected


@given(st.lists(st.tuples(st.floats(0.3, 5), st.floats(-3, 3)), min_size=1, max_size=5))
def test_disc_that_drives_the_clearance_touches_nothing_and_one_step_more_does(echoes):
    scan = scan_of(*echoes)
    free = clearance(scan, radius=RADIUS, margin=MARGIN)
    angles = scan.first_angle + scan.increment * np.arange(len(scan.ranges))
    seen = np.isfinite(scan.ranges)
    x, y = scan.ranges[seen] * np.cos(angles[seen]), scan.ranges[seen] * np.sin(angles[seen])

    def nearest(driven):
        ahead = x > 0
        return np.hypot(x[ahead] - driven, y[ahead]).min(initial=np.inf)

    for driven in np.linspace(0, min(free, 10.0), 50):
        assert nearest(driven) >= RADIUS + MARGIN - 1e-9
    if free < math.inf:
        assert nearest(free + 1e-3) < RADIUS + MARGIN
