"""What a robot lets a plan take of its privacy, whoever wrote the plan.

Without SROS2 nobody in the team's domain has to prove who he is, so a plan may come from anyone.
The ledger bounds what a robot loses in all. It does not bound how fast: each new plan, and each
new episode of one, is a charge. So an episode may cost at most `epsilon`, and a robot that takes
part in one gives it up for no other plan before it has `rest` behind it. The last plan that
came meanwhile waits. Then a stranger needs B / epsilon times the rest to use up a budget of B, and
no plan of his ends an episode that is shorter than the rest.
"""

from __future__ import annotations

import math

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import TeamPlan


class Allowance:
    """Of robot number `robot`; `rest` is in seconds, times in nanoseconds of one clock."""

    def __init__(self, robot: int, *, epsilon: float, rest: float) -> None:
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise ModelError(f'--epsilon: {epsilon} is not a number from 0')
        if not (math.isfinite(rest) and rest >= 0):
            raise ModelError(f'--rest: {rest} is not a number from 0')
        self._robot, self._epsilon, self._rest_ns = robot, epsilon, round(rest * 1e9)
        self._entered_ns: int | None = None
        self._waiting: TeamPlan | None = None

    def refuse_dear_plan(self, plan: TeamPlan) -> None:
        """Refuse a plan whose episodes cost more than this robot gives."""
        asked = plan.epsilon[self._robot]
        if asked > self._epsilon:
            raise ModelError(
                f'an episode of the plan costs epsilon {asked:g}, this robot gives at most '
                f'{self._epsilon:g} (--epsilon)'
            )

    def enter(self, now_ns: int) -> None:
        """Note that the robot takes part in an episode from now on."""
        self._entered_ns = now_ns

    def keep(self, plan: TeamPlan) -> None:
        """Let a plan wait, in the place of the one that waited before."""
        self._waiting = plan

    def rests(self, now_ns: int) -> bool:
        """Tell whether it is too early for another plan; a clock that went back ends a rest."""
        if self._entered_ns is None:
            return False
        return 0 <= now_ns - self._entered_ns < self._rest_ns

    def next_plan(self, now_ns: int) -> TeamPlan | None:
        """Return the plan that waited, once, when it is time for it."""
        if self.rests(now_ns):
            return None
        plan, self._waiting = self._waiting, None
        return plan
