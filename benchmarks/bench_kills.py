"""Kill every process of a team at twenty random moments each; print one JSON object.

It takes about ten minutes. What is killed, what is looked at, and by whom: test/ros/kills.py.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'ros')]
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

import kills  # noqa: E402

KILLS = 20
TEAM_DOMAIN = 42
NONE_OF = (
    'told_without_charge',
    'told_twice_differently',
    'episodes_charged_twice',
    'tracebacks',
    'status',
)


def main() -> None:
    report = kills.run(TEAM_DOMAIN, KILLS)
    report['met'] = {name: report[name] == 0 for name in NONE_OF}
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


if __name__ == '__main__':
    main()
