"""What a robot may say about its privacy budget: what was spent and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.ledger_books import Account


class Unit(IntEnum):
    """What a guarantee protects."""

    TRAJECTORY = 0
    REWARD = 1
    MESSAGE = 2


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget:
    """Spent and remaining privacy of one robot for one protected unit."""

    robot: int
    unit: Unit
    epsilon_spent: float
    epsilon_remaining: float
    delta_spent: float
    delta_remaining: float
    releases: int

    @classmethod
    def of_trajectories(cls, account: Account, robot: int) -> PrivacyBudget:
        """Return what an account of a ledger says about the trajectories of a robot."""
        return cls(
            robot=robot,
            unit=Unit.TRAJECTORY,
            epsilon_spent=float(account.spent.epsilon),
            epsilon_remaining=float(account.remaining.epsilon),
            delta_spent=float(account.spent.delta),
            delta_remaining=float(account.remaining.delta),
            releases=account.releases,
        )

    def __post_init__(self) -> None:
        for name in ('epsilon_spent', 'epsilon_remaining', 'delta_spent', 'delta_remaining'):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ModelError(f'{name} must be finite and not negative')
        if self.releases < 0 or self.robot < 0:
            raise ModelError('robot and releases must not be negative')
