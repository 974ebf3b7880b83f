"""Strangers in a team, at length; print one JSON object. It takes some eight minutes.

10,000 changed messages of each type, and as many with changed bytes, go to real processes; the
checks are those of test/ros/test_hostile_*.py. Then a robot executes a plan in real time: alone,
while a stranger speaks on every team topic, and while he forges plans, with and without a rest.
The ratio is that of the lateness in a flood to that alone.

    python benchmarks/bench_hostile.py [MESSAGES]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / 'test' / 'ros'
sys.path[:0] = [str(ROOT), str(TESTS)]
os.environ['PYTHONPATH'] = str(ROOT)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

import conftest  # noqa: E402
from deployed import LAST_SAFE_DOMAIN, is_locked  # noqa: E402
from siege import Outpost  # noqa: E402

from dp_multiagent.nodes.domains import TeamNode  # noqa: E402
from dp_multiagent.nodes.spin import make_executor  # noqa: E402

PYTEST = (sys.executable, '-m', 'pytest', '-q', '-o', 'junit_family=xunit1')
EACH = 10_000
STEPS = 50  # so that an episode is shorter than the rest
RATES = (2_000, 10_000)
FEWEST_TOLD = 0.95


def main() -> None:
    each = int(sys.argv[1]) if len(sys.argv) > 1 else EACH
    begin = time.perf_counter()
    changed = send_changed(each)
    alone = besiege(rate=0)
    floods = {rate: besiege(rate=rate) for rate in RATES}
    forged = besiege(rate=RATES[0], how='forge')
    restless = besiege(rate=RATES[0], how='forge', rest=0)
    slow = floods[RATES[0]]
    report = {
        'messages_of_each_type': each,
        'changed': changed,
        'alone': alone,
        'flood': floods,
        'forged_plans': forged,
        'forged_plans_without_a_rest': restless,
        'ratio_late_p50': round(slow['late_p50_ms'] / alone['late_p50_ms'], 2),
        'seconds': round(time.perf_counter() - begin),
        'met': {
            'all_checks': changed['failed'] == 0,
            'flood_is_withstood': slow['told'] >= FEWEST_TOLD * STEPS,
            'nothing_is_paid_twice': {slow['charges'], forged['charges']} == {1},
        },
    }
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def send_changed(each: int) -> dict[str, Any]:
    """Run the tests with more messages; return what they found."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'report.xml'
        tests = [path for path in TESTS.glob('test_hostile_*.py') if 'flood' not in path.name]
        subprocess.run(
            [*PYTEST, f'--junitxml={file}', *sorted(map(str, tests))],
            cwd=ROOT,
            env={**os.environ, 'DP_MULTIAGENT_HOSTILE': str(each)},
            stdout=sys.stderr,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        cases = list(Xml.parse(file).getroot().iter('testcase'))
    failed = [case.get('name') for case in cases if case.find('failure') is not None]
    return {
        'tests': len(cases),
        'failed': len(failed),
        'which': failed,
        'over_ros': {name(case): properties(case) for case in cases if properties(case)},
    }


def name(case: Xml.Element) -> str:
    return str(case.get('name')).removeprefix('test_').replace('_withstands_changed_messages', '')


def properties(case: Xml.Element) -> dict[str, float]:
    found = case.findall('properties/property')
    return {str(each.get('name')): float(str(each.get('value'))) for each in found}


def besiege(**how: Any) -> dict[str, Any]:
    """Run an episode of a robot among strangers."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        domains = partial(next, free_domains(held))
        outpost = Outpost(starter(held, folder), joiner(held), domains, folder)
        return dict(outpost.run(steps=STEPS, **how))


def free_domains(held: ExitStack) -> Any:
    return (domain for domain in range(1, LAST_SAFE_DOMAIN + 1) if is_locked(domain, held))


def starter(held: ExitStack, folder: Path) -> Any:
    def start(program: str, *arguments: object) -> conftest.Program:
        errors = folder / f'{program}.log'
        started = conftest.Program(program, *arguments, errors=errors)
        held.callback(started.close)
        return started

    return start


def joiner(held: ExitStack) -> Any:
    from rclpy.context import Context

    def join(domain: int) -> TeamNode:
        context = Context()
        context.init(domain_id=domain)
        node = TeamNode('bench', context=context)
        executor = make_executor(context)
        executor.add_node(node)
        node.wait_for = partial(serve_until, executor)
        held.callback(context.try_shutdown)
        held.callback(node.destroy_node)
        held.callback(executor.shutdown)
        return node

    return join


def serve_until(executor: Any, condition: Any) -> None:
    end = time.monotonic() + STEPS + conftest.PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit('it did not happen in time')
        executor.spin_once(timeout_sec=0.02)


if __name__ == '__main__':
    main()
