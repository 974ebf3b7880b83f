"""Every mechanism of the package under attack, with the noise that a robot uses."""

import itertools
import math

import numpy as np
import pytest
from faulty import RoundedNoise
from ledgers import Clock

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy import audit_suite
from dp_multiagent.privacy.accountant import cost
from dp_multiagent.privacy.audit import Claim, audit, gaussian_epsilon
from dp_multiagent.privacy.audit_runs import Source
from dp_multiagent.privacy.audit_suite import SUITE, targets
from dp_multiagent.privacy.exact_sampler import ExactSampler
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.noise import system_sampler
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss

FEWEST_PAIRS = 25
DRAWS = 10_000
DRAWS_OF_THE_EXACT_SAMPLER = 5_000
# At 10,000 draws the trajectory's bound has mean 0.46 and deviation 0.07 of the claim: five below.
SHARP = 0.1
ROUNDING = 1e-12
WITH_NOISE = ('laplace', 'gaussian', 'gaussian-paper', 'messages')


def source(sampler=None):
    return Source(sampler or system_sampler(), np.random.default_rng(8))


@pytest.fixture(scope='module')
def findings():
    return {finding.name: finding for finding in audit(targets(source()), draws=DRAWS)}


@pytest.mark.parametrize('name', SUITE)
def test_no_bound_is_above_the_claim(findings, name):
    assert len(findings[name].bounds) >= FEWEST_PAIRS
    assert not findings[name].violated


@pytest.mark.parametrize('name', SUITE)
def test_bounds_are_near_enough_to_the_claim_to_mean_something(findings, name):
    worst, claim = findings[name].worst, findings[name].claim
    audited, claimed = (worst.epsilon, claim.epsilon) if claim.mu is None else (worst.mu, claim.mu)
    assert audited > SHARP * claimed


def test_the_sampler_of_the_standard_library_keeps_the_claims_too():
    audited = audit(targets(source(ExactSampler()), WITH_NOISE), draws=DRAWS_OF_THE_EXACT_SAMPLER)
    assert [finding.noise for finding in audited] == ['ExactSampler'] * len(WITH_NOISE)
    assert [finding.name for finding in audited if finding.violated] == []


def distances(pair):
    """Return entry by entry how far the inputs of a pair are apart."""
    return np.abs(np.subtract(*(np.asarray(each, dtype=float) for each in pair)))


def are_neighbours(unit, pair):
    bound = float(unit.bound) + ROUNDING
    if unit.neighbours is Neighbours.DIFFERING_STATES:
        return np.count_nonzero(distances(pair)) <= bound
    if unit.neighbours is Neighbours.ONE_REWARD_ENTRY:
        return np.count_nonzero(distances(pair)) == 1 and distances(pair).max() <= bound
    if unit.neighbours is Neighbours.STATES_WITHIN_L1:
        return distances(pair).sum() <= bound
    if unit.neighbours is Neighbours.MESSAGE_INPUTS:
        return np.linalg.norm(pair, axis=-1).max() <= bound
    return pair[0] != pair[1]


@pytest.mark.parametrize('name', SUITE)
def test_pairs_are_neighbours_and_no_two_are_the_same(name):
    (target,) = targets(source(), [name])
    assert [pair for pair in target.pairs if not are_neighbours(target.release.unit, pair)] == []
    assert len({frozenset(pair) for pair in target.pairs}) == len(target.pairs)


@pytest.mark.parametrize('name', ['trajectory', 'trajectory-simulated'])
def test_true_words_can_be_walked_and_some_differ_in_k_states(name):
    (target,) = targets(source(), [name])
    mdp = audit_suite.robot_mechanism().mdp
    for word in itertools.chain(*target.pairs):
        steps = zip((mdp.initial, *word), word, strict=False)
        assert all(mdp.feasible[step] for step in steps)
    most = max(np.count_nonzero(distances(pair)) for pair in target.pairs)
    assert most == target.release.unit.bound


@pytest.mark.parametrize('name', SUITE)
def test_the_ledger_charges_what_the_audit_holds_the_mechanism_to(tmp_path, name):
    (target,) = targets(source(), [name])
    unit, claim = target.release.unit, Claim.of(target.release)
    budget = PrivacyLoss(epsilon=100, delta='1/2')
    with Ledger.create(tmp_path / 'ledger', budgets={unit: budget}, clock=Clock()) as ledger:
        ledger.charge(target.release)
        spent = ledger.account(unit).spent
    assert (float(spent.epsilon), float(spent.delta)) == (claim.epsilon, claim.delta)


@pytest.mark.parametrize('name', [*WITH_NOISE[1:], 'gaussian-sampler'])
def test_the_charge_covers_the_mu_that_is_claimed(name):
    (target,) = targets(source(), [name])
    claim = Claim.of(target.release)
    assert gaussian_epsilon(claim.mu, claim.delta) <= claim.epsilon


def test_messages_of_a_period_are_composed_as_the_accountant_says(findings):
    release, audited = findings['messages'].release, findings['messages'].worst
    mechanism = audit_suite.message_mechanism()
    norm, sent = float(release.unit.bound), release.count
    assert findings['messages'].claim.mu == pytest.approx(
        2 * norm * math.sqrt(sent) / mechanism.sigma
    )
    delta = release.count * release.loss.delta
    assert audited.epsilon < cost([release], delta=delta).epsilon < release.count * 2


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(ModelError, match="no audit of 'laplase', only of trajectory, "):
        targets(source(), ['laplace', 'laplase'])


def test_a_mechanism_named_twice_is_audited_once():
    assert len(targets(source(), ['laplace', 'laplace'])) == 1


def test_the_work_that_is_foretold_is_what_is_drawn():
    drawn, n = [], 20_000
    quick = Source(RoundedNoise(np.random.default_rng(0)), np.random.default_rng(0), drawn.append)
    chosen = targets(quick, [*WITH_NOISE, 'laplace-sampler'])
    audit(chosen, draws=n)
    assert sum(drawn) == n * sum(target.work for target in chosen)
