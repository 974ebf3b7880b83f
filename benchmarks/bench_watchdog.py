"""Kill a driving robot's process at random moments; print how it stops, as one JSON object.

The processes are real, the base is the embedded simulator, times are simulated. Beside it, in the
same run, a few kills without a watchdog: then only the base's own timeout stops the wheels.
`python benchmarks/bench_watchdog.py [KILLS]`
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'ros')]

from kill_rig import SPEEDS, Halt, KillRig  # noqa: E402
from rclpy.context import Context  # noqa: E402

from dp_multiagent.nodes.domains import TeamNode  # noqa: E402
from dp_multiagent.nodes.spin import make_executor  # noqa: E402

KILLS = 50
KILLS_OF_PEER = 8
RATE = 5.0
WORLDS = 3  # at a time
FIRST_DOMAIN = 65
PATIENCE = 60.0  # seconds
FARTHEST, LATEST = 0.05, 0.2
MOVING = 0.05, 0.2  # metres and radians a second


def main() -> None:
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    report = measure(kills)
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def measure(kills: int) -> dict[str, Any]:
    shares = [len(range(world, kills, WORLDS)) for world in range(WORLDS)]
    with ThreadPoolExecutor(WORLDS) as pool:
        watched = [pool.submit(kill, world, share) for world, share in enumerate(shares)]
        halts = [halt for each in watched for halt in each.result()]
        alone = pool.submit(kill, WORLDS, KILLS_OF_PEER, watched=False).result()
    distances = [halt.distance_in_the_field for halt in halts]
    seconds = [halt.seconds_in_the_field for halt in halts]
    moving = [h for h in halts if abs(h.speed) > MOVING[0] or abs(h.turn_speed) > MOVING[1]]
    return {
        'kills': len(halts),
        'kills_on_the_move': len(moving),
        'limits': SPEEDS,
        'fastest_metres_a_second': round(max(h.speed for h in halts), 3),
        'fastest_turn_radians_a_second': round(max(abs(h.turn_speed) for h in halts), 2),
        'longest_way_metres': round(max(distances), 4),
        'median_way_metres': round(median(distances), 4),
        'longest_time_seconds': round(max(seconds), 2),
        'longest_way_while_time_stands_still': round(max(h.distance for h in halts), 4),
        'longest_time_while_time_stands_still': round(max(h.seconds for h in halts), 2),
        'base_timeout_longest_way_metres': round(max(h.distance for h in alone), 4),
        'base_timeout_longest_time_seconds': round(max(h.seconds for h in alone), 2),
        'ratio_to_base_timeout': round(max(distances) / max(h.distance for h in alone), 3),
        'met': {
            'way': max(distances) <= FARTHEST,
            'time': max(seconds) <= LATEST,
            'most_kills_on_the_move': len(moving) > len(halts) / 2,
        },
    }


def kill(world: int, kills: int, *, watched: bool = True) -> list[Halt]:
    moments = random.Random(world)
    first = FIRST_DOMAIN + 3 * world
    domains = first, first + 1, first + 2
    with tempfile.TemporaryDirectory() as name, processes(Path(name)) as launch, nodes() as join:
        rig = KillRig(launch, join, domains, Path(name), rate=RATE, watched=watched)
        halts = []
        for _ in range(kills):
            halts.append(rig.kill(steps=moments.random(), fraction=moments.random()))
            print(f'world {world}, {len(halts)} of {kills}: {halts[-1]}', file=sys.stderr)
        return halts


class Running(subprocess.Popen[bytes]):
    """A program that can be signalled as the rig wants it."""

    send = subprocess.Popen.send_signal


@contextmanager
def processes(folder: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []
    environment = os.environ | {'PYTHONPATH': str(ROOT), 'ROS_LOG_DIR': str(folder / 'log')}

    def launch(module: str, *options: object) -> Running:
        command = [sys.executable, '-m', f'dp_multiagent.nodes.{module}', *map(str, options)]
        with (folder / 'stderr').open('ab') as errors:
            started.append(Running(command, stderr=errors, env=environment))
        return started[-1]

    try:
        yield launch
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def nodes() -> Iterator[Callable[[int], Any]]:
    joined: list[Any] = []

    def join(domain: int) -> Any:
        context = Context()
        context.init([], domain_id=domain)
        node: Any = TeamNode('onlooker', context=context)
        executor = make_executor(context)
        executor.add_node(node)
        node.wait_for = lambda condition: serve(executor, condition)
        joined.append(node)
        return node

    try:
        yield join
    finally:
        for node in joined:
            node.executor.shutdown()
            node.destroy_node()
            node.context.try_shutdown()


def serve(executor: Any, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit('a process did not answer in time')
        executor.spin_once(timeout_sec=0.02)


if __name__ == '__main__':
    main()
