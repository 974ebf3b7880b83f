"""Exact discrete noise from OpenDP, which draws it in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.errors import MissingPackageError
from dp_multiagent.privacy.noise import check_draw


class OpenDpSampler:
    """Draws discrete Laplace and Gaussian noise with OpenDP's measurements of zeros."""

    def __init__(self) -> None:
        _opendp()

    def laplace(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Laplace distribution."""
        check_draw(scale, size)
        return np.array(_measurement('laplace', scale)([0] * size), dtype=np.int64)

    def gaussian(self, *, scale: int, size: int) -> NDArray[np.int64]:
        """Draw from the discrete Gaussian distribution."""
        check_draw(scale, size)
        return np.array(_measurement('gaussian', scale)([0] * size), dtype=np.int64)


@lru_cache(maxsize=16)
def _measurement(kind: str, scale: int) -> Callable[[list[int]], list[int]]:
    """Build what adds noise to integers; a float holds every scale up to the largest exactly."""
    dp = _opendp()
    integers = dp.vector_domain(dp.atom_domain(T='i64'))
    if kind == 'laplace':
        made = dp.m.make_laplace(integers, dp.l1_distance(T='i64'), scale=float(scale))
    else:
        made = dp.m.make_gaussian(integers, dp.l2_distance(T='i64'), scale=float(scale))
    measurement: Callable[[list[int]], list[int]] = made
    return measurement


@lru_cache(maxsize=1)
def _opendp() -> Any:
    try:
        dp = import_module('opendp.prelude')
    except ImportError as error:
        raise MissingPackageError('opendp is not installed: pip install opendp') from error
    dp.enable_features('contrib')
    return dp
