"""The interior baseline: its certificate, its symmetry, and the paper's published success."""

import sys

import numpy as np
import pytest
from games import navigation_game, random_game

from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning.evaluation import evaluate
from dp_multiagent.planning.interior import interior_reachability
from dp_multiagent.planning.marginal import Unvisited, marginalise
from dp_multiagent.planning.reachability import maximum_reachability
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

SECOND_SEES_FIRST = Graph(((), (0,)))
# Fig 3, baseline: empirical rates of 1,000 rollouts at epsilon = 0.01, 1.009, ..., 10.
PUBLISHED = (0.082, 0.087, 0.102, 0.126, 0.155, 0.236, 0.319, 0.413, 0.520, 0.630, 0.731)
ROLLOUTS = 1000
DEVIATIONS = 3.5


def success_of(game, policy):
    """Iterate the value of a joint policy until it has long converged."""
    axes = tuple(range(1, 2 * game.n_agents, 2))
    value = game.target.astype(float)
    for _ in range(5000):
        value = np.where(game.active, (policy * game.expectation(value)).sum(axis=axes), value)
    return value[game.initial]


@pytest.mark.parametrize('swaps', Swaps)
@pytest.mark.parametrize('seed', range(5))
def test_success_is_the_maximum_and_certified(seed, swaps):
    game = random_game(seed, swaps=swaps)
    best = maximum_reachability(game).value[game.initial]
    result = interior_reachability(game)
    assert result.success == pytest.approx(best, abs=1e-6)
    assert result.gap < 1e-6
    assert result.residual < 1e-6
    assert success_of(game, result.policy) == pytest.approx(best, abs=1e-4)


def test_policy_is_the_occupancy_given_the_state():
    game = random_game(2)
    result = interior_reachability(game)
    assert result.policy.sum(axis=(1, 3)) == pytest.approx(np.ones(game.shape))
    visits = result.occupancy.sum(axis=(1, 3), keepdims=True)
    assert result.occupancy == pytest.approx(result.policy * visits)
    assert not visits[:, 0, :, 0][~game.active].any()
    assert result.expected_steps == pytest.approx(visits.sum())


def test_equal_ways_are_taken_equally_often():
    ways = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.5, 0.5]]
    home = [[0, 0, 0, 1]] * 3
    mdp = Mdp.from_tensor([ways, home, home, home], initial=0)
    game = MarkovGame([mdp], lambda s: s == 3, {})
    policy = interior_reachability(game).policy
    assert policy[1:3] == pytest.approx(np.full((2, 3), 1 / 3), abs=1e-4)
    assert policy[0].min() > 0.05


def private_success(game, policies, epsilon):
    mechanisms = [TrajectoryMechanism(a, epsilon=epsilon, adjacency=3) for a in game.agents]
    return evaluate(game, policies, mechanisms, horizon=200).success


@pytest.fixture(scope='module')
def baseline():
    game = navigation_game()
    occupancy = interior_reachability(game).occupancy
    return game, marginalise(occupancy, SECOND_SEES_FIRST, Unvisited.UNIFORM)


def test_navigation_baseline_succeeds_as_published_if_truthful(baseline):
    game, policies = baseline
    assert evaluate(game, policies).success == pytest.approx(0.98, abs=0.005)


@pytest.mark.parametrize(('point', 'rate'), list(enumerate(PUBLISHED)))
def test_navigation_baseline_fails_as_published_if_private(baseline, point, rate):
    game, policies = baseline
    exact = private_success(game, policies, np.linspace(0.01, 10, 11)[point])
    deviation = np.sqrt(exact * (1 - exact) / ROLLOUTS)
    assert abs(rate - exact) < DEVIATIONS * deviation


def test_a_target_out_of_reach_is_refused():
    still = Mdp.from_tensor(np.eye(2)[:, None, :], initial=0)
    with pytest.raises(ModelError, match='the target cannot be reached'):
        interior_reachability(MarkovGame([still], [(1,)], {}))


def test_a_missing_cvxpy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cvxpy', None)
    with pytest.raises(MissingPackageError, match='pip install cvxpy clarabel'):
        interior_reachability(random_game(0))
