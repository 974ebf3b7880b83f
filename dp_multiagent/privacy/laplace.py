"""The Laplace mechanism, on a grid.

Discrete Laplace noise of `scale` steps is epsilon-private for integers of which neighbours are
within d = epsilon * scale in l1: exp(-|x - u| / scale) / exp(-|x - v| / scale) is at most
exp(|u - v| / scale). Rounding to the grid adds a step for each entry that may differ, so

    d = sensitivity / step + entries,    scale = ceil(d / epsilon);

the guarantee is exact, without a delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.grid import Grid, check_values
from dp_multiagent.privacy.noise import NoiseSampler
from dp_multiagent.privacy.units import PrivacyLoss, PureEvent, Rational, Release, Unit, exact


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism:
    """Adds Laplace noise to values of which neighbours differ in at most `entries` entries.

    `sensitivity` bounds the l1 distance between the values of neighbours; the caller sees to it.
    """

    unit: Unit
    loss: PrivacyLoss
    sensitivity: Rational
    entries: int
    grid: Grid = field(init=False)
    scale: int = field(init=False)
    event: PureEvent = field(init=False)

    def __post_init__(self) -> None:
        sensitivity = exact('sensitivity', self.sensitivity)
        check_values(sensitivity, self.entries)
        if self.loss.epsilon == 0 or self.loss.delta != 0:
            raise ModelError('Laplace noise needs epsilon > 0 and delta = 0')
        grid = Grid.below(float(sensitivity / self.loss.epsilon))
        in_steps = sensitivity / grid.step + self.entries
        scale = math.ceil(in_steps / self.loss.epsilon)
        object.__setattr__(self, 'grid', grid)
        object.__setattr__(self, 'scale', scale)
        object.__setattr__(self, 'event', PureEvent(epsilon=in_steps / scale))

    def release(self, values: ArrayLike, *, sampler: NoiseSampler) -> NDArray[np.float64]:
        """Return the values with noise, of the same shape."""
        steps = self.grid.steps(values)
        noise = sampler.laplace(scale=self.scale, size=steps.size)
        return self.grid.values(steps + noise.reshape(steps.shape))

    def planned(self, count: int = 1) -> Release:
        """Return so many releases as an accountant counts them."""
        return Release(
            unit=self.unit, mechanism='laplace', loss=self.loss, event=self.event, count=count
        )
