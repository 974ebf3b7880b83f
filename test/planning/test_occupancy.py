"""Expected visits against dense linear algebra, closed forms and sums written as loops."""

from itertools import product
from math import log, prod

import numpy as np
import pytest
from conic import OccupancyProgram
from games import navigation_game, random_game
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.occupancy import PolicyChain, occupancy

GAMES = [random_game(seed, n, swaps=swaps) for seed in (0, 1) for n in (2, 3) for swaps in Swaps]


def random_chain(game, seed=0):
    steps = LiveSteps(game)
    n_actions = prod(steps.joint_shape[1::2])
    rng = np.random.default_rng(seed)
    return PolicyChain(steps, rng.dirichlet(np.ones(n_actions), size=steps.n_live))


def waiting(probability):
    """One agent that leaves its state with the given probability, to the target."""
    leave = [[[1 - probability, probability]], [[0.0, 1.0]]]
    game = MarkovGame([Mdp.from_tensor(leave, 0)], lambda s: s == 1, {})
    return PolicyChain(LiveSteps(game), np.ones((1, 1)))


@pytest.mark.parametrize('game', GAMES)
def test_visits_solve_the_dense_system(game):
    chain = random_chain(game)
    program = OccupancyProgram(game)
    onward = program.onward[program.live][:, :, program.live]
    moves = np.einsum('sa,say->sy', chain.rows, onward)
    begin = np.arange(len(moves)) == chain.steps.start
    expected = np.linalg.solve(np.eye(len(moves)) - moves.T, begin)
    found = occupancy(chain)
    np.testing.assert_allclose(found.visits.ravel()[chain.steps.live], expected, atol=1e-11)
    assert found.visits.sum() == pytest.approx(expected.sum())
    hits = np.einsum('s,sa,say->', expected, chain.rows, program.succeeding[program.live])
    assert found.success == pytest.approx(hits, abs=1e-11)


@pytest.mark.parametrize('game', GAMES)
def test_each_agent_ends_once_and_acts_at_each_visit(game):
    found = occupancy(random_chain(game))
    for marginal in found.marginals:
        assert marginal[:, -1].sum() == pytest.approx(1, abs=1e-11)
        assert marginal.sum() == pytest.approx(found.expected_length, abs=1e-10)


@pytest.mark.parametrize('game', GAMES)
def test_total_correlation_is_the_divergence_from_the_own_state_policies(game):
    chain = random_chain(game)
    found = occupancy(chain)
    q = found.own_state_policies
    ends = np.einsum(
        's,sa,say->y',
        found.visits.ravel(),
        chain.steps.policy(chain.rows)
        .transpose(*range(0, 2 * len(q), 2), *range(1, 2 * len(q), 2))
        .reshape(found.visits.size, -1),
        OccupancyProgram(game).kernel - OccupancyProgram(game).onward,
    )
    divergence = 0.0
    actions = list(product(*(range(agent.n_actions) for agent in game.agents)))
    for y, state in enumerate(product(*map(range, game.shape))):
        if ends[y] > 0:
            divergence -= ends[y] * sum(log(q[i][s, -1]) for i, s in enumerate(state))
    for row, flat in enumerate(chain.steps.live):
        state = np.unravel_index(flat, game.shape)
        for action, probability in zip(actions, chain.rows[row], strict=True):
            product_of_own = prod(q[i][state[i], a] for i, a in enumerate(action))
            share = found.visits[state] * probability
            divergence += share * log(probability / product_of_own)
    assert found.total_correlation == pytest.approx(divergence, rel=1e-10)


@given(st.integers(0, 10_000))
def test_total_correlation_is_never_negative(seed):
    assert occupancy(random_chain(random_game(seed), seed)).total_correlation >= -1e-10


def test_one_agent_alone_depends_on_nobody():
    game = random_game(3, 1, n_states=6)
    assert occupancy(random_chain(game)).total_correlation == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize('probability', [1.0, 0.25, 1e-3, 1e-8])
def test_a_geometric_wait_has_its_expected_length(probability):
    found = occupancy(waiting(probability))
    assert found.expected_length == pytest.approx(1 / probability + 1, rel=1e-7)
    assert found.success == pytest.approx(1, rel=1e-7)


def test_a_total_is_the_reward_of_each_visit():
    chain = waiting(0.25)
    assert chain.total(np.array([3.0])) == pytest.approx(12)


def test_totals_and_visits_agree_from_the_start():
    chain = random_chain(navigation_game())
    reward = np.random.default_rng(1).normal(size=chain.steps.n_live)
    assert chain.total(reward)[chain.steps.start] == pytest.approx(chain.visits() @ reward)


def test_a_guess_does_not_change_the_visits():
    game = navigation_game()
    guess = occupancy(random_chain(game, seed=5))
    chain = random_chain(game, seed=6)
    np.testing.assert_allclose(occupancy(chain, guess).visits, occupancy(chain).visits, atol=1e-10)


def test_own_state_policies_are_uniform_where_an_agent_never_is():
    leave = [[[0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]]
    game = MarkovGame([Mdp.from_tensor(leave, 0)], lambda s: s == 1, {})
    found = occupancy(PolicyChain(LiveSteps(game), np.ones((1, 1))))
    np.testing.assert_allclose(found.own_state_policies[0], [[1, 0], [0, 1], [0.5, 0.5]])


def loop_or_leave():
    """One agent that may stay for ever in its first state, or in one that it need not enter."""
    moves = np.zeros((3, 3, 3))
    moves[0, 0, 0] = moves[0, 1, 1] = moves[0, 2, 2] = moves[1, :, 1] = 1
    moves[2, 0, 2] = moves[2, 1:, 1] = 1
    return LiveSteps(MarkovGame([Mdp.from_tensor(moves, 0)], lambda s: s == 1, {}))


@pytest.mark.parametrize('first_action', [0, 2])
def test_refuses_a_policy_under_which_the_game_never_ends(first_action):
    rows = np.eye(3)[[first_action, 0]]
    with pytest.raises(ModelError, match='does not end with probability 1'):
        occupancy(PolicyChain(loop_or_leave(), rows))


def test_accepts_an_endless_loop_where_the_policy_never_is():
    rows = np.eye(3)[[1, 0]]
    assert occupancy(PolicyChain(loop_or_leave(), rows)).expected_length == pytest.approx(2)
