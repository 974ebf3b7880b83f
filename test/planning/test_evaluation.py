"""Exact evaluation against brute-force enumeration and against closed forms."""

import math
import time

import numpy as np
import pytest
from enumeration import play
from games import (
    cell_game,
    mechanisms_of,
    navigation_game,
    random_game,
    random_policies,
    secret_game,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.planning.bounds import success_bounds, true_word_success
from dp_multiagent.planning.evaluation import evaluate
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

GRAPHS_OF_TWO = (Graph(((), ())), Graph(((), (0,))), Graph(((1,), ())))
GRAPHS_OF_THREE = (Graph(((1, 2), (2,), ())), Graph(((), (0,), (0, 1))), Graph(((), (0,), (1,))))


def assert_same_as_enumeration(game, graph, seed, steps, horizon):
    rng = np.random.default_rng(seed)
    policies = random_policies(game, graph, rng, steps)
    privacy = [(float(rng.random() * 4), int(rng.integers(1, 4))) for _ in game.agents]
    mechanisms = [
        TrajectoryMechanism(agent, epsilon=epsilon, adjacency=k)
        for agent, (epsilon, k) in zip(game.agents, privacy, strict=True)
    ]
    for told, by in ((None, None), (privacy, mechanisms)):
        ends, length = play(game, policies, told, horizon)
        exact = evaluate(game, policies, by, horizon)
        assert exact.success == pytest.approx(ends.get('success', 0), abs=1e-12)
        assert exact.unfinished == pytest.approx(ends['unfinished'], abs=1e-12)
        assert exact.expected_length == pytest.approx(length, abs=1e-11)
        for cause, probability in exact.failures.items():
            assert probability == pytest.approx(ends.get(cause, 0), abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(GRAPHS_OF_TWO), st.sampled_from([0, 2]))
def test_two_robots_equal_enumeration(seed, graph, steps):
    assert_same_as_enumeration(random_game(seed, n_states=3), graph, seed, steps, horizon=4)


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from(GRAPHS_OF_THREE))
def test_three_robots_equal_enumeration(seed, graph):
    game = random_game(seed, n_agents=3, n_states=2)
    assert_same_as_enumeration(game, graph, seed, steps=0, horizon=3)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(GRAPHS_OF_TWO), st.sampled_from([0, 2]))
def test_swaps_as_collisions_equal_enumeration(seed, graph, steps):
    assert_same_as_enumeration(cell_game(seed), graph, seed, steps, horizon=4)


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.sampled_from(GRAPHS_OF_THREE))
def test_swaps_of_three_robots_equal_enumeration(seed, graph):
    game = cell_game(seed, n_agents=3, n_states=4)
    assert_same_as_enumeration(game, graph, seed, steps=0, horizon=2)


def geometric_game(stay, win):
    """One robot that wins, loses or stays in each step."""
    lose = 1 - stay - win
    mdp = Mdp.from_tensor([[[stay, win, lose]], [[0, 1, 0]], [[0, 0, 1]]], initial=0)
    game = MarkovGame([mdp], target=[(1,)], avoid={'lost': [(2,)]})
    return game, (LocalPolicy(0, (), np.ones((3, 1)), np.ones((3, 1))),)


def test_infinite_horizon_equals_the_geometric_series():
    game, policies = geometric_game(stay=0.9, win=0.07)
    exact = evaluate(game, policies)
    assert exact.success == pytest.approx(0.7, abs=1e-10)
    assert exact.failures['lost'] == pytest.approx(0.3, abs=1e-10)
    assert exact.expected_length == pytest.approx(11, abs=1e-8)
    assert exact.visits[0][0, 0] == pytest.approx(10, abs=1e-8)
    assert exact.unfinished < 1e-12


def test_visits_are_the_visits_of_the_enumerated_chain():
    game = random_game(11, n_states=3)
    policies = random_policies(game, Graph(((), (0,))), np.random.default_rng(11))
    exact = evaluate(game, policies, mechanisms_of(game, 1.0, 2), horizon=5)
    moving = sum(visited.sum() for visited in exact.visits) / 2
    assert moving == pytest.approx(
        exact.expected_length - exact.success - sum(exact.failures.values())
    )
    for visited, policy in zip(exact.visits[:1], policies[:1], strict=True):
        states = visited.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(visited, states * policy.table, atol=1e-14)


def test_a_run_that_never_ends_is_left_as_unfinished():
    game, policies = geometric_game(stay=1.0, win=0.0)
    exact = evaluate(game, policies)
    assert (exact.success, exact.unfinished) == (0.0, 1.0)


def test_hardly_private_robots_succeed_as_if_truthful():
    game = navigation_game()
    policies = random_policies(game, Graph(((), (0,))), np.random.default_rng(3))
    truthful = evaluate(game, policies, None, 200).success
    open_secret = evaluate(game, policies, mechanisms_of(game, 300.0, 3), 200).success
    assert open_secret == pytest.approx(truthful, abs=1e-9)


def test_bounds_hold_and_tighten():
    game = navigation_game()
    for seed in range(5):
        policies = random_policies(game, Graph(((), (0,))), np.random.default_rng(seed))
        mechanisms = mechanisms_of(game, 30.0, 3)
        truthful = evaluate(game, policies)
        private = evaluate(game, policies, mechanisms)
        bounds = success_bounds(game, policies, mechanisms, truthful, total_correlation=0.3)
        assert bounds.theorem_2 <= bounds.without_correlation <= bounds.true_word
        assert bounds.true_word <= private.success + 1e-12
        assert bounds.best == bounds.true_word


def test_one_told_secret_in_closed_form():
    # Robot 1 goes left or right by chance; robot 2 waits for its word, then goes where it says.
    game = secret_game()
    obey = np.tile(np.eye(3), (3, 1, 1))
    policies = (
        LocalPolicy(0, (), np.ones((3, 1)), np.ones((3, 1))),
        LocalPolicy(1, (0,), obey, np.full((3, 3), 1 / 3)),
    )
    epsilon = 1.3
    mechanisms = mechanisms_of(game, epsilon, 1)
    truth = 1 / (1 + math.exp(-epsilon))
    assert evaluate(game, policies, mechanisms).success == pytest.approx(truth)
    assert true_word_success(game, policies, mechanisms) == pytest.approx(truth)
    assert evaluate(game, policies).success == pytest.approx(1)


def test_navigation_is_evaluated_in_fifty_milliseconds():
    game = navigation_game()
    policies = random_policies(game, Graph(((), (0,))), np.random.default_rng(0))
    mechanisms = mechanisms_of(game, 1.0, 3)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        evaluate(game, policies, mechanisms, 200)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05


def test_refuses_policies_for_another_game():
    game = navigation_game()
    policies = random_policies(game, Graph(((), (0,))), np.random.default_rng(0))
    other = random_game(0)
    with pytest.raises(ModelError, match='the policy of robot 1 is for another game'):
        evaluate(other, policies)
    with pytest.raises(ModelError, match='one policy for each of 2 robots is needed, in order'):
        evaluate(game, policies[:1])
    with pytest.raises(ModelError, match='in order'):
        evaluate(game, policies[::-1])
