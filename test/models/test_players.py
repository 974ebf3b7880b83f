"""Who plays a game: what robots and planner must agree on, for a team of any size."""

import time
from dataclasses import replace

import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.game import Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.players import Players

WALK = Mdp.from_tensor([[[0.5, 0.5]], [[0.0, 1.0]]], initial=0)
RUN = Mdp.from_tensor([[[0.4, 0.6]], [[0.0, 1.0]]], initial=0)


@pytest.fixture
def navigation():
    return scenarios.load(scenarios.find('navigation'))


@pytest.fixture
def sysadmin():
    return scenarios.load(scenarios.find('sysadmin'))


def test_refuses_a_game_without_agents():
    with pytest.raises(ModelError, match='at least one agent'):
        Players((), Swaps.ALLOWED, {})


def test_fingerprint_depends_on_agents_their_order_swaps_and_rules():
    players = [
        Players((WALK, RUN), Swaps.ALLOWED, {'target': 1}),
        Players((RUN, WALK), Swaps.ALLOWED, {'target': 1}),
        Players((WALK, WALK), Swaps.ALLOWED, {'target': 1}),
        Players((WALK, RUN), Swaps.COLLISION, {'target': 1}),
        Players((WALK, RUN), Swaps.ALLOWED, {'target': 0}),
        Players((WALK, RUN), Swaps.ALLOWED, {'targets': 1}),
        Players((WALK, replace(RUN, initial=1)), Swaps.ALLOWED, {'target': 1}),
    ]
    assert len({each.fingerprint for each in players}) == len(players)


def test_fingerprint_is_of_content_not_of_objects():
    again = Mdp.from_tensor(WALK.tensor.copy(), initial=0)
    one = Players((WALK,), Swaps.ALLOWED, {'a': 1, 'b': [2]})
    other = Players((again,), Swaps.ALLOWED, {'b': [2], 'a': 1})
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize('name', scenarios.shipped())
def test_players_of_a_scenario_are_those_of_its_game(name):
    scenario = scenarios.load(scenarios.find(name))
    players, game = scenario.players, scenario.game()
    assert (players.shape, players.initial) == (game.shape, game.initial)
    assert players.swaps is game.swaps
    for one, other in zip(players.agents, game.agents, strict=True):
        assert one.fingerprint == other.fingerprint


def changed(scenario, **changes):
    return replace(scenario, **changes).players.fingerprint


def test_fingerprint_of_robots_changes_with_all_that_decides_success(navigation):
    robots, cells = navigation.robots, navigation.map.cells
    moved = (replace(robots[0], target=(3, 3)), robots[1])
    away = (replace(robots[0], start=(3, 3)), robots[1])
    deadly = (*cells[:-2], '.!...', cells[-1])
    assert deadly != cells
    found = [
        navigation.players.fingerprint,
        changed(navigation, robots=moved),
        changed(navigation, robots=away),
        changed(navigation, robots=robots[::-1]),
        changed(navigation, map=replace(navigation.map, cells=deadly)),
        changed(navigation, motion=replace(navigation.motion, swaps='collision')),
        changed(navigation, motion=replace(navigation.motion, slip=0.1, intended=0.9)),
    ]
    assert len(set(found)) == len(found)


def test_fingerprint_does_not_change_with_what_the_plan_itself_tells(navigation):
    privacy = replace(navigation.privacy, epsilon=7.0)
    same = changed(navigation, title='another', privacy=privacy, dependencies={})
    assert same == navigation.players.fingerprint


def test_fingerprint_of_servers_changes_with_their_limits(sysadmin):
    limits = sysadmin.limits
    found = [
        sysadmin.players.fingerprint,
        changed(sysadmin, limits=replace(limits, offline=limits.offline + 1)),
        changed(sysadmin, limits=replace(limits, in_repair=limits.in_repair + 1)),
    ]
    assert len(set(found)) == len(found)


def test_large_team_is_known_at_once_though_its_joint_states_are_not(navigation):
    """10^28 joint states; nothing that a robot asks for may depend on them."""
    many = tuple(
        replace(navigation.robots[0], name=f'r{i}', start=(i // 10, i % 10), target=(9, 9))
        for i in range(20)
    )
    cells = replace(navigation.map, cells=('.' * 10,) * 10)
    begin = time.perf_counter()
    players = replace(navigation, robots=many, map=cells).players
    assert players.shape == (100,) * 20
    assert players.initial == tuple(range(20))
    assert len(players.fingerprint) == 32
    assert time.perf_counter() - begin < 1.0
    with pytest.raises(ModelError, match=r'1\.0e\+40 joint states'):
        replace(navigation, robots=many, map=cells).game()
