"""Randomised response and its receiver, by enumeration of all that can be told."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare
from test_exact import enumerate_outcomes

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.randomised_response import RandomisedResponse
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, PureEvent, Unit

ALPHA = 1e-6
N = 20_000
TYPE = Unit(neighbours=Neighbours.ONE_ROBOT_TYPE, bound=1)


def response(epsilon=1, symbols=3, delta=0):
    loss = PrivacyLoss(epsilon=epsilon, delta=delta)
    return RandomisedResponse(unit=TYPE, loss=loss, symbols=symbols)


def chances(told, symbol):
    return [told.truth if other == symbol else told.other for other in range(told.symbols)]


@pytest.mark.parametrize('symbols', [2, 3, 10])
@pytest.mark.parametrize('epsilon', [0.1, 1, 5])
def test_truth_is_told_exp_epsilon_times_as_often_as_another(symbols, epsilon):
    told = response(epsilon, symbols)
    assert told.truth == pytest.approx(math.exp(epsilon) * told.other)
    assert sum(chances(told, 0)) == pytest.approx(1)


def test_a_release_has_its_probabilities_by_enumeration():
    told = response(epsilon=1, symbols=2)
    outcomes = enumerate_outcomes(lambda source: told.release(1, source), draws=16)
    undecided = 1 - sum(outcomes.values())
    assert undecided < 0.01
    for symbol, chance in enumerate(chances(told, 1)):
        assert outcomes[symbol] <= chance <= outcomes[symbol] + undecided


def test_a_release_has_its_probabilities_from_the_operating_system():
    told = response(epsilon=0.5, symbols=3)
    counts = np.bincount([told.release(2) for _ in range(N)], minlength=3)
    assert chisquare(counts, np.multiply(chances(told, 2), N)).pvalue > ALPHA


@pytest.mark.parametrize('truth', [(0, 0, 1, 2), (2, 2, 2, 2)])
def test_the_receiver_has_no_bias(truth):
    told = response(epsilon=0.7, symbols=3)
    expected = np.zeros(3)
    for reports in itertools.product(range(3), repeat=len(truth)):
        chance = math.prod(chances(told, x)[y] for x, y in zip(truth, reports, strict=True))
        expected += chance * told.estimated_counts(reports)
    assert expected == pytest.approx(np.bincount(truth, minlength=3))


def binary_sum_errors(epsilon, robots):
    """Return bias and mean absolute error of robot 0's guesses, the unbiased and the naive."""
    told = response(epsilon, symbols=2)
    bits = np.arange(robots) % 2
    guesses, weights = [], []
    for reports in itertools.product(range(2), repeat=robots - 1):
        pairs = zip(bits[1:], reports, strict=True)
        weights.append(math.prod(chances(told, x)[y] for x, y in pairs))
        guesses.append([bits[0] + told.estimated_counts(reports)[1], bits[0] + sum(reports)])
    errors = np.array(guesses) - bits.sum()
    return weights @ errors, weights @ np.abs(errors)


def test_binary_sums_are_guessed_without_bias_with_the_own_bit_added():
    (unbiased, _), _ = binary_sum_errors(epsilon=1, robots=10)
    assert unbiased == pytest.approx(0, abs=1e-12)


def test_no_bias_does_not_mean_a_smaller_error():
    (_, bias), (unbiased_error, naive_error) = binary_sum_errors(epsilon=1, robots=10)
    assert bias != pytest.approx(0, abs=0.01)
    assert unbiased_error > 1.5 * naive_error


def test_a_plan_says_all_that_a_release_costs():
    plan = response(epsilon=0.1).planned(3)
    assert (plan.unit, plan.mechanism, plan.count) == (TYPE, 'randomised response', 3)
    assert plan.event == PureEvent(epsilon='1/10')


def test_epsilon_zero_tells_nothing_and_nothing_is_made_of_it():
    told = response(epsilon=0, symbols=4)
    assert told.truth == told.other == 0.25
    with pytest.raises(ModelError, match='say nothing'):
        told.estimated_counts([0, 1])


@pytest.mark.parametrize(
    ('options', 'match'),
    [
        ({'symbols': 1}, 'at least 2 symbols'),
        ({'symbols': 2.0}, 'symbols must be an integer'),
        ({'symbols': True}, 'symbols must be an integer'),
        ({'delta': 0.1}, 'needs delta = 0'),
    ],
)
def test_a_response_that_makes_no_sense_is_refused(options, match):
    with pytest.raises(ModelError, match=match):
        response(**options)


@pytest.mark.parametrize('symbol', [-1, 3, 1.0])
def test_a_symbol_that_there_is_not_is_refused_unnamed(symbol):
    with pytest.raises(ModelError, match='symbol') as refusal:
        response().release(symbol)
    assert str(symbol) not in str(refusal.value).replace('one of 3', '')
