"""The exact audit of a mechanism that tells one state at a time: no sampling, no doubt.

Let mu(p' | s, p) be the probability to tell p' if the true state is s and p was told last. The
probability of a private word w given a true word v is the product over t of
mu(w_t | v_t, w_(t-1)), w_0 the public initial state. Over all private words w and all pairs of
true words v, v' of one length that differ in at most k states, the audit finds

    max  log Pr(w | v) - log Pr(w | v'),

which is the least epsilon for which the mechanism is private on words of that length. True words
need not be feasible: a guarantee for all words covers those that are.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_multiagent.errors import ModelError

MOST_WORDS = 1500
SUM_TOLERANCE = 1e-9

Word = tuple[int, ...]


@dataclass(frozen=True)
class ExactLoss:
    """The worst log-likelihood ratio, where it is reached, and among how many pairs."""

    worst: float
    truth: Word
    neighbour: Word
    told: Word
    pairs: int


def exact_loss(mu: ArrayLike, *, initial: int, length: int, adjacency: int) -> ExactLoss:
    """Enumerate all words of a length; mu has the axes (p, s, p')."""
    table = _checked(mu)
    n = len(table)
    if not 0 <= initial < n:
        raise ModelError(f'initial state {initial} is not one of {n}')
    if adjacency < 1 or length < 1:
        raise ModelError('adjacency and length must be at least 1')
    if n**length > MOST_WORDS:
        raise ModelError(f'{n**length} words are more than can be enumerated, {MOST_WORDS}')
    words = np.array(list(itertools.product(range(n), repeat=length)))
    logs = _log_probabilities(table, initial, words)
    tellable = np.flatnonzero((logs > -math.inf).any(axis=0))
    logs = logs[:, tellable]
    best, pairs = (-math.inf, 0, 0, 0), 0
    for v in range(len(words)):
        neighbours = np.flatnonzero((words != words[v]).sum(axis=1) <= adjacency)
        pairs += int(np.count_nonzero(neighbours > v))
        with np.errstate(invalid='ignore'):
            gaps = np.nan_to_num(logs[v] - logs[neighbours], nan=-math.inf, posinf=math.inf)
        u, w = np.unravel_index(gaps.argmax(), gaps.shape)
        best = max(best, (float(gaps[u, w]), v, int(neighbours[u]), int(tellable[w])))
    truth, neighbour, told = (tuple(words[i].tolist()) for i in best[1:])
    return ExactLoss(best[0], truth, neighbour, told, pairs)


def _log_probabilities(
    table: NDArray[np.float64], initial: int, words: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return log Pr(w | v) with the axes (v, w)."""
    with np.errstate(divide='ignore'):
        log_mu = np.log(table)
    logs = np.zeros((len(words), len(words)))
    last = np.full(len(words), initial)
    for states in words.T:
        logs += log_mu[last[None, :], states[:, None], states[None, :]]
        last = states
    return logs


def _checked(mu: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(mu, dtype=np.float64)
    if table.ndim != 3 or len(set(table.shape)) != 1:
        raise ModelError('mu must have the axes last private, true and private state')
    sums = table.sum(axis=2)
    if np.any(~(table >= 0)) or np.any(np.abs(sums - 1) > SUM_TOLERANCE):
        raise ModelError('mu is not a table of probabilities')
    return table
