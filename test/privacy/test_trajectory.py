"""The trajectory mechanism against enumeration of words and against its own distribution."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dp_multiagent.errors import ModelError
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.privacy.trajectory import TrajectoryMechanism
from dp_multiagent.privacy.units import PrivacyLoss, PureEvent

ALPHA = 1e-6
N = 20_000

COMPLETE = Mdp.from_tensor(np.full((3, 1, 3), 1 / 3), initial=0)
# Successors 0: {0, 1, 2, 3}, 1: {0, 1}, 2: {2, 3}, 3: {3}.
UNEVEN = Mdp.from_tensor(
    [
        [[0.25, 0.25, 0.25, 0.25]],
        [[0.5, 0.5, 0, 0]],
        [[0, 0, 0.5, 0.5]],
        [[0, 0, 0, 1]],
    ],
    initial=0,
)


@st.composite
def mdps(draw):
    n = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.4, 0.7, 1.0]))
    weights = rng.random((n, 2, n)) * (rng.random((n, 2, n)) < density)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return Mdp.from_tensor(weights / weights.sum(axis=-1, keepdims=True), initial=0)


epsilons = st.floats(0, 8)
adjacencies = st.integers(1, 3)


def feasible_words(mdp, length):
    words = [(mdp.initial,)]
    for _ in range(length):
        words = [(*w, int(y)) for w in words for y in mdp.successors(w[-1])]
    return np.array([w[1:] for w in words])


def log_word_probabilities(mu, initial, true_words, private_words):
    """Return log Pr(private word | true word), one row per true word."""
    result = np.zeros((len(true_words), len(private_words)))
    for v, p in itertools.product(range(len(true_words)), range(len(private_words))):
        last = initial
        for truth, told in zip(true_words[v], private_words[p], strict=True):
            result[v, p] += math.log(mu[last, truth, told])
            last = told
    return result


def worst_loss(mu, mdp, length, adjacency):
    """Return the largest log-likelihood ratio over all adjacent words and private words."""
    words = feasible_words(mdp, length)
    logs = log_word_probabilities(mu, mdp.initial, words, words)
    adjacent = (words[:, None] != words[None]).sum(axis=2) <= adjacency
    return max(float(np.max(logs[v] - logs[adjacent[v]])) for v in range(len(words)))


def loss_is_attainable(mdp, length, adjacency):
    """Tell whether k states can differ where a private word has the one and could the other."""
    words = feasible_words(mdp, length)
    for v, p in itertools.product(words, words):
        before = np.concatenate(([mdp.initial], p[:-1]))
        told = v == p
        alternative = told & (words != v) & mdp.feasible[before, words]
        differs = words != v
        exact = (differs.sum(axis=1) == adjacency) & (alternative == differs).all(axis=1)
        if exact.any():
            return True
    return False


@settings(max_examples=40, deadline=None)
@given(mdps(), epsilons, adjacencies, st.integers(1, 3))
def test_no_private_word_tells_adjacent_words_apart_by_more_than_epsilon(mdp, eps, k, length):
    mu = TrajectoryMechanism(mdp, epsilon=eps, adjacency=k).mu
    assert worst_loss(mu, mdp, length, k) <= eps + 1e-9


@settings(max_examples=25, deadline=None)
@given(mdps(), st.floats(0.01, 8), adjacencies, st.integers(1, 3))
def test_epsilon_is_reached_just_where_k_alternatives_are_feasible(mdp, eps, k, length):
    mu = TrajectoryMechanism(mdp, epsilon=eps, adjacency=k).mu
    reached = worst_loss(mu, mdp, length, k) >= eps - 1e-9
    assert reached == loss_is_attainable(mdp, length, k)


@pytest.mark.parametrize('epsilon', [0.01, 1.0, 10.0])
@pytest.mark.parametrize('adjacency', [1, 2, 3, 4])
def test_epsilon_is_met_exactly_on_words_of_four_states(epsilon, adjacency):
    mu = TrajectoryMechanism(COMPLETE, epsilon=epsilon, adjacency=adjacency).mu
    assert worst_loss(mu, COMPLETE, 4, adjacency) == pytest.approx(epsilon, abs=1e-9)


def test_theorem_1_as_printed_is_not_private_at_a_small_epsilon():
    rho, epsilon = COMPLETE.n_states, 0.1
    tau = 1 / ((rho - 1) * math.exp(-epsilon + 1))
    mu = np.broadcast_to((1 - tau) / (rho - 1), (rho, rho, rho)).copy()
    mu[:, range(rho), range(rho)] = tau
    assert worst_loss(mu, COMPLETE, 2, adjacency=1) > epsilon + 0.1


def test_theorem_1_as_printed_is_not_a_probability_at_a_large_epsilon():
    rho, epsilon = COMPLETE.n_states, 3.0
    assert 1 / ((rho - 1) * math.exp(-epsilon + 1)) > 1
    mechanism = TrajectoryMechanism(COMPLETE, epsilon=epsilon, adjacency=1)
    assert mechanism.true_transition == pytest.approx([1 / (2 * math.exp(-3) + 1)] * 3)


@given(mdps(), epsilons, adjacencies)
def test_mu_is_a_distribution_over_just_the_feasible_states(mdp, eps, k):
    mu = TrajectoryMechanism(mdp, epsilon=eps, adjacency=k).mu
    assert mu.sum(axis=2) == pytest.approx(np.ones((mdp.n_states, mdp.n_states)))
    assert np.array_equal(mu > 0, np.broadcast_to(mdp.feasible[:, None, :], mu.shape))


def test_mu_is_algorithm_1_entry_by_entry():
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=2.0, adjacency=3)
    n, beta = UNEVEN.n_states, UNEVEN.feasible
    for p, s, y in itertools.product(range(n), repeat=3):
        rho = beta[p].sum()
        tau = 1 / ((rho - 1) * math.exp(-2 / 3) + 1)
        if not beta[p, y]:
            expected = 0.0
        elif s == y:
            expected = tau
        else:
            expected = (1 - tau * beta[p, s]) / (rho - beta[p, s])
        assert mechanism.mu[p, s, y] == pytest.approx(expected)


def test_a_plan_of_episodes_is_counted_by_episode():
    plan = TrajectoryMechanism(UNEVEN, epsilon=0.1, adjacency=3).planned(10)
    assert str(plan.unit) == 'trajectories that differ in at most 3 states'
    assert plan.loss == PrivacyLoss(epsilon='1/10', delta=0)
    assert plan.event == PureEvent(epsilon='1/10')
    assert (plan.mechanism, plan.count) == ('trajectory', 10)


def test_epsilon_zero_tells_nothing():
    mu = TrajectoryMechanism(UNEVEN, epsilon=0, adjacency=1).mu
    uniform = UNEVEN.feasible / UNEVEN.out_degree[:, None]
    assert mu == pytest.approx(np.broadcast_to(uniform[:, None, :], mu.shape))


def assert_distribution(draws, probabilities):
    counts = np.bincount(draws, minlength=len(probabilities))
    possible = probabilities > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        assert chisquare(counts[possible], probabilities[possible] * len(draws)).pvalue > ALPHA


PAIRS = list(itertools.product(range(UNEVEN.n_states), repeat=2))


@pytest.mark.parametrize(('previous', 'state'), PAIRS)
def test_samples_have_the_distribution_mu(previous, state):
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.5, adjacency=2)
    uniforms = np.random.default_rng(7).random(N)
    draws = mechanism.sample(np.full(N, state), np.full(N, previous), uniforms)
    assert_distribution(draws, mechanism.mu[previous, state])


@given(mdps(), epsilons, adjacencies)
def test_an_even_grid_of_uniforms_gives_mu_itself(mdp, eps, k):
    mechanism = TrajectoryMechanism(mdp, epsilon=eps, adjacency=k)
    n, grid = mdp.n_states, (np.arange(2000) + 0.5) / 2000
    p, s, u = (a.ravel() for a in np.meshgrid(range(n), range(n), grid, indexing='ij'))
    shares = np.zeros((n, n, n))
    np.add.at(shares, (p, s, mechanism.sample(s, p, u)), 1 / 2000)
    assert shares == pytest.approx(mechanism.mu, abs=1.5 / 2000)


def test_samples_at_the_ends_of_the_unit_interval_are_feasible():
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.5, adjacency=2)
    p, s = np.array(PAIRS).T
    for u in (0.0, np.nextafter(1.0, 0.0)):
        assert UNEVEN.feasible[p, mechanism.sample(s, p, np.full(len(p), u))].all()


@pytest.mark.parametrize(('previous', 'state'), [(0, 0), (0, 3), (1, 3), (2, 2), (3, 0)])
def test_releases_have_the_distribution_mu(previous, state):
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.5, adjacency=2)
    rng = np.random.default_rng(11)
    draws = [mechanism.release(state, previous, lambda n: int(rng.integers(n))) for _ in range(N)]
    assert_distribution(np.array(draws), mechanism.mu[previous, state])


def test_a_release_spends_just_the_decimal_that_names_a_float_epsilon():
    asked = []

    def record(n):
        asked.append(n)
        return n - 1

    TrajectoryMechanism(UNEVEN, epsilon=0.1, adjacency=3).release(3, 1, record)
    assert asked[1] == (Fraction(1, 10) / 3).denominator


def test_a_release_uses_the_operating_system_by_default():
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=0, adjacency=1)
    assert {mechanism.release(0, 0) for _ in range(300)} == {0, 1, 2, 3}


@pytest.mark.parametrize('epsilon', [-0.1, math.nan, math.inf])
def test_an_epsilon_that_is_no_privacy_loss_is_refused(epsilon):
    with pytest.raises(ModelError, match='epsilon must be finite and not negative'):
        TrajectoryMechanism(UNEVEN, epsilon=epsilon, adjacency=1)


@pytest.mark.parametrize('adjacency', [0, -1, 1.0, True])
def test_an_adjacency_that_is_no_count_is_refused(adjacency):
    with pytest.raises(ModelError, match='adjacency must be'):
        TrajectoryMechanism(UNEVEN, epsilon=1.0, adjacency=adjacency)


@pytest.mark.parametrize('state', [-1, 4])
def test_an_unknown_state_is_refused(state):
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.0, adjacency=1)
    with pytest.raises(ModelError, match=f'^state {state} is not one of 4'):
        mechanism.release(state, 0)
    with pytest.raises(ModelError, match=f'previous private state {state} is not one of 4'):
        mechanism.sample([0], [state], [0.5])


@pytest.mark.parametrize('uniform', [-0.1, 1.0, math.nan])
def test_a_uniform_outside_its_interval_is_refused(uniform):
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.0, adjacency=1)
    with pytest.raises(ModelError, match='uniforms must be'):
        mechanism.sample([0], [0], [uniform])


def test_states_are_refused_by_name():
    mechanism = TrajectoryMechanism(UNEVEN, epsilon=1.0, adjacency=1)
    with pytest.raises(ModelError, match='given by their indices'):
        mechanism.sample([0.0], [0], [0.5])
