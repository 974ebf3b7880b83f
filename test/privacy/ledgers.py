"""Ledgers to test with."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import dp_multiagent
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import (
    GaussianEvent,
    Neighbours,
    PrivacyLoss,
    PureEvent,
    Release,
    Unit,
)

TRAJECTORY = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=3)
REWARD = Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound='1/2')
PLAN = bytes(range(16))

PROGRAM = Path(__file__).parent / 'programs' / 'releasing.py'
ROOTS = (Path(__file__).parent, Path(dp_multiagent.__file__).parents[1])
ENVIRONMENT = {**os.environ, 'PYTHONPATH': os.pathsep.join(map(str, ROOTS))}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now=1_700_000_000_000_000_000):
        self.now = now

    def __call__(self):
        return self.now


def loss(epsilon, delta=0):
    return PrivacyLoss(epsilon=epsilon, delta=delta)


def trajectory(epsilon='1/10', count=1):
    return Release(
        unit=TRAJECTORY,
        mechanism='trajectory',
        loss=loss(epsilon),
        event=PureEvent(epsilon=epsilon),
        count=count,
    )


def reward(epsilon='1/10', delta='1/1000', count=1):
    return Release(
        unit=REWARD,
        mechanism='gaussian',
        loss=loss(epsilon, delta),
        event=GaussianEvent(rho=1, distance=0),
        count=count,
    )


def new_ledger(path, epsilon=1, clock=None, **options):
    budgets = {TRAJECTORY: loss(epsilon), REWARD: loss(epsilon, '1/100')}
    return Ledger.create(path, budgets=budgets, clock=clock or Clock(), **options)


def reopen(path, clock=None, **options):
    return Ledger.open(path, clock=clock or Clock(), **options)


def beside(path, suffix):
    return path.with_name(path.name + suffix)


def filled(path, charges=60):
    """Leave a closed ledger of several pages."""
    with new_ledger(path, epsilon=1000) as ledger:
        for n in range(charges):
            ledger.charge(trajectory(f'1/{n + 1}'))
        return ledger.accounts


def crashed(path, target, charges=5):
    """Copy a ledger as a crash would leave it: all in the log, nothing in the database."""
    with new_ledger(path, epsilon=1000) as ledger:
        for n in range(charges):
            ledger.charge(trajectory(f'1/{n + 1}'))
        for suffix in ('', '-wal', '.mark'):
            shutil.copy(beside(path, suffix), beside(target, suffix))
        return ledger.accounts


def memory_directory():
    """Return a temporary directory where waiting for the disk takes no time."""
    memory = Path('/dev/shm')
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def releasing(mode, path, told):
    """Return how to start a process that pays and tells; see programs/releasing.py."""
    return {'args': [sys.executable, PROGRAM, mode, path, told], 'env': ENVIRONMENT, 'text': True}
