"""Planted faults: an audit that could not find them would prove nothing."""

import faulty
import numpy as np
import pytest

from dp_multiagent.privacy import audit_suite
from dp_multiagent.privacy.audit import audit

DRAWS = 100_000


def finding(fault):
    return audit([fault(np.random.default_rng(5))], draws=DRAWS)[0]


def test_there_are_at_least_twelve_faults_in_all_kinds_of_mechanism():
    assert len({fault.__name__ for fault in faulty.FAULTS}) == len(faulty.FAULTS) >= 12
    kinds = {fault(np.random.default_rng(0)).name for fault in faulty.FAULTS}
    assert kinds >= {
        'trajectory-simulated',
        'laplace',
        'gaussian',
        'gaussian-paper',
        'messages',
        'randomised-response',
    }


@pytest.mark.parametrize('fault', faulty.FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_caught(fault):
    assert finding(fault).violated


@pytest.mark.parametrize(
    'build',
    [
        audit_suite.laplace,
        audit_suite.gaussian,
        audit_suite.gaussian_paper,
        audit_suite.messages,
        audit_suite.trajectory_simulated,
    ],
)
def test_the_same_noise_without_a_fault_passes(build):
    assert not finding(lambda rng: build(faulty.honest_source(rng))).violated


@pytest.mark.parametrize('fault', ['laplace_from_numpy', 'gaussian_from_numpy'])
def test_float_noise_is_caught_by_its_bits_only(fault):
    found = finding(getattr(faulty, fault))
    assert found.worst.attack == 'bits'
    assert found.worst.epsilon > 2 * found.claim.epsilon


def one_percent_too_little(rng):
    weaker = faulty.Weaker(faulty.RoundedNoise(rng), 0.99)
    return faulty.with_sampler(audit_suite.laplace, weaker, rng)


def two_zeros_on_a_fine_grid(rng):
    return faulty.with_sampler(audit_suite.laplace, faulty.TwoZeros(rng), rng)


@pytest.mark.parametrize('fault', [one_percent_too_little, two_zeros_on_a_fine_grid])
def test_faults_below_the_resolution_are_missed(fault):
    """What an audit does not see: docs/audit.md says so, and this keeps that page honest."""
    assert not finding(fault).violated
