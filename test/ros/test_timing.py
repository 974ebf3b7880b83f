"""When messages are sent and how long they are says nothing about what a robot does.

Four robots, each on two cells, choose the next cell by a fair coin, whatever happened before. So
where a robot goes is independent of everything else, and a test of independence between that and
the delay of its messages keeps its level however the delays hang together.
"""

import json
import signal
import time

import numpy as np
from operator_client import Operator
from scipy import stats

from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.nodes import conversions
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.execution import Timetable
from dp_multiagent.planning.plan_store import NEVER_NS

ALPHA = 1e-4
PERIOD = 0.04  # seconds
STEPS = 1250
ROBOTS = tuple(f'robot{i}' for i in range(1, 5))
BINS = 5
MEMBERS = ''.join(
    f'  - {{name: {name}, start: [{i}, 0], target: [{i}, 1]}}\n' for i, name in enumerate(ROBOTS)
)
SCENARIO = f"""
version: 1
kind: navigation
title: Four robots on two cells each
map:
  cells: ['..', '..', '..', '..']
motion: {{intended: 1.0, slip: 0.0, swaps: collision}}
robots:
{MEMBERS}
privacy: {{epsilon: 1.0, adjacency: 3}}
planning: {{delta: 0.01, beta: 0.1, horizon: {STEPS}}}
"""


def fair_coin(scenario, game, i):
    """Return the policy that goes to either cell of its row."""
    mdp = game.agents[i]
    table = np.zeros((mdp.n_states, mdp.n_actions))
    for state, (_, column) in enumerate(scenario.grid.cells):
        for name in ('stay', 'left' if column else 'right'):
            table[state, mdp.actions.index(name)] = 0.5
    return LocalPolicy(robot=i, observed=(), table=table, own_state=table)


def write_plan(path):
    scenario = scenarios.parse(SCENARIO, 'coins.yaml')
    game, count = scenario.game(), len(ROBOTS)
    policies = tuple(fair_coin(scenario, game, i) for i in range(count))
    plan = plan_file.Plan(
        'coins', SCENARIO, scenario.graph, (1.0,) * count, (3,) * count, policies, {}
    )
    plan_file.save(plan, path)


def read(path, plan, folder):
    """Return the rows (robot, step, delay after the slot in ns, size) and the cells."""
    times = Timetable(plan)
    rows = []
    for line in path.read_text().splitlines():
        message = json.loads(line)
        if message.get('topic', '').endswith('/private_state'):
            slot = times.tell(message['step'], times.begin(message['step']))
            delay = message['sent'] - slot
            rows.append((message['robot'], message['step'], delay, message['size']))
    cells = [
        [int(line.split()[1]) for line in (folder / f'{name}.cells').read_text().splitlines()]
        for name in ROBOTS
    ]
    return rows, cells


def p_value(rows, cells, what):
    """Test delays, in fifths of each robot's, against what the robot does at that step."""
    table = np.zeros((BINS, 2))
    for robot, track in enumerate(cells):
        own = [(delay, step) for i, step, delay, _ in rows if i == robot and step < len(track) - 1]
        ranks = stats.rankdata([delay for delay, _ in own], method='ordinal') - 1
        for rank, (_, step) in zip(ranks, own, strict=True):
            table[int(rank * BINS / len(own)), int(what(track, step))] += 1
    return stats.chi2_contingency(table).pvalue


WHAT = {
    'where it is': lambda track, k: track[k],
    'where it goes': lambda track, k: track[k + 1],
    'whether it moves': lambda track, k: track[k + 1] != track[k],
    'whether it moved before': lambda track, k: k > 0 and track[k] != track[k - 1],
}


def test_delay_that_depends_on_the_action_would_be_noticed():
    """A fifth of the spread of the delays is enough."""
    rng = np.random.default_rng(2)
    cells = rng.integers(2, size=(len(ROBOTS), STEPS + 1)).tolist()
    rows = [
        (i, k, rng.normal() + 0.2 * cells[i][k + 1], 40)
        for i in range(len(ROBOTS))
        for k in range(STEPS)
    ]
    assert p_value(rows, cells, WHAT['where it goes']) < ALPHA
    assert p_value(rows, cells, WHAT['where it is']) > ALPHA


def are_listening(node):
    return all(node.count_subscribers(f'/{name}/policy') >= 2 for name in ROBOTS)


def test_times_and_sizes_are_independent_of_what_the_robots_do(start, join, new_domain, tmp_path):
    scenario, plan_path = tmp_path / 'coins.yaml', tmp_path / 'coins.npz'
    scenario.write_text(SCENARIO)
    write_plan(plan_path)
    operator_domain, team_domain = new_domain(), new_domain()
    heard = tmp_path / 'heard'
    eavesdropper = start('eavesdropper', team_domain, heard)
    for name in ROBOTS:
        start(
            'robot',
            *(tmp_path, '--scenario', scenario, '--robot', name, '--budget', 1),
            *('--domain', new_domain(), '--team-domain', team_domain),
            *('--ledger', tmp_path / f'{name}.ledger'),
        )
    start(
        'planning_server',
        *('--domain', operator_domain, '--team-domain', team_domain, '--plan', plan_path),
        *('--plans', tmp_path / 'plans', '--period', PERIOD, '--deadline', 0.4, '--lead', 3),
    )
    operator = Operator(join(operator_domain), join(team_domain), ROBOTS)
    operator.wait_for_plan()
    operator.team.wait_for(lambda: are_listening(operator.team))
    operator.start_episode()
    plan = conversions.team_plan_from_msg(
        operator.wait_for_plan(
            lambda plan: conversions.team_plan_from_msg(plan).start_ns != NEVER_NS
        )
    )
    operator.close()
    while time.time_ns() < Timetable(plan).end:
        time.sleep(0.1)
    eavesdropper.send_until_it_ends(signal.SIGTERM)
    rows, cells = read(heard, plan, tmp_path)
    print(f'\n{len(rows)} messages')
    assert len(rows) > 0.95 * STEPS * len(ROBOTS)
    assert {size for *_, size in rows} == {rows[0][3]}
    found = {name: p_value(rows, cells, what) for name, what in WHAT.items()}
    print(found)
    assert min(found.values()) > ALPHA
