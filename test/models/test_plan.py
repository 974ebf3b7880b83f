import dataclasses

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph, LocalPolicy, TeamPlan

PLAN = TeamPlan(
    plan_id=bytes(16),
    game=bytes(32),
    episode=0,
    start_ns=0,
    period_ns=10**9,
    deadline=0.5,
    horizon=200,
    max_stale=3,
    robots=('a', 'b'),
    graph=Graph(((), (0,))),
    epsilon=(1.0, 1.0),
    adjacency=(3, 3),
)


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))
        )
    )
)
def test_graph_accepts_just_the_acyclic_ones(case):
    n, edges = case
    peer = networkx.DiGraph(list(edges))
    if networkx.is_directed_acyclic_graph(peer):
        assert set(Graph.from_edges(n, edges).edges) == edges
    else:
        with pytest.raises(ModelError):
            Graph.from_edges(n, edges)


def test_graph_names_the_cycle_and_its_tellers():
    with pytest.raises(ModelError, match=r'the cycle 1 > 2 > 1|the cycle 2 > 1 > 2'):
        Graph(((1,), (0,)))
    graph = Graph(((), (0,), (0, 1)))
    assert str(graph) == '2>1 3>1 3>2'
    assert graph.tellers == (0, 1)


@pytest.mark.parametrize('edge', [(0, 5), (5, 0), (0, -1), (-1, 0)])
def test_graph_refuses_robots_that_are_not_there(edge):
    with pytest.raises(ModelError):
        Graph.from_edges(2, [edge])


def policy(table, **changes):
    table = np.asarray(table, dtype=float)
    own = np.full((table.shape[0], table.shape[-1]), 1 / table.shape[-1])
    return LocalPolicy(
        **{'robot': 1, 'observed': (0,), 'table': table, 'own_state': own} | changes
    )


def test_policy_accepts_a_table_per_step():
    table = np.full((7, 3, 4, 2), 0.5)
    stepwise = policy(table, by_step=True, own_state=np.full((3, 2), 0.5))
    assert stepwise.steps == 7
    assert policy(table[0]).steps == 0


@pytest.mark.parametrize(
    ('make', 'problem'),
    [
        (lambda: policy(np.full((3, 2), 0.5)), '3 axes expected'),
        (lambda: policy(np.full((3, 4, 2), 0.4)), 'table: the probabilities .* must sum to 1'),
        (lambda: policy(np.full((3, 4, 2), np.nan)), 'finite and not negative'),
        (lambda: policy([[[1.5, -0.5]]]), 'finite and not negative'),
        (
            lambda: policy(np.full((3, 4, 2), 0.5), own_state=np.full((4, 2), 0.5)),
            r'own_state is not \(3, 2\)',
        ),
    ],
)
def test_policy_refuses_bad_tables(make, problem):
    with pytest.raises(ModelError, match=problem):
        make()


@pytest.mark.parametrize(
    'change',
    [
        {'plan_id': b'short'},
        {'robots': ()},
        {'robots': ('a', 'a')},
        {'epsilon': (1.0,)},
        {'epsilon': (1.0, float('nan'))},
        {'epsilon': (1.0, -1.0)},
        {'adjacency': (0, 1)},
        {'deadline': 1.0},
        {'deadline': float('nan')},
        {'period_ns': 0},
        {'horizon': 0},
        {'graph': Graph(((),))},
    ],
)
def test_plan_refuses_what_cannot_be_executed(change):
    with pytest.raises(ModelError):
        dataclasses.replace(PLAN, **change)


@pytest.mark.parametrize(
    'change',
    [
        {'robot': 2},
        {'observed': (2,)},
        {'table': np.full((3, 4, 2), (0.25, 0.75))},
        {'own_state': np.full((3, 2), (0.25, 0.75))},
        {'observed': (0, 2), 'table': np.full((3, 4, 5, 2), 0.5)},
    ],
)
def test_policy_equals_just_its_copies(change):
    table = np.full((3, 4, 2), 0.5)
    assert policy(table).equals(policy(table.copy()))
    assert not policy(table).equals(policy(**({'table': table} | change)))


@pytest.mark.parametrize(
    ('change', 'is_news'),
    [
        ({}, False),
        ({'max_stale': 4}, False),
        ({'episode': 4, 'start_ns': 7}, False),
        ({'start_ns': 2**62}, False),
        ({'start_ns': 8}, True),
        ({'episode': 6, 'start_ns': 2**62}, True),
        ({'plan_id': bytes([1] * 16), 'episode': 0}, True),
    ],
)
def test_plan_is_replaced_by_another_and_by_a_newer_episode_but_not_by_an_old_one(change, is_news):
    current = dataclasses.replace(PLAN, episode=5, start_ns=9)
    assert dataclasses.replace(current, **change).replaces(current) is is_news
