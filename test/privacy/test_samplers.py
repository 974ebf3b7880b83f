"""Both samplers against the probabilities that they must meet."""

import math
import sys
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, norm

from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.privacy import exact_sampler, opendp_sampler
from dp_multiagent.privacy.exact_sampler import ExactSampler
from dp_multiagent.privacy.noise import LARGEST_SCALE, system_sampler
from dp_multiagent.privacy.opendp_sampler import OpenDpSampler

ALPHA = 1e-6
N = 20_000
EXPECTED_IN_A_CELL = 10

LOG_WEIGHT = {
    'laplace': lambda x, scale: -np.abs(x) / scale,
    'gaussian': lambda x, scale: -(x**2) / (2 * scale**2),
}


def probabilities(kind, scale, reach):
    """Return the integers from -reach to reach and their probabilities, the rest left out."""
    support = np.arange(-50 * scale, 50 * scale + 1)
    weight = np.exp(LOG_WEIGHT[kind](support, scale))
    kept = np.abs(support) <= reach
    return support[kept], weight[kept] / weight.sum()


def chi_square_p_value(draws, kind, scale):
    support, expected = probabilities(kind, scale, reach=50 * scale)
    frequent = expected * draws.size >= EXPECTED_IN_A_CELL
    observed = np.array([np.count_nonzero(draws == x) for x in support[frequent]])
    cells = np.append(expected[frequent], 1 - expected[frequent].sum()) * draws.size
    counts = np.append(observed, draws.size - observed.sum())
    return chi2.sf(np.sum((counts - cells) ** 2 / cells), df=len(cells) - 1)


@pytest.fixture(params=[ExactSampler, OpenDpSampler])
def sampler(request):
    if request.param is OpenDpSampler:
        pytest.importorskip('opendp', reason='opendp is not installed')
    return request.param()


@pytest.mark.parametrize('kind', ['laplace', 'gaussian'])
@pytest.mark.parametrize('scale', [1, 2, 7])
def test_draws_have_the_stated_probabilities(sampler, kind, scale):
    draws = getattr(sampler, kind)(scale=scale, size=N)
    assert chi_square_p_value(draws, kind, scale) > ALPHA


@pytest.mark.parametrize('kind', ['laplace', 'gaussian'])
def test_the_wrong_scale_is_noticed(sampler, kind):
    draws = getattr(sampler, kind)(scale=8, size=N)
    assert chi_square_p_value(draws, kind, scale=7) < ALPHA


@pytest.mark.parametrize(('kind', 'limit'), [('laplace', laplace), ('gaussian', norm)])
def test_draws_of_a_large_scale_look_continuous(sampler, kind, limit):
    scale = 2**30
    draws = getattr(sampler, kind)(scale=scale, size=N)
    assert kstest(draws / scale, limit.cdf).pvalue > ALPHA


class _UndecidedError(Exception):
    """Carries the probabilities of the next decision of a program."""


class _NextRoundError(Exception):
    """A rejection sampler starts again, which changes nothing in the proportions."""


def enumerate_round(program, least=1e-12):
    """Return the probability of each outcome, given that the first round is accepted."""
    outcomes, pending = defaultdict(float), [((), 1.0)]
    while pending:
        answers, weight = pending.pop()
        remaining = iter(answers)

        def decide(*chances, remaining=remaining):
            for answer in remaining:
                return answer
            raise _UndecidedError(chances)

        try:
            outcomes[program(decide)] += weight
        except _UndecidedError as undecided:
            for answer, chance in enumerate(undecided.args[0]):
                if weight * chance > least:
                    pending.append(((*answers, answer), weight * chance))
        except _NextRoundError:
            continue
    accepted = sum(outcomes.values())
    return {outcome: weight / accepted for outcome, weight in outcomes.items()}


def only_once(draw):
    rounds = []

    def draw_or_stop(*arguments):
        rounds.append(arguments)
        if len(rounds) > 1:
            raise _NextRoundError
        return draw(*arguments)

    return draw_or_stop


def decided_exp(decide):
    """Return a stand-in for `bernoulli_exp`, which test_exact enumerates by itself."""
    return lambda gamma, source: decide(1 - math.exp(-gamma), math.exp(-gamma)) == 1


@pytest.mark.parametrize('scale', [1, 3, 4])
def test_exact_laplace_has_the_stated_probabilities_by_enumeration(monkeypatch, scale):
    def one_draw(decide):
        monkeypatch.setattr(exact_sampler, 'bernoulli_exp', decided_exp(decide))
        uniform = only_once(lambda n: decide(*[1 / n] * n))
        sampler = ExactSampler(lambda n: uniform(n) if n == scale else decide(0.5, 0.5))
        return int(sampler.laplace(scale=scale, size=1)[0])

    outcomes = enumerate_round(one_draw)
    support, expected = probabilities('laplace', scale, reach=4 * scale)
    assert [outcomes[x] for x in support.tolist()] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('scale', [1, 2, 5])
def test_exact_gaussian_has_the_stated_probabilities_by_enumeration(monkeypatch, scale):
    proposals, chances = probabilities('laplace', scale, reach=25 * scale)

    def one_draw(decide):
        monkeypatch.setattr(exact_sampler, 'bernoulli_exp', decided_exp(decide))
        proposal = only_once(lambda sampler, scale: int(proposals[decide(*chances)]))
        monkeypatch.setattr(ExactSampler, '_laplace', proposal)
        return int(ExactSampler().gaussian(scale=scale, size=1)[0])

    outcomes = enumerate_round(one_draw)
    support, expected = probabilities('gaussian', scale, reach=4 * scale)
    assert [outcomes[x] for x in support.tolist()] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('kind', ['laplace', 'gaussian'])
def test_draws_are_64_bit_integers_of_the_size_asked_for(sampler, kind):
    for size in (0, 1, 5):
        draws = getattr(sampler, kind)(scale=3, size=size)
        assert (draws.shape, draws.dtype) == ((size,), np.int64)


@pytest.mark.parametrize('kind', ['laplace', 'gaussian'])
@pytest.mark.parametrize(
    ('scale', 'size', 'match'),
    [
        (0, 1, 'scale must be at least 1'),
        (LARGEST_SCALE + 1, 1, 'scale must be at least 1 and at most'),
        (1.5, 1, 'scale must be an integer'),
        (True, 1, 'scale must be an integer'),
        (1, -1, 'size must not be negative'),
        (1, 1.0, 'size must be an integer'),
    ],
)
def test_a_draw_that_makes_no_sense_is_refused(sampler, kind, scale, size, match):
    with pytest.raises(ModelError, match=match):
        getattr(sampler, kind)(scale=scale, size=size)


def test_the_largest_draw_of_the_largest_scale_fits_64_bits():
    assert math.exp(-(2**62) / LARGEST_SCALE) == 0


def test_opendp_is_used_where_it_is_installed():
    pytest.importorskip('opendp', reason='opendp is not installed')
    assert isinstance(system_sampler(), OpenDpSampler)


def test_the_exact_sampler_is_used_where_opendp_is_not_installed(monkeypatch):
    monkeypatch.setattr('dp_multiagent.privacy.noise.find_spec', lambda name: None)
    assert isinstance(system_sampler(), ExactSampler)


def test_opendp_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'opendp.prelude', None)
    opendp_sampler._opendp.cache_clear()
    with pytest.raises(MissingPackageError, match='pip install opendp'):
        OpenDpSampler()
