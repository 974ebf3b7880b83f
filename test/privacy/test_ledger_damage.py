"""A ledger that was damaged, cut, put back or forged is refused with one line."""

import os
import sqlite3
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import (
    beside,
    crashed,
    filled,
    memory_directory,
    new_ledger,
    reopen,
    reward,
    trajectory,
)

from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy.ledger_check import read, verify
from dp_multiagent.privacy.ledger_file import SCHEMA, entries

PAGE = 4096


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.ledger'


def refusal(path, **options):
    """Return the line with which a ledger is refused; reading it must be refused too."""
    with pytest.raises(LedgerError) as caught:
        reopen(path, **options).close()
    assert str(caught.value).count('\n') == 0
    assert verify(path)
    assert all('\n' not in fault for fault in verify(path))
    return str(caught.value)


def test_every_page_counts(path):
    filled(path)
    whole = path.read_bytes()
    pages = len(whole) // PAGE
    assert pages > 4
    for page in range(pages):
        for content in (bytes(PAGE), b'\xa5' * PAGE):
            damaged = whole[: page * PAGE] + content + whole[(page + 1) * PAGE :]
            path.write_bytes(damaged)
            refusal(path)


@pytest.mark.parametrize(
    'byte', [34, PAGE + 7], ids=['list of free pages', 'free space in a page']
)
def test_what_would_harm_only_the_next_entry_is_refused_too(path, byte):
    filled(path)
    content = bytearray(path.read_bytes())
    content[byte] ^= 0x20
    path.write_bytes(content)
    assert 'the database is damaged' in refusal(path)


def test_every_byte_of_the_schema_counts(path):
    filled(path, charges=1)
    whole = path.read_bytes()
    schema = [k for k in range(whole.index(b'CREATE'), PAGE) if chr(whole[k]).isalnum()]
    assert len(schema) > 400
    for byte in schema:
        content = bytearray(whole)
        content[byte] ^= 0x80
        path.write_bytes(content)
        (fault,) = verify(path)
        assert '\n' not in fault


@pytest.fixture(scope='module')
def half_in_the_log(tmp_path_factory):
    """Return the files and accounts of a ledger as a crash leaves it."""
    path = tmp_path_factory.mktemp('crashed') / 'robot.ledger'
    filled(path)
    with reopen(path) as ledger:
        for _ in range(20):
            ledger.charge(reward(epsilon='1/100', delta='1/100000'))
        files = {suffix: beside(path, suffix).read_bytes() for suffix in ('', '-wal', '.mark')}
        return files, ledger.accounts


@settings(max_examples=300)
@given(
    suffix=st.sampled_from(['', '-wal', '.mark']),
    share=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
)
def test_a_damaged_byte_is_refused_or_changes_nothing(half_in_the_log, suffix, share, flip):
    """SQLite ignores some bytes, as those that lie free in a page; all others must count."""
    files, accounts = half_in_the_log
    damaged = bytearray(files[suffix])
    damaged[int(share * len(damaged))] ^= flip
    with memory_directory() as directory:
        path = Path(directory) / 'robot.ledger'
        for each, content in {**files, suffix: damaged}.items():
            beside(path, each).write_bytes(content)
            beside(path, each).chmod(0o600)
        try:
            reopen(path).close()
        except LedgerError:
            assert '\n' not in refusal(path)
        else:
            assert tuple(read(path).books.accounts.values()) == accounts


@settings(max_examples=200)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_log_that_was_cut_anywhere_is_refused(share):
    with memory_directory() as directory:
        path, copy = Path(directory) / 'robot.ledger', Path(directory) / 'copy.ledger'
        crashed(path, copy)
        log = beside(copy, '-wal')
        os.truncate(log, int(share * log.stat().st_size))
        assert 'the ledger was put back' in refusal(copy)


def test_a_whole_log_is_accepted(path, tmp_path):
    copy = tmp_path / 'copy.ledger'
    accounts = crashed(path, copy)
    with reopen(copy) as ledger:
        assert ledger.accounts == accounts


def test_a_lost_log_is_refused(path, tmp_path):
    copy = tmp_path / 'copy.ledger'
    crashed(path, copy)
    beside(copy, '-wal').unlink()
    assert 'the ledger was put back' in refusal(copy)


def test_an_older_copy_is_refused(path):
    filled(path)
    older = path.read_bytes()
    with reopen(path) as ledger:
        ledger.charge(trajectory())
    path.write_bytes(older)
    assert 'entry 63 is not there as it was written' in refusal(path)


def test_an_older_copy_of_ledger_and_mark_goes_unnoticed(path):
    """Nothing on this disk can tell; docs/ledger.md says so."""
    filled(path)
    files = [path, beside(path, '.mark')]
    older = [file.read_bytes() for file in files]
    with reopen(path) as ledger:
        ledger.charge(trajectory())
    for file, content in zip(files, older, strict=True):
        file.write_bytes(content)
    assert verify(path) == ()


@pytest.mark.parametrize('size', [0, 100, 512, PAGE + 512])
def test_a_ledger_without_a_whole_mark_is_refused(path, size):
    filled(path, charges=1)
    mark = beside(path, '.mark')
    os.truncate(mark, size)
    assert '.mark: is damaged' in refusal(path)
    mark.unlink()
    assert refusal(path) == f'{mark}: No such file or directory'


def test_one_whole_head_of_the_mark_is_enough(path):
    accounts = filled(path)
    mark = beside(path, '.mark')
    for slot in range(2):
        content = bytearray(mark.read_bytes())
        content[slot * PAGE : slot * PAGE + 20] = bytes(20)
        mark.write_bytes(content)
        with reopen(path) as ledger:
            assert ledger.accounts == accounts


def test_what_is_no_ledger_is_refused(path):
    filled(path)
    path.write_bytes(b'no database at all' * 1000)
    assert 'file is not a database' in refusal(path)
    path.unlink()
    sqlite3.connect(path).execute('CREATE TABLE entry (number)')
    path.chmod(0o600)
    assert 'the schema is not that of a ledger' in refusal(path)
    path.unlink()
    path.mkdir()
    assert 'is no file' in refusal(path)


def forge(path, *statements):
    """Change a closed ledger past its triggers."""
    with sqlite3.connect(path) as connection:
        for name in ('no_update', 'no_delete', 'in_order'):
            connection.execute(f'DROP TRIGGER {name}')
        for statement in statements:
            connection.execute(*statement)
        for statement in SCHEMA[1:]:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ('statement', 'fault'),
    [
        ("UPDATE entry SET record = replace(record, '1/3', '1/9')", 'entry 5: does not follow'),
        ('UPDATE entry SET time_ns = time_ns - 1 WHERE number = 4', 'entry 4: does not follow'),
        ('UPDATE entry SET time_ns = time_ns - 1 WHERE number = 4', 'entry 4: is earlier'),
        ('DELETE FROM entry WHERE number = 4', 'entry 5: does not follow'),
        ('DELETE FROM entry WHERE number > 4', 'entry 62 is not there as it was written'),
        ("UPDATE entry SET record = '{}' WHERE number = 4", "entry 4: not a record: 'kind'"),
        ("UPDATE entry SET record = ' ' || record WHERE number = 4", 'entry 4: not a record'),
        ("UPDATE entry SET record = x'00' WHERE number = 4", 'entry 4: is damaged'),
        ("UPDATE entry SET time_ns = 'noon' WHERE number = 4", 'entry 4: is damaged'),
        ('DELETE FROM entry', 'entry 62 is not there as it was written'),
    ],
)
def test_what_was_forged_is_named(path, statement, fault):
    filled(path)
    forge(path, (statement,))
    refusal(path)
    assert any(line.startswith(f'{path}: {fault}') for line in verify(path))


def test_a_charge_beyond_the_budget_is_found_even_in_a_sound_chain(path):
    with new_ledger(path) as ledger:
        ledger.charge(trajectory('3/4'))
    with sqlite3.connect(path) as connection:
        last = list(entries(connection))[-1]
    forged = last.next(last.time_ns, last.record)
    forge(path, ('INSERT INTO entry VALUES (?, ?, ?, ?)', astuple(forged)))
    assert 'entry 4: budget exceeded' in refusal(path)


def test_a_ledger_without_its_triggers_is_refused(path):
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute('DROP TRIGGER no_delete')
    assert 'the schema is not that of a ledger' in refusal(path)
