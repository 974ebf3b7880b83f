"""What several releases cost together, in closed form, as a robot counts it.

    basic   epsilon and delta add up, exactly; true of any mechanism.
    zCDP    rho adds up, exactly: Gaussian noise states its rho, a pure loss has
            rho = epsilon^2 / 2. Then, for a delta > 0 and any alpha > 1,

                epsilon = alpha rho
                          + (log(1 / delta) + (alpha - 1) log(1 - 1 / alpha) - log(alpha))
                            / (alpha - 1),

            of which the least over alpha is taken (Canonne, Kamath and Steinke, proposition 12);
            and epsilon = 0 if delta^2 >= 1 - exp(-rho) (Bretagnolle and Huber).

Both hold for releases that are chosen in the light of earlier ones, as long as their losses are
planned. An accountant refuses an event that it does not know, and releases of different units,
whose losses do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from scipy.optimize import minimize_scalar

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.units import (
    GaussianEvent,
    PrivacyLoss,
    PureEvent,
    Rational,
    Release,
)

ROUNDING = 1e-12
LOG_ORDERS = (-30.0, 30.0)


class Accountant(Protocol):
    """Counts what planned or past releases cost together."""

    def cost(self, releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
        """Return the composed loss, whose delta is at most the one given."""


@dataclass(frozen=True)
class BasicAccountant:
    """Adds up losses, exactly."""

    def cost(self, releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
        """Return the sums of epsilon and delta; refuse if they pass the delta given."""
        counted = checked(releases)
        allowed = PrivacyLoss(epsilon=0, delta=delta).delta
        epsilon = sum((r.count * r.loss.epsilon for r in counted), Fraction(0))
        spent = sum((r.count * r.loss.delta for r in counted), Fraction(0))
        if spent > allowed:
            raise ModelError(f'the deltas add up to {float(spent)}, more than {float(allowed)}')
        return PrivacyLoss(epsilon=epsilon, delta=spent)


@dataclass(frozen=True)
class ZcdpAccountant:
    """Adds up rho and converts the sum at the end."""

    def cost(self, releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
        """Return the least epsilon for the delta given, which must be positive."""
        loss = PrivacyLoss(epsilon=0, delta=delta)
        rho = sum((r.count * event_rho(r) for r in checked(releases)), Fraction(0))
        if rho == 0:
            return PrivacyLoss(epsilon=0, delta=0)
        if loss.delta == 0:
            raise ModelError('zCDP needs a positive delta')
        epsilon = zcdp_epsilon(float(rho), float(loss.delta)) * (1 + ROUNDING)
        return PrivacyLoss(epsilon=Fraction(epsilon), delta=loss.delta)


def cost(releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
    """Return the least loss that a robot can show for these releases, planned or past."""
    counted = checked(releases)
    losses, refusals = [], []
    for accountant in (BasicAccountant(), ZcdpAccountant()):
        try:
            losses.append(accountant.cost(counted, delta=delta))
        except ModelError as refusal:
            refusals.append(refusal)
    if not losses:
        raise refusals[0]
    return min(losses, key=lambda loss: (loss.epsilon, loss.delta))


def checked(releases: Iterable[Release]) -> tuple[Release, ...]:
    """Return the releases if they protect one unit and no event is unknown."""
    counted = tuple(releases)
    for release in counted:
        if type(release.event) not in (PureEvent, GaussianEvent):
            raise ModelError(f'{type(release.event).__name__} is not an event that can be counted')
        if release.unit != counted[0].unit:
            raise ModelError(f'one cost for two units: {counted[0].unit}; {release.unit}')
    return counted


def event_rho(release: Release) -> Fraction:
    """Return the rho of one release."""
    event = release.event
    if isinstance(event, GaussianEvent):
        return event.rho
    assert isinstance(event, PureEvent)
    return event.epsilon**2 / 2


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon at which rho-zCDP implies (epsilon, delta), the least up to 1e-6."""
    if delta**2 >= -math.expm1(-rho) * (1 + ROUNDING):
        return 0.0

    def bound(log_order: float) -> float:
        above = math.exp(log_order)
        log_alpha = math.log1p(above)
        numerator = -math.log(delta) + above * (log_order - log_alpha) - log_alpha
        return (1 + above) * rho + numerator / above

    best = minimize_scalar(bound, bounds=LOG_ORDERS, method='bounded', options={'xatol': 1e-9})
    return max(float(best.fun), 0.0)
