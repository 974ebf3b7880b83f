"""Measure minimum dependency beside the conic program that it replaces; print one JSON object.

Each job runs in a process of its own, so that its peak memory is its own, and on one core. Times
are CPU seconds of the job; those of a conic step are cvxpy's compilation and Clarabel, not the
building of the program. `python benchmarks/bench_minimum_dependency.py [JOB]`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'planning')]

WEIGHTS = {'delta': 0.01, 'beta': 0.4}
ITERATIONS = 80
CONIC_STEPS = (0, 1, 2, 40)
GROWTH_STEPS = 5


def main() -> None:
    if len(sys.argv) > 1:
        report = JOBS[sys.argv[1]]()
    else:
        report = {job: _in_own_process(job) for job in JOBS}
        report['met'] = _met(report)
    print(json.dumps(report, indent=None if len(sys.argv) > 1 else 2))


def navigation() -> dict[str, Any]:
    """Synthesise the paper's policy: the authors' start and 80 steps."""
    from games import navigation_game

    from dp_multiagent.planning.minimum_dependency import minimum_dependency
    from dp_multiagent.planning.starts import maximum_entropy

    game = navigation_game()
    memory = _peak_mb()
    begin = time.process_time()
    start = maximum_entropy(game)
    started = time.process_time()
    found = minimum_dependency(game, start, **WEIGHTS, iterations=ITERATIONS)
    end = time.process_time()
    return {
        'iterations': ITERATIONS,
        'success_truthful': found.success,
        'total_correlation': found.total_correlation,
        'objective': found.objective,
        'gap': found.gap,
        'seconds': end - begin,
        'seconds_start': started - begin,
        'seconds_per_step': (end - started) / ITERATIONS,
        'memory_mb': _peak_mb() - memory,
    }


def conic() -> dict[str, Any]:
    """Solve the same steps as reduced conic programs with cvxpy and Clarabel."""
    import cvxpy as cp
    from conic import OccupancyProgram
    from games import navigation_game

    from dp_multiagent.planning.minimum_dependency import iterate
    from dp_multiagent.planning.starts import maximum_entropy

    game = navigation_game()
    memory = _peak_mb()
    run = list(islice(iterate(game, maximum_entropy(game), **WEIGHTS), max(CONIC_STEPS) + 2))
    program = OccupancyProgram(game)
    seconds, clarabel, shortfalls, statuses = [], [], [], []
    for step in CONIC_STEPS:
        problem = program.step(run[step].occupancy.own_state_policies, **WEIGHTS)
        begin = time.process_time()
        value = problem.solve(solver=cp.CLARABEL)
        seconds.append(time.process_time() - begin)
        clarabel.append(problem.solver_stats.solve_time)
        shortfalls.append((_bound(run[step]) - value) / abs(value))
        statuses.append(problem.status)
    return {
        'steps': list(CONIC_STEPS),
        'entries': program.x.size,
        'seconds_per_step': median(seconds),
        'seconds_per_step_clarabel_alone': median(clarabel),
        'relative_shortfall_of_conic': shortfalls,
        'status': statuses,
        'memory_mb': _peak_mb() - memory,
    }


def ten_by_ten() -> dict[str, Any]:
    """Synthesise for two robots on a 10×10 map of two rooms."""
    return _synthesis(_rooms(10), [(9, 0), (9, 9)], [(9, 8), (9, 1)])


def three_robots() -> dict[str, Any]:
    """Synthesise for three robots on the map of the paper."""
    from games import NAVIGATION_MAP

    return _synthesis(NAVIGATION_MAP, [(4, 0), (4, 4), (1, 0)], [(4, 3), (4, 1), (1, 4)])


def growth_with_states() -> list[dict[str, Any]]:
    """Time a step for two robots on larger and larger maps."""
    corners = ((n, [(n - 1, 0), (n - 1, n - 1)]) for n in range(4, 14))
    return [_growth(_rooms(n), ends, ends[::-1]) for n, ends in corners]


def growth_with_robots() -> list[dict[str, Any]]:
    """Time a step for one to four robots that change places on a 3×3 map."""
    from dp_multiagent.models.gridmap import GridMap

    corners = [(0, 0), (0, 2), (2, 2), (2, 0)]
    square = GridMap(('...', '...', '...'), slip=0.05)
    return [
        _growth(square, corners[:n], [corners[(i + 1) % 4] for i in range(n)]) for n in range(1, 5)
    ]


JOBS: dict[str, Callable[[], Any]] = {
    job.__name__: job
    for job in (
        navigation,
        conic,
        ten_by_ten,
        three_robots,
        growth_with_states,
        growth_with_robots,
    )
}


def _met(report: dict[str, Any]) -> dict[str, Any]:
    ours, peer = report['navigation'], report['conic']
    maps = [report['ten_by_ten'], report['three_robots']]
    ratio = peer['seconds_per_step'] / ours['seconds_per_step']
    return {
        'ratio': ratio,
        'at_least_200_times_faster': ratio >= 200,
        'synthesis_under_2_s': ours['seconds'] < 2,
        'synthesis_under_200_mb': ours['memory_mb'] < 200,
        'maps_under_60_s': all(m['seconds'] < 60 for m in maps),
        'maps_under_1_gb': all(m['peak_mb'] < 1000 for m in maps),
    }


def _in_own_process(job: str) -> Any:
    print(f'{job} ...', file=sys.stderr)
    command = [sys.executable, __file__, job]
    one_core = {**os.environ, 'OPENBLAS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1'}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_core)
    return json.loads(done.stdout)


def _rooms(n: int) -> Any:
    """Return an n×n map: two rooms, two corridors, the upper one beside deadly cells."""
    from dp_multiagent.models.gridmap import GridMap

    wall, corridors = n // 2, (1, n - 2)
    rows = ['!' * wall + '#' + '.' * (n - wall - 1)]
    rows += [
        '.' * n if r in corridors else '.' * wall + '#' + '.' * (n - wall - 1) for r in range(1, n)
    ]
    return GridMap(tuple(rows), slip=0.05)


def _synthesis(grid: Any, starts: Any, targets: Any) -> dict[str, Any]:
    from games import team_game

    from dp_multiagent.planning.minimum_dependency import minimum_dependency
    from dp_multiagent.planning.starts import soft_reach

    game = team_game(grid, starts, targets)
    begin, wall = time.process_time(), time.perf_counter()
    found = minimum_dependency(game, soft_reach(game), **WEIGHTS)
    return {
        'joint_states': found.steps.n_live,
        'entries': found.rows.size,
        'iterations': found.iteration,
        'success_truthful': found.success,
        'objective': found.objective,
        'gap': found.gap,
        'seconds': time.process_time() - begin,
        'seconds_wall': time.perf_counter() - wall,
        'peak_mb': _peak_mb(),
    }


def _growth(grid: Any, starts: Any, targets: Any) -> dict[str, Any]:
    from games import team_game

    from dp_multiagent.planning.minimum_dependency import iterate
    from dp_multiagent.planning.starts import soft_reach

    run = iterate(
        team_game(grid, starts, targets), soft_reach(team_game(grid, starts, targets)), **WEIGHTS
    )
    first = next(run)
    begin = time.process_time()
    for _ in range(GROWTH_STEPS):
        next(run)
    return {
        'robots': len(starts),
        'joint_states': first.steps.n_live,
        'entries': first.rows.size,
        'seconds_per_step': (time.process_time() - begin) / GROWTH_STEPS,
        'peak_mb': _peak_mb(),
    }


def _bound(step: Any) -> float:
    from dp_multiagent.planning import soft_bellman
    from dp_multiagent.planning.minimum_dependency import linearised

    return soft_bellman.solve(linearised(step.steps, step.occupancy, **WEIGHTS)).objective


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == '__main__':
    main()
