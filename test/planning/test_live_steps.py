"""The listed steps against the full joint kernel."""

import numpy as np
import pytest
from conic import OccupancyProgram
from games import navigation_game, random_game

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.reachability import dead_states

GAMES = [
    random_game(seed, n_agents, n_states=4, swaps=swaps)
    for seed in range(4)
    for n_agents in (2, 3)
    for swaps in Swaps
]


def random_rows(steps, seed=0):
    n_actions = int(np.prod(steps.joint_shape[1::2]))
    return np.random.default_rng(seed).dirichlet(np.ones(n_actions), size=steps.n_live)


@pytest.mark.parametrize('game', GAMES)
def test_live_states_are_those_of_the_joint_kernel(game):
    assert LiveSteps(game).live.tolist() == OccupancyProgram(game).live.tolist()


@pytest.mark.parametrize('game', GAMES)
def test_no_live_state_is_dead(game):
    assert not dead_states(game).ravel()[LiveSteps(game).live].any()


@pytest.mark.parametrize('game', GAMES)
def test_probabilities_are_those_of_the_joint_kernel(game):
    steps = LiveSteps(game)
    rows = random_rows(steps)
    program = OccupancyProgram(game)
    listed = steps.probabilities(rows)
    for kernel, chosen in (
        (program.onward, steps.goes_on),
        (program.succeeding, steps.succeeds),
        (program.kernel, np.ones_like(steps.goes_on)),
    ):
        expected = np.einsum('sa,say->sy', rows, kernel[steps.live])
        found = np.zeros_like(expected)
        np.add.at(found, (np.arange(steps.n_live)[:, None], steps.successors), listed * chosen)
        np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_policy_survives_the_way_to_rows_and_back():
    steps = LiveSteps(random_game(1, 3))
    rows = random_rows(steps)
    policy = steps.policy(rows)
    assert policy.shape == steps.joint_shape
    np.testing.assert_array_equal(steps.policy_rows(policy), rows)


def test_rows_follow_the_axes_of_the_expectation():
    game = navigation_game()
    steps = LiveSteps(game)
    expected = game.expectation(game.target.astype(float))
    state = np.unravel_index(steps.live[17], game.shape)
    assert steps.rows(expected)[17].tolist() == expected[state[0], :, state[1], :].ravel().tolist()


def corridor(start, avoid=()):
    moves = np.zeros((4, 1, 4))
    for s, y in enumerate((1, 2, 2, 3)):
        moves[s, 0, y] = 1
    target = [(2,)] if start < 3 else [(0,)]
    return MarkovGame([Mdp.from_tensor(moves, start)], target, {'avoid': avoid})


def test_refuses_a_start_to_be_avoided():
    with pytest.raises(ModelError, match='the start is a target or to be avoided'):
        LiveSteps(corridor(0, avoid=[(0,)]))


def test_refuses_a_start_in_the_target():
    with pytest.raises(ModelError, match='the start is a target or to be avoided'):
        LiveSteps(corridor(2))


def test_refuses_a_target_out_of_reach():
    with pytest.raises(ModelError, match='the target cannot be reached from the start'):
        LiveSteps(corridor(3))


def test_refuses_a_target_behind_what_is_to_be_avoided():
    with pytest.raises(ModelError, match='the target cannot be reached from the start'):
        LiveSteps(corridor(0, avoid=[(1,)]))


def test_refuses_a_policy_of_another_game():
    steps = LiveSteps(random_game(0, 2))
    with pytest.raises(ModelError, match='has the shape'):
        steps.policy_rows(np.ones((3, 2, 4, 2)) / 4)


@pytest.mark.parametrize('bad', [0.3, -1.0, np.nan])
def test_refuses_what_is_no_distribution(bad):
    steps = LiveSteps(random_game(0, 2))
    policy = np.full(steps.joint_shape, 0.25)
    policy[steps.game.initial[0], 0, steps.game.initial[1], 0] = bad
    with pytest.raises(ModelError, match='must sum to 1'):
        steps.policy_rows(policy)
