"""The ledger of a robot: every release is paid for on the disk before it leaves.

    with Ledger.open(path, clock=time.time_ns) as ledger:
        ledger.charge(release)  # or it raises, and then nothing may be released
        publish(...)

`charge` returns when the entry has reached the disk, so a crash can cost budget and never hides
a release. `reserve` pays for many releases in one entry; what is not used stays paid. `word` pays
for an episode of the trajectory mechanism once and keeps its last state, so that a restarted
robot goes on with the same word. After any failure but an exceeded budget or a wrong clock the
ledger must be opened again. One process holds a ledger; others may read it (`ledger_check.read`).
"""

from __future__ import annotations

import operator
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy import ledger_file
from dp_multiagent.privacy.ledger_books import (
    Account,
    Books,
    Budget,
    Charge,
    Record,
    WordName,
    to_json,
)
from dp_multiagent.privacy.ledger_check import Reading, examine, mark_path, refuse_faults
from dp_multiagent.privacy.ledger_file import FIRST
from dp_multiagent.privacy.ledger_mark import Head, Mark, WordRecord, read_head, system_boot
from dp_multiagent.privacy.units import PrivacyLoss, Release, Unit

Clock = Callable[[], int]


class Ledger:
    """A ledger that this process holds; `open` and `create` make one."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, mark: Mark, clock: Clock, boot: str
    ) -> None:
        self.path = path
        self._connection = connection
        self._mark = mark
        self._clock = clock
        self._boot = boot
        self._books = Books()
        self._last = FIRST
        self._words: dict[Head, Charge] = {}
        self._current: Word | None = None
        self._process = os.getpid()
        self._failure = ''
        self._resources = ExitStack()

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        budgets: Mapping[Unit, PrivacyLoss],
        clock: Clock,
        boot: str | None = None,
    ) -> Ledger:
        """Make a new ledger with a budget for each unit, and hold it."""
        if not budgets:
            raise LedgerError(f'{path}: a ledger needs a budget')
        books, entries = Books(), [FIRST]
        for unit, loss in budgets.items():
            books = books.after(Budget(unit, loss))
            entries.append(entries[-1].next(clock(), to_json(Budget(unit, loss))))
        files = [path, mark_path(path), path.with_name(path.name + '-wal')]
        for file in files:
            if file.exists():
                raise LedgerError(f'{file}: is there already')
        try:
            ledger_file.create(path, entries[1:])
            Mark.create(mark_path(path), Head(entries[-1].number, entries[-1].hash))
        except LedgerError:
            for file in files:
                file.unlink(missing_ok=True)
            raise
        return cls.open(path, clock=clock, boot=boot)

    @classmethod
    def open(cls, path: Path, *, clock: Clock, boot: str | None = None) -> Ledger:
        """Hold a ledger, or refuse it for its first fault.

        `clock` returns the wall-clock time in nanoseconds; `boot` tells one boot of the machine
        from another and is the system's own by default.
        """
        with ExitStack() as resources:
            for file in (path, mark_path(path)):
                ledger_file.refuse_permissions(file, write=True)
            mark = Mark.open(mark_path(path))
            resources.callback(mark.close)
            head = read_head(mark.path)
            connection = ledger_file.connect(path, write=True)
            resources.callback(connection.close)
            reading = refuse_faults(path, examine(connection, head))
            ledger = cls(path, connection, mark, clock, system_boot() if boot is None else boot)
            ledger._adopt(reading)
            ledger._resources = resources.pop_all()
        return ledger

    def _adopt(self, reading: Reading) -> None:
        self._books = reading.books
        self._last = reading.entries[-1]
        for entry, record in zip(reading.entries, reading.records, strict=True):
            if isinstance(record, Charge) and record.word is not None:
                self._words[Head(entry.number, entry.hash)] = record
        self._mark.write_head(self._head)
        self._mark.synchronise()

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Return budget, spent and remaining of every unit."""
        return tuple(self._books.accounts.values())

    def account(self, unit: Unit) -> Account:
        """Return budget, spent and remaining of one unit."""
        if unit not in self._books.accounts:
            raise LedgerError(f'{self.path}: there is no budget for {unit}')
        return self._books.accounts[unit]

    def set_budget(self, unit: Unit, loss: PrivacyLoss) -> None:
        """Set the budget of a new unit, or raise that of a known one."""
        self._append(Budget(unit, loss))

    def charge(self, release: Release) -> None:
        """Pay for a release, all `count` of them; return when that is on the disk."""
        self._append(Charge(release))

    def reserve(self, release: Release) -> Block:
        """Pay for `count` releases in one entry; each is then taken from the block."""
        self._append(Charge(release))
        return Block(release)

    def word(self, release: Release, *, plan_id: bytes, episode: int, initial: int) -> Word:
        """Go on with the private word of an episode, or pay for a new one if that was lost.

        A new word starts at step 0 with the public `initial` state.
        """
        if release.count != 1:
            raise LedgerError(f'{self.path}: an episode is one release, not {release.count}')
        self._refuse_if_unusable()
        charge = Charge(release, WordName(plan_id, episode))
        record = self._mark.read_word(self._boot)
        if record is not None and self._words.get(record.entry) == charge:
            record = replace(record, boot=self._boot, lasting=False)
        else:
            self._append(charge)
            self._words[self._head] = charge
            record = WordRecord(self._head, 0, operator.index(initial), self._boot)
        self._current = Word(self, record)
        self._keep(record, self._current)
        with self._closing_on_failure():
            # From here on a power loss must forget the word, not bring back an old step.
            self._mark.synchronise()
        return self._current

    def close(self) -> None:
        """Give up the ledger; the word under way can then be resumed even after a reboot."""
        if os.getpid() != self._process:
            return
        with self._resources:
            if self._current is not None and not self._failure:
                self._mark.write_word(replace(self._current.record, lasting=True))
                self._mark.synchronise()
            self._failure = self._failure or f'{self.path}: the ledger is closed'

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _head(self) -> Head:
        return Head(self._last.number, self._last.hash)

    def _append(self, record: Record) -> None:
        """Commit a record; the books change only after that."""
        self._refuse_if_unusable()
        books = self._books.after(record)
        now, last = self._clock(), self._last
        if now < last.time_ns:
            behind = (last.time_ns - now) / 1e9
            raise LedgerError(f'{self.path}: the clock went backwards by {behind:.3g} s')
        entry = last.next(now, to_json(record))
        with self._closing_on_failure():
            ledger_file.append(self.path, self._connection, entry, previous_hash=last.hash)
            self._mark.write_head(Head(entry.number, entry.hash))
        self._last, self._books = entry, books

    def _keep(self, record: WordRecord, word: Word) -> None:
        """Note a private state before it is told."""
        self._refuse_if_unusable()
        if word is not self._current:
            raise LedgerError(f'{self.path}: another private word was begun')
        with self._closing_on_failure():
            self._mark.write_word(record)

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        """After a failed write nobody knows what the disk has: refuse until opened again."""
        try:
            yield
        except LedgerError as error:
            self._failure = f'{error} (open the ledger again)'
            raise

    def _refuse_if_unusable(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError(f'{self.path}: another process holds this ledger')
        if self._failure:
            raise LedgerError(self._failure)


class Block:
    """Releases that are paid for; a crash loses what is left."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._process = os.getpid()
        self._tickets = iter(range(release.count))

    @property
    def left(self) -> int:
        """Return how many releases may still be taken."""
        return operator.length_hint(self._tickets)

    def take(self) -> None:
        """Use one release, or refuse if there is none left."""
        if os.getpid() != self._process:
            raise LedgerError('these releases were paid for by another process')
        if next(self._tickets, None) is None:
            raise LedgerError(f'all {self.release.count} releases of the block are used up')


class Word:
    """A private word that is paid for: its last step and the private state told there."""

    def __init__(self, ledger: Ledger, record: WordRecord) -> None:
        self._ledger = ledger
        self.record = record

    @property
    def step(self) -> int:
        """Return the last step that has a private state."""
        return self.record.step

    @property
    def state(self) -> int:
        """Return the private state of that step."""
        return self.record.state

    def tell(self, step: int, draw: Callable[[int], int]) -> int:
        """Return the private state of a step; it is kept before it is returned.

        `draw` maps the last private state to a new one. It is called once for each step: asked
        again, also after a restart, the answer is the same.
        """
        if step < self.step:
            raise LedgerError(f'step {step} is over, the private word is at step {self.step}')
        if step > self.step:
            state = operator.index(draw(self.state))
            record = replace(self.record, step=operator.index(step), state=state)
            self._ledger._keep(record, self)
            self.record = record
        return self.state
