import random

import numpy as np
import pytest

from dp_multiagent.cli.checks import noise
from dp_multiagent.cli.checks.finding import Result
from dp_multiagent.privacy.exact_sampler import ExactSampler


class NumpySampler:
    def laplace(self, *, scale, size):
        return np.rint(np.random.laplace(scale=scale, size=size)).astype(int)


def test_sampler_of_this_machine_is_safe():
    assert noise.sampler().result is Result.FINE


def test_exact_sampler_is_safe_and_named():
    finding = noise.sampler(ExactSampler)
    assert finding.result is Result.FINE
    assert 'exact' in finding.found


def test_numpy_is_never_safe():
    finding = noise.sampler(NumpySampler)
    assert finding.result is Result.FAILED
    assert 'NumpySampler' in finding.found


@pytest.mark.parametrize(
    'randbelow', [random.randrange, lambda n: int(np.random.randint(n))], ids=['random', 'numpy']
)
def test_sampler_that_a_seed_undoes_is_found_out(randbelow):
    finding = noise.sampler(lambda: ExactSampler(randbelow))
    assert finding.result is Result.FAILED
    assert 'seed' in finding.found


def test_sampler_with_too_little_noise_is_found_out(monkeypatch):
    quiet = ExactSampler.laplace
    monkeypatch.setattr(
        ExactSampler,
        'laplace',
        lambda self, *, scale, size: quiet(self, scale=scale, size=size) // 2,
    )
    assert 'times its scale' in noise.sampler(ExactSampler).found


def test_private_states_come_from_the_operating_system():
    assert noise.private_states().result is Result.FINE


def test_generators_of_others_are_left_as_they_were():
    random.seed(5)
    np.random.seed(5)
    noise.sampler()
    after = random.random(), np.random.random()
    random.seed(5)
    np.random.seed(5)
    assert after == (random.random(), np.random.random())
