"""The database of a ledger: one append-only table whose entries form a hash chain.

    hash_n = SHA-256(hash_{n-1}, n, time_n, record_n),   hash_0 = 0.

Triggers keep entries from being changed, removed or numbered otherwise; the chain shows it if
they were all the same. It is no signature: who may write the file can write a chain of their own.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from dp_multiagent.errors import LedgerError

LOCK_TIMEOUT_SECONDS = 1.0
# A damaged schema can make SQLite complain in bytes that are no text.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
SCHEMA = (
    'CREATE TABLE entry (number INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL,'
    ' record TEXT NOT NULL, hash TEXT NOT NULL)',
    'CREATE TRIGGER no_update BEFORE UPDATE ON entry'
    " BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
    'CREATE TRIGGER no_delete BEFORE DELETE ON entry'
    " BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
    'CREATE TRIGGER in_order BEFORE INSERT ON entry'
    ' WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entry)'
    " BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
)


@dataclass(frozen=True)
class Entry:
    """One line of a ledger."""

    number: int
    time_ns: int
    record: str
    hash: str

    def next(self, time_ns: int, record: str) -> Entry:
        """Return the entry that follows on this one."""
        number = self.number + 1
        text = f'{self.hash}\n{number}\n{time_ns}\n{record}'
        return Entry(number, time_ns, record, hashlib.sha256(text.encode()).hexdigest())


FIRST = Entry(0, 0, '', '0' * 64)


def create(path: Path, entries: Sequence[Entry]) -> None:
    """Make a database with its first entries; it must not be there yet."""
    with refusals(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        synchronise_directory(path)
    with refusals(path), closing(connect(path, write=True)) as connection:
        connection.execute('BEGIN')
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany('INSERT INTO entry VALUES (?, ?, ?, ?)', map(astuple, entries))
        connection.execute('COMMIT')


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open the database: every commit is on the disk when it returns."""
    refuse_permissions(path, write=write)
    with refusals(path):
        uri = f'{path.absolute().as_uri()}?mode={"rw" if write else "ro"}'
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_SECONDS
        )
        if write:
            (mode,) = connection.execute('PRAGMA journal_mode=WAL').fetchone()
            if mode != 'wal':
                raise LedgerError(f'{path}: the file system does not allow write-ahead logging')
            connection.execute('PRAGMA synchronous=FULL')
        return connection


def append(
    path: Path, connection: sqlite3.Connection, entry: Entry, *, previous_hash: str
) -> None:
    """Commit one entry, unless the last one is not the expected one."""
    with refusals(path):
        connection.execute('BEGIN IMMEDIATE')
        try:
            if last_hash(connection) != previous_hash:
                raise LedgerError(f'{path}: another program has written to this ledger')
            connection.execute('INSERT INTO entry VALUES (?, ?, ?, ?)', astuple(entry))
            connection.execute('COMMIT')
        finally:
            if connection.in_transaction:
                connection.execute('ROLLBACK')


def last_hash(connection: sqlite3.Connection) -> str:
    """Return the hash of the last entry."""
    row = connection.execute('SELECT hash FROM entry ORDER BY number DESC LIMIT 1').fetchone()
    return FIRST.hash if row is None else str(row[0])


def entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Read all entries in order."""
    for row in connection.execute('SELECT number, time_ns, record, hash FROM entry ORDER BY 1'):
        entry = Entry(*row)
        if not isinstance(entry.time_ns, int) or not isinstance(entry.record, str):
            raise LedgerError(f'entry {entry.number}: is damaged')
        yield entry


def structure_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Report damaged pages and a schema that is not ours."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    if {sql for (sql,) in found} != set(SCHEMA):
        yield 'the schema is not that of a ledger'
    for (line,) in connection.execute('PRAGMA integrity_check(1)'):
        if line != 'ok':
            yield f'the database is damaged: {one_line(line)}'


def refuse_permissions(path: Path, *, write: bool) -> None:
    """Refuse a file that is missing, locked away, or that others may change."""
    with refusals(path):
        mode = path.stat().st_mode
    if not stat.S_ISREG(mode) or not os.access(path, os.W_OK if write else os.R_OK):
        raise LedgerError(f'{path}: is no file that may be {"written" if write else "read"}')
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LedgerError(f'{path}: others may write to it (chmod go-w)')


def synchronise_directory(path: Path) -> None:
    """Wait until the disk has the name of a new file."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system report into a line that names the file."""
    try:
        yield
    except DAMAGE as error:
        raise LedgerError(f'{path}: {one_line(error)}') from error
    except OSError as error:
        raise LedgerError(f'{path}: {error.strerror}') from error


def one_line(message: object) -> str:
    """Return a message without line breaks."""
    return ' '.join(str(message).split())
