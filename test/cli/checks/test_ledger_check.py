import os
import time

import pytest

from dp_multiagent.cli.checks import ledger as check
from dp_multiagent.cli.checks.finding import Result
from dp_multiagent.cli.checks.ledger import Asked
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, PureEvent, Release, Unit

UNIT = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=3)
EPISODE = Release(
    unit=UNIT,
    mechanism='trajectory',
    loss=PrivacyLoss(epsilon='0.5', delta=0),
    event=PureEvent(epsilon='0.5'),
)


@pytest.fixture
def path(tmp_path):
    """Return the ledger of a robot with epsilon 2, of which one episode is spent."""
    path = tmp_path / 'robot.ledger'
    budgets = {UNIT: PrivacyLoss(epsilon=2, delta=0)}
    with Ledger.create(path, budgets=budgets, clock=time.time_ns) as ledger:
        ledger.charge(EPISODE)
    return path


def test_sound_ledger_passes_even_while_a_robot_holds_it(path):
    with Ledger.open(path, clock=time.time_ns):
        assert check.whole(path).result is Result.FINE
        assert check.permissions(path).result is Result.FINE


def test_looking_at_a_ledger_does_not_change_it(path):
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    check.whole(path)
    check.budget(path, Asked(0.5, 3))
    assert {name: (path.parent / name).read_bytes() for name in before} == before


def test_damaged_ledger_fails(path):
    path.with_name('robot.ledger.mark').write_bytes(b'')
    assert check.whole(path).result is Result.FAILED


def test_clock_behind_the_last_entry_fails(tmp_path):
    path = tmp_path / 'ahead.ledger'
    budgets = {UNIT: PrivacyLoss(epsilon=2, delta=0)}
    Ledger.create(path, budgets=budgets, clock=lambda: time.time_ns() + 10**12).close()
    finding = check.whole(path)
    assert finding.result is Result.FAILED
    assert 'clock' in finding.remedy


def test_ledger_that_is_not_there_yet_is_no_failure(tmp_path):
    path = tmp_path / 'new.ledger'
    assert check.whole(path).result is Result.NOTE
    assert check.permissions(path).result is Result.FINE
    assert check.budget(path, Asked(0.5, 3)).result is Result.SKIPPED


@pytest.mark.parametrize('mode', [0o640, 0o604, 0o660, 0o602])
@pytest.mark.parametrize('name', ['robot.ledger', 'robot.ledger.mark'])
def test_file_that_is_open_to_others_fails(path, name, mode):
    path.with_name(name).chmod(mode)
    finding = check.permissions(path)
    assert finding.result is Result.FAILED
    assert 'chmod 600' in finding.remedy


def test_file_of_another_user_fails(path, monkeypatch):
    monkeypatch.setattr(os, 'geteuid', lambda: path.stat().st_uid + 1)
    assert check.permissions(path).result is Result.FAILED


@pytest.mark.parametrize(
    ('kind', 'result'),
    [
        ('ext4', Result.FINE),
        ('btrfs', Result.FINE),
        ('tmpfs', Result.FAILED),
        ('nfs4', Result.FAILED),
        ('overlay', Result.NOTE),
    ],
)
def test_ledger_belongs_on_a_local_disk(path, kind, result):
    mounts = path.parent / 'mounts'
    mounts.write_text(f'/dev/x / ext3 rw 0 0\nx {path.parent} {kind} rw 0 0\n')
    assert check.disk(path, mounts).result is result


def test_innermost_mount_counts(tmp_path):
    mounts = tmp_path / 'mounts'
    mounts.write_text('a / ext4 rw 0 0\nb /run tmpfs rw 0 0\nc /run/my\\040disk xfs rw 0 0\n')
    kinds = [
        check.file_system(mounts.parent.__class__(folder), mounts)
        for folder in ('/home', '/run/user', '/run/my disk/x', '/running')
    ]
    assert kinds == ['ext4', 'tmpfs', 'xfs', 'ext4']


def test_full_disk_fails(path, monkeypatch):
    mounts = path.parent / 'mounts'
    mounts.write_text('/dev/x / ext4 rw 0 0\n')
    monkeypatch.setattr(check, 'LEAST_SPACE', 2**62)
    assert check.disk(path, mounts).result is Result.FAILED


def test_budget_says_for_how_many_episodes_it_lasts(path):
    assert 'for 3 episodes' in check.budget(path, Asked(0.5, 3)).found
    assert 'for 1 episodes' in check.budget(path, Asked(0.8, 3)).found
    assert check.budget(path, Asked(0.0, 3)).result is Result.FINE


def test_budget_that_is_spent_or_for_something_else_fails(path):
    assert check.budget(path, Asked(1.6, 3)).result is Result.FAILED
    assert 'no budget for' in check.budget(path, Asked(0.5, 2)).found


def test_without_a_ledger_nothing_is_claimed():
    for finding in (check.whole(None), check.permissions(None), check.disk(None)):
        assert finding.result is Result.SKIPPED
