"""Plot how the time of a minimum-dependency step grows with states and with robots.

`python benchmarks/bench_growth.py [FILE.png]`; prints one JSON object with the measured points,
which are those of bench_minimum_dependency.py, and the exponents of time over policy entries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

POINTS = Path(__file__).with_name('bench_minimum_dependency.py')
JOBS = {
    'growth_with_states': 'two robots, larger maps',
    'growth_with_robots': '1 to 4 robots, 3×3',
}


def main() -> None:
    measured = {job: measure(job) for job in JOBS}
    exponents = {job: exponent(points) for job, points in measured.items()}
    if len(sys.argv) > 1:
        plot(measured, Path(sys.argv[1]))
    print(json.dumps({**measured, 'exponents': exponents}, indent=2))


def measure(job: str) -> list[dict[str, Any]]:
    one_core = {**os.environ, 'OPENBLAS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1'}
    command = [sys.executable, str(POINTS), job]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_core)
    return list(json.loads(done.stdout))


def exponent(points: list[dict[str, Any]]) -> float:
    """Fit time = c * entries^b to the larger half of the points and return b."""
    larger = points[len(points) // 2 :]
    x, y = (np.log([p[key] for p in larger]) for key in ('entries', 'seconds_per_step'))
    return float(np.polyfit(x, y, 1)[0])


def plot(measured: dict[str, list[dict[str, Any]]], out: Path) -> None:
    sys.path.insert(0, str(POINTS.parents[1]))
    from dp_multiagent.cli.map_picture import new_figure, save

    figure, panels = new_figure((5, 4), 2)
    for axes, (x, label) in zip(
        panels,
        (('joint_states', 'joint states'), ('entries', 'joint states × actions')),
        strict=True,
    ):
        for job, points in measured.items():
            y = [point['seconds_per_step'] for point in points]
            axes.loglog([point[x] for point in points], y, 'o-', label=JOBS[job])
        axes.set(xlabel=label, ylabel='CPU seconds per step')
        axes.grid(alpha=0.3)
    panels[0].legend()
    save(figure, out)


if __name__ == '__main__':
    main()
