"""One team per domain of a machine: two would take each other's plans."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dp_multiagent.errors import DpMultiagentError


@contextmanager
def alone_in(domain: int) -> Iterator[None]:
    """Hold a team's domain for a while, or refuse; nothing is left on the disk afterwards."""
    path = Path(tempfile.gettempdir()) / f'dp_multiagent_{os.getuid()}_domain_{domain}.lock'
    lock = _locked(path)
    # Its last holder may have removed the file after we opened it: then the name is free again.
    while lock is not None and not _is_named(lock, path):
        lock.close()
        lock = _locked(path)
    if lock is None:
        raise DpMultiagentError(
            f'--team-domain: another team runs in domain {domain}, choose another one'
        )
    with lock:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path) -> IO[str] | None:
    lock = path.open('w')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _is_named(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
