"""The statistics of an audit against scipy's, closed forms, and their own error rate."""

import itertools
import math
from dataclasses import replace

import faulty
import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy import audit_suite
from dp_multiagent.privacy.audit import (
    ALPHA,
    Claim,
    Target,
    at_least,
    at_most,
    audit,
    epsilon_bound,
    gaussian_epsilon,
    mu_bound,
)
from dp_multiagent.privacy.audit_attacks import BITS, OUTCOMES, outer_bits
from dp_multiagent.privacy.audit_runs import Source, Tape
from dp_multiagent.privacy.gaussian import gaussian_delta, noise_multiplier
from dp_multiagent.privacy.units import PrivacyLoss, PureEvent

N = 1000
LEVEL = 1e-4


@pytest.mark.parametrize('hits', [0, 1, 37, 500, 999, 1000])
def test_bounds_of_a_probability_are_clopper_and_pearsons(hits):
    expected = binomtest(hits, N).proportion_ci(1 - 2 * LEVEL, method='exact')
    assert at_least(np.float64(hits), N, LEVEL) == pytest.approx(expected.low, rel=1e-6)
    assert at_most(np.float64(hits), N, LEVEL) == pytest.approx(expected.high, rel=1e-6)


@pytest.mark.parametrize('hits', [0, 1, 5, 20_000, 79_000, 80_000])
@pytest.mark.parametrize('level', [1e-4, 1e-9, 1e-12])
def test_bounds_are_wrong_with_the_stated_probability(hits, level):
    n = 80_000
    low, high = at_least(np.float64(hits), n, level), at_most(np.float64(hits), n, level)
    assert low == 0 if hits == 0 else binom.sf(hits - 1, n, low) == pytest.approx(level, rel=1e-6)
    if hits == n:
        assert high == 1
    else:
        assert binom.cdf(hits, n, high) == pytest.approx(level, rel=1e-6)


def test_bound_on_epsilon_is_the_log_ratio_of_the_bounds_save_delta():
    expected = binomtest(600, N).proportion_ci(1 - 2 * LEVEL).low - 0.05
    expected /= binomtest(200, N).proportion_ci(1 - 2 * LEVEL).high
    bound = epsilon_bound(np.float64(600), np.float64(200), N, LEVEL, 0.05)
    assert bound == pytest.approx(math.log(expected))


def test_bounds_tend_to_the_truth_of_a_gaussian():
    mu, n = 1.0, 10**10
    hits, false_hits = 0.6914624612740131 * n, 0.3085375387259869 * n
    assert mu_bound(np.float64(hits), np.float64(false_hits), n, ALPHA) == pytest.approx(
        mu, abs=1e-3
    )


@pytest.mark.parametrize(('hits', 'false_hits'), [(0, 0), (10, 10), (10, 500), (N, N)])
def test_events_that_tell_nothing_bound_nothing(hits, false_hits):
    counts = np.float64(hits), np.float64(false_hits)
    assert mu_bound(*counts, N, LEVEL) == 0
    assert epsilon_bound(*counts, N, LEVEL, 0.0) == 0


@pytest.mark.parametrize(('epsilon', 'delta'), [(0.1, 0.1), (1, 1e-5), (10, 1e-9)])
def test_epsilon_of_mu_undoes_the_calibration(epsilon, delta):
    mu = 1 / noise_multiplier(epsilon, delta, 'analytic')
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian_delta(gaussian_epsilon(mu, delta), 1 / mu) == pytest.approx(delta)


def test_little_mu_has_no_epsilon():
    assert gaussian_epsilon(0.0, 1e-5) == 0
    assert gaussian_epsilon(1e-6, 1e-5) == 0


def response_target(rng, epsilon, symbols=3):
    """Return randomised response, which spends all of its epsilon on every pair."""
    honest = audit_suite.randomised_response(faulty.honest_source(rng))
    other = 1 / (math.exp(epsilon) + symbols - 1)

    def tell(symbol, side, n):
        chances = [1 - (symbols - 1) * other if s == symbol[0] else other for s in range(symbols)]
        return rng.choice(symbols, size=n, p=chances)

    loss = PrivacyLoss(epsilon=epsilon, delta=0)
    release = replace(honest.release, loss=loss, event=PureEvent(epsilon=loss.epsilon))
    pairs = tuple(itertools.combinations([(s,) for s in range(symbols)], 2))
    return replace(honest, release=release, pairs=pairs, simulate=tell)


def test_an_honest_mechanism_is_accused_no_more_often_than_alpha():
    runs, alpha, rng = 400, 0.2, np.random.default_rng(3)
    accused = sum(
        finding.violated
        for _ in range(runs)
        for finding in audit([response_target(rng, 0.5)], draws=1000, alpha=alpha)
    )
    assert accused > 0
    assert binom.cdf(accused - 1, runs, alpha) < 1 - ALPHA


def test_alpha_is_shared_by_all_pairs_of_all_targets():
    one = audit([response_target(np.random.default_rng(1), 1)], draws=10_000)[0]
    many = audit([response_target(np.random.default_rng(1), 1)] * 50, draws=10_000)[0]
    assert many.worst.epsilon < one.worst.epsilon


def test_more_draws_come_closer_to_the_claim():
    rng = np.random.default_rng(2)
    audited = [audit([response_target(rng, 1)], draws=n)[0].worst.epsilon for n in (10**3, 10**6)]
    assert audited[0] < 0.9 < audited[1] < 1


def test_the_naive_ratio_misses_twenty_percent_where_the_trade_off_does_not():
    rng = np.random.default_rng(4)
    weak = faulty.with_sampler(
        audit_suite.gaussian, faulty.Weaker(faulty.RoundedNoise(rng), 0.8), rng
    )
    by_trade_off = audit([weak], draws=100_000)[0]
    assert by_trade_off.violated
    pure = PureEvent(epsilon=weak.release.loss.epsilon)
    by_ratio = audit([replace(weak, release=replace(weak.release, event=pure))], draws=100_000)[0]
    assert by_ratio.claim.mu is None
    assert not by_ratio.violated
    assert by_ratio.worst.epsilon < 0.75 * by_ratio.claim.epsilon


def test_too_few_draws_are_refused():
    with pytest.raises(ModelError, match='at least 1000 draws, not 999'):
        audit([response_target(np.random.default_rng(0), 1)], draws=999)


@pytest.mark.parametrize('value', [1.0, 0.1, -0.1, 6.0, 2.0**-40, 1.5 * 2.0**30, 1 / 3])
def test_outer_bits_are_those_of_the_exact_fraction(value):
    numerator, denominator = abs(value).as_integer_ratio()
    highest = numerator.bit_length() - denominator.bit_length()
    lowest = (numerator & -numerator).bit_length() - denominator.bit_length()
    one = int(outer_bits(np.array([1.0]))[0])
    assert int(outer_bits(np.array([value]))[0]) - one == 2**12 * highest + lowest


def test_an_attack_that_has_learnt_nothing_of_an_outcome_says_nothing():
    score = OUTCOMES.prepare(((0,), (1,)), np.array([1, 1, 2]), np.array([2, 2, 3]))
    assert score(np.array([1, 2, 3, 0, 9])) == pytest.approx(
        [math.log(1 / 3), math.log(3 / 2), math.log(2), 0, 0]
    )


def test_bits_look_at_the_entry_that_differs():
    pair = ((0.0, 0.5), (0.0, 0.75))
    score = BITS.prepare(pair, np.array([[0.1, 1.0]] * 9), np.array([[0.1, 1.5]] * 9))
    assert score(np.array([[7.0, 1.0], [7.0, 1.5]])) == pytest.approx(
        [-math.log(10), math.log(10)]
    )


class Counting:
    """A sampler that counts."""

    def __init__(self):
        self.drawn = 0

    def laplace(self, *, scale, size):
        self.drawn += size
        return np.arange(self.drawn - size, self.drawn)

    def gaussian(self, *, scale, size):
        return self.laplace(scale=scale, size=size)


def test_a_tape_plays_the_same_noise_after_a_rewind_and_new_noise_until_then():
    sampler, ticks = Counting(), []
    tape = Tape(sampler, ticks.append)
    first = [tape.laplace(scale=2, size=3), tape.laplace(scale=2, size=3)]
    tape.rewind()
    again = [tape.laplace(scale=2, size=3), tape.laplace(scale=2, size=3)]
    assert np.array_equal(first, again)
    assert not np.array_equal(*first)
    assert (sampler.drawn, sum(ticks)) == (6, 6)


def test_a_tape_never_plays_noise_of_another_kind():
    tape = Tape(Counting(), lambda n: None)
    recorded = tape.laplace(scale=2, size=3)
    for kind, scale, size in (('gaussian', 2, 3), ('laplace', 3, 3), ('laplace', 2, 4)):
        tape.rewind()
        played = getattr(tape, kind)(scale=scale, size=size)
        assert played[0] != recorded[0]
        assert len(played) == size


def test_sides_of_a_pair_have_noise_of_their_own():
    target = audit_suite.gaussian(Source(Counting(), np.random.default_rng(0)))
    given = target.pairs[0][0]
    first, second, again = (target.simulate(given, side, 50) for side in (0, 1, 0))
    assert np.array_equal(first, again)
    assert not np.isin(first, second).any()


def test_a_claim_is_what_a_release_states():
    target: Target = audit_suite.messages(faulty.honest_source(np.random.default_rng(0)))
    mechanism = audit_suite.message_mechanism()
    claim = Claim.of(target.release)
    assert (claim.epsilon, claim.delta) == (6, pytest.approx(3e-6))
    assert claim.mu == pytest.approx(2 * 1 * math.sqrt(3) / mechanism.sigma)
