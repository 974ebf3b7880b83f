r"""The Gaussian mechanism, on a grid and calibrated to a stated loss.

With mu = sensitivity / sigma, noise N(0, sigma^2) is (epsilon, delta)-private just if

    delta >= Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu)

(Balle and Wang 2018, theorem 8). `calibration='analytic'` takes the least sigma / sensitivity
that meets this, to one part in 10^9 and never less; `'paper'` takes the larger

    kappa(epsilon, delta) / (2 epsilon),  kappa = q + sqrt(q^2 + 2 epsilon),  q = Q^-1(delta)

of Benvenuti et al., lemma 1, for delta < 1/2.

What is drawn is the discrete Gaussian with a standard deviation of s = `scale` steps, not the
continuous one, so that is not yet a guarantee. Let phi be the density of N(0, s^2). Rounding the
continuous noise to whole steps is post-processing. Its probability of x differs from phi(x) by an
integral of phi'' over the cell with a kernel of at most 1 / 8, which sums to at most
4 |phi'(s)| / 8 < 0.121 / s^2; and by Poisson summation phi sums to less than
1 + 3 exp(-2 pi^2 s^2). So rounded and discrete noise are within 1 / (16 s^2) in total variation,
for every s >= 1, and n entries that may differ add (1 + exp(epsilon)) n / (16 s^2) to delta.
With s >= 2^30 that is less than 10^-19 n (1 + exp(epsilon)); it is paid out of delta.

Its zCDP needs no such care: rho = sensitivity^2 / (2 s^2), in steps, is exact for the discrete
Gaussian in any dimension (Canonne, Kamath and Steinke, theorem 4 and proposition 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.grid import STEPS, Grid, check_values
from dp_multiagent.privacy.noise import NoiseSampler
from dp_multiagent.privacy.units import GaussianEvent, PrivacyLoss, Rational, Release, Unit, exact

Calibration = Literal['analytic', 'paper']
ROUNDING = 1e-12
TOLERANCE = 1e-9
LARGEST_MULTIPLIER = 1e12


@dataclass(frozen=True, kw_only=True)
class GaussianMechanism:
    """Adds Gaussian noise to values of which neighbours differ in at most `entries` entries.

    `sensitivity` bounds the l2 distance between the values of neighbours; the caller sees to it.
    """

    unit: Unit
    loss: PrivacyLoss
    sensitivity: Rational
    entries: int
    calibration: Calibration = 'analytic'
    grid: Grid = field(init=False)
    scale: int = field(init=False)
    event: GaussianEvent = field(init=False)

    def __post_init__(self) -> None:
        sensitivity = exact('sensitivity', self.sensitivity)
        check_values(sensitivity, self.entries)
        delta = float(self.loss.delta) - self.entries * discretisation(self.loss, STEPS)
        multiplier = noise_multiplier(float(self.loss.epsilon), delta, self.calibration)
        grid = Grid.below(multiplier * float(sensitivity))
        in_steps = sensitivity / grid.step + math.isqrt(self.entries - 1) + 1
        scale = math.ceil(Fraction(multiplier) * in_steps)
        object.__setattr__(self, 'grid', grid)
        object.__setattr__(self, 'scale', scale)
        event = GaussianEvent(
            rho=in_steps**2 / (2 * scale**2), distance=Fraction(self.entries, 16 * scale**2)
        )
        object.__setattr__(self, 'event', event)

    @property
    def sigma(self) -> float:
        """Return the standard deviation of the noise, in the unit of the values."""
        return float(self.scale * self.grid.step)

    def release(self, values: ArrayLike, *, sampler: NoiseSampler) -> NDArray[np.float64]:
        """Return the values with noise, of the same shape."""
        steps = self.grid.steps(values)
        noise = sampler.gaussian(scale=self.scale, size=steps.size)
        return self.grid.values(steps + noise.reshape(steps.shape))

    def planned(self, count: int = 1) -> Release:
        """Return so many releases as an accountant counts them."""
        return Release(
            unit=self.unit, mechanism='gaussian', loss=self.loss, event=self.event, count=count
        )


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """Return delta of Gaussian noise with sigma = multiplier * sensitivity, rounded up."""
    mu = 1 / multiplier
    with_truth = math.exp(log_ndtr(mu / 2 - epsilon / mu))
    without = math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return with_truth * (1 + ROUNDING) - without * (1 - ROUNDING)


def noise_multiplier(epsilon: float, delta: float, calibration: Calibration) -> float:
    """Return sigma / sensitivity of continuous Gaussian noise for a loss."""
    if not 0 < delta < 1:
        raise ModelError('Gaussian noise needs a larger delta for this epsilon and these entries')
    if calibration == 'paper':
        return _paper_multiplier(epsilon, delta)
    if calibration != 'analytic':
        raise ModelError(f'calibration must be analytic or paper, not {calibration!r}')
    too_small, enough = 0.0, 1.0
    while gaussian_delta(epsilon, enough) > delta:
        too_small, enough = enough, 2 * enough
        if enough > LARGEST_MULTIPLIER:
            raise ModelError(f'epsilon = {epsilon}, delta = {delta} is too small for any noise')
    while enough - too_small > TOLERANCE * enough:
        middle = (too_small + enough) / 2
        if gaussian_delta(epsilon, middle) > delta:
            too_small = middle
        else:
            enough = middle
    return enough


def _paper_multiplier(epsilon: float, delta: float) -> float:
    if epsilon == 0 or delta >= 0.5:
        raise ModelError("the paper's calibration needs epsilon > 0 and delta < 1/2")
    q = -float(ndtri(delta))
    return (q + math.sqrt(q**2 + 2 * epsilon)) / (2 * epsilon) * (1 + TOLERANCE)


def discretisation(loss: PrivacyLoss, scale: int) -> float:
    """Return what one entry on the grid adds to the delta of the continuous Gaussian."""
    return (1 + math.exp(min(float(loss.epsilon), 700.0))) / (16 * scale**2)
