"""A private word is paid for once, and no step of it ever gets a second state."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from ledgers import PLAN, TRAJECTORY, beside, memory_directory, new_ledger, reopen, trajectory

from dp_multiagent.errors import BudgetExceededError, LedgerError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.privacy.ledger_check import read
from dp_multiagent.privacy.ledger_mark import SLOT_DISTANCE, SLOT_SIZE
from dp_multiagent.privacy.trajectory import TrajectoryMechanism


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.ledger'


def begin(ledger, episode=1, release=None, plan_id=PLAN):
    release = release or trajectory()
    return ledger.word(release, plan_id=plan_id, episode=episode, initial=7)


def releases(path):
    return read(path).books.accounts[TRAJECTORY].releases


def test_a_new_word_starts_at_the_public_state_and_costs_one_release(path):
    with new_ledger(path) as ledger:
        word = begin(ledger)
        assert (word.step, word.state, word.tell(0, pytest.fail)) == (0, 7, 7)
        for step in range(1, 50):
            assert word.tell(step, lambda previous: previous + 2) == 7 + 2 * step
    assert releases(path) == 1


def test_a_step_is_drawn_once(path):
    with new_ledger(path) as ledger:
        word = begin(ledger)
        assert word.tell(3, lambda _: 11) == 11
        assert word.tell(3, pytest.fail) == 11
        with pytest.raises(LedgerError, match='step 2 is over, the private word is at step 3'):
            word.tell(2, pytest.fail)


def test_a_state_is_on_record_before_it_is_told(path):
    with new_ledger(path) as ledger:
        word = begin(ledger)
        ledger._mark._write_at = lambda *_: (_ for _ in ()).throw(LedgerError('disk is gone'))
        with pytest.raises(LedgerError, match='disk is gone'):
            word.tell(1, lambda _: 5)
        assert (word.step, word.state) == (0, 7)
        with pytest.raises(LedgerError, match='open the ledger again'):
            word.tell(1, lambda _: 5)


def test_a_closed_ledger_goes_on_with_the_word_even_after_a_reboot(path):
    with new_ledger(path, boot='monday') as ledger:
        begin(ledger).tell(4, lambda _: 9)
    with reopen(path, boot='tuesday') as ledger:
        word = begin(ledger)
        assert (word.step, word.state, releases(path)) == (4, 9, 1)


def crash(ledger):
    """Drop a ledger as the end of its process does: nothing is written any more."""
    ledger._connection.close()
    ledger._mark.close()


def test_a_crash_in_the_same_boot_goes_on_with_the_word(path):
    ledger = new_ledger(path, boot='monday')
    begin(ledger).tell(4, lambda _: 9)
    crash(ledger)
    with reopen(path, boot='monday') as ledger:
        assert begin(ledger).tell(4, pytest.fail) == 9
        assert releases(path) == 1


@pytest.mark.parametrize(('before', 'after'), [('monday', 'tuesday'), ('', '')])
def test_a_reboot_after_a_crash_costs_a_new_word(path, before, after):
    ledger = new_ledger(path, boot=before)
    begin(ledger).tell(4, lambda _: 9)
    crash(ledger)
    with reopen(path, boot=after) as ledger:
        assert begin(ledger).step == 0
        assert releases(path) == 2


@pytest.mark.parametrize(
    'other',
    [{'episode': 2}, {'plan_id': bytes(16)}, {'release': trajectory('1/5')}],
    ids=['episode', 'plan', 'loss'],
)
def test_another_episode_plan_or_loss_is_another_word(path, other):
    with new_ledger(path) as ledger:
        first = begin(ledger)
        first.tell(4, lambda _: 9)
        assert begin(ledger, **other).step == 0
        assert releases(path) == 2
        with pytest.raises(LedgerError, match='another private word was begun'):
            first.tell(5, lambda _: 9)


def test_a_damaged_record_of_the_word_costs_a_new_word(path):
    with new_ledger(path) as ledger:
        begin(ledger).tell(4, lambda _: 9)
    mark = beside(path, '.mark')
    content = bytearray(mark.read_bytes())
    content[2 * SLOT_DISTANCE + 100] ^= 1
    mark.write_bytes(content)
    with reopen(path) as ledger:
        assert begin(ledger).step == 0
        assert releases(path) == 2


def test_a_word_beyond_the_budget_is_not_begun_and_the_current_one_goes_on(path):
    with new_ledger(path) as ledger:
        word = begin(ledger, release=trajectory(1))
        with pytest.raises(BudgetExceededError):
            begin(ledger, episode=2)
        assert word.tell(1, lambda _: 3) == 3


def test_a_word_is_one_release(path):
    with new_ledger(path) as ledger, pytest.raises(LedgerError, match='one release, not 2'):
        begin(ledger, release=trajectory(count=2))


def test_a_ledger_carries_the_word_of_the_trajectory_mechanism(path):
    mdp = GridMap(('...', '...'), slip=0.1).mdp(start=(0, 0))
    mechanism = TrajectoryMechanism(mdp, epsilon=1.0, adjacency=3)
    source = random.Random(1)
    with new_ledger(path) as ledger:
        word = ledger.word(mechanism.planned(), plan_id=PLAN, episode=0, initial=mdp.initial)
        for step in range(1, 30):
            last = word.state
            told = word.tell(step, lambda p: np.int64(mechanism.release(2, p, source.randrange)))
            assert mdp.feasible[last, told]
        assert ledger.account(TRAJECTORY).spent.epsilon == 1


def test_a_power_loss_does_not_bring_back_the_step_before_a_restart(path):
    with new_ledger(path, boot='monday') as ledger:
        begin(ledger).tell(1, lambda _: 5)
    ledger = reopen(path, boot='monday')
    word = begin(ledger)
    on_disk = beside(path, '.mark').read_bytes()
    word.tell(2, lambda _: 6)
    crash(ledger)
    beside(path, '.mark').write_bytes(on_disk)
    with reopen(path, boot='tuesday') as ledger:
        assert begin(ledger).step == 0


class PowerLosses(RuleBasedStateMachine):
    """Tell, crash, reboot and lose power: writes that were not synchronised may be undone."""

    def __init__(self):
        super().__init__()
        self.directory = memory_directory()
        self.path = Path(self.directory.name) / 'robot.ledger'
        self.boot = self.episode = 0
        self.told = {}
        new_ledger(self.path, epsilon=10_000).close()
        self._open()

    def _open(self):
        self.ledger = reopen(self.path, boot=str(self.boot))
        mark = self.ledger._mark
        synchronise = mark.synchronise
        self.on_disk = beside(self.path, '.mark').read_bytes()

        def and_note():
            synchronise()
            self.on_disk = beside(self.path, '.mark').read_bytes()

        mark.synchronise = and_note
        self.word = begin(self.ledger, self.episode)
        self._tell(self.word.step + 1)

    def _tell(self, step):
        fresh = len(self.told) + 100
        told = self.word.tell(step, lambda _: fresh)
        assert self.told.setdefault((self.word.record.entry, step), told) == told

    @rule(episode=st.integers(0, 1))
    def change_episode(self, episode):
        self.episode = episode
        self.word = begin(self.ledger, episode)

    @rule(ahead=st.integers(0, 2))
    def tell(self, ahead):
        self._tell(self.word.step + ahead)

    @rule()
    def restart(self):
        self.ledger.close()
        self._open()

    @rule()
    def kill(self):
        crash(self.ledger)
        self._open()

    @rule()
    def shut_down_and_boot(self):
        self.ledger.close()
        self.boot += 1
        self._open()

    @rule(lost=st.sets(st.integers(0, 2)))
    def lose_power(self, lost):
        crash(self.ledger)
        mark = beside(self.path, '.mark')
        content = bytearray(mark.read_bytes())
        for slot in lost:
            place = slice(slot * SLOT_DISTANCE, slot * SLOT_DISTANCE + SLOT_SIZE)
            content[place] = self.on_disk[place]
        mark.write_bytes(content)
        self.boot += 1
        self._open()

    def teardown(self):
        self.ledger.close()
        self.directory.cleanup()


class TestNoLossOfPowerGivesAStepASecondState(PowerLosses.TestCase):
    settings = settings(max_examples=100, stateful_step_count=30)
