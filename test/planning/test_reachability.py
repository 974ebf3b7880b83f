"""Maximum reachability against a linear program, enumeration of policies and closed forms."""

import itertools
from math import prod

import numpy as np
import pytest
from enumeration import is_swap
from games import navigation_game, random_game
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.planning.reachability import (
    dead_states,
    joint_policy,
    maximum_reachability,
    require_reachable,
)

seeds = st.integers(0, 10_000)
swap_rules = st.sampled_from(Swaps)


def joint_kernel(game):
    """Return T(s, a, y) over flat joint states and actions; what a swap ends is missing."""
    states = list(itertools.product(*map(range, game.shape)))
    actions = list(itertools.product(*(range(agent.n_actions) for agent in game.agents)))
    kernel = np.zeros((len(states), len(actions), len(states)))
    for (s, state), (a, action), (y, after) in itertools.product(
        enumerate(states), enumerate(actions), enumerate(states)
    ):
        if not is_swap(game, state, after):
            factors = zip(game.agents, state, action, after, strict=True)
            kernel[s, a, y] = prod(agent.tensor[i, b, j] for agent, i, b, j in factors)
    return kernel


def reaching(game, kernel):
    """Tell which flat joint states are targets or active ones that lead there."""
    target, active = game.target.ravel(), game.active.ravel()
    found = target.copy()
    for _ in found:
        found |= active & ((kernel > 0).any(axis=1) @ found)
    return found


def value_by_linear_program(game, kernel):
    """Minimise sum V subject to V(s) >= E[V | s, a], the dual of the flow program."""
    n = len(kernel)
    alive = reaching(game, kernel) & game.active.ravel()
    rows = (kernel - np.eye(n)[:, None, :])[alive].reshape(-1, n)
    bounds = [
        (1, 1) if target else (0, 1) if live else (0, 0)
        for target, live in zip(game.target.ravel(), alive, strict=True)
    ]
    result = linprog(
        np.ones(n), A_ub=csr_array(rows), b_ub=np.zeros(len(rows)), bounds=bounds, method='highs'
    )
    return result.x.reshape(game.shape)


@settings(max_examples=25)
@given(seeds, swap_rules)
def test_value_is_that_of_the_linear_program(seed, swaps):
    game = random_game(seed, n_states=4, n_actions=3, swaps=swaps)
    result = maximum_reachability(game)
    expected = value_by_linear_program(game, joint_kernel(game))
    assert result.value == pytest.approx(expected, abs=1e-6)
    assert result.gap < 1e-8


def ends_of_policy(game, kernel, policy):
    """Return success and steps to the end of a deterministic policy, by linear algebra."""
    alive = reaching(game, kernel) & game.active.ravel()
    step = kernel[np.arange(len(policy)), policy]
    onward = step[np.ix_(alive, alive)]
    can_end = (step[alive][:, ~alive].sum(axis=1) > 0) | (step[alive].sum(axis=1) < 1 - 1e-9)
    for _ in range(alive.sum()):
        can_end = can_end | ((onward > 0) @ can_end)
    if not can_end.all():
        return None
    system = np.eye(alive.sum()) - onward
    success, steps = game.target.ravel().astype(float), np.zeros(alive.size)
    success[alive] = np.linalg.solve(system, step[alive] @ game.target.ravel())
    steps[alive] = np.linalg.solve(system, np.ones(alive.sum()))
    return success, steps


def best_by_enumeration(game, kernel):
    """Return value, fewest steps and first best policy over all that end almost surely."""
    alive = np.flatnonzero(reaching(game, kernel) & game.active.ravel())
    candidates = []
    for actions in itertools.product(range(kernel.shape[1]), repeat=len(alive)):
        policy = np.zeros(len(kernel), dtype=int)
        policy[alive] = actions
        ends = ends_of_policy(game, kernel, policy)
        if ends is not None:
            candidates.append((policy, *ends))
    value = np.max([success for _, success, _ in candidates], axis=0)
    best = [c for c in candidates if np.allclose(c[1], value, rtol=0, atol=1e-9)]
    steps = np.min([steps for _, _, steps in best], axis=0)
    policy = next(c[0] for c in best if np.allclose(c[2], steps, rtol=0, atol=1e-8))
    return value, steps, policy


@pytest.mark.parametrize('seed', range(12))
@pytest.mark.parametrize(('n_states', 'swaps'), [(2, Swaps.ALLOWED), (3, Swaps.COLLISION)])
def test_value_steps_and_policy_are_those_of_enumerating_all_policies(seed, n_states, swaps):
    game = random_game(seed, n_states=n_states, n_successors=2, swaps=swaps)
    kernel = joint_kernel(game)
    value, steps, policy = best_by_enumeration(game, kernel)
    result = maximum_reachability(game)
    assert result.value.ravel() == pytest.approx(value, abs=1e-9)
    assert result.expected_steps.ravel() == pytest.approx(steps, rel=1e-7)
    chosen = np.ravel_multi_index(tuple(result.policy), (2, 2)).ravel()
    assert np.array_equal(chosen, policy)


@settings(max_examples=10)
@given(seeds)
def test_a_single_agent_with_deterministic_loops_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    transitions = np.eye(5)[rng.integers(5, size=(5, 3))]
    game = MarkovGame([Mdp.from_tensor(transitions, 0)], lambda s: s == 4, {'pit': [(3,)]})
    value, steps, policy = best_by_enumeration(game, joint_kernel(game))
    result = maximum_reachability(game)
    assert np.array_equal(result.value, value)
    assert result.expected_steps == pytest.approx(steps)
    assert np.array_equal(result.policy[0], policy)


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('swaps', Swaps)
@pytest.mark.parametrize('n_agents', [2, 3])
def test_dead_states_are_those_without_a_path_to_the_target(seed, swaps, n_agents):
    game = random_game(seed, n_agents, n_successors=1, swaps=swaps)
    expected = game.active.ravel() & ~reaching(game, joint_kernel(game))
    assert np.array_equal(dead_states(game).ravel(), expected)


def walk(n, up, waiting_first=False):
    """Return a corridor of n cells: go (up with some probability, else down) or wait."""
    transitions = np.zeros((n, 2, n))
    go, wait = (1, 0) if waiting_first else (0, 1)
    for s in range(n):
        transitions[s, wait, s] = 1
        transitions[s, go, min(s + 1, n - 1)] += up
        transitions[s, go, max(s - 1, 0)] += 1 - up
    return MarkovGame(
        [Mdp.from_tensor(transitions, n // 2)], lambda s: s == n - 1, {'ruin': lambda s: s == 0}
    )


@pytest.mark.parametrize('up', [0.3, 0.6])
def test_gamblers_ruin_has_its_closed_form(up):
    n, ratio, s = 9, (1 - up) / up, np.arange(9)
    result = maximum_reachability(walk(n, up))
    value = (1 - ratio**s) / (1 - ratio ** (n - 1))
    duration = (s - (n - 1) * value) / (1 - 2 * up)
    assert result.value == pytest.approx(value)
    assert result.expected_steps == pytest.approx(duration, abs=1e-9)


def test_the_policy_does_not_wait_for_ever_although_waiting_keeps_the_value():
    result = maximum_reachability(walk(9, 0.5, waiting_first=True))
    assert np.array_equal(result.policy[0, 1:-1], np.ones(7))
    assert result.value == pytest.approx(np.arange(9) / 8)


def test_fewer_steps_come_before_a_lower_action():
    detour, direct = [0, 1, 0], [0, 0, 1]
    mdp = Mdp.from_tensor([[detour, direct], [direct, direct], [[0, 0, 1]] * 2], initial=0)
    result = maximum_reachability(MarkovGame([mdp], lambda s: s == 2, {}))
    assert result.policy[0].tolist() == [1, 0, 0]
    assert result.expected_steps.tolist() == [1, 1, 0]


def test_value_comes_before_steps():
    slow, quick = [0, 1, 0, 0], [0, 0, 0.9, 0.1]
    surely = [0, 0, 1, 0]
    mdp = Mdp.from_tensor(
        [[slow, quick], [surely] * 2, [[0, 0, 1, 0]] * 2, [[0, 0, 0, 1]] * 2], initial=0
    )
    result = maximum_reachability(MarkovGame([mdp], lambda s: s == 2, {'pit': [(3,)]}))
    assert result.policy[0, 0] == 0
    assert result.value[0] == 1


def test_among_equal_steps_the_first_agent_takes_its_lowest_action():
    step_or_wait = Mdp.from_tensor([[[1, 0], [0, 1], [0, 1]], [[0, 1]] * 3], initial=0)
    game = MarkovGame([step_or_wait] * 2, lambda s, t: (s == 1) | (t == 1), {})
    result = maximum_reachability(game)
    assert result.policy[:, 0, 0].tolist() == [0, 1]


def test_joint_policy_gives_each_state_its_one_action():
    game = random_game(3, n_states=3, n_actions=2)
    result = maximum_reachability(game)
    policy = joint_policy(game, result.policy)
    assert policy.shape == (3, 2, 3, 2)
    for s, t in np.ndindex(*game.shape):
        a, b = result.policy[:, s, t]
        assert policy[s, a, t, b] == policy[s, :, t, :].sum() == 1


def test_navigation_can_succeed_almost_always_and_the_certificate_is_tight():
    game = navigation_game()
    result = maximum_reachability(game)
    assert 0.998 < result.value[game.initial] < 0.999
    assert result.gap < 1e-9
    fixed_point = np.where(
        result.expected_steps > 0, game.expectation(result.value).max(axis=(1, 3)), game.target
    )
    assert result.value == pytest.approx(fixed_point, abs=1e-12)


def test_swaps_as_collisions_make_navigation_harder():
    free = navigation_game()
    solid = navigation_game(Swaps.COLLISION)
    difference = maximum_reachability(free).value - maximum_reachability(solid).value
    assert difference.min() >= -1e-9
    assert difference.max() > 1e-3


def test_a_start_to_be_avoided_is_refused():
    still = Mdp.from_tensor(np.eye(2)[:, None, :], initial=0)
    game = MarkovGame([still, still], [(0, 1)], {'collision': lambda s, t: s == t})
    with pytest.raises(ModelError, match=r'^the start is to be avoided: collision$'):
        require_reachable(game)


def test_a_target_out_of_reach_is_refused():
    still = Mdp.from_tensor(np.eye(2)[:, None, :], initial=0)
    game = MarkovGame([still], [(1,)], {})
    with pytest.raises(ModelError, match=r'^the target cannot be reached from the start$'):
        require_reachable(game)
    assert maximum_reachability(game).value.tolist() == [0, 1]


def test_a_reachable_target_is_accepted():
    require_reachable(navigation_game())


@pytest.mark.parametrize('seed', range(20))
def test_rounding_of_swaps_brings_no_dead_state_to_life(seed):
    rng = np.random.default_rng(seed)
    transitions = np.zeros((5, 1, 5))
    transitions[:2, 0, :2] = rng.dirichlet(np.ones(2), size=2)
    transitions[2:, 0, 2:] = rng.dirichlet(np.ones(3), size=3)
    game = MarkovGame(
        [Mdp.from_tensor(transitions, start) for start in (0, 1, 2)],
        target=lambda s, t, u: (s == 1) & (t == 0),
        avoid={'collision': lambda s, t, u: (s == t) | (s == u) | (t == u)},
        swaps=Swaps.COLLISION,
    )
    assert dead_states(game)[game.initial]
