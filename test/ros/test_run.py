"""`dp_multiagent run` with real processes on real ROS."""

import json
import os
import signal
import time

import pytest
from deployed import children_of, run_command

PATIENCE = 60.0


@pytest.fixture
def run(tmp_path, team_domain):
    """Start the command, and kill it with its children at the end of the test."""
    started = []

    def start(*arguments):
        started.append(run_command(*arguments, '--team-domain', team_domain))
        return started[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.wait()


def wait_for_line(process, text):
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f'{text!r} was not said')


def test_team_drives_and_says_how_it_went(run, tmp_path):
    films = tmp_path / 'films'
    process = run('navigation', '--rate', 0, '--episodes', 2, '--record', films, '--json')
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    answer = json.loads(out)
    assert (answer['done'], answer['episodes'], answer['died']) == (True, 2, None)
    assert answer['epsilon_spent'] == {'robot1': 2.0, 'robot2': 2.0}
    assert 0.96 < answer['success_private_exact'] < 0.98
    assert len(list(films.glob('*.png'))) == len(list(films.glob('*.gif'))) == 2
    assert '[robot1] INFO: episode 1' in errors


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_all_within_two_seconds_with_status_0(run, number):
    process = run('navigation', '--episodes', 100)
    wait_for_line(process, '[robot1] INFO: episode 0')
    children = children_of(process.pid)
    assert set(children) == {'planning_server', 'simulator', 'operator', 'robot1', 'robot2'}
    begin = time.monotonic()
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begin < 2.0 + 0.5  # to be told so
    assert process.returncode == 0
    assert 'stopped' in out
    assert 'Traceback' not in errors


def test_ctrl_c_while_all_are_starting_ends_them_without_a_word(run):
    process = run('navigation')
    end = time.monotonic() + PATIENCE
    while len(children_of(process.pid)) < 5:
        assert time.monotonic() < end
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert 'Traceback' not in errors


def test_process_that_dies_is_named_and_ends_the_others(run):
    process = run('navigation', '--episodes', 100)
    wait_for_line(process, '[robot2] INFO: episode 0')
    os.kill(children_of(process.pid)['robot2'], signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert 'robot2 died: killed by SIGKILL' in out


def test_process_that_cannot_start_ends_the_run_with_its_reason(run, tmp_path):
    (tmp_path / 'plans').write_text('not a folder')
    process = run('navigation', '--folder', tmp_path)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert 'planning_server died: exit status 2: ' in out


def test_second_team_in_the_same_domain_is_refused(run):
    first = run('navigation', '--episodes', 100)
    wait_for_line(first, 'is up')
    _, errors = (second := run('crossing')).communicate(timeout=PATIENCE)
    assert second.returncode == 2
    assert errors.startswith('--team-domain: another team runs in domain')
