"""What a rosbag2 holds: every topic that its metadata or one of its data files names.

The metadata is a text that anybody can edit, and a crash leaves none; so the data files are
opened too: SQLite (.db3) and MCAP (.mcap). What cannot be opened is refused, and whatever else
lies in the folder of a bag is named, because it would leave with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dp_multiagent.cli import mcap
from dp_multiagent.errors import DpMultiagentError

METADATA = 'metadata.yaml'
COMPRESSED = ('.zstd', '.zst', '.lz4', '.gz')
BESIDE_SQLITE = ('.db3-wal', '.db3-shm', '.db3-journal')
TABLES = {'topics', 'messages', 'schema', 'metadata', 'message_definitions', 'sqlite_sequence'}


@dataclass(frozen=True)
class Contents:
    """Topics, as (name, type), and what else there is, one line each."""

    topics: frozenset[tuple[str, str]] = frozenset()
    others: tuple[str, ...] = ()


def read(path: Path) -> Contents:
    """Read a bag, given as its folder or as one data file."""
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise DpMultiagentError(f'{path}: is not there')
    if path.name == METADATA:
        raise DpMultiagentError(f'{path}: describes a bag only; name its folder')
    contents = _data_file(path)
    if contents is None:
        raise DpMultiagentError(f'{path}: is no bag: its name ends neither in .db3 nor in .mcap')
    return contents


def _folder(folder: Path) -> Contents:
    files = sorted(path for path in folder.rglob('*') if not path.is_dir())
    found, others = [], []
    for path in files:
        contents = _metadata(path) if path == folder / METADATA else _data_file(path)
        if contents is not None:
            found.append(contents)
        elif path.suffix not in BESIDE_SQLITE:
            others.append(f'{path.relative_to(folder)}: is not part of a bag')
    if not any(path.suffix in ('.db3', '.mcap') for path in files):
        raise DpMultiagentError(f'{folder}: is no bag: there is no .db3 or .mcap file in it')
    return _joined([*found, Contents(others=tuple(others))])


def _joined(contents: Iterable[Contents]) -> Contents:
    parts = list(contents)
    topics = frozenset().union(*(part.topics for part in parts))
    return Contents(topics, tuple(line for part in parts for line in part.others))


def _data_file(path: Path) -> Contents | None:
    if path.suffix in COMPRESSED:
        raise DpMultiagentError(f'{path}: is compressed; decompress the bag first')
    if path.suffix == '.db3':
        return _sqlite(path)
    return _mcap(path) if path.suffix == '.mcap' else None


def _metadata(path: Path) -> Contents:
    try:
        described = yaml.safe_load(path.read_text(encoding='utf-8'))
        bag = described['rosbag2_bagfile_information']
        listed = [topic['topic_metadata'] for topic in bag['topics_with_message_count']]
        topics = frozenset((str(topic['name']), str(topic['type'])) for topic in listed)
        files = [str(name) for name in bag['relative_file_paths']]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        line = str(error).partition('\n')[0]
        raise DpMultiagentError(f'{path}: cannot be read: {line}') from None
    except (KeyError, TypeError):
        raise DpMultiagentError(
            f'{path}: rosbag2_bagfile_information with topics and files is missing'
        ) from None
    for name in files:
        if not (path.parent / Path(name).name).exists():
            raise DpMultiagentError(f'{path}: relative_file_paths: {name} is not there')
    return Contents(topics)


def _mcap(path: Path) -> Contents:
    held = mcap.read(path)
    others = [f'{path.name}: attachment {name}' for name in held.attachments]
    others += [f'{path.name}: channel {n} has messages and no name' for n in held.nameless]
    return Contents(frozenset(held.topics), tuple(others))


def _sqlite(path: Path) -> Contents:
    try:
        uri = f'{path.resolve().as_uri()}?mode=ro'
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return _tables(path, connection)
    except sqlite3.Error as error:
        raise DpMultiagentError(f'{path}: is no readable bag: {error}') from None


def _tables(path: Path, connection: sqlite3.Connection) -> Contents:
    def rows(query: str) -> list[Any]:
        return connection.execute(query).fetchall()

    topics = frozenset(
        (str(name), str(kind)) for name, kind in rows('SELECT name, type FROM topics')
    )
    foreign = {name for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ((nameless,),) = rows(
        'SELECT COUNT(*) FROM messages WHERE topic_id NOT IN (SELECT id FROM topics)'
    )
    ((free_pages,),) = rows('PRAGMA freelist_count')
    others = [f'{path.name}: table {name}' for name in sorted(foreign - TABLES)]
    if nameless:
        others.append(f'{path.name}: {nameless} messages of topics without a name')
    if free_pages:
        others.append(f'{path.name}: {free_pages} free pages, in which deleted messages may stand')
    return Contents(topics, tuple(others))
