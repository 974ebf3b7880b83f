"""How far a robot can drive straight on before it touches what its scanner sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scan:
    """The ranges of a planar scanner in the middle of a robot, the first at `first_angle`."""

    ranges: NDArray[np.float64]
    first_angle: float
    increment: float
    shortest: float
    longest: float


def clearance(scan: Scan, *, radius: float, margin: float) -> float:
    """Return the free way ahead of a round robot, in metres, infinite if nothing is in it.

    An echo counts if it lies in the strip that the robot will sweep, with a margin on all sides.
    Ranges that are no measurement (not finite, too short or too long) are left out.

    >>> wall = Scan(np.array([1.0]), first_angle=0.0, increment=0.1, shortest=0.1, longest=10.0)
    >>> clearance(wall, radius=0.2, margin=0.1)
    0.7
    """
    ranges = np.asarray(scan.ranges, dtype=float)
    with np.errstate(invalid='ignore'):
        valid = (ranges >= scan.shortest) & (ranges <= scan.longest)
    angles = scan.first_angle + scan.increment * np.arange(len(ranges))
    along = ranges[valid] * np.cos(angles[valid])
    aside = ranges[valid] * np.sin(angles[valid])
    keep = radius + margin
    hit = (along > 0) & (np.abs(aside) < keep)
    if not hit.any():
        return float('inf')
    # The front of the robot is a half circle: an echo at its side is met later.
    free = along[hit] - np.sqrt(keep**2 - aside[hit] ** 2)
    return float(max(free.min(), 0.0))
