import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.privacy.told_error import distance_quantile, true_and_told
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

MAP = GridMap(('..#', '...', '#..'), slip=0.2)
STEPS = 6
ROLLOUTS = 200_000


def mechanism(epsilon=2.0):
    return TrajectoryMechanism(MAP.mdp(start=(0, 0)), epsilon=epsilon, adjacency=2)


def wandering(mdp):
    return mdp.tensor.mean(axis=1)


@pytest.mark.parametrize('epsilon', [0, 0.5, 8.0])
def test_it_is_the_chain_of_the_full_table(epsilon):
    told = mechanism(epsilon)
    motion = wandering(told.mdp)
    joint = np.zeros(motion.shape)
    joint[told.mdp.initial, told.mdp.initial] = 1
    total = np.zeros(motion.shape)
    for _ in range(STEPS):
        joint = np.einsum('sp,st,ptq->tq', joint, motion, told.mu)
        total += joint
    np.testing.assert_allclose(true_and_told(told, motion, STEPS), total / STEPS, atol=1e-14)


def test_rollouts_agree():
    told = mechanism()
    mdp, rng = told.mdp, np.random.default_rng(1)
    cumulative = wandering(mdp).cumsum(axis=1)
    s = p = np.full(ROLLOUTS, mdp.initial)
    seen = np.zeros((mdp.n_states, mdp.n_states))
    for _ in range(STEPS):
        s = (rng.random(ROLLOUTS)[:, None] >= cumulative[s]).sum(axis=1)
        p = told.sample(s, p, rng.random(ROLLOUTS))
        np.add.at(seen, (s, p), 1 / (STEPS * ROLLOUTS))
    five_sigma = 5 * np.sqrt(0.25 / ROLLOUTS)
    assert np.abs(true_and_told(told, wandering(mdp), STEPS) - seen).max() < five_sigma


def test_at_epsilon_zero_the_told_state_does_not_depend_on_the_truth():
    joint = true_and_told(mechanism(0), wandering(mechanism().mdp), 1)
    np.testing.assert_allclose(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)), atol=1e-15)


def test_closed_form_of_a_coin_that_is_told_for_one_step():
    coin = Mdp.from_tensor([[[0.5, 0.5]], [[0.5, 0.5]]], initial=0)
    told = TrajectoryMechanism(coin, epsilon=1.0, adjacency=1)
    joint = true_and_told(told, wandering(coin), 1)
    assert np.trace(joint) == pytest.approx(1 / (1 + np.exp(-1)))


def test_quantile_is_the_least_distance_that_suffices():
    joint = np.array([[0.5, 0.3], [0.15, 0.05]])
    distance = np.array([[0.0, 1.0], [2.0, 9.0]])
    found = [distance_quantile(joint, distance, share) for share in (0.5, 0.51, 0.95, 0.96, 1.0)]
    assert found == [0, 1, 2, 9, 9]


def test_a_motion_that_does_not_fit_is_refused():
    with pytest.raises(ModelError, match='does not fit 7 states'):
        true_and_told(mechanism(), np.eye(3), 1)
    with pytest.raises(ModelError, match='there must be a step'):
        true_and_told(mechanism(), np.eye(7), 0)
