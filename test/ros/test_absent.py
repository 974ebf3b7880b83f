"""A robot that comes late, one that never comes, one whose budget ends: as the protocol says."""

import json
import re
import time
from pathlib import Path

import pytest

LATE = 10.0  # seconds
SCENARIO = """
version: 1
kind: navigation
title: Two robots behind a wall from each other, the second looks at the first
map:
  cells: ['....', '####', '....']
motion: {intended: 0.95, slip: 0.05, swaps: collision}
robots:
  - {name: robot1, start: [0, 0], target: [0, 3]}
  - {name: robot2, start: [2, 0], target: [2, 3]}
dependencies: {robot2: [robot1]}
privacy: {epsilon: 1.0, adjacency: 3}
planning: {delta: 0.01, beta: 0.1, horizon: 40}
"""


@pytest.fixture
def team(deploy, tmp_path, start, team_domain):
    """Describe a team with short episodes, and let somebody listen to what it tells."""
    scenario = tmp_path / 'short.yaml'
    scenario.write_text(SCENARIO)
    heard = tmp_path / 'heard'
    listener = start('eavesdropper', team_domain, heard)
    listener.expect('listening')

    def described(**options):
        team = deploy(scenario=str(scenario), **options)
        team.told = lambda: _told(heard)
        return team

    return described


def _told(heard: Path):
    """Return the steps that each robot told in each episode: {(robot, episode): [step, ...]}."""
    told = {}
    for line in heard.read_text().splitlines(keepends=True):
        message = json.loads(line) if line.endswith('\n') else {}  # it may be being written
        if message.get('topic', '').endswith('/private_state'):
            key = message['robot'] + 1, message['episode']
            told.setdefault(key, []).append(message['step'])
    return told


def moved(result, robot):
    """Tell whether a robot left its start."""
    return len({tuple(cells[robot - 1]) for cells in result.cells}) > 1


def test_robot_that_starts_ten_seconds_late_catches_up(team):
    team = team(rate=3.0)
    team.start('planning_server', 'simulator', 'robot1')
    team.start('operator', more=('--patience', 1))
    team.wait_for_line('robot1', 'episode 0')
    begin = time.monotonic()
    team.wait_for(lambda: time.monotonic() > begin + LATE)
    team.start('robot2')
    (result,) = team.wait_for_end()
    told = team.told()
    assert 'robot2 is not there; going on without' in team.log('operator')
    assert told[1, 0][0] == 0
    first = told[2, 0][0]
    assert 4 <= first <= 20  # ten seconds are thirty simulated ones, of four a step
    assert told[2, 0] == list(range(first, told[2, 0][-1] + 1))
    at = [tuple(cells[1]) for cells in result.cells]
    # Who listens may have missed the first words of a topic that is new to it.
    assert set(at[: max(first - 4, 1)]) == {at[0]}, 'it was moved before it was there'
    assert result.outcome == 'success'


def test_team_goes_on_without_a_robot_that_never_starts(team):
    team = team(rate=20.0)
    team.start('planning_server', 'simulator', 'robot2')
    team.start('operator', more=('--patience', 1))
    (result,) = team.wait_for_end()
    told = team.told()
    assert set(told) == {(2, 0)}
    assert told[2, 0] == list(range(told[2, 0][0], 40))
    # A slip may take it away again.
    assert [2, 3] in [list(cells[1]) for cells in result.cells], 'it did not reach its target'
    assert not moved(result, 1)
    assert result.outcome == 'timeout'


def test_robot_without_budget_tells_nothing_and_holds_while_the_others_go_on(team):
    team = team(episodes=2, budget=1.5)
    team.start('planning_server', 'simulator', 'robot1', 'operator')
    team.start('robot2', more=('--budget', 5))
    results = team.wait_for_end()
    told = team.told()
    assert {(1, 0), (2, 0), (2, 1)} == set(told)
    assert 'quiet, holding: budget exceeded' in team.log('robot1')
    assert not moved(results[1], 1)
    assert moved(results[1], 2)
    assert results[1].epsilon_spent == {'robot1': 1.0, 'robot2': 2.0}


def test_robot_whose_budget_ends_in_mid_episode_falls_silent_there(team):
    """It is restarted without its ledger, so the rest of the word would be a second release."""
    team = team(rate=4.0)
    team.start()
    team.wait_for(lambda: len(team.told().get((1, 0), [])) > 1)
    team.kill('robot1')
    for path in team.folder.glob('robot1.ledger*'):
        path.unlink()
    team.start('robot1', more=('--budget', 0.5))
    team.wait_for_line('robot1', 'quiet, holding: budget exceeded')
    (result,) = team.wait_for_end()
    told = team.told()
    assert 0 < len(told[1, 0]) < len(told[2, 0])
    last = told[1, 0][-1]
    stood = [tuple(cells[0]) for cells in result.cells[last + 2 :]]
    assert len(set(stood)) <= 1
    assert re.search(r'requested epsilon 1\b', team.log('robot1'))
