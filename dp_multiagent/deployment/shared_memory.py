"""Shared memory that Fast DDS leaves behind when a process is killed, until the machine restarts.

A participant of a domain has a segment, `fastrtps_<16 digits>`, and listens at ports,
`fastrtps_port<number>`. Who owns a segment or listens at a port holds the lock of a file beside
it, `..._el` or `..._sl`, which the kernel takes from the dead. So a segment is abandoned if nobody
holds its lock, and a port if, besides, no process has it mapped. What lives is not touched, nor
what is another user's.

(The rule for segments is that of `fastdds shm clean`. A port is held here while it is removed, so
that whoever wants to listen at it takes another one.)
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import ExitStack
from pathlib import Path

FOLDER = Path('/dev/shm')
SEGMENT = re.compile(r'fastrtps_[0-9a-f]{16}')
PORT = re.compile(r'fastrtps_port\d{1,5}')


def remove_abandoned(folder: Path = FOLDER, processes: Path = Path('/proc')) -> list[str]:
    """Remove what no living process owns; return the names of the segments and ports."""
    names = sorted(path.name for path in folder.glob('fastrtps_*') if _is_ours(path))
    removed = [name for name in names if SEGMENT.fullmatch(name) and _remove(folder / name)]
    ports = [name for name in names if PORT.fullmatch(name)]
    mapped = _mapped(folder, processes) if ports else set()
    for name in ports:
        if name not in mapped and _remove(folder / name, folder / f'sem.{name}_mutex'):
            removed.append(name)
    return removed


def _remove(*paths: Path) -> bool:
    """Remove files, if nobody holds a lock of the first one, while holding it."""
    exclusive, shared = (paths[0].with_name(f'{paths[0].name}_{kind}') for kind in ('el', 'sl'))
    with ExitStack() as held:
        try:
            for lock in (exclusive, shared) if shared.exists() else (exclusive,):
                fcntl.flock(held.enter_context(lock.open('ab')), fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in (*paths, exclusive, shared):
                path.unlink(missing_ok=True)
        except OSError:  # it is held
            return False
    return True


def _is_ours(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _mapped(folder: Path, processes: Path) -> set[str]:
    """Return the names of the files of a folder that processes have mapped."""
    names = set()
    for path in processes.glob('[0-9]*/maps'):
        try:
            lines = path.read_text(errors='replace').splitlines()
        except OSError:  # it has ended, or is another user's
            continue
        names |= {line.rpartition('/')[2] for line in lines if f' {folder}/' in line}
    return names
