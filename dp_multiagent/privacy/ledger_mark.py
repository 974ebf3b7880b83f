"""The mark beside a ledger: who holds it, how far it had come, what its robot told last.

The file has three slots, each with a checksum and rewritten in place: two heads (number and hash
of the ledger's last entry), used in turn so that one is whole whatever happens, and one word (the
last private state of the episode under way). The file is locked as long as a process holds it.

A slot is written before what it speaks of leaves the robot, but not synchronised with the disk
each time: the operating system keeps it when the process dies, not when the power goes. So a
head may lag behind after a power loss, which is harmless, and a word says in which boot it was
written and is forgotten after another, unless it is lasting: synchronised, and none told since.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy.ledger_file import refusals, synchronise_directory

SLOT_SIZE = 512
SLOT_DISTANCE = 4096
WORD_SLOT = 2
FILE_SIZE = SLOT_DISTANCE * WORD_SLOT + SLOT_SIZE
BOOT_ID = Path('/proc/sys/kernel/random/boot_id')


@dataclass(frozen=True)
class Head:
    """The last entry of a ledger: its number and its hash."""

    number: int
    hash: str


@dataclass(frozen=True)
class WordRecord:
    """How far a private word had come: the entry that paid for it, its last step and state."""

    entry: Head
    step: int
    state: int
    boot: str
    lasting: bool = False


class Mark:
    """The open and locked mark of one ledger."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, path: Path, head: Head) -> None:
        """Make the mark of a new ledger; it must not be there yet."""
        with closing(cls._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)) as mark:
            mark._write_at(0, bytes(FILE_SIZE))
            mark.write_head(head)
            mark.synchronise()
        with refusals(path):
            synchronise_directory(path)

    @classmethod
    def open(cls, path: Path) -> Mark:
        """Open a mark and lock it against every other process."""
        return cls._open(path, os.O_RDWR)

    @classmethod
    def _open(cls, path: Path, flags: int) -> Mark:
        with refusals(path):
            descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise LedgerError(f'{path}: another process holds this ledger') from None
        return cls(path, descriptor)

    def write_head(self, head: Head) -> None:
        """Note how far the ledger has come."""
        self._write_slot(head.number % 2, asdict(head))

    def write_word(self, word: WordRecord) -> None:
        """Note the last private state, before it is told."""
        self._write_slot(WORD_SLOT, asdict(word))

    def read_word(self, boot: str) -> WordRecord | None:
        """Return the last private state if it is sure that none was told after it."""
        with refusals(self.path):
            slot = os.pread(self._descriptor, SLOT_SIZE, WORD_SLOT * SLOT_DISTANCE)
        record = _unpack(slot)
        if record is None:
            return None
        word = WordRecord(**{**record, 'entry': Head(**record['entry'])})
        return word if word.lasting or (boot and word.boot == boot) else None

    def synchronise(self) -> None:
        """Wait until the disk has all that was written."""
        with refusals(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Give up the lock."""
        os.close(self._descriptor)

    def _write_slot(self, slot: int, record: dict[str, Any]) -> None:
        self._write_at(slot * SLOT_DISTANCE, _pack(record))

    def _write_at(self, offset: int, content: bytes) -> None:
        with refusals(self.path):
            written = os.pwrite(self._descriptor, content, offset)
        if written != len(content):
            raise LedgerError(f'{self.path}: could not be written in full')


def read_head(path: Path) -> Head:
    """Return the newer whole head of a mark, without a lock."""
    with refusals(path):
        content = path.read_bytes()
    slots = (content[slot * SLOT_DISTANCE :][:SLOT_SIZE] for slot in range(WORD_SLOT))
    heads = [Head(**record) for record in map(_unpack, slots) if record is not None]
    if not heads or len(content) != FILE_SIZE:
        raise LedgerError(f'{path}: is damaged, so nobody knows how long the ledger was')
    return max(heads, key=lambda head: head.number)


def system_boot() -> str:
    """Return what tells one boot of this machine from another, '' if it does not say."""
    try:
        return BOOT_ID.read_text(encoding='ascii').strip()
    except OSError:
        return ''


def _pack(record: dict[str, Any]) -> bytes:
    text = json.dumps(record).encode()
    return (hashlib.sha256(text).hexdigest().encode() + text + b'\n').ljust(SLOT_SIZE, b'\0')


def _unpack(slot: bytes) -> dict[str, Any] | None:
    checksum, text = slot[:64], slot[64:].split(b'\n')[0]
    if hashlib.sha256(text).hexdigest().encode() != checksum:
        return None
    record: dict[str, Any] = json.loads(text)
    return record
