"""Ten thousand random steps: never over budget, spent never falls, nothing is half applied.

The model counts in integers, in units of 1 / SCALE.
"""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from ledgers import REWARD, TRAJECTORY, Clock, loss, memory_directory, new_ledger, reopen
from ledgers import reward as reward_release
from ledgers import trajectory as trajectory_release

from dp_multiagent.errors import BudgetExceededError, LedgerError
from dp_multiagent.privacy.ledger_check import verify

STEPS = 10_000
STEPS_PER_LEDGER = 250
SCALE = 2**4 * 3**3 * 5 * 7
UNITS = (TRAJECTORY, REWARD)

units = st.sampled_from(UNITS)
amounts = st.integers(0, SCALE // 4)
counts = st.integers(1, 4)


def release_of(unit, epsilon, delta, count):
    if unit is TRAJECTORY:
        return trajectory_release(Fraction(epsilon, SCALE), count=count)
    return reward_release(Fraction(epsilon, SCALE), Fraction(delta, 100 * SCALE), count=count)


class LedgerMachine(RuleBasedStateMachine):
    steps = 0

    def __init__(self):
        super().__init__()
        self.directory = memory_directory()
        self.path = Path(self.directory.name) / 'robot.ledger'
        self.clock = Clock()
        self.ledger = new_ledger(self.path, clock=self.clock)
        self.budget = {TRAJECTORY: (SCALE, 0), REWARD: (SCALE, SCALE)}
        self.spent = dict.fromkeys(UNITS, (0, 0))
        self.releases = dict.fromkeys(UNITS, 0)
        self.blocks = []
        self.before = dict.fromkeys(UNITS, loss(0))

    def _pay(self, pay, unit, epsilon, delta, count):
        delta = 0 if unit is TRAJECTORY else delta
        after = tuple(
            s + count * cost for s, cost in zip(self.spent[unit], (epsilon, delta), strict=True)
        )
        release = release_of(unit, epsilon, delta, count)
        if any(s > b for s, b in zip(after, self.budget[unit], strict=True)):
            with pytest.raises(BudgetExceededError):
                pay(release)
            return None
        paid = pay(release)
        self.spent[unit] = after
        self.releases[unit] += count
        return paid

    @rule(unit=units, epsilon=amounts, delta=amounts, count=counts)
    def charge(self, unit, epsilon, delta, count):
        self._pay(self.ledger.charge, unit, epsilon, delta, count)

    @rule(unit=units, epsilon=amounts, delta=amounts, count=counts)
    def reserve(self, unit, epsilon, delta, count):
        block = self._pay(self.ledger.reserve, unit, epsilon, delta, count)
        if block is not None:
            self.blocks.append([block, count])

    @rule(data=st.data())
    def take(self, data):
        if self.blocks:
            mine = data.draw(st.sampled_from(self.blocks))
            if mine[1]:
                mine[0].take()
                mine[1] -= 1
            else:
                with pytest.raises(LedgerError):
                    mine[0].take()
            assert mine[0].left == mine[1]

    @rule(unit=units, change=st.integers(-SCALE // 8, SCALE // 2))
    def change_budget(self, unit, change):
        epsilon, delta = self.budget[unit]
        wanted = loss(Fraction(epsilon + change, SCALE), Fraction(delta, 100 * SCALE))
        if change < 0:
            with pytest.raises(LedgerError):
                self.ledger.set_budget(unit, wanted)
        else:
            self.ledger.set_budget(unit, wanted)
            self.budget[unit] = (epsilon + change, delta)

    @rule(seconds=st.integers(-3, 10))
    def charge_at_another_time(self, seconds):
        self.clock.now += seconds * 10**9
        if seconds < 0:
            with pytest.raises(LedgerError, match='clock'):
                self.ledger.charge(trajectory_release(0))
            self.clock.now -= seconds * 10**9
        else:
            self._pay(self.ledger.charge, TRAJECTORY, 0, 0, 1)

    @rule()
    def restart(self):
        self.ledger.close()
        self.ledger = reopen(self.path, self.clock)

    @rule()
    def crash(self):
        self.ledger._connection.close()
        self.ledger._mark.close()
        self.ledger = reopen(self.path, self.clock)

    @invariant()
    def books_are_those_of_the_model(self):
        type(self).steps += 1
        for unit in UNITS:
            account = self.ledger.account(unit)
            epsilon, delta = self.spent[unit]
            assert account.spent == loss(Fraction(epsilon, SCALE), Fraction(delta, 100 * SCALE))
            assert account.releases == self.releases[unit]
            assert account.spent.epsilon >= self.before[unit].epsilon
            assert account.spent.delta >= self.before[unit].delta
            assert account.spent.epsilon <= account.budget.epsilon
            assert account.spent.delta <= account.budget.delta
            self.before[unit] = account.spent

    def teardown(self):
        self.ledger.close()
        assert verify(self.path) == ()
        self.directory.cleanup()


def test_ten_thousand_steps_keep_the_books():
    LedgerMachine.steps = 0
    chosen = settings(
        max_examples=STEPS // STEPS_PER_LEDGER * 5 // 4,
        stateful_step_count=STEPS_PER_LEDGER,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(LedgerMachine, settings=chosen)
    assert LedgerMachine.steps >= STEPS
