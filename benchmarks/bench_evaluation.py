"""Exact private success of navigation beside rollouts of the same accuracy, in one run.

The peer is 100,000 rollouts: what it takes to know the success to about 0.2 points.
"""

import json
import statistics
import time

import numpy as np

from dp_multiagent.models import scenarios
from dp_multiagent.planning.rollouts import roll_out
from dp_multiagent.planning.synthesis import Effort, synthesise
from dp_multiagent.planning.task import task_of

REPEATS = 20
ROLLOUTS = 100_000


def seconds(work, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    task = task_of(scenarios.load(scenarios.find('navigation')))
    best = synthesise(task, 'minimum-dependency', effort=Effort(iterations=80)).best
    exact = seconds(lambda: task.private(best.policies), REPEATS)
    rng = np.random.default_rng(0)

    def play():
        roll_out(
            task.game, best.policies, task.mechanisms, n=ROLLOUTS, horizon=task.horizon, rng=rng
        )

    played = seconds(play, 1)
    start = time.perf_counter()
    found = synthesise(task, 'private-success', chosen=['random-0'])
    result = {
        'benchmark': 'evaluation',
        'exact_ms': 1000 * exact,
        'rollouts_ms': 1000 * played,
        'rollouts': ROLLOUTS,
        'ratio': played / exact,
        'private_success_seconds': time.perf_counter() - start,
        'private_success': found.best.success_private,
    }
    print(json.dumps(result))


if __name__ == '__main__':
    main()
