"""A study is a sequence of points; each is computed, and kept, by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dp_multiagent.planning.methods import Report


@dataclass(frozen=True)
class Point:
    """One part of a study: what it is called, and the rows (frozen dataclasses) it gives."""

    name: str
    compute: Callable[[Report], list[Any]]


def z_score(published: float, exact: float, rollouts: int = 1000) -> float:
    """Return by how many standard deviations of its rollouts a published rate is off.

    >>> round(z_score(0.1, 0.0865), 2)
    1.52
    """
    return float((published - exact) / (exact * (1 - exact) / rollouts) ** 0.5)
