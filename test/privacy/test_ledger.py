"""What a ledger promises when nothing is broken."""

import os
import sqlite3
import threading
from fractions import Fraction

import pytest
from ledgers import REWARD, TRAJECTORY, Clock, loss, new_ledger, reopen, reward, trajectory

from dp_multiagent.errors import BudgetExceededError, LedgerError
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.ledger_check import read, verify
from dp_multiagent.privacy.units import Neighbours, Unit


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.ledger'


@pytest.fixture
def ledger(path):
    with new_ledger(path) as ledger:
        yield ledger


def test_ten_releases_at_a_tenth_fit_a_budget_of_one_and_no_eleventh(ledger):
    for _ in range(10):
        ledger.charge(trajectory(0.1))
    assert ledger.account(TRAJECTORY).remaining == loss(0)
    with pytest.raises(BudgetExceededError):
        ledger.charge(trajectory('1/1000000000000000000000'))


def test_a_refusal_states_requested_spent_and_remaining_in_one_line(ledger):
    ledger.charge(trajectory('0.75'))
    with pytest.raises(BudgetExceededError) as caught:
        ledger.charge(trajectory('0.25', count=2))
    assert str(caught.value) == (
        'budget exceeded for trajectories that differ in at most 3 states: '
        'requested epsilon 0.5, delta 0; spent epsilon 0.75, delta 0; '
        'remaining epsilon 0.25, delta 0'
    )


def test_a_refused_release_leaves_no_trace_and_a_smaller_one_still_fits(ledger, path):
    ledger.charge(trajectory('3/4'))
    before = read(path)
    with pytest.raises(BudgetExceededError):
        ledger.charge(trajectory('1/2'))
    assert read(path) == before
    ledger.charge(trajectory('1/4'))
    assert ledger.account(TRAJECTORY).spent == loss(1)


def test_delta_has_its_own_limit(ledger):
    ledger.charge(reward(epsilon=0, delta='1/100'))
    with pytest.raises(BudgetExceededError, match=r'remaining epsilon 1, delta 0$'):
        ledger.charge(reward(epsilon=0, delta='1/1000'))


def test_units_have_budgets_of_their_own(ledger):
    ledger.charge(trajectory(1))
    ledger.charge(reward(epsilon=1))
    assert [account.spent.epsilon for account in ledger.accounts] == [1, 1]


def test_a_unit_without_a_budget_is_refused(path):
    with Ledger.create(path, budgets={REWARD: loss(1)}, clock=Clock()) as ledger:
        for attempt in (ledger.charge, ledger.reserve, lambda r: ledger.account(r.unit)):
            with pytest.raises(LedgerError, match='there is no budget for trajectories'):
                attempt(trajectory(0))


def test_one_relation_of_neighbours_has_one_bound(ledger):
    looser = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=4)
    with pytest.raises(LedgerError, match=r'at most 3 states, so none for .* at most 4'):
        ledger.set_budget(looser, loss(1))


def test_a_budget_can_be_raised_and_never_falls(ledger, path):
    ledger.charge(trajectory(1))
    with pytest.raises(LedgerError, match='can only be raised'):
        ledger.set_budget(TRAJECTORY, loss('1/2'))
    ledger.set_budget(TRAJECTORY, loss(2))
    ledger.charge(trajectory(1))
    assert read(path).books.accounts[TRAJECTORY].budget == loss(2)


def test_what_was_spent_is_there_after_a_restart(ledger, path):
    ledger.charge(trajectory('1/3'))
    ledger.charge(reward('1/7', '1/1001', count=3))
    accounts = ledger.accounts
    ledger.close()
    with reopen(path) as again:
        assert again.accounts == accounts
        assert again.account(REWARD).spent == loss('3/7', '3/1001')
        assert again.account(REWARD).releases == 3


def test_a_block_is_one_entry_and_gives_what_was_paid_for(ledger, path):
    entries = len(read(path).entries)
    block = ledger.reserve(trajectory('1/100', count=3))
    assert ledger.account(TRAJECTORY).spent == loss('3/100')
    for left in (2, 1, 0):
        block.take()
        assert block.left == left
    with pytest.raises(LedgerError, match='all 3 releases of the block are used up'):
        block.take()
    assert len(read(path).entries) == entries + 1


def test_what_is_left_of_a_block_stays_paid(ledger, path):
    ledger.reserve(trajectory('1/100', count=50)).take()
    ledger.close()
    with reopen(path) as again:
        assert again.account(TRAJECTORY).spent == loss('1/2')


def test_threads_cannot_take_more_from_a_block_than_it_has(ledger):
    block = ledger.reserve(trajectory('1/10000', count=5000))
    taken = []

    def take():
        try:
            while True:
                block.take()
                taken.append(1)
        except LedgerError:
            pass

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 5000


def test_sums_are_exact_for_any_rationals(ledger):
    parts = [Fraction(1, 1000 + k) for k in range(200)]
    for part in parts:
        ledger.charge(trajectory(part))
    assert ledger.account(TRAJECTORY).spent.epsilon == sum(parts)


def test_a_closed_ledger_charges_nothing(ledger):
    ledger.close()
    with pytest.raises(LedgerError, match='the ledger is closed'):
        ledger.charge(trajectory())


def test_another_ledger_is_never_overwritten(ledger, path):
    ledger.close()
    with pytest.raises(LedgerError, match='is there already'):
        new_ledger(path)
    path.unlink()
    with pytest.raises(LedgerError, match=r'\.mark: is there already'):
        new_ledger(path)


def test_a_ledger_without_a_budget_is_not_made(path):
    with pytest.raises(LedgerError, match='needs a budget'):
        Ledger.create(path, budgets={}, clock=Clock())
    assert not path.exists()


def test_every_commit_waits_for_the_disk(ledger):
    ask = ledger._connection.execute
    full = 2
    assert ask('PRAGMA journal_mode').fetchone() == ('wal',)
    assert ask('PRAGMA synchronous').fetchone() == (full,)


@pytest.mark.parametrize(
    'statement',
    [
        "UPDATE entry SET record = ''",
        'DELETE FROM entry WHERE number = 2',
        "INSERT INTO entry VALUES (1, 0, '', '')",
        "INSERT OR REPLACE INTO entry VALUES (1, 0, '', '')",
        "INSERT INTO entry VALUES (9, 0, '', '')",
    ],
)
def test_the_database_itself_is_append_only(ledger, path, statement):
    before = read(path)
    with sqlite3.connect(path) as other, pytest.raises(sqlite3.Error, match='append-only'):
        other.execute(statement)
    assert read(path) == before


def test_only_the_owner_may_write_or_read(ledger, path):
    files = [path, path.with_name('robot.ledger.mark'), path.with_name('robot.ledger-wal')]
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ['0o600'] * 3


def test_a_ledger_is_read_while_it_is_written(ledger, path):
    for n in range(5):
        ledger.charge(trajectory())
        assert read(path).books.accounts[TRAJECTORY].releases == n + 1
        assert verify(path) == ()


def test_a_forked_child_can_neither_charge_nor_take(ledger):
    block = ledger.reserve(trajectory('1/100', count=2))
    child = os.fork()
    if child == 0:
        refused = 0
        for attempt in (lambda: ledger.charge(trajectory()), block.take):
            try:
                attempt()
            except LedgerError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
