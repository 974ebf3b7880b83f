"""The exact audit against dynamic programming, and what it says of the printed theorem."""

import math

import faulty
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.privacy.audit_suite import robot_mechanism
from dp_multiagent.privacy.exact_audit import exact_loss
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

TOLERANCE = 1e-9
COMPLETE = Mdp.from_tensor(np.full((3, 1, 3), 1 / 3), initial=0)


def worst_by_dynamic_programming(mu, initial, length, adjacency):
    """Maximise the log-ratio backwards, over the states that are told and those that differ."""
    n = len(mu)
    with np.errstate(divide='ignore', invalid='ignore'):
        gap = np.log(mu)[:, :, None, :] - np.log(mu)[:, None, :, :]
    gap[np.isnan(gap)] = -math.inf
    possible = (mu > 0).any(axis=1)
    same = np.where(possible, 0.0, -math.inf)
    differ = np.where(possible, gap.reshape(n, n * n, n).max(axis=1), -math.inf)
    best = np.zeros((adjacency + 1, n))
    for _ in range(length):
        stay = plus(same, best[:, None, :]).max(axis=2)
        move = plus(differ, best[:-1, None, :]).max(axis=2)
        best = np.vstack((stay[:1], np.maximum(stay[1:], move)))
    return best[adjacency, initial]


def plus(gap, rest):
    """Add log-ratios; what is impossible stays so, even before an infinite one."""
    impossible = np.isneginf(gap) | np.isneginf(rest)
    return np.where(impossible, -math.inf, np.where(impossible, 0, gap) + rest)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.random((n, n, n)) * (rng.random((n, n, n)) < draw(st.sampled_from([0.6, 1])))
    weights[..., 0] += weights.sum(axis=2) == 0
    return weights / weights.sum(axis=2, keepdims=True)


@settings(max_examples=60)
@given(tables(), st.integers(1, 4), st.integers(1, 4))
def test_enumeration_agrees_with_dynamic_programming(mu, length, adjacency):
    found = exact_loss(mu, initial=0, length=length, adjacency=adjacency)
    expected = worst_by_dynamic_programming(mu, 0, length, min(adjacency, length))
    assert found.worst == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize('epsilon', [0.01, 1.0, 10.0])
@pytest.mark.parametrize('adjacency', [1, 2, 3])
def test_the_trajectory_mechanism_loses_epsilon_exactly(epsilon, adjacency):
    mechanism = robot_mechanism(epsilon=epsilon, adjacency=adjacency)
    found = exact_loss(mechanism.mu, initial=mechanism.mdp.initial, length=3, adjacency=adjacency)
    assert found.worst == pytest.approx(epsilon, abs=TOLERANCE)


def test_what_it_reports_is_a_pair_that_reaches_the_worst():
    mu, k = robot_mechanism(epsilon=2, adjacency=2).mu, 2
    found = exact_loss(mu, initial=4, length=3, adjacency=k)
    assert sum(a != b for a, b in zip(found.truth, found.neighbour, strict=True)) == k
    ratio = 0.0
    for last, told, s, t in zip(
        (4, *found.told), found.told, found.truth, found.neighbour, strict=False
    ):
        ratio += math.log(mu[last, s, told] / mu[last, t, told])
    assert ratio == pytest.approx(found.worst)


@pytest.mark.parametrize(('length', 'adjacency', 'pairs'), [(1, 1, 3), (2, 1, 18), (2, 2, 36)])
def test_every_pair_is_looked_at_once(length, adjacency, pairs):
    mu = TrajectoryMechanism(COMPLETE, epsilon=1, adjacency=1).mu
    assert exact_loss(mu, initial=0, length=length, adjacency=adjacency).pairs == pairs


@pytest.mark.parametrize(('epsilon', 'adjacency'), [(0.1, 1), (0.2, 2), (0.5, 3)])
def test_theorem_1_as_printed_loses_more_than_it_says(epsilon, adjacency):
    mdp = robot_mechanism().mdp
    mu = faulty.printed_theorem_1(mdp, epsilon, adjacency)
    found = exact_loss(mu, initial=mdp.initial, length=3, adjacency=adjacency)
    assert found.worst > 2 * epsilon


def test_theorem_1_as_printed_is_no_probability_at_a_large_epsilon():
    mu = faulty.printed_theorem_1(robot_mechanism().mdp, 10.0, 1)
    with pytest.raises(ModelError, match='not a table of probabilities'):
        exact_loss(mu, initial=4, length=2, adjacency=1)


def test_truth_that_is_told_though_infeasible_loses_everything():
    mdp = robot_mechanism().mdp
    mu = faulty.truth_even_if_infeasible(mdp, 1.0, 2)
    assert exact_loss(mu, initial=4, length=3, adjacency=2).worst == math.inf


@pytest.mark.parametrize(
    ('mu', 'changed', 'match'),
    [
        (np.full((2, 2), 0.5), {}, 'mu must have the axes'),
        (np.full((2, 2, 3), 1 / 3), {}, 'mu must have the axes'),
        (np.full((2, 2, 2), 0.4), {}, 'not a table of probabilities'),
        (np.full((2, 2, 2), np.nan), {}, 'not a table of probabilities'),
        (np.full((2, 2, 2), 0.5), {'initial': 2}, 'initial state 2 is not one of 2'),
        (np.full((2, 2, 2), 0.5), {'adjacency': 0}, 'must be at least 1'),
        (np.full((2, 2, 2), 0.5), {'length': 0}, 'must be at least 1'),
        (np.full((2, 2, 2), 0.5), {'length': 11}, '2048 words are more than'),
    ],
)
def test_what_cannot_be_enumerated_is_refused(mu, changed, match):
    with pytest.raises(ModelError, match=match):
        exact_loss(mu, **{'initial': 0, 'length': 2, 'adjacency': 1, **changed})
