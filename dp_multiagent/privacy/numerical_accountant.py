"""What several releases cost together, counted tighter with dp-accounting, on the base station.

    RDP   the Renyi divergence of each order adds up; Gaussian noise has order * rho, a pure loss
          that of randomised response with two symbols, which is its worst case.
    PLD   the distribution of the privacy loss is convolved, rounded up on a grid of losses. All
          Gaussian releases together are one continuous Gaussian; that the noise is discrete
          costs (1 + exp(epsilon)) * (sum of the distances), which is paid out of delta.

dp-accounting computes with floats; for a delta below 1e-12 the convolution's rounding counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from dp_multiagent.errors import MissingPackageError, ModelError
from dp_multiagent.privacy.accountant import ROUNDING, ZcdpAccountant, checked
from dp_multiagent.privacy.units import GaussianEvent, PrivacyLoss, PureEvent, Rational, Release

SMALLEST_DELTA = Fraction(1, 10**12)
ORDERS = tuple(float(order) for order in 1 + np.geomspace(1e-3, 1e6, 200))


@dataclass(frozen=True)
class RdpAccountant:
    """Counts with Renyi divergences."""

    def cost(self, releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
        """Return the least epsilon over the orders for the delta given."""
        loss, (rho, _, pure) = _positive(delta), _grouped(releases)
        dp = _dp_accounting()
        accountant = dp.rdp.RdpAccountant(ORDERS, dp.NeighboringRelation.REPLACE_ONE)
        accountant.compose(dp.ZCDpEvent(float(rho)))
        for epsilon, count in pure.items():
            flip = 2 * math.exp(-epsilon) / (1 + math.exp(-epsilon))
            accountant.compose(dp.RandomizedResponseDpEvent(flip, 2), count)
        return _loss(accountant.get_epsilon(float(loss.delta)), loss.delta)


@dataclass(frozen=True)
class PldAccountant:
    """Counts with privacy loss distributions, on a grid of losses that are `interval` apart."""

    interval: float = 1e-4

    def cost(self, releases: Iterable[Release], *, delta: Rational) -> PrivacyLoss:
        """Return the least epsilon for the delta given."""
        counted = checked(releases)
        loss, (rho, distance, pure) = _positive(delta), _grouped(counted)
        above = ZcdpAccountant().cost(counted, delta=loss.delta).epsilon
        left = float(loss.delta) - float(distance) * (1 + math.exp(min(float(above), 700.0)))
        if left <= 0:
            raise ModelError('delta is too small for noise on so coarse a grid')
        pld = _dp_accounting().pld.privacy_loss_distribution
        common = _dp_accounting().pld.common
        total = pld.identity(value_discretization_interval=self.interval)
        if rho:
            gaussian = pld.from_gaussian_mechanism(
                1 / math.sqrt(2 * rho), value_discretization_interval=self.interval
            )
            total = total.compose(gaussian)
        for epsilon, count in pure.items():
            parameters = common.DifferentialPrivacyParameters(float(epsilon), 0.0)
            one = pld.from_privacy_parameters(
                parameters, value_discretization_interval=self.interval
            )
            total = total.compose(one.self_compose(count))
        return _loss(total.get_epsilon_for_delta(left), loss.delta)


def _positive(delta: Rational) -> PrivacyLoss:
    loss = PrivacyLoss(epsilon=0, delta=delta)
    if loss.delta < SMALLEST_DELTA:
        raise ModelError('RDP and PLD need a delta of at least 1e-12')
    return loss


def _loss(epsilon: float, delta: Fraction) -> PrivacyLoss:
    if not math.isfinite(epsilon):
        raise ModelError(f'there is no finite epsilon for delta = {float(delta)}')
    return PrivacyLoss(epsilon=Fraction(float(epsilon) * (1 + ROUNDING)), delta=delta)


def _grouped(releases: Iterable[Release]) -> tuple[Fraction, Fraction, dict[Fraction, int]]:
    """Return the sums of rho and distance, and how often there is each pure epsilon."""
    rho, distance = Fraction(0), Fraction(0)
    pure: dict[Fraction, int] = {}
    for release in checked(releases):
        event, count = release.event, release.count
        if isinstance(event, GaussianEvent):
            rho += count * event.rho
            distance += count * event.distance
        elif isinstance(event, PureEvent) and event.epsilon:
            pure[event.epsilon] = pure.get(event.epsilon, 0) + count
    return rho, distance, pure


def _dp_accounting() -> Any:
    try:
        return import_module('dp_accounting')
    except ImportError as error:
        raise MissingPackageError(
            'dp-accounting is not installed: pip install dp-accounting'
        ) from error
