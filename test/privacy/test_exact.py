"""The exact samplers against complete enumeration of the integers they draw."""

import math
from collections import defaultdict
from fractions import Fraction

import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.exact import bernoulli_exp

DRAWS = 16


class _DrawsUsedUpError(Exception):
    def __init__(self, n):
        super().__init__(n)
        self.n = n


def enumerate_outcomes(program, draws):
    """Return the exact probability of each outcome that needs at most so many draws."""
    outcomes = defaultdict(Fraction)
    pending = [((), Fraction(1))]
    while pending:
        answers, weight = pending.pop()
        remaining = iter(answers)

        def scripted(n, remaining=remaining):
            for answer in remaining:
                return answer
            raise _DrawsUsedUpError(n)

        try:
            outcomes[program(scripted)] += weight
        except _DrawsUsedUpError as more:
            if len(answers) < draws:
                pending += [((*answers, a), weight / more.n) for a in range(more.n)]
    return outcomes


@pytest.mark.parametrize('gamma', ['0', '1/3', '1/2', '1', '4/3', '2', '5/2'])
def test_bernoulli_exp_has_the_probability_exp_of_minus_gamma(gamma):
    gamma = Fraction(gamma)
    outcomes = enumerate_outcomes(lambda source: bernoulli_exp(gamma, source), DRAWS)
    undecided = 1 - outcomes[True] - outcomes[False]
    assert undecided < 1e-6
    assert outcomes[True] - 1e-15 <= math.exp(-gamma) <= outcomes[True] + undecided + 1e-15


def test_a_large_gamma_ends_at_the_first_failure():
    calls = []

    def last(n):
        calls.append(n)
        return 0 if len(calls) == 1 else n - 1

    assert not bernoulli_exp(Fraction(10**9), last)
    assert calls == [1, 2]


def test_the_default_source_is_the_operating_system():
    assert {bernoulli_exp(Fraction(1, 2)) for _ in range(200)} == {True, False}


def test_a_negative_gamma_is_refused():
    with pytest.raises(ModelError, match='gamma = -1/2'):
        bernoulli_exp(Fraction(-1, 2))
