"""How an onlooker tells two inputs apart: attacks that give each output a score.

The larger the score, the more an output speaks for the second input of the pair. An attack may
learn from outputs that it has seen on either input; the audit then judges it on others.

    along       outputs projected on the difference of the inputs: best against Gaussian noise.
    nearer      how much nearer, in l1, an output is to the second input: best against Laplace's.
    outcomes    how often each single output was seen: for few outputs, best against anything.
    bits        how often each place of the highest and the lowest set bit was seen, in the entry
                that differs most: finds values and noise that met as floats (Mironov, On
                significance of the least significant bits for differential privacy, 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNIFICAND_BITS = 53
EXPONENTS = 2**12

Input = tuple[Any, ...]
Pair = tuple[Input, Input]
Outputs = NDArray[Any]
Score = Callable[[Outputs], NDArray[np.float64]]


@dataclass(frozen=True)
class Attack:
    """A name, and what prepares a score for a pair from outputs seen on either input."""

    name: str
    prepare: Callable[[Pair, Outputs, Outputs], Score]


def _along(pair: Pair, seen_a: Outputs, seen_b: Outputs) -> Score:
    a, b = (np.asarray(each, dtype=float).ravel() for each in pair)
    return lambda outputs: np.asarray(_flat(outputs) @ (b - a))


def _nearer(pair: Pair, seen_a: Outputs, seen_b: Outputs) -> Score:
    a, b = (np.asarray(each, dtype=float).ravel() for each in pair)
    return lambda outputs: np.asarray(
        np.abs(_flat(outputs) - a).sum(axis=1) - np.abs(_flat(outputs) - b).sum(axis=1)
    )


def _outcomes(pair: Pair, seen_a: Outputs, seen_b: Outputs) -> Score:
    return _learnt(_codes, seen_a, seen_b)


def _bits(pair: Pair, seen_a: Outputs, seen_b: Outputs) -> Score:
    a, b = (np.asarray(each, dtype=float).ravel() for each in pair)
    entry = int(np.abs(b - a).argmax())
    return _learnt(lambda outputs: outer_bits(_flat(outputs)[:, entry]), seen_a, seen_b)


ALONG = Attack('along', _along)
NEARER = Attack('nearer', _nearer)
OUTCOMES = Attack('outcomes', _outcomes)
BITS = Attack('bits', _bits)


def outer_bits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for the exponents of the highest and lowest set bits of each value.

    >>> highest, lowest = np.divmod(outer_bits(np.array([1.0, 0.75, 6.0])), EXPONENTS)
    >>> highest - lowest
    array([0, 1, 1])
    """
    mantissa, exponent = np.frexp(values)
    significand = np.ldexp(mantissa, SIGNIFICAND_BITS).astype(np.int64)
    _, place = np.frexp((significand & -significand).astype(np.float64))
    lowest = exponent + place - SIGNIFICAND_BITS
    return np.asarray(
        (exponent + EXPONENTS // 2).astype(np.int64) * EXPONENTS + lowest + EXPONENTS // 2
    )


def _codes(outputs: Outputs) -> NDArray[np.int64]:
    return np.asarray(outputs.reshape(len(outputs)), dtype=np.int64)


def _learnt(
    feature: Callable[[Outputs], NDArray[np.int64]], seen_a: Outputs, seen_b: Outputs
) -> Score:
    """Score a feature by the logarithm of how much more often it was seen on b than on a."""
    known, index = np.unique(
        np.concatenate((feature(seen_a), feature(seen_b))), return_inverse=True
    )
    on_a = np.bincount(index[: len(seen_a)], minlength=len(known))
    on_b = np.bincount(index[len(seen_a) :], minlength=len(known))
    ratios = np.log((on_b + 1) / (on_a + 1))

    def score(outputs: Outputs) -> NDArray[np.float64]:
        found = feature(outputs)
        place = np.minimum(np.searchsorted(known, found), len(known) - 1)
        return np.where(known[place] == found, ratios[place], 0.0)

    return score


def _flat(outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)
