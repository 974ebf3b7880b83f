"""A robot that pays and tells until it is killed: releasing.py MODE LEDGER TOLD.

It says 'ready' once it runs and opens the ledger only then. Every release is a line of TOLD, on
the disk before the next one is paid for. If the ledger refuses, that is its last word, status 1.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from secrets import randbelow

from ledgers import PLAN, trajectory

from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy.ledger import Ledger

EPSILON = '1/1000000'
BLOCK = 7


def main() -> None:
    mode, path, told = sys.argv[1:]
    print('ready', flush=True)
    try:
        with Ledger.open(Path(path), clock=time.time_ns) as ledger:
            out = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            for line in MODES[mode](ledger):
                os.write(out, f'{line}\n'.encode())
                os.fsync(out)
    except LedgerError as error:
        sys.exit(str(error))


def one_by_one(ledger):
    while True:
        ledger.charge(trajectory(EPSILON))
        yield 'told'


def in_blocks(ledger):
    while True:
        block = ledger.reserve(trajectory(EPSILON, count=BLOCK))
        while block.left:
            block.take()
            yield 'told'


def as_words(ledger):
    word = ledger.word(trajectory(EPSILON), plan_id=PLAN, episode=1, initial=0)
    step = word.step
    while True:
        yield f'{step} {word.tell(step, lambda _: randbelow(1_000_000))}'
        step += 1


def told_before_it_is_paid(ledger):
    """Do it wrong: a test must notice."""
    while True:
        yield 'told'
        ledger.charge(trajectory(EPSILON))


MODES = {
    'one_by_one': one_by_one,
    'in_blocks': in_blocks,
    'as_words': as_words,
    'told_before_it_is_paid': told_before_it_is_paid,
}

if __name__ == '__main__':
    main()
