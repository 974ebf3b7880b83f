"""Local policies out of a joint occupancy measure, for any acyclic dependency graph.

Robot i observes o = (s_i, s_j for the j it depends on). Of the expected visits x(s, a) its policy
keeps what can be seen from there,

    pi_i(a_i | o) = x(o, a_i) / sum_b x(o, b),   x(o, a_i) = sum of x(y, a) over y that agree
                                                 with o and over the actions of all others.

(Chen et al., section 6, with a^{-i} for a^{-1} and (i, i) in E.) The formula says nothing at an
observation that is never made truthfully; a private state of another robot leads there, so it is
a choice: `own-state` does what the robot does in its own state whatever the others do, and
uniform where it never is; `uniform` is what the authors' code does.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import FloatArray
from dp_multiagent.models.plan import Graph, LocalPolicy


class Unvisited(Enum):
    """What a local policy does at an observation of no occupancy."""

    OWN_STATE = 'own-state'
    UNIFORM = 'uniform'


def marginalise(
    occupancy: FloatArray, graph: Graph, unvisited: Unvisited = Unvisited.OWN_STATE
) -> tuple[LocalPolicy, ...]:
    """Marginalise expected visits x(s, a), axes (s_1, a_1, ..., s_N, a_N), to local policies.

    >>> x = np.zeros((2, 2, 2, 2))
    >>> x[0, 0, 0, 0], x[0, 0, 1, 1] = 3.0, 1.0
    >>> first, second = marginalise(x, Graph(((), ())))
    >>> second.table.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n = len(graph.observed)
    if occupancy.ndim != 2 * n:
        raise ModelError(f'an occupancy of {n} robots has {2 * n} axes, not {occupancy.ndim}')
    if not np.all(np.isfinite(occupancy)) or np.any(occupancy < 0):
        raise ModelError('expected visits must be finite and not negative')
    return tuple(
        _local_policy(occupancy, i, seen, unvisited) for i, seen in enumerate(graph.observed)
    )


def _local_policy(
    occupancy: FloatArray, robot: int, observed: tuple[int, ...], unvisited: Unvisited
) -> LocalPolicy:
    joint = _visits(occupancy, robot, observed)
    alone = _visits(occupancy, robot, ())
    uniform = np.full(alone.shape, 1 / alone.shape[-1])
    own_state = _conditional(alone, uniform)
    fallback = own_state if unvisited is Unvisited.OWN_STATE else uniform
    between = tuple(range(1, 1 + len(observed)))
    table = _conditional(joint, np.expand_dims(fallback, between))
    return LocalPolicy(robot, observed, table, own_state)


def _visits(occupancy: FloatArray, robot: int, observed: tuple[int, ...]) -> FloatArray:
    """Return x(o, a_i) with the axes (s_i, s_j for each observed j, a_i)."""
    kept = [2 * robot, *(2 * j for j in observed), 2 * robot + 1]
    summed = occupancy.sum(axis=tuple(set(range(occupancy.ndim)) - set(kept)))
    return np.asarray(summed.transpose([sorted(kept).index(axis) for axis in kept]))


def _conditional(visits: FloatArray, fallback: FloatArray) -> FloatArray:
    """Normalise over the last axis; where there is nothing to normalise, fall back."""
    total = visits.sum(axis=-1, keepdims=True)
    seen = total > 0
    return np.where(seen, visits / np.where(seen, total, 1.0), fallback)
