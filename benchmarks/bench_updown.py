"""Bring a team up and down 100 times; print one JSON object. It takes some fifteen minutes.

Twenty of the teams finish, sixty are stopped at a random moment, of twenty a process is killed.
Then a robot's and a planner's node come up and go down 100 times in one process. No process, file,
thread or piece of shared memory may be left; how that is found out: test/ros/updown.py.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'ros')]
os.environ['PYTHONPATH'] = str(ROOT)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

import updown  # noqa: E402
from deployed import reserve_team  # noqa: E402

FIRST_DOMAIN = 41
ENDS = ('done', 'stopped', 'stopped', 'stopped', 'killed') * 20
CYCLES = 100
LONGEST_STOP = 2.5  # seconds, of which half a one to notice


def main() -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as locks:
        folder = Path(name)
        domain = reserve_team(iter(range(FIRST_DOMAIN, 52)), locks)
        report: dict[str, Any] = updown.many(folder, domain, ENDS)
        report['in_one_process'] = in_one_process(folder, (domain, domain + 1))
    report['met'] = {
        **{f'no_{what}_left': count == 0 for what, count in report['left'].items()},
        'stopped_in_time': report['longest_stop_seconds'] < LONGEST_STOP,
        'no_thread_kept': unchanged(report['in_one_process'], 'threads'),
        'no_file_kept': unchanged(report['in_one_process'], 'files'),
    }
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def in_one_process(folder: Path, domains: tuple[int, int]) -> dict[str, Any]:
    """Return what a process held before and after so many cycles."""
    return {
        f'{kind}, {how}': updown.cycles(folder, domains, kind, how, CYCLES)
        for kind in ('robot', 'planner')
        for how in ('lifecycle', 'whole')
    }


def unchanged(held: dict[str, Any], what: str) -> bool:
    return all(each['before'][what] == each['after'][what] for each in held.values())


if __name__ == '__main__':
    main()
