"""The soft Bellman solver: closed forms, its certificate, and both methods against each other."""

from itertools import islice
from math import exp, log, prod

import numpy as np
import pytest
from games import navigation_game, random_game
from scipy.special import entr

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.occupancy import PolicyChain
from dp_multiagent.planning.soft_bellman import (
    POLICY_ITERATION,
    VALUE_ITERATION,
    SoftProblem,
    iterate,
    solve,
)

GAMES = [random_game(seed, n, swaps=swaps) for seed in (0, 1) for n in (2, 3) for swaps in Swaps]
METHODS = (POLICY_ITERATION, VALUE_ITERATION)


def divergence_problem(game, seed=0, delta=0.05, beta=0.2):
    """Return a problem with the penalty beta KL(pi || p) for random p_i(a_i | s_i)."""
    rng = np.random.default_rng(seed)
    rewards = tuple(
        beta * np.log(rng.dirichlet(np.ones(agent.n_actions), size=agent.n_states))
        for agent in game.agents
    )
    return SoftProblem(
        steps=LiveSteps(game), rewards=rewards, delta=delta, beta=beta, offset=-delta
    )


def objective_of(problem, rows):
    """Evaluate a policy by a linear system, without the Bellman operator."""
    chain = PolicyChain(problem.steps, rows)
    reward = (chain.probabilities * problem.steps.succeeds).sum(axis=1)
    reward += problem.beta * (rows * problem.scaled_rewards + entr(rows)).sum(axis=1)
    return chain.total(reward)[problem.steps.start] + problem.offset


def test_one_step_to_the_target_is_the_log_sum_of_its_rewards():
    leap = Mdp.from_tensor([[[0, 1], [0, 1], [0, 1]], [[0, 1]] * 3], initial=0)
    game = MarkovGame([leap], lambda s: s == 1, {})
    rewards = np.array([[0.3, -0.1, -2.0], [0, 0, 0]])
    problem = SoftProblem(
        steps=LiveSteps(game), rewards=(rewards,), delta=0.1, beta=0.5, offset=0.25
    )
    weights = [exp((1 + r - 0.1) / 0.5) for r in rewards[0]]
    solution = solve(problem)
    assert solution.objective == pytest.approx(0.5 * log(sum(weights)) + 0.25)
    assert solution.rows[0] == pytest.approx([w / sum(weights) for w in weights])


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('game', GAMES)
def test_the_solution_is_a_fixed_point(game, method):
    problem = divergence_problem(game)
    solution = solve(problem, gap=1e-10, method=method)
    assert solution.gap <= 1e-10
    np.testing.assert_allclose(problem.improve(solution.value)[0], solution.value, atol=1e-9)


@pytest.mark.parametrize('game', GAMES)
def test_both_methods_agree_within_their_gaps(game):
    problem = divergence_problem(game)
    newton, sweeps = (solve(problem, method=method) for method in METHODS)
    assert abs(newton.objective - sweeps.objective) <= newton.gap + sweeps.gap
    assert newton.iterations < sweeps.iterations


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('game', [*GAMES, navigation_game()])
def test_the_gap_holds_at_every_iteration(game, method):
    problem = divergence_problem(game)
    best = objective_of(problem, solve(problem, gap=1e-12).rows)
    for solution in islice(iterate(problem, method=method), 12):
        shortfall = best - objective_of(problem, solution.rows)
        assert -1e-9 <= shortfall <= solution.gap + 1e-9


def test_the_gap_against_shorter_policies_holds_at_every_iteration():
    problem = divergence_problem(navigation_game())
    best_rows = solve(problem, gap=1e-12).rows
    steps = PolicyChain(problem.steps, best_rows).visits().sum()
    bounded = SoftProblem(
        steps=problem.steps,
        rewards=problem.rewards,
        delta=problem.delta,
        beta=problem.beta,
        offset=problem.offset,
        longest=2 * steps,
    )
    best = objective_of(problem, best_rows)
    for solution in islice(iterate(bounded), 2, 8):
        if PolicyChain(problem.steps, solution.rows).visits().sum() <= 2 * steps:
            assert best - objective_of(problem, solution.rows) <= solution.gap + 1e-9


@pytest.mark.parametrize('game', GAMES)
def test_no_other_policy_is_better(game):
    problem = divergence_problem(game)
    solution = solve(problem)
    rng = np.random.default_rng(1)
    n_actions = prod(problem.steps.joint_shape[1::2])
    assert objective_of(problem, solution.rows) == pytest.approx(solution.objective, abs=1e-8)
    for closeness in (0.0, 0.9, 0.99):
        others = rng.dirichlet(np.ones(n_actions), size=problem.steps.n_live)
        rows = closeness * solution.rows + (1 - closeness) * others
        assert objective_of(problem, rows) < solution.objective


def test_policy_iteration_converges_quadratically():
    gaps = [s.gap for s in islice(iterate(divergence_problem(navigation_game())), 12)]
    late = next(k for k, gap in enumerate(gaps) if gap < 1e-2)
    assert gaps[late + 1] < 1e-4
    assert gaps[late + 2] < 1e-8


def test_a_good_guess_saves_iterations():
    problem = divergence_problem(navigation_game())
    cold = solve(problem)
    assert solve(problem, cold.value).iterations == 0


@pytest.mark.parametrize(('delta', 'beta'), [(0.0, 1.0), (-0.1, 1.0), (0.1, 0.0), (np.nan, 1.0)])
def test_refuses_weights_that_are_not_positive(delta, beta):
    with pytest.raises(ModelError, match='delta and beta must be positive'):
        divergence_problem(GAMES[0], delta=delta, beta=beta)


def test_refuses_an_unknown_method():
    with pytest.raises(ModelError, match="'magic' is not one of policy-iteration"):
        solve(divergence_problem(GAMES[0]), method='magic')
