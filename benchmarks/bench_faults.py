"""Disturb a team's messages and a robot's clock, in many episodes; print one JSON object.

A fifth of the messages lost, the others late by 200 ms, copied and overtaken; four fifths lost; a
partition of ten seconds; a clock that jumps by 5 s, forth and back. Success must be within three
standard errors of what the model with stale messages predicts, and far enough from that without
faults. It takes about eleven minutes. What is done and looked at: test/ros/relayed.py.

    python benchmarks/bench_faults.py [EPISODES]    of each kind
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'ros')]
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['PYTHONPATH'] = str(ROOT)

from deployed import reserve_team  # noqa: E402
from disturbance import AHEAD, BEHIND, CALM, CUT, DEAF, ROUGH  # noqa: E402
from relayed import Findings, Relayed  # noqa: E402

from dp_multiagent.models import scenarios  # noqa: E402
from dp_multiagent.planning.plan_file import Plan  # noqa: E402
from dp_multiagent.planning.synthesis import synthesise  # noqa: E402
from dp_multiagent.planning.task import task_of  # noqa: E402

EACH = 100
SUFFERED = (ROUGH, CUT, AHEAD, DEAF, BEHIND, CALM)
DOMAINS = range(11, 26)
STANDARD_ERRORS = 3
LONGEST = 10.0  # seconds for an episode


def main() -> None:
    each = int(sys.argv[1]) if len(sys.argv) > 1 else EACH
    begin = time.perf_counter()
    found = disturb(crossing(), each)
    report = summary(found)
    report['seconds'] = round(time.perf_counter() - begin)
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def crossing() -> Plan:
    """Plan for a task where listening is worth much."""
    path = scenarios.find('crossing')
    task = task_of(scenarios.load(path))
    policies = synthesise(task, 'private-success').best.policies
    text = path.read_text(encoding='utf-8')
    return Plan(str(path), text, task.graph, task.epsilon, task.adjacency, policies, {})


def disturb(plan: Plan, each: int) -> Findings:
    with ExitStack() as held:
        domain = reserve_team(itertools.cycle(DOMAINS), held)
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        episodes = each * len(SUFFERED)
        team = Relayed(folder, domain, plan, SUFFERED, episodes=episodes)
        held.callback(team.close)
        found = team.run(LONGEST * episodes)
        _ = found.faults  # reads files that are about to go
        return found


def summary(found: Findings) -> dict[str, Any]:
    report = {of.name: found.success(of) for of in SUFFERED}
    calm, deaf = report['calm'], report['deaf']
    truth = found.truth_excess()
    met = {
        f'success_as_predicted_{name}': abs(row['standard_errors_off']) < STANDARD_ERRORS
        for name, row in report.items()
    }
    met['loss_shows'] = (
        calm['predicted'] - deaf['success'] > STANDARD_ERRORS * deaf['standard_error']
    )
    met['no_truer_than_the_mechanism'] = abs(truth) < STANDARD_ERRORS
    met |= {f'no_{name}': count == 0 for name, count in found.faults.items()}
    return {
        'disturbances': {name: rounded(row) for name, row in report.items()},
        'private_states': len(found.told),
        'truth_excess_in_standard_deviations': round(truth, 2),
        **found.faults,
        'met': met,
    }


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in row.items()
        if name != 'outcomes_predicted'
    }


if __name__ == '__main__':
    main()
