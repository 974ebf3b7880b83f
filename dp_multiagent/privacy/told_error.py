"""How far a told state is from the true one, computed exactly for a given motion.

The true state s and the told state p are a Markov chain: s' ~ K(. | s), p' ~ mu(. | s', p), both
from the public initial state. With m(s, p) its distribution and M = K^T m,

    m'(s', p') = sum_p M(s', p) level(p, s') [p' feasible from p]
                 + [p' = s'] sum_p M(s', p) [s' feasible from p] (tau(p) - other(p)),

where mu is `level` on all feasible states, other(p) = exp(-epsilon / k) tau(p) if s' is feasible
from p and 1 / rho(p) if not, and the true state has what is missing to tau(p). So a step costs
products with the sparse matrix of feasible successors; the table of mu is never built.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

FloatArray = NDArray[np.float64]
ROUNDING = 1e-12


def true_and_told(mechanism: TrajectoryMechanism, motion: FloatArray, steps: int) -> FloatArray:
    """Return P(true state, told state) at a step drawn uniformly from 1 to `steps`.

    `motion` is K, the distribution of the next true state given the last.
    """
    mdp = mechanism.mdp
    if motion.shape != (mdp.n_states, mdp.n_states):
        raise ModelError(f'a motion of shape {motion.shape} does not fit {mdp.n_states} states')
    if steps < 1:
        raise ModelError(f'there must be a step, not {steps}')
    feasible, tau = mdp.feasible, mechanism.true_transition
    other = math.exp(-mechanism.loss_per_state) * tau
    level = np.where(feasible, other[:, None], 1 / mdp.out_degree[:, None]).T
    surplus = (feasible * (tau - other)[:, None]).T
    successors, backwards = csr_array(feasible.astype(float)), csr_array(motion.T)
    joint = np.zeros_like(motion)
    joint[mdp.initial, mdp.initial] = 1
    total = np.zeros_like(joint)
    for _ in range(steps):
        moved = backwards @ joint
        joint = (moved * level) @ successors
        joint[np.diag_indices_from(joint)] += (moved * surplus).sum(axis=1)
        total += joint
    return total / steps


def distance_quantile(joint: FloatArray, distance: FloatArray, share: float) -> float:
    """Return the least distance that the two states keep with at least the given probability."""
    order = np.argsort(distance, axis=None)
    cumulative = np.cumsum(joint.ravel()[order])
    position = min(int(np.searchsorted(cumulative, share - ROUNDING)), order.size - 1)
    return float(distance.ravel()[order[position]])
