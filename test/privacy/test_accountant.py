"""Accountants: one contract for all, closed forms, and dp-accounting as the peer."""

import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.privacy.accountant import BasicAccountant, ZcdpAccountant, cost, zcdp_epsilon
from dp_multiagent.privacy.gaussian import GaussianMechanism, gaussian_delta
from dp_multiagent.privacy.laplace import LaplaceMechanism
from dp_multiagent.privacy.numerical_accountant import PldAccountant, RdpAccountant
from dp_multiagent.privacy.randomised_response import RandomisedResponse
from dp_multiagent.privacy.units import Event, GaussianEvent, Neighbours, PrivacyLoss, Unit

COMPOSITIONS = 500
SEED = 4
INTERVAL = 2.0**-10
TOLERANCE_OF_RDP = 0.01
NEARLY = 1 - Fraction(1, 10**9)
DELTA = Fraction(1, 10**5)
REWARD = Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound=1)


def gaussian(epsilon, delta, count=1, unit=REWARD):
    loss = PrivacyLoss(epsilon=epsilon, delta=delta)
    return GaussianMechanism(unit=unit, loss=loss, sensitivity=1, entries=1).planned(count)


def laplace(epsilon, count=1, unit=REWARD):
    loss = PrivacyLoss(epsilon=epsilon, delta=0)
    return LaplaceMechanism(unit=unit, loss=loss, sensitivity=1, entries=1).planned(count)


def response(epsilon, count=1, unit=REWARD):
    loss = PrivacyLoss(epsilon=epsilon, delta=0)
    return RandomisedResponse(unit=unit, loss=loss, symbols=3).planned(count)


NOISY = gaussian('0.5', '1e-7', count=3)
PURE = response('1/8', count=2)


class AccountantContract:
    """What holds for every accountant; a subclass names the one it is for."""

    def accountant(self):
        raise NotImplementedError

    def epsilon(self, *releases, delta=DELTA):
        return self.accountant().cost(releases, delta=delta).epsilon

    def test_nothing_costs_nothing(self):
        assert self.epsilon() == 0

    def test_delta_is_kept(self):
        assert self.accountant().cost([NOISY, PURE], delta=DELTA).delta <= DELTA

    def test_order_does_not_matter(self):
        assert self.epsilon(NOISY, PURE) == pytest.approx(float(self.epsilon(PURE, NOISY)))

    def test_a_block_costs_what_its_releases_cost(self):
        one = replace(NOISY, count=1)
        assert self.epsilon(NOISY) == pytest.approx(float(self.epsilon(one, one, one)))

    def test_another_release_never_costs_less(self):
        costs = [self.epsilon(NOISY, replace(PURE, count=n)) for n in (1, 2, 4, 8)]
        assert costs == sorted(costs)
        assert self.epsilon(NOISY) <= costs[0] < costs[-1]

    def test_asking_before_the_plan_runs_changes_nothing(self):
        accountant = self.accountant()
        first = accountant.cost([NOISY, PURE], delta=DELTA)
        assert accountant.cost([NOISY, PURE], delta=DELTA) == first

    def test_cost_is_at_least_that_of_the_gaussian_alone(self):
        """All Gaussian releases together are one, whose exact loss is known."""
        multiplier = 1 / math.sqrt(2 * NOISY.count * NOISY.event.rho)
        assert gaussian_delta(float(self.epsilon(NOISY)), multiplier) <= DELTA

    def test_an_unknown_event_is_refused(self):
        class Novel(Event):
            kind = 'novel'

        with pytest.raises(ModelError, match='Novel is not an event that can be counted'):
            self.epsilon(NOISY, replace(NOISY, event=Novel()))

    def test_a_kind_of_known_event_is_unknown_too(self):
        class LikeGaussian(GaussianEvent):
            kind = 'like gaussian'

        with pytest.raises(ModelError, match='LikeGaussian'):
            self.epsilon(replace(NOISY, event=LikeGaussian(rho=1, distance=0)))

    def test_different_units_are_refused(self):
        other = Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound=2)
        with pytest.raises(ModelError, match='one cost for two units'):
            self.epsilon(PURE, response('1/8', unit=other))

    @pytest.mark.parametrize('delta', [-0.1, 1, 'nan'])
    def test_a_delta_that_is_none_is_refused(self, delta):
        with pytest.raises(ModelError, match='delta'):
            self.epsilon(PURE, delta=delta)


class TestBasicAccountant(AccountantContract):
    def accountant(self):
        return BasicAccountant()

    def test_sums_are_exact(self):
        plan = [gaussian('0.1', '1e-7', count=10), response('1/3', count=3)]
        loss = BasicAccountant().cost(plan, delta=DELTA)
        assert loss == PrivacyLoss(epsilon=2, delta='1e-6')

    def test_pure_releases_need_no_delta(self):
        assert BasicAccountant().cost([PURE], delta=0) == PrivacyLoss(epsilon='1/4', delta=0)

    def test_deltas_that_add_up_to_more_than_allowed_are_refused(self):
        with pytest.raises(ModelError, match=r'add up to 3e-07, more than 2e-07'):
            BasicAccountant().cost([NOISY], delta='2e-7')


class TestZcdpAccountant(AccountantContract):
    def accountant(self):
        return ZcdpAccountant()

    def test_without_a_delta_there_is_no_epsilon(self):
        with pytest.raises(ModelError, match='positive delta'):
            self.epsilon(NOISY, delta=0)

    @pytest.mark.parametrize('rho', [1e-12, 1e-6, 1e-3, 0.1, 1, 30, 1e4])
    @pytest.mark.parametrize('delta', [1e-12, 1e-6, 0.01, 0.5])
    def test_conversion_beats_the_classical_one_and_stays_above_the_gaussian(self, rho, delta):
        epsilon = zcdp_epsilon(rho, delta)
        assert epsilon <= rho + 2 * math.sqrt(-rho * math.log(delta))
        assert gaussian_delta(epsilon, 1 / math.sqrt(2 * rho)) <= delta


class TestRdpAccountant(AccountantContract):
    @pytest.fixture(autouse=True)
    def _needs_dp_accounting(self):
        pytest.importorskip('dp_accounting', reason='dp-accounting is not installed')

    def accountant(self):
        return RdpAccountant()


class TestPldAccountant(AccountantContract):
    @pytest.fixture(autouse=True)
    def _needs_dp_accounting(self):
        pytest.importorskip('dp_accounting', reason='dp-accounting is not installed')

    def accountant(self):
        return PldAccountant(INTERVAL)

    def test_the_discrete_noise_is_paid_out_of_delta(self):
        coarse = replace(NOISY, event=GaussianEvent(rho=NOISY.event.rho, distance='1e-7'))
        assert self.epsilon(coarse) > self.epsilon(NOISY)

    def test_noise_that_is_too_coarse_for_delta_is_refused(self):
        coarse = replace(NOISY, event=GaussianEvent(rho=NOISY.event.rho, distance='1e-5'))
        with pytest.raises(ModelError, match='so coarse a grid'):
            self.epsilon(coarse)


@pytest.mark.parametrize('accountant', [RdpAccountant(), PldAccountant()])
def test_a_delta_below_what_floats_can_show_is_refused(accountant):
    with pytest.raises(ModelError, match='at least 1e-12'):
        accountant.cost([NOISY], delta='1e-13')


@pytest.mark.parametrize('accountant', [RdpAccountant(), PldAccountant()])
def test_dp_accounting_that_is_missing_is_named(monkeypatch, accountant):
    monkeypatch.setitem(sys.modules, 'dp_accounting', None)
    with pytest.raises(MissingPackageError, match='pip install dp-accounting'):
        accountant.cost([NOISY], delta=DELTA)


def test_cost_of_a_plan_is_the_least_that_a_robot_can_show():
    few, many = [response('1/8', count=2)], [response('1/8', count=2000)]
    assert cost(few, delta=DELTA) == BasicAccountant().cost(few, delta=DELTA)
    assert cost(many, delta=DELTA) == ZcdpAccountant().cost(many, delta=DELTA)
    assert cost(few, delta=0) == PrivacyLoss(epsilon='1/4', delta=0)


def test_cost_of_a_plan_that_nobody_can_count_is_refused():
    with pytest.raises(ModelError, match='add up to'):
        cost([NOISY], delta=0)


@cache
def compositions():
    """Return random plans with a delta; pure epsilons lie on the PLD's grid of losses."""
    source = random.Random(SEED)
    plans = []
    for number in range(COMPOSITIONS):
        delta = 10 ** source.uniform(-9, -2)
        only_gaussian, plan = number % 2 == 0, []
        for _ in range(source.randint(1, 4)):
            count = source.randint(1, 20)
            if only_gaussian or source.random() < 0.3:
                epsilon = 10 ** source.uniform(-2, 0)
                plan.append(gaussian(epsilon, delta / 100, count))
            else:
                mechanism = source.choice([laplace, response])
                plan.append(mechanism(source.randint(1, 512) * INTERVAL, count))
        plans.append((plan, delta))
    return plans


def only_gaussian(plan):
    return all(isinstance(release.event, GaussianEvent) for release in plan)


@cache
def counted_by(accountant):
    return [accountant.cost(plan, delta=delta).epsilon for plan, delta in compositions()]


@pytest.fixture(scope='module')
def peers():
    """Return what RDP and PLD count for each composition."""
    pytest.importorskip('dp_accounting', reason='dp-accounting is not installed')
    return counted_by(RdpAccountant()), counted_by(PldAccountant(INTERVAL))


@pytest.mark.parametrize('accountant', [BasicAccountant(), ZcdpAccountant(), RdpAccountant()])
def test_no_accountant_ever_counts_less_than_pld(accountant, peers):
    _, least = peers
    counted = counted_by(accountant)
    assert len(counted) == COMPOSITIONS
    assert [n for n in range(COMPOSITIONS) if counted[n] < least[n] * NEARLY] == []


def test_an_accountant_that_counts_too_little_is_found_below_pld(peers):
    """Scale every epsilon by 0.8: many of the 500 compositions must show it."""
    _, least = peers
    counted = [Fraction(4, 5) * epsilon for epsilon in counted_by(ZcdpAccountant())]
    assert sum(counted[n] < least[n] for n in range(COMPOSITIONS)) > COMPOSITIONS / 4


def test_zcdp_is_within_one_per_cent_of_rdp_for_gaussian_releases(peers):
    rdp, _ = peers
    compared = [n for n, (plan, _) in enumerate(compositions()) if only_gaussian(plan)]
    assert len(compared) >= COMPOSITIONS // 2
    for n in compared:
        counted = float(counted_by(ZcdpAccountant())[n])
        assert counted == pytest.approx(float(rdp[n]), rel=TOLERANCE_OF_RDP)


def test_zcdp_is_never_more_than_one_per_cent_below_rdp(peers):
    rdp, _ = peers
    counted = counted_by(ZcdpAccountant())
    assert all(counted[n] >= Fraction(99, 100) * rdp[n] for n in range(COMPOSITIONS))
