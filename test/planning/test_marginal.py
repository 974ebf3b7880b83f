"""Marginalisation against sums written as loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning.marginal import Unvisited, marginalise

SIZES = ((3, 2), (2, 3), (3, 2))
GRAPHS = [
    Graph(((), (), ())),
    Graph(((), (0,), ())),
    Graph(((1, 2), (), ())),
    Graph(((), (0,), (0, 1))),
    Graph(((2,), (0, 2), ())),
]


def random_occupancy(seed, density=0.1):
    rng = np.random.default_rng(seed)
    shape = tuple(n for sizes in SIZES for n in sizes)
    return rng.exponential(size=shape) * (rng.random(shape) < density)


def looped_visits(x, robot, observed, observation, action):
    """Add x(y, a) over all y that agree with the observation and a that agree with the action."""
    total = 0.0
    for index in itertools.product(*map(range, x.shape)):
        states, actions = index[::2], index[1::2]
        seen = (states[robot], *(states[j] for j in observed))
        if seen == observation and actions[robot] == action:
            total += x[index]
    return total


@settings(max_examples=4)
@given(st.integers(0, 1000), st.sampled_from(GRAPHS), st.sampled_from(Unvisited))
def test_tables_are_the_sums_of_the_formula(seed, graph, unvisited):
    x = random_occupancy(seed)
    for policy, observed in zip(marginalise(x, graph, unvisited), graph.observed, strict=True):
        i, n_actions = policy.robot, SIZES[policy.robot][1]
        assert policy.observed == observed
        for observation in np.ndindex(*policy.table.shape[:-1]):
            visits = [looped_visits(x, i, observed, observation, a) for a in range(n_actions)]
            alone = [looped_visits(x, i, (), observation[:1], a) for a in range(n_actions)]
            uniform = np.full(n_actions, 1 / n_actions)
            own_state = np.divide(alone, sum(alone)) if sum(alone) else uniform
            fallback = own_state if unvisited is Unvisited.OWN_STATE else uniform
            expected = np.divide(visits, sum(visits)) if sum(visits) else fallback
            assert policy.table[observation] == pytest.approx(expected)
            assert policy.own_state[observation[0]] == pytest.approx(own_state)


def chain_of_independent_choices(seed):
    """Return x(s, a) of a joint policy in which each robot acts on what graph 4 lets it see."""
    rng = np.random.default_rng(seed)
    visits = rng.exponential(size=(3, 2, 3))
    one = rng.dirichlet(np.ones(2), size=3)
    two = rng.dirichlet(np.ones(3), size=(2, 3))
    three = rng.dirichlet(np.ones(2), size=(3, 3, 2))
    x = np.einsum('stu,sa,tsb,ustc->satbuc', visits, one, two, three)
    return x, (one, two, three)


@pytest.mark.parametrize('seed', range(5))
def test_policies_that_fit_the_graph_come_back_unchanged(seed):
    x, tables = chain_of_independent_choices(seed)
    for policy, table in zip(marginalise(x, GRAPHS[3]), tables, strict=True):
        assert policy.table == pytest.approx(table)


@pytest.mark.parametrize('graph', GRAPHS, ids=str)
def test_policies_weighted_by_their_observations_give_back_the_action_counts(graph):
    x = random_occupancy(7)
    for policy in marginalise(x, graph):
        i = policy.robot
        kept = [2 * i, *(2 * j for j in policy.observed)]
        seen = np.einsum(x, list(range(6)), kept)
        counts = np.tensordot(seen, policy.table, axes=seen.ndim)
        assert counts == pytest.approx(np.einsum(x, list(range(6)), [2 * i + 1]))


def test_an_unvisited_observation_does_what_the_own_state_does():
    x = np.zeros((2, 2, 2, 2))
    x[0, 1, 0, 0] = 1.0
    second = marginalise(x, Graph(((), (0,))))[1]
    assert second.table[0, 1].tolist() == [1.0, 0.0]
    assert second.table[1, 0].tolist() == [0.5, 0.5]


def test_an_unvisited_observation_can_be_uniform():
    x = np.zeros((2, 2, 2, 2))
    x[0, 1, 0, 0] = 1.0
    second = marginalise(x, Graph(((), (0,))), Unvisited.UNIFORM)[1]
    assert second.table[0, 1].tolist() == [0.5, 0.5]
    assert second.own_state[0].tolist() == [1.0, 0.0]


def test_an_occupancy_of_another_team_is_refused():
    with pytest.raises(ModelError, match='of 2 robots has 4 axes, not 6'):
        marginalise(random_occupancy(0), Graph(((), ())))


@pytest.mark.parametrize('bad', [-1.0, np.nan, np.inf])
def test_visits_that_are_no_visits_are_refused(bad):
    x = random_occupancy(0)
    x[0, 0, 0, 0, 0, 0] = bad
    with pytest.raises(ModelError, match='finite and not negative'):
        marginalise(x, GRAPHS[0])
