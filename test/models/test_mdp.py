import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp

WALK = [[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [[0, 1, 0], [0, 1, 0]], [[0.2, 0.3, 0.5], [1, 0, 0]]]


@st.composite
def tensors(draw):
    n_states, n_actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.random((n_states, n_actions, n_states))
    weights *= rng.random(weights.shape) < 0.5
    weights[..., 0] += 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)


def test_feasible_successors_are_those_of_any_action():
    mdp = Mdp.from_tensor(WALK, initial=0)
    assert [mdp.successors(s).tolist() for s in range(3)] == [[0, 1, 2], [1], [0, 1, 2]]
    assert mdp.out_degree.tolist() == [3, 1, 3]


@given(tensors())
def test_kernel_rows_are_state_major_and_sparse(tensor):
    mdp = Mdp.from_tensor(tensor, initial=0)
    n_states, n_actions, _ = tensor.shape
    for s in range(n_states):
        for a in range(n_actions):
            row = mdp.kernel[[s * n_actions + a]].toarray().ravel()
            np.testing.assert_array_equal(row, tensor[s, a])
    assert mdp.kernel.nnz == np.count_nonzero(tensor)
    np.testing.assert_array_equal(mdp.tensor, tensor)


def test_table_by_names_equals_tensor():
    table = {
        'wait': {'up': {'up': 0.9, 'down': 0.1}, 'down': {'down': 1.0}},
        'fix': {'up': {'up': 1.0}, 'down': {'up': 0.5, 'down': 0.5}},
    }
    mdp = Mdp.from_table(table, ('up', 'down'), initial='down')
    assert (mdp.initial, mdp.actions) == (1, ('wait', 'fix'))
    assert mdp.tensor.tolist() == [[[0.9, 0.1], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]]


def test_fingerprint_tells_different_mdps_apart():
    other = np.array(WALK)
    other[0, 0] = [0.5, 0.25, 0.25]
    same, again = (Mdp.from_tensor(WALK, initial=0) for _ in range(2))
    assert same.fingerprint == again.fingerprint
    for different in (Mdp.from_tensor(WALK, initial=1), Mdp.from_tensor(other, initial=0)):
        assert different.fingerprint != same.fingerprint


@pytest.mark.parametrize(
    ('transitions', 'initial', 'problem'),
    [
        ([[[0.5, 0.4]], [[0, 1]]], 0, '0 in state 0: the probabilities sum to 0.9, not to 1'),
        ([[[1.5, -0.5]], [[0, 1]]], 0, 'finite and not negative'),
        ([[[np.nan, 1]], [[0, 1]]], 0, 'finite and not negative'),
        ([[[1, 0]], [[0, 1]]], 2, 'initial state 2 is not one of 2'),
        ([[1, 0], [0, 1]], 0, 'axes state, action, next state'),
        (np.zeros((0, 1, 0)), 0, 'at least one state'),
        (np.zeros((1, 0, 1)), 0, 'at least one action'),
    ],
)
def test_refuses_what_is_no_mdp(transitions, initial, problem):
    with pytest.raises(ModelError, match=problem):
        Mdp.from_tensor(transitions, initial)


def test_refuses_names_that_do_not_fit():
    with pytest.raises(ModelError, match='two states have the same name'):
        Mdp.from_tensor([[[1, 0]], [[0, 1]]], 0, states=('a', 'a'))
    with pytest.raises(ModelError, match='do not fit the names'):
        Mdp.from_tensor([[[1, 0]], [[0, 1]]], 0, states=('a', 'b', 'c'))
    with pytest.raises(ModelError, match='go, a: unknown state b'):
        Mdp.from_table({'go': {'a': {'b': 1.0}}}, ('a',), initial='a')
    with pytest.raises(ModelError, match='unknown initial state c'):
        Mdp.from_table({'go': {'a': {'a': 1.0}}}, ('a',), initial='c')
