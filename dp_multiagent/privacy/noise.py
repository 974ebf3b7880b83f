"""Where noise that leaves a robot comes from.

A sampler draws integers, with probabilities that are met exactly, for a scale in whole steps of
a grid:

    discrete Laplace    P[x] proportional to exp(-|x| / scale),
    discrete Gaussian   P[x] proportional to exp(-x^2 / (2 scale^2)).

There is no rounding in them that an onlooker could use, and no seed. How long a draw takes
depends on what is drawn: what it protects is told at a fixed time.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import ModelError

LARGEST_SCALE = 2**40


class NoiseSampler(Protocol):
    """Draws discrete noise exactly; `scale` is a positive integer."""

    def laplace(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Laplace distribution."""

    def gaussian(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Gaussian distribution."""


def system_sampler() -> NoiseSampler:
    """Return OpenDP's sampler where opendp is installed, the exact one where it is not."""
    from dp_multiagent.privacy.exact_sampler import ExactSampler
    from dp_multiagent.privacy.opendp_sampler import OpenDpSampler

    return OpenDpSampler() if find_spec('opendp') else ExactSampler()


def check_draw(scale: int, size: int) -> None:
    """Refuse a scale or size that no sampler draws for; 64 bits hold all draws of the others."""
    for name, value in (('scale', scale), ('size', size)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ModelError(f'{name} must be an integer, not {value!r}')
    if not 1 <= scale <= LARGEST_SCALE:
        raise ModelError(f'scale must be at least 1 and at most 2^40, not {scale}')
    if size < 0:
        raise ModelError(f'size must not be negative, but is {size}')
