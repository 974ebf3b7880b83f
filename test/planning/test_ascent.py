"""The ascent's gradient against differences, its monotonicity, and optima known otherwise."""

import itertools
from dataclasses import replace

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

from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.planning.ascent import _score, ascend
from dp_multiagent.planning.evaluation import evaluate

DISCOUNT = 0.9
H = 1e-5

CASES = [
    (random_game(3, n_states=3), Graph(((), (0,)))),
    (random_game(1, n_agents=3, n_states=2), Graph(((1, 2), (2,), ()))),
    (cell_game(5), Graph(((1,), ()))),
    (cell_game(2, n_agents=3, n_states=4), Graph(((), (0,), (0, 1)))),
]


@pytest.mark.parametrize(('game', 'graph'), CASES)
@pytest.mark.parametrize(('steps', 'horizon'), [(0, 400), (0, 4), (3, 3)])
def test_scores_are_the_gradient_of_the_value(game, graph, steps, horizon):
    rng = np.random.default_rng(0)
    policies = random_policies(game, graph, rng, steps)
    mechanisms = mechanisms_of(game, 1.3, 2)
    _, scores = _score(game, policies, mechanisms, horizon, DISCOUNT)
    for i, policy in enumerate(policies):
        other = rng.dirichlet(np.ones(policy.table.shape[-1]), size=policy.table.shape[:-1])
        direction = other - policy.table

        def value(h, i=i, policy=policy, direction=direction):
            moved = replace(policy, table=policy.table + h * direction)
            team = (*policies[:i], moved, *policies[i + 1 :])
            return _score(game, team, mechanisms, horizon, DISCOUNT)[0]

        slope = (value(H) - value(0)) / H
        assert slope == pytest.approx((scores[i] * direction).sum(), rel=1e-3, abs=1e-6)


def test_value_is_the_success_within_the_horizon():
    game, graph = CASES[0]
    policies = random_policies(game, graph, np.random.default_rng(2))
    mechanisms = mechanisms_of(game, 1.0, 1)
    value, _ = _score(game, policies, mechanisms, 5, discount=1.0)
    assert value == pytest.approx(evaluate(game, policies, mechanisms, 5).success, abs=1e-12)


@pytest.mark.parametrize('steps', [0, 12])
def test_every_accepted_step_raises_the_value(steps):
    game = navigation_game()
    mechanisms = mechanisms_of(game, 1.0, 3)
    start = random_policies(game, Graph(((), (0,))), np.random.default_rng(0), steps)
    values = []

    def watch(_, policies):
        values.append(evaluate(game, policies, mechanisms, steps or 200).success)

    found = ascend(game, start, mechanisms, horizon=steps or 200, on_iteration=watch, discount=1.0)
    assert np.all(np.diff(values) >= -1e-9)
    assert found.value > values[0]


def test_finds_the_optimum_that_enumeration_of_all_deterministic_policies_finds():
    game = secret_game()
    mechanisms = mechanisms_of(game, 1.0, 1)
    best = 0.0
    for choice in itertools.product(range(3), repeat=3):
        table = np.tile(np.eye(3)[list(choice)], (3, 1, 1))
        policies = (
            LocalPolicy(0, (), np.ones((3, 1)), np.ones((3, 1))),
            LocalPolicy(1, (0,), table, np.full((3, 3), 1 / 3)),
        )
        best = max(best, evaluate(game, policies, mechanisms, 3).success)
    start = random_policies(game, Graph(((), (0,))), np.random.default_rng(1))
    found = ascend(game, start, mechanisms, horizon=3)
    assert evaluate(game, found.policies, mechanisms, 3).success == pytest.approx(best, abs=1e-3)
    assert best > 0.7


def test_deterministic_policies_are_fixed_points():
    game = secret_game()
    mechanisms = mechanisms_of(game, 1.0, 1)
    table = np.tile(np.eye(3)[[0, 2, 1]], (3, 1, 1))
    start = (
        LocalPolicy(0, (), np.ones((3, 1)), np.ones((3, 1))),
        LocalPolicy(1, (0,), table, np.full((3, 3), 1 / 3)),
    )
    found = ascend(game, start, mechanisms, horizon=3, iterations=5)
    np.testing.assert_array_equal(found.policies[1].table, table)
    assert found.gap > 0.1
    assert found.iterations == 5
