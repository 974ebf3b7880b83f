"""Robots in processes of their own, between which messages get lost and whose clocks jump.

`benchmarks/bench_faults.py` does the same with many more episodes.
"""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from deployed import reserve_team
from disturbance import AHEAD, BEHIND, CALM, CUT, DEAF, LATE, ROUGH, Disturbance
from relayed import OPTIONS, Relayed, pace
from stale_model import predict

from dp_multiagent.deployment.navigation import Options
from dp_multiagent.models import scenarios
from dp_multiagent.planning import methods
from dp_multiagent.planning.plan_file import Plan
from dp_multiagent.planning.task import task_of

SUFFERED = (ROUGH, ROUGH, AHEAD, ROUGH, CUT, ROUGH, BEHIND, ROUGH, LATE)
EPISODES = 4 * len(SUFFERED)
STANDARD_ERRORS = 4  # by chance, one run in 16,000 is farther off
PATIENCE = 300.0  # seconds, for a machine under load


@pytest.fixture(scope='module')
def plan():
    """Plan so that listening matters: one ascent of the private success is good enough."""
    path = scenarios.find('crossing')
    task = task_of(scenarios.load(path))
    policies = methods.random_ascent(task, 'random-1', 1, lambda _: None, None).policies
    text = path.read_text(encoding='utf-8')
    return Plan(str(path), text, task.graph, task.epsilon, task.adjacency, policies, {})


@pytest.fixture(scope='module')
def found(plan, domain_cycle, tmp_path_factory):
    """Return what was found after all episodes."""
    with ExitStack() as held:
        domain = reserve_team(domain_cycle, held)
        folder = tmp_path_factory.mktemp('relayed')
        team = Relayed(folder, domain, plan, SUFFERED, episodes=EPISODES)
        held.callback(team.close)
        return team.run(PATIENCE)


def test_all_faults_come_to_pass(found):
    fates = {name: set(found.seen['fates'][name]) for name in ('rough', 'cut')}
    assert fates['rough'] == {'carried', 'lost', 'overtaken', 'copied', 'resent'}
    assert fates['cut'] == {'carried', 'cut'}


def test_nothing_breaks_nothing_true_is_shown_and_nothing_is_told_unpaid(found):
    assert len(found.told) > 10 * EPISODES
    assert set(found.faults.values()) == {0}, found.faults


def test_what_is_told_is_no_truer_than_the_mechanism_makes_it(found):
    assert abs(found.truth_excess()) < STANDARD_ERRORS


@pytest.mark.parametrize(
    ('of', 'robot', 'missing'),
    [
        (ROUGH, 1, set()),
        (CUT, 1, set()),
        (LATE, 0, {0, 1}),
        (LATE, 1, {0, 1}),
        (AHEAD, 0, set()),
        (AHEAD, 1, {2}),
        (BEHIND, 1, set()),
    ],
    ids=lambda value: getattr(value, 'name', None),
)
def test_robot_tells_each_step_that_its_clock_shows_once(found, of, robot, missing):
    """What it tells at the end may come after the verdict, when the next disturbance has begun."""
    for result in found.of(of.name):
        told = [step for step in found.steps(robot, result.episode) if step <= result.step - 2]
        last = max(told, default=-1)
        assert last >= result.step - 4
        assert told == [step for step in range(last + 1) if step not in missing]


def test_success_is_what_the_model_with_stale_messages_predicts(found):
    rough = found.success(ROUGH)
    assert abs(rough['standard_errors_off']) < STANDARD_ERRORS, rough
    expected = [found.success(of) for of in (ROUGH, CUT, AHEAD, BEHIND)]
    off = sum(each['episodes'] * (each['success'] - each['predicted']) for each in expected)
    error = sum((each['episodes'] * each['standard_error']) ** 2 for each in expected) ** 0.5
    assert abs(off / error) < STANDARD_ERRORS, expected


def prediction(plan, of, **changes):
    options = Options(folder=None, **(OPTIONS | changes))
    return predict(plan.task(), plan.policies, pace(options, plan), of)['success']


def test_model_without_faults_is_the_exact_private_success(plan):
    exact = plan.task().private(plan.policies).success
    assert prediction(plan, CALM) == pytest.approx(exact, abs=0.01)


def test_model_of_a_robot_that_hears_nothing_is_that_of_one_that_acts_alone(plan):
    """The initial state is public, so only the first step is taken by it."""
    first, second = plan.policies
    own = np.broadcast_to(second.own_state[:, None], second.table.shape)
    stepwise = replace(second, table=np.stack([second.table, own]), by_step=True)
    exact = plan.task().private((first, stepwise)).success
    nothing = Disturbance(name='nothing', loss=1.0)
    assert prediction(plan, nothing, max_stale=0) == pytest.approx(exact, abs=0.01)


def test_faults_cost_so_much_that_a_team_without_them_would_be_told_apart(plan):
    calm = prediction(plan, CALM)
    costs = {of.name: calm - prediction(plan, of) for of in (ROUGH, DEAF, CUT, AHEAD)}
    assert costs.pop('rough') > 0.05
    assert min(costs.values()) > 0.15
