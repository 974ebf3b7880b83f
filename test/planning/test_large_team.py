"""A team too large to plan for: its plan, made by hand, is kept, offered and understood."""

import time
from dataclasses import replace

import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.plan_file import Plan
from dp_multiagent.planning.plan_store import Pace, PlanStore
from dp_multiagent.planning.robot_model import RobotModel

ROBOTS = 20
MEMBERS = ''.join(
    f'  - {{name: robot{i}, start: [{i}, 0], target: [{i}, 1]}}\n' for i in range(ROBOTS)
)
SCENARIO = f"""
version: 1
kind: navigation
title: Twenty robots
map:
  cells: {['..'] * ROBOTS}
motion: {{intended: 1.0, slip: 0.0, swaps: collision}}
robots:
{MEMBERS}
privacy: {{epsilon: 1.0, adjacency: 3}}
planning: {{delta: 0.01, beta: 0.1, horizon: 100}}
"""
PACE = Pace(period_ns=10**9, deadline=0.25, max_stale=3)


def stay(robot):
    table = np.zeros((2 * ROBOTS, 5))
    table[:, 4] = 1.0
    return LocalPolicy(robot=robot, observed=(), table=table, own_state=table)


@pytest.fixture
def plan():
    graph = scenarios.parse(SCENARIO, 'twenty').graph
    policies = tuple(map(stay, range(ROBOTS)))
    return Plan('twenty', SCENARIO, graph, (1.0,) * ROBOTS, (3,) * ROBOTS, policies, {})


def test_plan_is_kept_offered_and_taken_by_each_robot_quickly(plan, tmp_path):
    begin = time.perf_counter()
    PlanStore(tmp_path).keep(plan)
    offer = PlanStore(tmp_path).offer()
    told = offer.team_plan(PACE)
    for robot, policy in zip(told.robots, offer.policies, strict=True):
        model = RobotModel.of(plan.parsed(), robot)
        model.refuse_foreign_plan(told)
        model.refuse_foreign_policy(policy)
    assert time.perf_counter() - begin < 20.0


def test_plan_for_other_targets_is_refused_by_the_robots(plan, tmp_path):
    told = PlanStore(tmp_path).keep(plan).team_plan(PACE)
    scenario = plan.parsed()
    robots = (replace(scenario.robots[0], target=(0, 0)), *scenario.robots[1:])
    model = RobotModel.of(replace(scenario, robots=robots), 'robot7')
    with pytest.raises(ModelError, match='another scenario'):
        model.refuse_foreign_plan(told)


def test_planning_for_it_is_refused_in_one_line(plan):
    with pytest.raises(ModelError, match=r'20 agents have 1\.1e\+32 joint states, too many') as no:
        plan.task()
    assert '\n' not in str(no.value)
