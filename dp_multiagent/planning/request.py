"""What is asked of the planner, what it says on the way, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

METHODS = ('baseline', 'minimum-dependency', 'private-success', 'no-communication')


@dataclass(frozen=True, kw_only=True)
class SynthesisRequest:
    """Compute policies for a scenario; None takes the scenario's or the method's own value."""

    scenario: str
    method: str = 'minimum-dependency'
    epsilon: float | None = None
    adjacency: int | None = None
    iterations: int | None = None
    starts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SynthesisProgress:
    """Where a synthesis stands after an iteration."""

    iteration: int
    objective: float
    success_truthful: float
    success_private: float
    total_correlation: float


@dataclass(frozen=True, kw_only=True)
class SynthesisReport:
    """How good the policies are, and how sure that is."""

    success_truthful: float
    success_private: float
    total_correlation: float
    objective: float
    expected_length: float
    iterations: int
    gap: float
    seconds: float
