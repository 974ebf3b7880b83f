"""Can the robot pay for what it tells: is its ledger whole, kept safely, and not spent?"""

from __future__ import annotations

import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from dp_multiagent.cli.checks.finding import Finding, failed, fine, note, skipped

LEAST_SPACE = 50 * 2**20  # bytes
FORGETFUL = {'tmpfs', 'ramfs', 'devtmpfs', 'zram'}
REMOTE = {'nfs', 'nfs4', 'cifs', 'smb3', '9p', 'fuse.sshfs', 'afs', 'ceph'}
LAYERED = {'overlay', 'aufs'}
MOUNTS = Path('/proc/self/mounts')
NO_LEDGER = ('no ledger to look at', 'give --ledger FILE')


@dataclass(frozen=True)
class Asked:
    """What an episode costs this robot: the epsilon and the adjacency that are planned."""

    epsilon: float
    adjacency: int


def whole(path: Path | None) -> Finding:
    """Check every entry, and that the clock has not gone back behind the last one."""
    check = 'ledger'
    if path is None:
        return skipped(check, *NO_LEDGER)
    if not path.exists():
        return note(check, f'{path} is not there yet', 'the first start makes it with --budget')
    from dp_multiagent.privacy import ledger_check

    faults = ledger_check.verify(path)
    if faults:
        return failed(check, '; '.join(faults), 'see docs/ledger.md; never restore a copy')
    entries = ledger_check.read(path).entries
    ahead = (entries[-1].time_ns - time.time_ns()) / 1e9 if entries else 0.0
    if ahead > 0:
        found = f'its last entry is {ahead:.1f} s ahead of this clock: no charge is possible'
        return failed(check, found, 'set the clock right')
    return fine(check, f'{len(entries)} entries, no fault')


def permissions(path: Path | None) -> Finding:
    """Check that the ledger is this user's, and this user's only."""
    check = 'ledger files'
    if path is None:
        return skipped(check, *NO_LEDGER)
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        remedy = f'make {path.absolute().parent} a directory of the user that runs the robot'
        return failed(check, f'nothing can be written beside {path}', remedy)
    for file in _files(path):
        status = file.stat()
        if status.st_uid != os.geteuid():
            return failed(check, f'{file} is of another user', f'sudo chown $USER {path}*')
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return failed(check, f'{file} is open to others', f'chmod 600 {path}*')
    return fine(check, 'for this user only, in a directory that can be written to')


def disk(path: Path | None, mounts: Path = MOUNTS) -> Finding:
    """Check that the ledger is on a local disk with room, which outlasts a restart."""
    check = 'ledger disk'
    if path is None:
        return skipped(check, *NO_LEDGER)
    folder = path.absolute().parent.resolve()
    kind = file_system(folder, mounts)
    if kind in FORGETFUL:
        found = f'{folder} is a {kind}: a restart would hide what was spent'
        return failed(check, found, 'keep the ledger on a disk')
    if kind in REMOTE:
        found = f'{folder} is a {kind}: its locks cannot be relied on'
        return failed(check, found, 'keep the ledger on a local disk')
    free = shutil.disk_usage(folder).free
    if free < LEAST_SPACE:
        return failed(check, f'{free / 2**20:.0f} MB free', 'make room: a full disk ends releases')
    if kind in LAYERED:
        found = f'{folder} is a layer of a container and ends with it'
        return note(check, found, 'mount a directory of the host')
    return fine(check, f'{kind}, {free / 2**30:.1f} GB free')


def budget(path: Path | None, asked: Asked | None) -> Finding:
    """Check that the ledger can pay for an episode, and say for how many."""
    check = 'budget'
    if path is None or not path.exists():
        return skipped(check, 'no ledger to look at')
    if asked is None:
        return skipped(check, 'the cost of an episode is not known', 'give --scenario and --robot')
    from dp_multiagent.privacy import ledger_check
    from dp_multiagent.privacy.units import Neighbours, Unit, exact

    unit = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=asked.adjacency)
    account = ledger_check.read(path).books.accounts.get(unit)
    if account is None:
        return failed(check, f'there is no budget for {unit}', 'make a ledger for this adjacency')
    left, price = account.remaining.epsilon, exact('epsilon', asked.epsilon)
    if price > left:
        found = f'epsilon {float(left):g} is left, an episode costs {float(price):g}'
        return failed(check, found, 'the robot stays quiet; raise its budget only knowingly')
    episodes = 'any number of' if price == 0 else left // price
    return fine(check, f'epsilon {float(left):g} left, for {episodes} episodes')


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of file system that a directory is on."""
    best, kind = '', 'unknown'
    for line in mounts.read_text().splitlines():
        _, point, found, *_ = line.split()
        point = point.replace('\\040', ' ')
        if folder.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, found
    return kind


def _files(path: Path) -> list[Path]:
    names = (path.name, f'{path.name}-wal', f'{path.name}-shm', f'{path.name}.mark')
    return [file for file in map(path.with_name, names) if file.exists()]
