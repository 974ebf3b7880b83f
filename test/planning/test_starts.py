"""Where the minimum-dependency procedure starts."""

from math import prod

import numpy as np
import pytest
from conic import OccupancyProgram, cp
from games import navigation_game, random_game

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.minimum_dependency import minimum_dependency
from dp_multiagent.planning.occupancy import PolicyChain, occupancy
from dp_multiagent.planning.reachability import maximum_reachability
from dp_multiagent.planning.starts import STARTS, baseline_mixed, maximum_entropy, soft_reach


def visited(game, policy):
    steps = LiveSteps(game)
    return occupancy(PolicyChain(steps, steps.policy_rows(policy)))


def corridor_game(length):
    """Two robots that exchange the ends of a corridor with a bay in its middle."""
    wall = '#' * (length // 2)
    road = GridMap((wall + '.' + wall, '.' * length), slip=0.05)
    ends = (1, 0), (1, length - 1)
    goals = [road.index[cell] for cell in reversed(ends)]
    return MarkovGame(
        [road.mdp(end) for end in ends],
        target=lambda s, t: (s == goals[0]) & (t == goals[1]),
        avoid={'collision': lambda s, t: s == t},
        swaps=Swaps.COLLISION,
    )


def entropy_objective(game, policy, weight):
    """Evaluate the authors' objective with the entropy of each joint transition."""
    found = visited(game, policy)
    transitions = 0.0
    for marginal, agent in zip(found.marginals, game.agents, strict=True):
        tensor = agent.tensor
        logs = np.log(tensor, where=tensor > 0, out=np.zeros_like(tensor))
        transitions -= (marginal[:, :-1] * (tensor * logs).sum(axis=2)).sum()
    bonus = weight * (found.entropy + transitions)
    return found.success - weight * found.expected_length + bonus


@pytest.mark.parametrize('longest', [6.0, 9.0, 20.0])
@pytest.mark.parametrize('n_agents', [2, 3])
@pytest.mark.parametrize('seed', range(4))
def test_maximum_entropy_is_the_conic_optimum(seed, n_agents, longest):
    game = random_game(seed, n_agents)
    policy = maximum_entropy(game, longest=longest)
    value = OccupancyProgram(game).maximum_entropy(0.1, longest).solve(solver=cp.CLARABEL)
    assert entropy_objective(game, policy, 0.1) == pytest.approx(value, rel=1e-5, abs=1e-7)
    assert visited(game, policy).expected_length <= longest + 1e-6


def test_maximum_entropy_is_the_conic_optimum_on_navigation():
    game = navigation_game()
    policy = maximum_entropy(game)
    value = OccupancyProgram(game).maximum_entropy(0.1, 20).solve(solver=cp.CLARABEL)
    assert entropy_objective(game, policy, 0.1) == pytest.approx(value, rel=1e-5)
    assert visited(game, policy).expected_length == pytest.approx(20, abs=1e-6)


def test_maximum_entropy_leaves_the_length_free_if_it_is_not_reached():
    game = random_game(1)
    loose, looser = (maximum_entropy(game, weight=0.01, longest=n) for n in (1e3, 1e4))
    assert visited(game, loose).expected_length < 1e3
    np.testing.assert_allclose(loose, looser, atol=1e-9)


def test_maximum_entropy_refuses_a_length_that_no_policy_has():
    with pytest.raises(ModelError, match='no policy has an expected length of at most 2'):
        maximum_entropy(navigation_game(), longest=2.0)


@pytest.mark.parametrize('length', [5, 11, 17])
def test_soft_reach_mostly_succeeds_however_long_the_way(length):
    game = corridor_game(length)
    assert visited(game, soft_reach(game)).success > 0.5


def test_soft_reach_keeps_every_action():
    game = navigation_game()
    assert LiveSteps(game).rows(soft_reach(game)).min() > 0


def test_baseline_mixed_follows_the_baseline_but_for_its_uniform_part():
    game = navigation_game()
    steps = LiveSteps(game)
    rows = steps.policy_rows(baseline_mixed(game))
    actions = maximum_reachability(game).policy.reshape(2, -1)[:, steps.live]
    assert np.allclose(rows.max(axis=1), 0.8 + 0.2 / 25)
    assert rows.argmax(axis=1).tolist() == np.ravel_multi_index(tuple(actions), (5, 5)).tolist()


@pytest.mark.parametrize('name', STARTS)
def test_every_start_is_a_policy_that_the_procedure_improves(name):
    for game in (random_game(2, 3), random_game(3, 2, swaps=Swaps.COLLISION)):
        start = STARTS[name](game)
        assert start.size == prod(game.shape) * prod(agent.n_actions for agent in game.agents)
        before, after = (
            minimum_dependency(game, start, delta=0.01, beta=0.4, iterations=n) for n in (0, 5)
        )
        assert after.objective > before.objective


@pytest.mark.parametrize('swaps', Swaps)
def test_soft_reach_leads_navigation_to_success(swaps):
    game = navigation_game(swaps)
    found = minimum_dependency(game, soft_reach(game), delta=0.01, beta=0.4, iterations=80)
    assert found.success > 0.96
