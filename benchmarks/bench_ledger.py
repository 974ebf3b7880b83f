"""Measure what a charge costs beside a bare SQLite commit; print one JSON object.

Both write an entry of the same size to the same disk, in WAL mode with synchronous=FULL, in turn.
`python benchmarks/bench_ledger.py [DIRECTORY]`: the disk of the directory, by default this one's.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dp_multiagent.privacy.ledger import Ledger  # noqa: E402
from dp_multiagent.privacy.ledger_file import SCHEMA  # noqa: E402
from dp_multiagent.privacy.units import (  # noqa: E402
    Neighbours,
    PrivacyLoss,
    PureEvent,
    Release,
    Unit,
)

CHARGES = 500
TAKES = 100_000
STEPS = 20_000
BLOCK = 1000
MOST_MILLISECONDS_PER_CHARGE = 10

UNIT = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=3)
LOSS = PrivacyLoss(epsilon='1/1000000', delta=0)


def main() -> None:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    with tempfile.TemporaryDirectory(dir=place, prefix='.bench_ledger') as directory:
        report = measure(Path(directory))
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def measure(directory: Path) -> dict[str, Any]:
    path = directory / 'robot.ledger'
    budgets = {UNIT: PrivacyLoss(epsilon=1000, delta=0)}
    with Ledger.create(path, budgets=budgets, clock=time.time_ns) as ledger:
        block = planned(BLOCK)
        bare = bare_commit(directory / 'bare.sqlite', block.to_json())
        charges, commits = [], []
        for _ in range(CHARGES):
            charges.append(milliseconds(lambda: ledger.charge(block)))
            commits.append(milliseconds(bare))
        tickets = ledger.reserve(planned(TAKES))
        take = milliseconds(lambda: [tickets.take() for _ in range(TAKES)]) / TAKES
        word = ledger.word(planned(1), plan_id=bytes(16), episode=0, initial=0)
        steps = range(1, STEPS + 1)
        tell = milliseconds(lambda: [word.tell(step, lambda p: p) for step in steps]) / STEPS
    opening = milliseconds(lambda: Ledger.open(path, clock=time.time_ns).close())
    return {
        'charge_of_a_block_ms': round(median(charges), 3),
        'charge_of_a_block_ms_p99': round(quantiles(charges, n=100)[98], 3),
        'bare_commit_ms': round(median(commits), 3),
        'ratio_to_bare_commit': round(median(charges) / median(commits), 2),
        'take_from_a_block_us': round(1000 * take, 3),
        'tell_a_step_of_a_word_us': round(1000 * tell, 3),
        'open_and_check_us_per_entry': round(1000 * opening / CHARGES, 1),
        'met': {'charge_of_a_block': median(charges) < MOST_MILLISECONDS_PER_CHARGE},
    }


def planned(count: int) -> Release:
    event = PureEvent(epsilon=LOSS.epsilon)
    return Release(unit=UNIT, mechanism='trajectory', loss=LOSS, event=event, count=count)


def bare_commit(path: Path, record: str) -> Callable[[], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute('PRAGMA journal_mode=WAL')
    connection.execute('PRAGMA synchronous=FULL')
    connection.execute(SCHEMA[0])
    row = (time.time_ns(), record, '0' * 64)

    def commit() -> None:
        connection.execute('INSERT INTO entry (time_ns, record, hash) VALUES (?, ?, ?)', row)

    return commit


def milliseconds(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return 1000 * (time.perf_counter() - begin)


if __name__ == '__main__':
    main()
