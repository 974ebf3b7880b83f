"""The factored expectation against brute-force enumeration of the joint kernel."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp


def random_mdp(rng, n_states, n_actions):
    weights = rng.random((n_states, n_actions, n_states)) + 0.01
    tensor = weights / weights.sum(axis=-1, keepdims=True)
    return Mdp.from_tensor(tensor, initial=0)


def random_game(seed, sizes, swaps):
    rng = np.random.default_rng(seed)
    agents = [random_mdp(rng, n_states, n_actions) for n_states, n_actions in sizes]
    avoid = {'shared cell': shared_cell} if swaps is Swaps.COLLISION else {}
    return MarkovGame(agents, lambda *states: states[0] == 0, avoid, swaps), rng


def shared_cell(*states):
    return sum((s == t).astype(int) for s, t in itertools.combinations(states, 2)) > 0


def enumerated_expectation(game, value):
    """Sum over all joint successors, one by one, with swaps worth nothing."""
    sizes = [n for agent in game.agents for n in (agent.n_states, agent.n_actions)]
    result = np.zeros(sizes)
    joint = list(itertools.product(*map(range, game.shape)))
    for index in itertools.product(*map(range, sizes)):
        s, a = index[::2], index[1::2]
        for y in joint:
            if game.swaps is Swaps.COLLISION and any(
                s[i] != s[j] and y[i] == s[j] and y[j] == s[i]
                for i, j in itertools.combinations(range(game.n_agents), 2)
            ):
                continue
            p = np.prod([g.tensor[s[i], a[i], y[i]] for i, g in enumerate(game.agents)])
            result[index] += p * value[y]
    return result


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3),
)
def test_expectation_equals_enumeration(seed, sizes):
    game, rng = random_game(seed, sizes, Swaps.ALLOWED)
    value = rng.random(game.shape)
    np.testing.assert_allclose(
        game.expectation(value), enumerated_expectation(game, value), atol=1e-12
    )


@pytest.mark.parametrize(
    'sizes', [[(3, 2)] * 2, [(3, 2), (3, 1)], [(3, 2), (3, 1), (3, 2)], [(4, 1)] * 4]
)
def test_swaps_as_collisions_equal_enumeration(sizes):
    game, rng = random_game(7, sizes, Swaps.COLLISION)
    value = rng.random(game.shape)
    everything, expected = game.expectation(value), enumerated_expectation(game, value)
    apart = [index for index in np.ndindex(*expected.shape) if len(set(index[::2])) == len(sizes)]
    assert apart
    for index in apart:
        assert everything[index] == pytest.approx(expected[index], abs=1e-12)


def test_expectation_of_one_is_one_unless_a_swap_ends_the_game():
    game, _ = random_game(1, [(3, 2), (3, 2)], Swaps.ALLOWED)
    np.testing.assert_allclose(game.expectation(np.ones(game.shape)), 1)
    game, _ = random_game(1, [(3, 2), (3, 2)], Swaps.COLLISION)
    assert game.expectation(np.ones(game.shape))[0, 0, 1, 0] < 1


def test_sets_as_predicate_states_and_array_are_the_same():
    agents = [random_mdp(np.random.default_rng(0), n, 2) for n in (3, 4)]
    array = np.zeros((3, 4), dtype=bool)
    array[2, 3] = array[1, 1] = True
    for target in (
        lambda s, t: ((s == 2) & (t == 3)) | ((s == 1) & (t == 1)),
        [(2, 3), (1, 1)],
        array,
    ):
        game = MarkovGame(agents, target=target, avoid={})
        np.testing.assert_array_equal(game.target, array)


def test_a_state_to_reach_and_to_avoid_counts_as_failed():
    agents = [random_mdp(np.random.default_rng(0), 3, 2)]
    game = MarkovGame(agents, target=[(1,), (2,)], avoid={'fire': [(2,)]})
    assert game.target.tolist() == [False, True, False]
    assert game.avoid.tolist() == [False, False, True]
    assert game.active.tolist() == [True, False, False]
    assert list(game.causes) == ['fire']


def test_refuses_more_joint_states_than_can_be_planned_for():
    agents = [random_mdp(np.random.default_rng(0), 3, 1)] * 14
    with pytest.raises(ModelError, match=r'14 agents have 4\.8e\+06 joint states, too many'):
        MarkovGame(agents, target=[(0,) * 14], avoid={})


@pytest.mark.parametrize(
    ('target', 'avoid', 'problem'),
    [
        ([(0, 3)], {}, r'target: \(0, 3\) is not a joint state'),
        ([(0,)], {}, r'target: \(0,\) is not a joint state'),
        ([(0, 1)], {'x': [(0, 1)]}, 'the target set has no state'),
        ([], {}, 'the target set has no state'),
        (np.ones(3, dtype=bool), {}, r'target: a boolean array of shape \(3, 3\)'),
        (np.ones((3, 3)), {}, 'target: a boolean array'),
    ],
)
def test_refuses_sets_that_make_no_game(target, avoid, problem):
    agents = [random_mdp(np.random.default_rng(0), 3, 2)] * 2
    with pytest.raises(ModelError, match=problem):
        MarkovGame(agents, target=target, avoid=avoid)


def test_refuses_a_game_without_agents_and_swaps_between_different_places():
    with pytest.raises(ModelError, match='at least one agent'):
        MarkovGame([], target=[()], avoid={})
    rng = np.random.default_rng(0)
    large, small = random_mdp(rng, 3, 1), random_mdp(rng, 2, 1)
    with pytest.raises(ModelError, match='same states'):
        MarkovGame([large, small], [(1, 1)], {}, swaps=Swaps.COLLISION)
    with pytest.raises(ModelError, match='sharing a state must be avoided'):
        MarkovGame([large, large], [(0, 1)], {}, swaps=Swaps.COLLISION)
