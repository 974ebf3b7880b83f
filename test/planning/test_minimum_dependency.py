"""Minimum dependency: each step against a conic solver, the whole against the published run."""

from itertools import islice, pairwise
from math import prod

import numpy as np
import pytest
from conic import OccupancyProgram, cp
from games import navigation_game, random_game
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models.game import Swaps
from dp_multiagent.planning import minimum_dependency as module
from dp_multiagent.planning import soft_bellman
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.minimum_dependency import iterate, linearised, minimum_dependency
from dp_multiagent.planning.occupancy import PolicyChain, occupancy
from dp_multiagent.planning.starts import maximum_entropy, soft_reach

NAVIGATION = {'delta': 0.01, 'beta': 0.4}
# Total correlation after k steps in Fig 2 of Chen et al. (the data beside the authors' code).
PUBLISHED = {1: 5.15264, 2: 4.68316, 3: 4.39170, 4: 4.21395, 5: 4.11560, 80: 2.45338}


def random_policy(game, seed=0):
    steps = LiveSteps(game)
    n_actions = prod(steps.joint_shape[1::2])
    rng = np.random.default_rng(seed)
    return steps.policy(rng.dirichlet(np.ones(n_actions), size=steps.n_live))


def first_problem(game, policy, delta, beta):
    steps = LiveSteps(game)
    visited = occupancy(PolicyChain(steps, steps.policy_rows(policy)))
    return linearised(steps, visited, delta, beta), visited


def conic_value(game, visited, delta, beta):
    problem = OccupancyProgram(game).step(visited.own_state_policies, delta, beta)
    value = problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return value


@pytest.fixture(scope='module')
def published_run():
    game = navigation_game()
    return list(islice(iterate(game, maximum_entropy(game), **NAVIGATION), 81))


@pytest.mark.parametrize('swaps', Swaps)
@pytest.mark.parametrize('n_agents', [2, 3])
@pytest.mark.parametrize('seed', range(6))
def test_a_step_is_the_conic_optimum_on_random_games(seed, n_agents, swaps):
    game = random_game(seed, n_agents, swaps=swaps)
    delta, beta = 0.02 + 0.02 * seed, 0.1 + 0.1 * seed
    problem, visited = first_problem(game, random_policy(game, seed), delta, beta)
    expected = conic_value(game, visited, delta, beta)
    assert soft_bellman.solve(problem).objective == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize('steps_before', [0, 1, 2])
def test_a_step_is_the_conic_optimum_on_navigation(published_run, steps_before):
    before = published_run[steps_before]
    problem = linearised(before.steps, before.occupancy, **NAVIGATION)
    expected = conic_value(navigation_game(), before.occupancy, **NAVIGATION)
    assert soft_bellman.solve(problem).objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize('swaps', Swaps)
def test_the_value_solves_the_equation_with_the_end_action(swaps):
    game = random_game(7, 2, swaps=swaps)
    delta, beta = 0.05, 0.3
    problem, visited = first_problem(game, random_policy(game), delta, beta)
    program = OccupancyProgram(game)
    q = [np.maximum(table, module.FLOOR) for table in visited.own_state_policies]
    end = np.array([sum(np.log(q[i][s, -1]) for i, s in enumerate(y)) for y in program.states])
    value = np.zeros(len(program.states))
    solution = soft_bellman.solve(problem, gap=1e-12)
    value[program.live] = solution.value - delta + beta * end[program.live]
    expected = program.onward @ value + program.succeeding.sum(axis=2)
    expected += (program.kernel - program.onward) @ (beta * end - delta)
    for r in program.live:
        s, t = program.states[r]
        weights = np.outer(q[0][s, :-1], q[1][t, :-1]).ravel()
        right = beta * np.log(np.sum(weights * np.exp((expected[r] - delta) / beta)))
        assert value[r] == pytest.approx(right, abs=1e-9)


def test_the_bound_of_a_step_touches_the_objective(published_run):
    for before, after in pairwise(published_run[:20]):
        problem = linearised(before.steps, before.occupancy, **NAVIGATION)
        bound = soft_bellman.solve(problem).objective
        assert before.objective - 1e-9 <= bound <= after.objective + 1e-9


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), swaps=st.sampled_from(Swaps), beta=st.floats(0.01, 3))
def test_the_objective_never_falls(seed, swaps, beta):
    game = random_game(seed, swaps=swaps)
    run = islice(iterate(game, random_policy(game, seed), delta=0.03, beta=beta), 10)
    objectives = [step.objective for step in run]
    assert np.all(np.diff(objectives) >= -1e-9)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_objective_never_falls_from_a_deterministic_start(seed):
    game = random_game(seed, n_actions=3)
    steps = LiveSteps(game)
    choice = np.random.default_rng(seed).integers(9, size=steps.n_live)
    start = steps.policy(0.999 * np.eye(9)[choice] + 0.001 * np.eye(9)[0])
    run = islice(iterate(game, start, delta=0.03, beta=0.4), 10)
    objectives = [step.objective for step in run]
    assert np.all(np.diff(objectives) >= -1e-9)


def test_a_fall_of_the_objective_is_an_error(monkeypatch):
    game = random_game(0)
    worse = iter([0.5, 0.4])
    monkeypatch.setattr(module, 'objective', lambda *_: next(worse))
    with pytest.raises(DpMultiagentError, match=r'fell from 0\.5 to 0\.4'):
        minimum_dependency(game, random_policy(game), delta=0.1, beta=0.1, iterations=1)


@pytest.mark.parametrize('iteration', PUBLISHED)
def test_total_correlation_follows_the_published_run(published_run, iteration):
    found = published_run[iteration].total_correlation
    assert found == pytest.approx(PUBLISHED[iteration], rel=1e-4)


def test_navigation_succeeds_as_published(published_run):
    assert published_run[80].success == pytest.approx(0.96, abs=0.01)
    assert max(step.gap for step in published_run) <= soft_bellman.GAP


def test_the_objective_is_what_it_says(published_run):
    step = published_run[30]
    length, success = step.pairs.sum() + 1, step.success
    assert length == pytest.approx(step.expected_length)
    expected = success - 0.01 * length - 0.4 * step.total_correlation
    assert step.objective == pytest.approx(expected)


def test_iterations_fix_the_count(published_run):
    game = navigation_game()
    found = minimum_dependency(game, published_run[0].policy, **NAVIGATION, iterations=7)
    assert found.iteration == 7
    np.testing.assert_allclose(found.policy, published_run[7].policy, atol=1e-8)


def test_it_stops_when_a_step_gains_too_little():
    game = navigation_game(Swaps.COLLISION)
    start = soft_reach(game)
    found = minimum_dependency(game, start, **NAVIGATION, tolerance=1e-3)
    gains = np.diff(
        [
            step.objective
            for step in islice(iterate(game, start, **NAVIGATION), found.iteration + 1)
        ]
    )
    assert gains[-1] <= 1e-3
    assert np.all(gains[:-1] > 1e-3)


def test_what_is_done_at_unvisited_states_does_not_matter():
    game = navigation_game()
    start = soft_reach(game)
    elsewhere = start.copy()
    elsewhere.transpose(0, 2, 1, 3)[~game.active] = np.eye(25)[3].reshape(5, 5)
    for other in (start, elsewhere):
        found = minimum_dependency(game, other, **NAVIGATION, iterations=3)
        assert found.objective == pytest.approx(
            minimum_dependency(game, start, **NAVIGATION, iterations=3).objective
        )


def test_refuses_a_negative_count():
    game = random_game(0)
    with pytest.raises(ModelError, match='-1 iterations are not possible'):
        minimum_dependency(game, random_policy(game), delta=0.1, beta=0.1, iterations=-1)
