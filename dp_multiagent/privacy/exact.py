"""Exact sampling with integers only, for noise that leaves a robot.

Floating-point samplers leak through the gaps of their output. Here every decision compares a
uniform integer with an integer, so a probability is met exactly and not to rounding:

    Bernoulli(n / d)        is  U < n, U uniform below d;
    Bernoulli(exp(-gamma))  for 0 <= gamma <= 1: count K = 1, 2, ... while Bernoulli(gamma / K)
                            succeeds; the K at which it fails is odd with probability
                            sum_j (-gamma)^j / j! = exp(-gamma);
                            for gamma > 1: exp(-gamma) = exp(-1)^floor(gamma) exp(-fraction).

(Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, section 5.)
The only randomness is `randbelow`, a function that returns a uniform integer below its argument;
`secrets.randbelow`, the operating system's, is what a robot uses.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from secrets import randbelow as system_randbelow

from dp_multiagent.errors import ModelError

RandBelow = Callable[[int], int]


def bernoulli_exp(gamma: Fraction, randbelow: RandBelow = system_randbelow) -> bool:
    """Return True with exactly the probability exp(-gamma), for a rational gamma >= 0."""
    if gamma < 0:
        raise ModelError(f'exp(-gamma) is not a probability at gamma = {gamma}')
    whole, rest = divmod(gamma.numerator, gamma.denominator)
    return all(_alternating(1, 1, randbelow) for _ in range(whole)) and _alternating(
        rest, gamma.denominator, randbelow
    )


def _alternating(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """Return True with probability exp(-gamma), gamma = numerator / denominator <= 1."""
    k = 1
    while randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
