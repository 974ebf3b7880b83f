"""The Laplace mechanism: an exact epsilon, grid included."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, laplace
from test_gaussian import NoNoise

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.exact_sampler import ExactSampler
from dp_multiagent.privacy.laplace import LaplaceMechanism
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, PureEvent, Unit

ALPHA = 1e-6
N = 5_000
STATES = Unit(neighbours=Neighbours.STATES_WITHIN_L1, bound=3)


def mechanism(epsilon='1.0986', delta=0, sensitivity=3, entries=1):
    loss = PrivacyLoss(epsilon=epsilon, delta=delta)
    return LaplaceMechanism(unit=STATES, loss=loss, sensitivity=sensitivity, entries=entries)


@given(
    epsilon=st.fractions('1e-6', 100),
    sensitivity=st.fractions('1e-6', 10**6),
    entries=st.integers(1, 10**4),
)
def test_no_neighbours_on_the_grid_differ_by_more_than_epsilon(epsilon, sensitivity, entries):
    noisy = mechanism(epsilon=epsilon, sensitivity=sensitivity, entries=entries)
    worst = sensitivity / noisy.grid.step + entries
    assert noisy.event == PureEvent(epsilon=worst / noisy.scale)
    assert worst / noisy.scale <= epsilon < worst / (noisy.scale - 1)


def test_scale_is_the_sensitivity_over_epsilon():
    noisy = mechanism()
    assert float(noisy.scale * noisy.grid.step) == pytest.approx(3 / 1.0986, rel=1e-8)


def test_discrete_noise_meets_its_epsilon_exactly():
    x, scale, moved = np.arange(-60, 61), 2, 3
    ratio = -np.abs(x) / scale + np.abs(x - moved) / scale
    assert ratio.max() == moved / scale


@given(st.floats(-100, 100), st.floats(-3, 3))
def test_rounding_adds_at_most_a_step(value, change):
    noisy = mechanism()
    moved = value + change
    apart = abs(int(noisy.grid.steps(value)) - int(noisy.grid.steps(moved)))
    assert apart <= abs(Fraction(value) - Fraction(moved)) / noisy.grid.step + 1


def test_a_release_has_laplace_noise_of_the_stated_size():
    noisy = mechanism(entries=N)
    released = noisy.release(np.full((N, 1), -2.0), sampler=ExactSampler())
    assert released.shape == (N, 1)
    scale = float(noisy.scale * noisy.grid.step)
    assert kstest((released.ravel() + 2) / scale, laplace.cdf).pvalue > ALPHA


def test_values_come_back_on_the_grid():
    noisy = mechanism()
    released = noisy.release([0.1, -7.3], sampler=NoNoise())
    assert released == pytest.approx([0.1, -7.3], abs=float(noisy.grid.step) / 2)


def test_a_plan_says_all_that_a_release_costs():
    plan = mechanism(epsilon=1).planned(4)
    assert (plan.unit, plan.mechanism, plan.count) == (STATES, 'laplace', 4)
    assert plan.loss == PrivacyLoss(epsilon=1, delta=0)
    assert plan.event.epsilon <= 1


@pytest.mark.parametrize(
    ('options', 'match'),
    [
        ({'epsilon': 0}, 'needs epsilon > 0'),
        ({'delta': 0.1}, 'delta = 0'),
        ({'sensitivity': -1}, 'sensitivity must be positive'),
        ({'sensitivity': math.inf}, 'sensitivity must be finite'),
        ({'entries': 0}, 'entries must be a positive integer'),
        ({'entries': True}, 'entries must be a positive integer'),
    ],
)
def test_a_mechanism_that_makes_no_sense_is_refused(options, match):
    with pytest.raises(ModelError, match=match):
        mechanism(**options)
