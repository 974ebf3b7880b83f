"""Randomised response: one symbol, told truly more often than any other.

Of m symbols the true one is told with probability p = e^epsilon q, each other one with
q = 1 / (e^epsilon + m - 1). Among N reports symbol x is then expected q N + (p - q) n_x times, if
n_x robots have it, so the receiver's estimate of n_x without bias is

    (reports of x - q N) / (p - q).

In the binary sums of DPMAC, section 4, with its flip probability 2 q, robot i adds its own bit b_i
to the estimate for the others. No bias does not mean a smaller error: see the tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from secrets import randbelow as system_randbelow

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.exact import RandBelow, bernoulli_exp
from dp_multiagent.privacy.units import PrivacyLoss, PureEvent, Release, Unit


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse:
    """Tells one of `symbols` symbols, counted from 0, at a pure loss."""

    unit: Unit
    loss: PrivacyLoss
    symbols: int

    def __post_init__(self) -> None:
        if isinstance(self.symbols, bool) or not isinstance(self.symbols, int):
            raise ModelError(f'symbols must be an integer, not {self.symbols!r}')
        if self.symbols < 2:
            raise ModelError(f'there must be at least 2 symbols, not {self.symbols}')
        if self.loss.delta != 0:
            raise ModelError('randomised response needs delta = 0')

    @property
    def other(self) -> float:
        """Return q, the probability of each symbol that is not the true one."""
        weight = math.exp(-self.loss.epsilon)
        return weight / (1 + (self.symbols - 1) * weight)

    @property
    def truth(self) -> float:
        """Return p, the probability of the true symbol."""
        return 1 / (1 + (self.symbols - 1) * math.exp(-self.loss.epsilon))

    def release(self, symbol: int, randbelow: RandBelow = system_randbelow) -> int:
        """Draw the symbol that a robot tells, exactly and with integers only.

        Draw a symbol uniformly; keep the true one, keep another with probability exp(-epsilon),
        else draw again. How long that takes depends on the symbol: tell it at a fixed time.
        """
        self._check(np.asarray(symbol))
        while True:
            candidate = randbelow(self.symbols)
            if candidate == symbol or bernoulli_exp(self.loss.epsilon, randbelow):
                return candidate

    def estimated_counts(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Estimate, without bias, how many of those who told these reports have each symbol."""
        told = np.asarray(reports)
        self._check(told)
        if self.loss.epsilon == 0:
            raise ModelError('reports at epsilon = 0 say nothing')
        counts = np.bincount(told.ravel(), minlength=self.symbols)
        return np.asarray((counts - told.size * self.other) / (self.truth - self.other))

    def planned(self, count: int = 1) -> Release:
        """Return so many releases as an accountant counts them."""
        return Release(
            unit=self.unit,
            mechanism='randomised response',
            loss=self.loss,
            event=PureEvent(epsilon=self.loss.epsilon),
            count=count,
        )

    def _check(self, symbols: NDArray[np.int64]) -> None:
        if not np.issubdtype(symbols.dtype, np.integer):
            raise ModelError('symbols are given by their indices')
        if np.any((symbols < 0) | (symbols >= self.symbols)):
            raise ModelError(f'a symbol is not one of {self.symbols}')
