"""Attacks mechanisms on neighbouring inputs: lower confidence bounds on what they really lose.

A mechanism runs many times on each input a and b of a pair of neighbours. An event E of its
outputs is chosen first: attacks learn from a tenth of the runs, and another tenth shows which of
them does best. The other runs count how often E happens on the input that it speaks for
(probability P) and on the other (Q).
With Clopper and Pearson's bounds, P >= p and Q <= q except with a chosen probability, so

    epsilon >= log((p - delta) / q)             for every (epsilon, delta)-private mechanism,
    mu      >= Phi^-1(p) - Phi^-1(q)            for every mu-Gaussian-private one.

The second is the trade-off test: 1 - P and Q are the false negatives and positives of a test of
a against b, and no test beats that of N(0, 1) against N(mu, 1). It is what Gaussian noise is held
to, with mu^2 / 2 the zCDP that the release states; the first misses an error of 20 % there. The
epsilon that belongs to mu at the delta of the release is reported beside it, and is a bound just
as far as the noise is Gaussian.

ALPHA is shared by all pairs of an audit, two bounds each. So all bounds hold together except with
probability ALPHA, whether or not pairs share runs, and a mechanism that keeps its claim is
accused no more often than that. A bound below the claim proves nothing: an audit can only fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import beta

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.audit_attacks import Attack, Input, Outputs, Pair, Score
from dp_multiagent.privacy.gaussian import gaussian_delta
from dp_multiagent.privacy.units import GaussianEvent, Release

ALPHA = 1e-6
LEARNING, CHOOSING = 0.1, 0.1
FEWEST_DRAWS = 1000
LARGEST_EPSILON = 1e4
_TAIL = np.geomspace(1e-4, 0.02, 12)
QUANTILES = np.concatenate((_TAIL, np.linspace(0.02, 0.98, 97), 1 - _TAIL[::-1]))

Floats = NDArray[np.float64]
Simulate = Callable[[Input, int, int], Outputs]


@dataclass(frozen=True)
class Claim:
    """What releases say that they lose; `mu` is there for Gaussian noise."""

    epsilon: float
    delta: float
    mu: float | None

    @classmethod
    def of(cls, release: Release) -> Claim:
        """Return what a ledger charges for all releases, and their zCDP as mu."""
        mu = None
        if isinstance(release.event, GaussianEvent):
            mu = math.sqrt(2 * release.count * release.event.rho)
        loss, count = release.loss, release.count
        return cls(float(count * loss.epsilon), float(count * loss.delta), mu)

    def bound(self, hits: Floats, false_hits: Floats, n: int, level: float) -> Floats:
        """Return the lower bound on mu if there is one claimed, else on epsilon."""
        if self.mu is not None:
            return mu_bound(hits, false_hits, n, level)
        return epsilon_bound(hits, false_hits, n, level, self.delta)


@dataclass(frozen=True)
class Target:
    """A mechanism to attack: `simulate(input, side, n)` runs it n times.

    The runs of the sides 0 and 1, or on different inputs, must be independent. `work` is how much
    all of them draw, for n = 1; it serves to foretell how long an audit takes.
    """

    name: str
    noise: str
    release: Release
    pairs: tuple[Pair, ...]
    simulate: Simulate
    attacks: tuple[Attack, ...]
    work: int = 0


@dataclass(frozen=True)
class PairBound:
    """What was found out on one pair, by the attack that did best."""

    pair: Pair
    attack: str
    epsilon: float
    mu: float | None


@dataclass(frozen=True)
class Finding:
    """What was found out about one mechanism."""

    name: str
    noise: str
    release: Release
    claim: Claim
    bounds: tuple[PairBound, ...]

    @property
    def worst(self) -> PairBound:
        """Return the largest bound."""
        return max(self.bounds, key=lambda bound: (bound.mu or 0.0, bound.epsilon))

    @property
    def violated(self) -> bool:
        """Tell whether a bound is above the claim."""
        return self.worst.epsilon > self.claim.epsilon or (
            self.claim.mu is not None and (self.worst.mu or 0.0) > self.claim.mu
        )


def audit(
    targets: Sequence[Target],
    *,
    draws: int,
    alpha: float = ALPHA,
    report: Callable[[str], None] = lambda name: None,
) -> tuple[Finding, ...]:
    """Attack every pair of every target with so many draws a side."""
    if draws < FEWEST_DRAWS:
        raise ModelError(f'an audit needs at least {FEWEST_DRAWS} draws, not {draws}')
    level = alpha / (2 * sum(len(target.pairs) for target in targets))
    return tuple(_attack(target, draws, level, report) for target in targets)


def _attack(target: Target, draws: int, level: float, report: Callable[[str], None]) -> Finding:
    claim, bounds = Claim.of(target.release), []
    for pair in target.pairs:
        report(target.name)
        outputs = [target.simulate(pair[side], side, draws) for side in (0, 1)]
        bounds.append(_bound_pair(target.attacks, claim, pair, outputs, level))
    return Finding(target.name, target.noise, target.release, claim, tuple(bounds))


@dataclass(frozen=True)
class _Event:
    """Outputs that score at least a threshold speak for b; the others, for a."""

    attack: str
    score: Score
    threshold: float
    for_b: bool

    def count(self, outputs: Outputs) -> int:
        above = int(np.count_nonzero(self.score(outputs) >= self.threshold))
        return above if self.for_b else len(outputs) - above


def _bound_pair(
    attacks: Sequence[Attack],
    claim: Claim,
    pair: Pair,
    outputs: Sequence[Outputs],
    level: float,
) -> PairBound:
    draws = len(outputs[0])
    learnt, chosen = int(LEARNING * draws), int((LEARNING + CHOOSING) * draws)
    n = draws - chosen
    lessons = [each[:learnt] for each in outputs]
    trials = [each[learnt:chosen] for each in outputs]
    scores = {attack.name: attack.prepare(pair, lessons[0], lessons[1]) for attack in attacks}
    event = _choose_event(scores, claim, trials, n, level)
    counts = [event.count(each[chosen:]) for each in outputs]
    hits, false_hits = counts[event.for_b], counts[not event.for_b]
    value = float(claim.bound(_array(hits), _array(false_hits), n, level))
    if claim.mu is None:
        return PairBound(pair, event.attack, value, None)
    return PairBound(pair, event.attack, gaussian_epsilon(value, claim.delta), value)


def _choose_event(
    scores: Mapping[str, Score], claim: Claim, trials: Sequence[Outputs], n: int, level: float
) -> _Event:
    """Return the event from which the largest bound is to be expected of n other draws."""
    best, chosen = -math.inf, None
    for attack, score in scores.items():
        a, b = (np.sort(score(each)) for each in trials)
        thresholds = np.unique(np.quantile(np.concatenate((a, b)), QUANTILES, method='nearest'))
        below_a, below_b = (np.searchsorted(each, thresholds) for each in (a, b))
        options = ((True, len(b) - below_b, len(a) - below_a), (False, below_a, below_b))
        for for_b, hits, false_hits in options:
            expected = [(count + 1) / (len(a) + 2) * n for count in (hits, false_hits)]
            value = claim.bound(expected[0], expected[1], n, level)
            if value.max() > best:
                best = value.max()
                threshold = float(thresholds[value.argmax()])
                chosen = _Event(attack, score, threshold, for_b)
    assert chosen is not None, 'a target needs an attack'
    return chosen


def epsilon_bound(hits: Floats, false_hits: Floats, n: int, level: float, delta: float) -> Floats:
    """Return the lower bound on epsilon from the hits among n draws on either side."""
    p, q = at_least(hits, n, level), at_most(false_hits, n, level)
    return np.log(np.maximum(p - delta, q) / q)


def mu_bound(hits: Floats, false_hits: Floats, n: int, level: float) -> Floats:
    """Return the lower bound on mu from the hits among n draws on either side."""
    p, q = at_least(hits, n, level), at_most(false_hits, n, level)
    tells = p > q
    return np.where(tells, ndtri(np.where(tells, p, 0.5)) - ndtri(np.where(tells, q, 0.5)), 0.0)


def at_least(hits: Floats, n: int, level: float) -> Floats:
    """Return Clopper and Pearson's lower bound on a probability, wrong with probability level."""
    return np.where(hits > 0, beta.ppf(level, np.maximum(hits, 1), n - hits + 1), 0.0)


def at_most(hits: Floats, n: int, level: float) -> Floats:
    """Return Clopper and Pearson's upper bound on a probability, wrong with probability level."""
    return np.where(hits < n, beta.isf(level, hits + 1, np.maximum(n - hits, 1)), 1.0)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of Gaussian noise with mu = sensitivity / sigma at a delta."""

    def excess(epsilon: float) -> float:
        return gaussian_delta(epsilon, 1 / mu) - delta

    if mu <= 0 or excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, LARGEST_EPSILON, xtol=1e-12))


def _array(count: Any) -> Floats:
    return np.asarray(count, dtype=np.float64)
