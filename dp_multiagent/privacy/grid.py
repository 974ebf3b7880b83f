"""The grid on which values meet their noise, so that no gap between floats tells anything.

A value v becomes the nearest integer to v / step, noise is an integer, and their sum goes back to
a float; the step is a power of two, so v / step is exact. Rounding moves each of two neighbouring
values by up to half a step, so an entry in which they differ may differ by one step more: a
mechanism adds that to its sensitivity. The way back is post-processing and costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_multiagent.errors import ModelError

STEPS = 2**30
LARGEST = 2.0**62


@dataclass(frozen=True)
class Grid:
    """The multiples of a step."""

    step: Fraction

    @classmethod
    def below(cls, scale: float) -> Grid:
        """Choose the largest power of two with at least 2^30 steps to the scale."""
        if not math.isfinite(scale) or not 1e-250 < scale < 1e250:
            raise ModelError(f'there is no grid for noise of scale {scale}')
        return cls(Fraction(2) ** (math.frexp(scale)[1] - 1) / STEPS)

    def steps(self, values: ArrayLike) -> NDArray[np.int64]:
        """Round values to the grid and return them in steps."""
        scaled = np.asarray(values, dtype=np.float64) / float(self.step)
        if not np.all(np.abs(scaled) < LARGEST):
            raise ModelError('values must be finite and not much larger than their noise')
        return np.asarray(np.rint(scaled).astype(np.int64))

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values of so many steps."""
        return np.asarray(steps * float(self.step))


def check_values(sensitivity: Fraction, entries: int) -> None:
    """Refuse what no mechanism adds noise to."""
    if sensitivity <= 0:
        raise ModelError(f'sensitivity must be positive, not {sensitivity}')
    if isinstance(entries, bool) or not isinstance(entries, int) or entries < 1:
        raise ModelError(f'entries must be a positive integer, not {entries!r}')
