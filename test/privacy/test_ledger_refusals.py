"""A ledger that cannot be relied on is refused with one line, and nothing is released."""

import os
import resource
import sqlite3
import subprocess
import tempfile
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from ledgers import (
    TRAJECTORY,
    Clock,
    beside,
    filled,
    loss,
    new_ledger,
    releasing,
    reopen,
    trajectory,
)

from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.ledger_check import read
from dp_multiagent.privacy.ledger_file import entries
from dp_multiagent.privacy.units import Neighbours, Unit

NOBODY = 65534
PAGE = 4096


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.ledger'


def run(path, told, mode='one_by_one', **options):
    return subprocess.run(
        **releasing(mode, path, told), capture_output=True, timeout=60, **options
    )


def test_a_second_process_is_refused(path, tmp_path):
    with new_ledger(path) as ledger:
        second = run(path, tmp_path / 'told')
        assert second.returncode == 1
        assert second.stderr == f'{path}.mark: another process holds this ledger\n'
        assert not (tmp_path / 'told').exists()
        ledger.charge(trajectory())
    assert reopen(path).account(TRAJECTORY).releases == 1


@pytest.mark.parametrize('mode', ['one_by_one', 'in_blocks'])
def test_a_file_that_may_not_grow_ends_the_releases(path, tmp_path, mode):
    new_ledger(path, epsilon=1000).close()
    limit = (20 * PAGE, 20 * PAGE)
    robot = run(
        path,
        tmp_path / 'told',
        mode,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert_ended_by_one_line(robot, path, tmp_path / 'told')


def test_a_full_disk_ends_the_releases(tmp_path):
    disk = tmp_path / 'disk'
    disk.mkdir()
    mounted = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=160k', 'tmpfs', disk], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f'a small disk cannot be mounted: {mounted.stderr.strip()}')
    try:
        path = disk / 'robot.ledger'
        new_ledger(path, epsilon=1000).close()
        robot = run(path, tmp_path / 'told')
        assert_ended_by_one_line(robot, path, tmp_path / 'told')
    finally:
        subprocess.run(['umount', disk], check=True)


def assert_ended_by_one_line(robot, path, told):
    assert robot.returncode == 1
    assert robot.stderr.startswith(f'{path}: ')
    assert robot.stderr.count('\n') == 1
    releases = len(told.read_text().splitlines())
    paid = read(path).books.accounts[TRAJECTORY].releases
    assert 0 < releases <= paid <= releases + 7


def test_after_a_failed_commit_the_ledger_must_be_opened_again(path):
    long_record = replace(trajectory(), mechanism='x' * 2 * PAGE)
    with new_ledger(path, epsilon=1000) as ledger:
        pages = ledger._connection.execute('PRAGMA page_count').fetchone()[0]
        ledger._connection.execute(f'PRAGMA max_page_count = {pages}')
        accounts = ledger.accounts
        with pytest.raises(LedgerError, match='database or disk is full'):
            ledger.charge(long_record)
        ledger._connection.execute('PRAGMA max_page_count = 1000')
        with pytest.raises(LedgerError, match=r'full .open the ledger again'):
            ledger.charge(trajectory())
        assert ledger.accounts == accounts
    with reopen(path) as again:
        assert again.accounts == accounts
        again.charge(trajectory())


def test_a_clock_that_went_backwards_pays_for_nothing_until_it_is_right(path):
    clock = Clock()
    with new_ledger(path, clock=clock) as ledger:
        clock.now += 5_000_000_000
        ledger.charge(trajectory())
        clock.now -= 2_500_000_000
        with pytest.raises(LedgerError, match=r'the clock went backwards by 2\.5 s$'):
            ledger.charge(trajectory())
        assert ledger.account(TRAJECTORY).releases == 1
        clock.now += 2_500_000_000
        ledger.charge(trajectory())
    with reopen(path, Clock(0)) as ledger, pytest.raises(LedgerError, match='went backwards'):
        ledger.charge(trajectory())


@pytest.mark.parametrize('suffix', ['', '.mark'])
@pytest.mark.parametrize('mode', [0o620, 0o602])
def test_a_ledger_that_others_may_write_is_refused(path, suffix, mode):
    filled(path, charges=1)
    beside(path, suffix).chmod(mode)
    with pytest.raises(LedgerError, match=r'others may write to it .chmod go-w.$'):
        reopen(path)


@pytest.mark.parametrize('suffix', ['', '.mark'])
def test_a_ledger_that_this_user_may_not_write_is_refused(suffix):
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        path = Path(directory) / 'robot.ledger'
        filled(path, charges=1)
        for each in ('', '.mark'):
            os.chown(beside(path, each), *((NOBODY, NOBODY) if os.geteuid() == 0 else (-1, -1)))
        os.chown(directory, *((NOBODY, NOBODY) if os.geteuid() == 0 else (-1, -1)))
        assert as_another_user(lambda: reopen(path).close()) == ''
        beside(path, suffix).chmod(0o400)
        message = as_another_user(lambda: reopen(path).close())
        assert message == f'{beside(path, suffix)}: is no file that may be written'


def as_another_user(function):
    """Call a function in a child, without root's rights; return how it was refused."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            function()
        except BaseException as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def test_a_program_that_writes_meanwhile_stops_the_releases(path):
    with new_ledger(path) as ledger:
        ledger.charge(trajectory())
        with sqlite3.connect(path) as other:
            last = list(entries(other))[-1]
            forged = last.next(last.time_ns, last.record)
            other.execute('INSERT INTO entry VALUES (?, ?, ?, ?)', astuple(forged))
        with pytest.raises(LedgerError, match='another program has written to this ledger'):
            ledger.charge(trajectory())
        with pytest.raises(LedgerError, match='open the ledger again'):
            ledger.charge(trajectory())


def test_a_failed_creation_leaves_nothing_behind(tmp_path):
    path = tmp_path / 'robot.ledger'
    one, other = (Unit(neighbours=Neighbours.DIFFERING_STATES, bound=k) for k in (1, 2))
    with pytest.raises(LedgerError, match='so none for'):
        Ledger.create(path, budgets={one: loss(1), other: loss(1)}, clock=Clock())
    path.touch()
    with pytest.raises(LedgerError, match='is there already'):
        new_ledger(path)
    path.unlink()
    beside(path, '-shm').mkdir()
    with pytest.raises(LedgerError, match=r'robot\.ledger: '):
        new_ledger(path)
    assert [file.name for file in tmp_path.iterdir()] == ['robot.ledger-shm']
    with pytest.raises(LedgerError, match='No such file or directory'):
        new_ledger(tmp_path / 'missing' / 'robot.ledger')
