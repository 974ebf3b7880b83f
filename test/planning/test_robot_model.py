"""What a robot knows of itself: its place, its cells, its moves, and which plans are for it."""

from dataclasses import replace

import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import LocalPolicy, TeamPlan
from dp_multiagent.planning.execution import Move
from dp_multiagent.planning.robot_model import RobotModel, slipping

N = 20_000


def scenario(name='navigation'):
    return scenarios.load(scenarios.find(name))


@pytest.fixture(scope='module')
def model():
    return RobotModel.of(scenario(), 'robot2')


def plan_for(model, **changes):
    values = {
        'plan_id': bytes(16),
        'game': model.game.fingerprint,
        'episode': 0,
        'start_ns': 0,
        'period_ns': 10**9,
        'deadline': 0.2,
        'horizon': 5,
        'max_stale': 1,
        'robots': ('robot1', 'robot2'),
        'graph': model.scenario.graph,
        'epsilon': (1.0, 2.0),
        'adjacency': (3, 4),
    }
    return TeamPlan(**(values | changes))


def action(model, name):
    return model.mdp.actions.index(name)


def test_robot_is_found_by_its_name(model):
    assert (model.name, model.index, model.adjacency) == ('robot2', 1, 3)
    assert model.grid.cells[model.mdp.initial] == (4, 4)


def test_own_epsilon_goes_before_that_of_the_team():
    team = scenario()
    robots = (team.robots[0], replace(team.robots[1], epsilon=0.25))
    assert RobotModel.of(replace(team, robots=robots), 'robot2').epsilon == 0.25
    assert RobotModel.of(team, 'robot2').epsilon == 1.0


def test_own_adjacency_goes_before_that_of_the_team():
    team = scenario()
    robots = (team.robots[0], replace(team.robots[1], adjacency=7))
    assert RobotModel.of(replace(team, robots=robots), 'robot2').adjacency == 7


def test_unknown_robot_is_refused():
    with pytest.raises(ModelError, match='there are robot1, robot2'):
        RobotModel.of(scenario(), 'robot3')


def test_team_that_does_not_drive_is_refused():
    with pytest.raises(ModelError, match='sysadmin'):
        RobotModel.of(scenario('sysadmin'), 'server1')


@pytest.mark.parametrize('cell', [None, (0, 2), (-1, 0), (5, 5)])
def test_robot_off_the_free_cells_has_no_state(model, cell):
    assert model.state(cell) is None


@pytest.mark.parametrize(
    ('cell', 'name', 'aim'),
    [
        ((3, 3), 'right', (3, 4)),
        ((3, 3), 'up', (2, 3)),
        ((3, 3), 'left', (3, 2)),
        ((3, 3), 'down', (4, 3)),
        ((3, 3), 'stay', (3, 3)),
        ((4, 3), 'left', (4, 3)),
        ((4, 4), 'down', (4, 4)),
    ],
)
def test_move_without_slips_leads_where_it_is_meant_to(model, cell, name, aim):
    move = Move(model.state(cell), action(model, name))
    assert model.grid.cells[model.intended(move)] == aim


def test_slips_have_the_probabilities_of_the_model(model):
    move = Move(model.state((3, 3)), action(model, 'up'))
    uniforms = (np.arange(N) + 0.5) / N
    reached = np.bincount([model.slipped(move, u) for u in uniforms], minlength=22)
    assert np.abs(reached / N - model.mdp.tensor[move]).max() <= 1 / N


def test_robots_of_a_team_slip_independently():
    one, other = slipping(7, 0).random(5), slipping(7, 1).random(5)
    assert not set(one) & set(other)
    assert (slipping(7, 0).random(5) == one).all()


def test_mechanism_has_the_privacy_of_the_plan(model):
    mechanism = model.mechanism(plan_for(model))
    assert (mechanism.epsilon, mechanism.adjacency) == (2.0, 4)


def test_own_plan_is_accepted(model):
    model.refuse_foreign_plan(plan_for(model))


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'game': bytes(32)}, 'another scenario'),
        ({'robots': ('robot2', 'robot1')}, 'other robots'),
        ({'period_ns': 1000}, 'too short'),
    ],
)
def test_foreign_plan_is_refused(model, changes, reason):
    with pytest.raises(ModelError, match=reason):
        model.refuse_foreign_plan(plan_for(model, **changes))


def test_plan_for_swaps_that_are_allowed_is_refused(model):
    allowed = plan_for(model, game=scenario().players.fingerprint)
    with pytest.raises(ModelError, match='another scenario'):
        model.refuse_foreign_plan(allowed)


def policy(robot, observed, *shape):
    table = np.full(shape, 1 / shape[-1])
    return LocalPolicy(robot, observed, table, np.full((shape[0], shape[-1]), 1 / shape[-1]))


def test_own_policy_is_accepted(model):
    model.refuse_foreign_policy(policy(1, (0,), 22, 22, 5))


@pytest.mark.parametrize(
    'foreign',
    [
        policy(0, (), 22, 5),
        policy(1, (0,), 22, 21, 5),
        policy(1, (), 21, 5),
        policy(1, (0,), 22, 22, 4),
    ],
)
def test_foreign_policy_is_refused(model, foreign):
    with pytest.raises(ModelError, match='another robot'):
        model.refuse_foreign_policy(foreign)
