import numpy as np
import pytest
from games import (
    cell_game,
    mechanisms_of,
    navigation_game,
    random_game,
    random_policies,
    secret_game,
)

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.planning.evaluation import evaluate
from dp_multiagent.planning.rollouts import Rollouts, roll_out

CONFIDENCE = 1 - 1e-6
N = 100_000


def assert_rollouts_agree(game, graph, mechanisms, seed, steps=0, horizon=200):
    rng = np.random.default_rng(seed)
    policies = random_policies(game, graph, rng, steps)
    exact = evaluate(game, policies, mechanisms, horizon).success
    played = roll_out(
        game, policies, mechanisms, n=N, horizon=horizon, rng=rng, confidence=CONFIDENCE
    )
    low, high = played.interval
    assert low <= exact <= high
    assert high - low < 0.02


@pytest.mark.parametrize('private', [False, True])
def test_navigation_agrees_with_exact_evaluation(private):
    game = navigation_game()
    mechanisms = mechanisms_of(game, 1.0, 3) if private else None
    assert_rollouts_agree(game, Graph(((), (0,))), mechanisms, seed=5)


@pytest.mark.parametrize('seed', range(4))
def test_random_games_agree_with_exact_evaluation(seed):
    game = random_game(seed, n_agents=3, n_states=3)
    graph = Graph(((), (0,), (0, 1)))
    assert_rollouts_agree(game, graph, mechanisms_of(game, 1.0, 2), seed, steps=2 * (seed % 2))


@pytest.mark.parametrize('seed', range(3))
def test_swaps_end_rollouts_too(seed):
    game = cell_game(seed, n_agents=3, n_states=4)
    assert_rollouts_agree(game, Graph(((), (0,), (0, 1))), mechanisms_of(game, 1.0, 2), seed)


def test_interval_of_clopper_and_pearson():
    # With no success in n the upper bound u has (1 - u)^n = alpha / 2.
    low, high = Rollouts(0, 100, 0.95).interval
    assert low == 0
    assert (1 - high) ** 100 == pytest.approx(0.025)
    assert Rollouts(100, 100, 0.95).interval[1] == 1


def noisy_signal():
    """Robot 2 hears ten private states of robot 1, then goes where it believes it to be."""
    game = secret_game(stay=0.9)
    obey = np.zeros((10, 3, 3, 3))
    obey[:9, ..., 0] = 1
    obey[9, ...] = np.eye(3)
    policies = (
        LocalPolicy(0, (), np.ones((3, 1)), np.ones((3, 1))),
        LocalPolicy(1, (0,), obey, np.full((3, 3), 1 / 3), by_step=True),
    )
    return game, policies


def test_filtering_receiver_equals_the_forward_algorithm_by_enumeration():
    game, policies = noisy_signal()
    mechanisms = mechanisms_of(game, 1.0, 1)
    played = roll_out(
        game,
        policies,
        mechanisms,
        n=N,
        horizon=10,
        rng=np.random.default_rng(0),
        receiver='filter',
        confidence=CONFIDENCE,
    )
    low, high = played.interval
    assert low <= belief_success(mechanisms[0]) <= high


def belief_success(mechanism, words=9):
    """Enumerate all private words; robot 2 answers left with its belief in left."""
    move = np.array([[0.9, 0.1], [0.1, 0.9]])
    success = 0.0
    joint = {(0,): np.array([0.5, 0.5])}
    told = {}
    for step in range(words):
        told = {}
        for word, weight in joint.items():
            for p in (1, 2):
                told[(*word, p)] = weight * mechanism.mu[word[-1], 1:, p]
        if step < words - 1:
            joint = {word: weight @ move for word, weight in told.items()}
    for weight in told.values():
        belief = weight / weight.sum()
        success += float((weight @ move) @ belief)
    return success


def test_refuses_unknown_receivers_and_no_rollouts():
    game, policies = noisy_signal()
    rng = np.random.default_rng(0)
    with pytest.raises(ModelError, match="a receiver is raw or filter, not 'map'"):
        roll_out(game, policies, None, n=1, horizon=1, rng=rng, receiver='map')
    with pytest.raises(ModelError, match='at least one rollout'):
        roll_out(game, policies, None, n=0, horizon=1, rng=rng)
