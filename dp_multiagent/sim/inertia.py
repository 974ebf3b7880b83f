"""The inertia of bodies of even density, and of what they make up together.

A body of mass m whose centre is d away from a point adds m (|d|^2 1 - d d^T) to its own tensor
there (Huygens and Steiner).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Inertia:
    """A mass, its centre, and its tensor around that centre."""

    mass: float
    centre: Array
    tensor: Array

    @classmethod
    def of_sphere(cls, mass: float, centre: tuple[float, float, float], radius: float) -> Inertia:
        """Return the inertia of a ball."""
        return cls(mass, np.array(centre), np.eye(3) * 0.4 * mass * radius**2)

    @classmethod
    def of_cylinder(
        cls, mass: float, centre: tuple[float, float, float], radius: float, height: float
    ) -> Inertia:
        """Return the inertia of an upright cylinder."""
        across = mass * (3 * radius**2 + height**2) / 12
        return cls(mass, np.array(centre), np.diag([across, across, mass * radius**2 / 2]))

    def __add__(self, other: Inertia) -> Inertia:
        """Return the inertia of two bodies that are one."""
        mass = self.mass + other.mass
        centre = (self.mass * self.centre + other.mass * other.centre) / mass
        return Inertia(mass, centre, self._around(centre) + other._around(centre))

    def _around(self, point: Array) -> Array:
        d = self.centre - point
        moved: Array = self.tensor + self.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return moved
