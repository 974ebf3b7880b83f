"""The Gaussian mechanism: its calibrations, the price of its grid, its releases and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, norm

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.exact_sampler import ExactSampler
from dp_multiagent.privacy.gaussian import (
    GaussianMechanism,
    discretisation,
    gaussian_delta,
    noise_multiplier,
)
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Unit

ALPHA = 1e-6
N = 5_000
LOSSES = [(0.1, 0.1), (1.0, 0.1), (1.0, 1e-5), (0.01, 1e-6), (10.0, 1e-5), (0.0, 0.01)]
REWARD = Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound=1)


class NoNoise:
    """Adds nothing, so that a test sees what a mechanism does beside it."""

    def laplace(self, *, scale, size):
        return np.zeros(size, dtype=np.int64)

    gaussian = laplace


def mechanism(epsilon=1, delta='1e-5', sensitivity=1, entries=1, **options):
    return GaussianMechanism(
        unit=REWARD,
        loss=PrivacyLoss(epsilon=epsilon, delta=delta),
        sensitivity=sensitivity,
        entries=entries,
        **options,
    )


def integrated_delta(epsilon, multiplier):
    """Integrate the density that neighbours do not share up to a factor of exp(epsilon)."""
    mu = 1 / multiplier
    boundary = epsilon / mu + mu / 2

    def excess(x):
        return norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x)

    return quad(excess, boundary, boundary + 40, epsabs=0, epsrel=1e-11, limit=200)[0]


def discrete_delta(epsilon, sensitivity, scale):
    """Sum what the discrete Gaussian's probabilities, moved by the sensitivity, do not share."""
    x = np.arange(-40 * scale - sensitivity, 40 * scale + sensitivity + 1)
    weight = np.exp(-(x**2) / (2 * scale**2))
    moved = np.exp(-((x - sensitivity) ** 2) / (2 * scale**2))
    return np.maximum(moved - math.exp(epsilon) * weight, 0).sum() / weight.sum()


@pytest.mark.parametrize(('epsilon', 'delta'), LOSSES)
def test_delta_is_the_integral_that_defines_it(epsilon, delta):
    multiplier = noise_multiplier(epsilon, delta, 'analytic')
    for factor in (0.5, 1, 2):
        integral = integrated_delta(epsilon, factor * multiplier)
        assert gaussian_delta(epsilon, factor * multiplier) == pytest.approx(integral, rel=1e-8)


@pytest.mark.parametrize(('epsilon', 'delta'), LOSSES)
def test_analytic_calibration_meets_delta_and_would_not_with_less_noise(epsilon, delta):
    multiplier = noise_multiplier(epsilon, delta, 'analytic')
    assert gaussian_delta(epsilon, multiplier) <= delta
    assert gaussian_delta(epsilon, multiplier * (1 - 1e-8)) > delta


@given(st.floats(0, 20), st.floats(1e-9, 0.99))
def test_analytic_calibration_is_safe_and_tight_for_any_loss(epsilon, delta):
    multiplier = noise_multiplier(epsilon, delta, 'analytic')
    assert (
        gaussian_delta(epsilon, multiplier) <= delta < gaussian_delta(epsilon, 0.99 * multiplier)
    )


@pytest.mark.parametrize(('epsilon', 'delta'), LOSSES[:-1])
def test_paper_calibration_is_private_with_more_noise(epsilon, delta):
    paper = noise_multiplier(epsilon, delta, 'paper')
    assert paper > noise_multiplier(epsilon, delta, 'analytic')
    assert gaussian_delta(epsilon, paper) < delta


def test_paper_calibration_is_kappa_of_lemma_1():
    q = norm.isf(0.1)
    kappa = q + math.sqrt(q**2 + 2 * 0.5)
    assert noise_multiplier(0.5, 0.1, 'paper') == pytest.approx(kappa / (2 * 0.5), rel=1e-8)


@pytest.mark.parametrize('scale', [1, 2, 5, 20, 200])
@pytest.mark.parametrize('epsilon', [0.0, 0.5, 1.0, 4.0])
@pytest.mark.parametrize('ratio', [1, 3])
def test_discrete_noise_is_within_its_price_of_the_continuous(scale, epsilon, ratio):
    sensitivity = max(1, scale // ratio)
    price = discretisation(PrivacyLoss(epsilon=epsilon, delta=0), scale)
    exact = discrete_delta(epsilon, sensitivity, scale)
    continuous = gaussian_delta(epsilon, scale / sensitivity)
    assert exact <= continuous + price
    assert continuous <= exact + price + 1e-9


def test_without_its_price_the_discrete_noise_is_not_covered():
    """The continuous formula alone is wrong for a coarse grid."""
    assert discrete_delta(1.0, 1, 1) > gaussian_delta(1.0, 1.0)


@pytest.mark.parametrize('scale', [1, 3, 10])
@pytest.mark.parametrize('order', [1.5, 2, 10])
def test_zcdp_of_the_discrete_noise_is_what_the_event_says(scale, order):
    sensitivity = 2
    x = np.arange(-60 * scale * order, 60 * scale * order + 1)
    log_p = -(x**2) / (2 * scale**2)
    log_q = -((x - sensitivity) ** 2) / (2 * scale**2)
    total = np.exp(log_p).sum()
    renyi = math.log(np.exp(order * log_p + (1 - order) * log_q).sum() / total) / (order - 1)
    assert renyi <= order * sensitivity**2 / (2 * scale**2) + 1e-12


@pytest.mark.parametrize('calibration', ['analytic', 'paper'])
@pytest.mark.parametrize('sensitivity', [1, '1/3', '1e-7', 12345])
@pytest.mark.parametrize('entries', [1, 8, 6400])
def test_a_mechanism_has_what_it_claims(calibration, sensitivity, entries):
    gaussian = mechanism(sensitivity=sensitivity, entries=entries, calibration=calibration)
    worst = Fraction(sensitivity) / gaussian.grid.step + Fraction(math.isqrt(entries - 1) + 1)
    price = entries * discretisation(gaussian.loss, gaussian.scale)
    assert gaussian_delta(1.0, float(gaussian.scale / worst)) + price <= 1e-5
    assert gaussian.event.rho == worst**2 / (2 * gaussian.scale**2)
    assert gaussian.event.distance == Fraction(entries, 16 * gaussian.scale**2)
    assert 2**30 <= gaussian.scale < 2**32


def test_the_grid_costs_next_to_nothing():
    free = noise_multiplier(1.0, 1e-5, 'analytic')
    assert mechanism(entries=6400).sigma == pytest.approx(free, rel=1e-6)


@given(
    st.lists(st.floats(-100, 100), min_size=6, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
)
def test_rounding_adds_no_more_than_the_mechanism_reckons_with(values, change):
    gaussian = mechanism(entries=6, sensitivity=3)
    moved = np.add(values, change)
    before, after = gaussian.grid.steps(values), gaussian.grid.steps(moved)
    pairs = zip(values, moved.tolist(), strict=True)
    exact_square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs)
    reckoned = math.sqrt(exact_square) / float(gaussian.grid.step) + 3
    assert np.linalg.norm((after - before).astype(float)) <= reckoned * (1 + 1e-12)


def test_values_come_back_on_the_grid():
    gaussian = mechanism()
    values = np.array([[1.0, -0.3], [2e-9, 0.0]])
    released = gaussian.release(values, sampler=NoNoise())
    assert released.shape == values.shape
    assert np.abs(released - values).max() <= float(gaussian.grid.step) / 2
    assert np.all(released / float(gaussian.grid.step) % 1 == 0)


def test_a_release_has_gaussian_noise_of_the_stated_size():
    gaussian = mechanism(entries=N)
    released = gaussian.release(np.full(N, 5.0), sampler=ExactSampler())
    assert kstest((released - 5) / gaussian.sigma, norm.cdf).pvalue > ALPHA


def test_a_plan_says_all_that_a_release_costs():
    plan = mechanism().planned(25)
    assert (plan.unit, plan.mechanism, plan.count) == (REWARD, 'gaussian', 25)
    assert plan.loss == PrivacyLoss(epsilon=1, delta='1e-5')
    assert plan.event == mechanism().event


@pytest.mark.parametrize(
    ('options', 'match'),
    [
        ({'delta': 0}, 'needs a larger delta'),
        ({'epsilon': 50}, 'needs a larger delta'),
        ({'epsilon': 10_000}, 'needs a larger delta'),
        ({'sensitivity': 0}, 'sensitivity must be positive'),
        ({'sensitivity': float('nan')}, 'sensitivity must be finite'),
        ({'sensitivity': '1e-300'}, 'there is no grid'),
        ({'entries': 0}, 'entries must be a positive integer'),
        ({'entries': 1.0}, 'entries must be a positive integer'),
        ({'calibration': 'classic'}, 'calibration must be analytic or paper'),
        ({'calibration': 'paper', 'delta': 0.6}, 'delta < 1/2'),
        ({'calibration': 'paper', 'epsilon': 0}, 'needs epsilon > 0'),
        ({'epsilon': 0, 'delta': '1e-13'}, 'too small for any noise'),
    ],
)
def test_a_mechanism_that_makes_no_sense_is_refused(options, match):
    with pytest.raises(ModelError, match=match):
        mechanism(**options)


@pytest.mark.parametrize('value', [math.inf, math.nan, 1e200])
def test_values_without_a_place_on_the_grid_are_refused_unnamed(value):
    with pytest.raises(ModelError, match='must be finite') as refusal:
        mechanism().release([value], sampler=NoNoise())
    assert str(value) not in str(refusal.value)
