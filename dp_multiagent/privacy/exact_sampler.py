"""Exact discrete noise from the standard library only.

    Laplace    U uniform below t = scale, kept with probability exp(-U / t), else drawn again;
               V the number of successes of Bernoulli(exp(-1)) before the first failure; then
               U + t V has probabilities proportional to exp(-x / t). A fair sign, with one of
               the two zeros drawn again.
    Gaussian   Y Laplace with scale t, kept with probability exp(-(|Y| - t)^2 / (2 t^2)), else
               drawn again: exp(-y / t - (y - t)^2 / (2 t^2)) = exp(-y^2 / (2 t^2) - 1 / 2).

(Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, algorithms 2 and 3,
for scales that are integers.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from secrets import randbelow as system_randbelow

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.privacy.exact import RandBelow, bernoulli_exp
from dp_multiagent.privacy.noise import check_draw

ONE = Fraction(1)


@dataclass(frozen=True)
class ExactSampler:
    """Draws discrete Laplace and Gaussian noise with integers only."""

    randbelow: RandBelow = system_randbelow

    def laplace(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Laplace distribution."""
        check_draw(scale, size)
        return np.array([self._laplace(scale) for _ in range(size)], dtype=np.int64)

    def gaussian(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Gaussian distribution."""
        check_draw(scale, size)
        return np.array([self._gaussian(scale) for _ in range(size)], dtype=np.int64)

    def _laplace(self, scale: int) -> int:
        while True:
            rest = self.randbelow(scale)
            if not bernoulli_exp(Fraction(rest, scale), self.randbelow):
                continue
            whole = 0
            while bernoulli_exp(ONE, self.randbelow):
                whole += 1
            magnitude = rest + scale * whole
            negative = self.randbelow(2) == 1
            if magnitude or not negative:
                return -magnitude if negative else magnitude

    def _gaussian(self, scale: int) -> int:
        while True:
            candidate = self._laplace(scale)
            gamma = Fraction((abs(candidate) - scale) ** 2, 2 * scale**2)
            if bernoulli_exp(gamma, self.randbelow):
                return candidate
