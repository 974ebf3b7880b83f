"""Measure how fast two robots drive in the simulator's core; print one JSON object.

Beside it, in the same run, bare MuJoCo steps of the same model: the ratio is what our part costs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import mujoco  # noqa: E402

from dp_multiagent.driving.floor import Floor  # noqa: E402
from dp_multiagent.driving.leg import Limits  # noqa: E402
from dp_multiagent.driving.pilot import Pilot  # noqa: E402
from dp_multiagent.models import scenarios  # noqa: E402
from dp_multiagent.sim.episode import Episode  # noqa: E402
from dp_multiagent.sim.judge import Judge  # noqa: E402
from dp_multiagent.sim.mjcf import TIMESTEP  # noqa: E402
from dp_multiagent.sim.world import TICK, World  # noqa: E402

PERIOD = 4  # simulated seconds
TAKES = 5
LEAST_REAL_TIME_FACTOR = 30
WAYS = (((3, 0), (3, 4)), ((3, 1), (3, 3)), ((2, 1), (2, 3)), ((3, 1), (3, 3)), ((3, 0), (3, 4)))


def main() -> None:
    report = measure()
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def measure() -> dict[str, Any]:
    ours, bare = [], []
    for _ in range(TAKES):
        ours.append(seconds(drive))
        bare.append(seconds(step_only))
    simulated = PERIOD * len(WAYS)
    factor = simulated / median(ours)
    return {
        'robots': 2,
        'real_time_factor': round(factor, 1),
        'physics_steps_per_second': round(factor / TIMESTEP),
        'bare_mujoco_real_time_factor': round(simulated / median(bare), 1),
        'ratio_to_bare_mujoco': round(median(bare) / median(ours), 3),
        'met': {'real_time_factor': factor >= LEAST_REAL_TIME_FACTOR},
    }


def drive() -> None:
    floor, world, targets = new_world()
    judge = Judge(floor, targets, Episode(0, 0, PERIOD * 10**9, horizon=200))
    pilots = [Pilot(Limits(), floor.cell_size) for _ in world.names]
    for cells in WAYS:
        for i, (pilot, cell) in enumerate(zip(pilots, cells, strict=True)):
            pilot.head_for(floor.centre(cell), world.pose(i))
        for _ in range(round(PERIOD / TICK)):
            poses = [world.pose(i) for i in range(len(pilots))]
            judge.observe(world.time_ns, poses, world.touched)
            for i, pilot in enumerate(pilots):
                world.command(i, pilot.command(poses[i], world.time_ns / 1e9))
            world.tick()


def step_only() -> None:
    _, world, _ = new_world()
    mujoco.mj_step(world.model, mujoco.MjData(world.model), round(PERIOD * len(WAYS) / TIMESTEP))


def new_world() -> tuple[Floor, World, list[Any]]:
    scenario: Any = scenarios.load(ROOT / 'config' / 'scenarios' / 'navigation.yaml')
    floor = Floor(scenario.grid)
    world = World(floor, {robot.name: robot.start for robot in scenario.robots})
    return floor, world, [robot.target for robot in scenario.robots]


def seconds(job: Callable[[], object]) -> float:
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


if __name__ == '__main__':
    main()
