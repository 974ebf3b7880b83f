"""Nothing is left of a team that has ended; `benchmarks/bench_updown.py` looks a hundred times."""

import time

import pytest
import updown

from dp_multiagent.deployment.shared_memory import remove_abandoned

NOTHING = {'processes': 0, 'files': 0, 'shared_memory': 0}
CYCLES = 20
MOST_MB = 5.0
PATIENCE = 5.0  # seconds


@pytest.mark.parametrize('how', updown.ENDS)
def test_nothing_is_left_however_a_team_ends(tmp_path, team_domain, how):
    report = updown.many(tmp_path, team_domain, [how] * 2)
    assert report['left'] == NOTHING, report
    if how == 'done':
        assert report['statuses']['done'] == [0]


def test_what_is_left_would_be_found(tmp_path, team_domain):
    """Kill everybody, the one who would clean up included."""
    run = updown.Run(tmp_path, team_domain)
    for _ in range(100):
        run.wait(0.3)
        if len(run.shared) > 10:
            break
    assert len(run.processes()) > 1
    run.close()
    left = run.left()
    assert left['processes'] == []
    assert left['files']
    assert [name for name in left['shared_memory'] if 'port' not in name]
    assert remove_abandoned()
    end = time.monotonic() + PATIENCE  # the dying give up their locks a little after their memory
    while run.left()['shared_memory'] and time.monotonic() < end:
        time.sleep(0.1)
        remove_abandoned()
    assert run.left()['shared_memory'] == []


@pytest.mark.parametrize('kind', ['robot', 'planner'])
@pytest.mark.parametrize('how', ['lifecycle', 'whole'])
def test_node_that_comes_and_goes_keeps_no_thread_and_no_file(tmp_path, new_domain, kind, how):
    held = updown.cycles(tmp_path, (new_domain(), new_domain()), kind, how, CYCLES)
    for what in ('threads', 'files'):
        assert held['after'][what] == held['before'][what], held
    if how == 'lifecycle':
        assert held['after']['megabytes'] - held['before']['megabytes'] < MOST_MB
