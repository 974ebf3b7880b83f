"""Check a ledger from its first entry to its last: structure, chain, clock, budgets, length.

What cannot be seen: a ledger and its mark that were both put back to an earlier state (a backup
of the directory, a snapshot of the machine), and a chain that somebody computed anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dp_multiagent.errors import BudgetExceededError, LedgerError
from dp_multiagent.privacy import ledger_file
from dp_multiagent.privacy.ledger_books import Books, Record, from_json
from dp_multiagent.privacy.ledger_file import FIRST, Entry
from dp_multiagent.privacy.ledger_mark import Head, read_head


@dataclass(frozen=True)
class Reading:
    """What a ledger says: its entries, the books that follow from them, all its faults."""

    entries: tuple[Entry, ...]
    records: tuple[Record, ...]
    books: Books
    faults: tuple[str, ...]


def mark_path(path: Path) -> Path:
    """Return where the mark of a ledger is."""
    return path.with_name(path.name + '.mark')


def read(path: Path) -> Reading:
    """Read a sound ledger, which another process may be writing, or refuse it."""
    # The mark is read first: the ledger may grow in between, the mark must not get ahead.
    head = read_head(mark_path(path))
    with closing(ledger_file.connect(path, write=False)) as connection:
        return refuse_faults(path, examine(connection, head))


def verify(path: Path) -> tuple[str, ...]:
    """List every fault of a ledger, one line each."""
    try:
        head = read_head(mark_path(path))
        with closing(ledger_file.connect(path, write=False)) as connection:
            faults = examine(connection, head).faults
    except LedgerError as error:
        return (str(error),)
    return tuple(f'{path}: {fault}' for fault in faults)


def refuse_faults(path: Path, reading: Reading) -> Reading:
    """Return the reading of a sound ledger, refuse another for its first fault."""
    if reading.faults:
        more = len(reading.faults) - 1
        rest = f' (and {more} more, see `dp_multiagent ledger verify`)' if more else ''
        raise LedgerError(f'{path}: {reading.faults[0]}{rest}')
    return reading


def examine(connection: sqlite3.Connection, head: Head) -> Reading:
    """Read all entries and collect what is wrong with them."""
    entries: tuple[Entry, ...] = ()
    try:
        faults = list(ledger_file.structure_faults(connection))
        if not faults:
            entries = tuple(ledger_file.entries(connection))
    except (*ledger_file.DAMAGE, LedgerError) as error:
        faults = [ledger_file.one_line(error)]
    if faults:
        return Reading((), (), Books(), tuple(faults))
    books, records = Books(), []
    for entry in entries:
        try:
            record = from_json(entry.record)
            books = books.after(record)
            records.append(record)
        except (LedgerError, BudgetExceededError) as error:
            faults.append(f'entry {entry.number}: {error}')
    faults += _chain_faults(entries)
    if not any(entry.number == head.number and entry.hash == head.hash for entry in entries):
        faults.append(
            f'entry {head.number} is not there as it was written: the ledger was put back'
        )
    return Reading(entries, tuple(records), books, tuple(faults))


def _chain_faults(entries: Sequence[Entry]) -> Iterator[str]:
    previous = FIRST
    for entry in entries:
        if entry != previous.next(entry.time_ns, entry.record):
            yield f'entry {entry.number}: does not follow from the one before'
        if entry.time_ns < previous.time_ns:
            yield f'entry {entry.number}: is earlier than the one before'
        previous = entry
