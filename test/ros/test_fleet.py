"""Three robots in real time; `benchmarks/bench_robots.py` has twenty."""

import fleet
import numpy as np
import pytest

ROBOTS, STEPS = 3, 8
LATE_MS = 200.0  # a slot is 50 ms; far more than that would be missing altogether
MOST_MB = 250.0


@pytest.mark.parametrize(('executor', 'wheels'), [('events', True), ('plain', False)])
def test_all_tell_in_their_slots_and_cost_little(tmp_path, executor, wheels):
    found = fleet.run(tmp_path, robots=ROBOTS, steps=STEPS, executor=executor, wheels=wheels)
    assert found['missing'] <= ROBOTS * STEPS // 4  # the machine may be busy
    assert 0 <= found['late_ms']['p50'] < LATE_MS
    assert found['tracebacks'] == 0
    assert 0 < found['cpu_percent_per_robot'] < 50
    assert 10 < found['pss_mb_per_robot'] <= found['rss_mb_per_robot'] < MOST_MB


def test_steps_in_which_others_computed_do_not_count_as_idle():
    """Of 100 ticks between wakings we took 20; others 5, 40, 0 and 30."""
    idle = np.cumsum([0, 75, 40, 80, 50])
    slept = np.column_stack([np.zeros(5), idle, 100 * np.arange(5)])
    assert fleet.idle_steps(slept, ours=0.2) == {1, 3}


def test_quantiles_of_nothing_are_unknown():
    assert fleet.quantiles([]) == {'p50': None, 'p99': None, 'max': None}
    assert fleet.quantiles(range(101)) == {'p50': 50.0, 'p99': 99.0, 'max': 100.0}
