"""What an MCAP file holds: its channels and its attachments, without reading its messages.

A file is a sequence of records, each an opcode, a length and so many bytes. Messages and their
channels stand in chunks; a summary at the end names the channels again. A chunk that is compressed
is not opened: its channels are those of the summary, and each message index after it must point to
one of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from dp_multiagent.errors import DpMultiagentError

MAGIC = b'\x89MCAP0\r\n'
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, ATTACHMENT = 2, 3, 4, 5, 6, 7, 9
DATA_END = 15
TIMES = 16  # bytes


@dataclass
class Holdings:
    """What was found in a file: (id, topic, schema) of channels, schemas, ids with messages."""

    channels: set[tuple[int, str, int]] = field(default_factory=set)
    schemas: dict[int, str] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    attachments: list[str] = field(default_factory=list)
    closed_chunks: int = 0
    has_summary: bool = False

    @property
    def topics(self) -> list[tuple[str, str]]:
        """Return the topics with their types, '' for a type that is not named."""
        named = {(topic, self.schemas.get(schema, '')) for _, topic, schema in self.channels}
        return sorted(named)

    @property
    def nameless(self) -> list[int]:
        """Return the ids of channels that have messages and no name."""
        return sorted(self.used - {number for number, _, _ in self.channels})


def read(path: Path) -> Holdings:
    """Read a file, or refuse it if it is damaged or cannot be judged."""
    held = Holdings()
    try:
        with path.open('rb') as stream:
            _scan_file(stream, path.stat().st_size, held)
    except (struct.error, UnicodeDecodeError, _DamageError):
        raise DpMultiagentError(f'{path}: is cut off or damaged; recover it first') from None
    except OSError as error:
        raise DpMultiagentError(f'{path}: cannot be read: {error.strerror}') from None
    if held.closed_chunks and not held.has_summary:
        raise DpMultiagentError(
            f'{path}: is compressed and has no summary; convert it without compression first'
        )
    return held


class _DamageError(Exception):
    """The records of a file do not add up."""


def _scan_file(stream: BinaryIO, size: int, held: Holdings) -> None:
    if stream.read(len(MAGIC)) != MAGIC:
        raise _DamageError
    is_summary = False
    for opcode, end in _records(stream, size - len(MAGIC)):
        _take(stream, opcode, end, held)
        is_summary |= opcode == DATA_END
        held.has_summary |= is_summary and opcode == CHANNEL
    if opcode != FOOTER or stream.read() != MAGIC:
        raise _DamageError


def _records(stream: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """Yield opcode and end of each record, with the stream at its content."""
    if stream.tell() >= end:
        raise _DamageError
    while stream.tell() < end:
        opcode, length = _unpack(stream, '<BQ')
        following = stream.tell() + length
        if following > end:
            raise _DamageError
        yield opcode, following
        stream.seek(following)


def _take(stream: BinaryIO, opcode: int, end: int, held: Holdings) -> None:
    if opcode == SCHEMA:
        (number,), name = _unpack(stream, '<H'), _text(stream, end)
        if held.schemas.setdefault(number, name) != name:
            raise _DamageError
    elif opcode == CHANNEL:
        number, schema = _unpack(stream, '<HH')
        held.channels.add((number, _text(stream, end), schema))
    elif opcode in (MESSAGE, MESSAGE_INDEX):
        held.used.update(_unpack(stream, '<H'))
    elif opcode == CHUNK:
        _open_chunk(stream, end, held)
    elif opcode == ATTACHMENT:
        stream.seek(TIMES, 1)
        held.attachments.append(_text(stream, end))


def _open_chunk(stream: BinaryIO, end: int, held: Holdings) -> None:
    stream.seek(TIMES + struct.calcsize('<QI'), 1)
    compression = _text(stream, end)
    (length,) = _unpack(stream, '<Q')
    if stream.tell() + length > end:
        raise _DamageError
    if compression:
        held.closed_chunks += 1
        return
    for opcode, following in _records(stream, stream.tell() + length) if length else ():
        if opcode == CHUNK:
            raise _DamageError
        _take(stream, opcode, following, held)


def _text(stream: BinaryIO, end: int) -> str:
    (length,) = _unpack(stream, '<I')
    if stream.tell() + length > end:
        raise _DamageError
    return stream.read(length).decode()


def _unpack(stream: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(layout, stream.read(struct.calcsize(layout)))
