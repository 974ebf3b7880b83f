"""What is asked of a message before anything of it is used; all checks are cheap on any size.

Each function raises RefusedMessageError with a reason of one line, or returns nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Sized
from typing import Any

from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models.plan import TeamPlan
from dp_multiagent.planning.request import METHODS

MAX_ROBOTS = 256
MAX_OBSERVED = 16
MAX_TABLE = 20_000_000  # probabilities in a policy, 160 MB
MAX_STARTS = 64
MAX_NAME = 64  # characters
MAX_PATH = 4096  # characters
MAX_TEXT = 200  # characters of what others said that are repeated
MAX_POLICY_BYTES = 16 * MAX_TABLE + 2**16  # its two tables and the rest
PROBABILITY_TOLERANCE = 1e-6
NANOSECONDS = 10**9

_ROBOT_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*')


def printable(text: str) -> str:
    """Return what others said as one line that is fit for a terminal and a log.

    >>> len(printable(300 * '!')), printable('no' + chr(27) + 'plan')
    (200, 'no?plan')
    """
    return ''.join(c if c.isprintable() else '?' for c in text[:MAX_TEXT])


def require(condition: bool, reason: str) -> None:
    """Refuse the message unless the condition holds."""
    if not condition:
        raise RefusedMessageError(reason)


def require_finite(message: Any, *fields: str) -> None:
    """Refuse a message in which one of the fields is infinite or not a number."""
    for field in fields:
        require(math.isfinite(getattr(message, field)), f'{field} is not finite')


def require_not_negative(message: Any, *fields: str) -> None:
    """Refuse a message in which one of the fields is negative, infinite or not a number."""
    require_finite(message, *fields)
    for field in fields:
        require(getattr(message, field) >= 0, f'{field} is negative')


def require_probability(message: Any, *fields: str) -> None:
    """Refuse a message in which one of the fields is not in [0, 1], up to rounding."""
    for field in fields:
        value = getattr(message, field)
        inside = -PROBABILITY_TOLERANCE <= value <= 1 + PROBABILITY_TOLERANCE
        require(inside, f'{field} is not a probability')


def require_length(name: str, items: Sized, length: int) -> None:
    """Refuse a list that does not have the length it should."""
    require(len(items) == length, f'{name} has {len(items)} entries instead of {length}')


def require_plan(message: Any, plan: TeamPlan) -> None:
    """Refuse a message of another plan, or of a robot that this plan does not know."""
    require(bytes(message.plan_id) == plan.plan_id, 'it belongs to another plan')
    require(message.robot < len(plan.robots), f'robot {message.robot} is not in the plan')


def check_private_state(message: Any, *, plan: TeamPlan, robot: int, states: int) -> None:
    """Check that it is a state that this robot can be in, at a step of this plan's episode."""
    require_plan(message, plan)
    require(message.robot == robot, f'robot {message.robot} speaks in the name of {robot}')
    require(message.episode == plan.episode, f'it belongs to episode {message.episode}')
    require(message.step <= plan.horizon, f'step {message.step} is after the end of the plan')
    require(message.state < states, f'state {message.state} does not exist')


def check_privacy_budget(message: Any, *, robot: int) -> None:
    """Check who speaks; the numbers are checked where the budget is made."""
    require(message.robot == robot, f'robot {message.robot} speaks in the name of {robot}')


def check_local_policy(message: Any, *, plan: TeamPlan) -> None:
    """Check that a policy fits the plan, and its tables the sizes that it states."""
    require_plan(message, plan)
    observed = tuple(message.observed[: MAX_OBSERVED + 1])
    require(len(observed) <= MAX_OBSERVED, 'it observes too many robots')
    require(
        observed == plan.graph.observed[message.robot], 'it observes others than the plan says'
    )
    require_length('observed_states', message.observed_states, len(observed))
    require(message.steps in (0, plan.horizon), f'it has tables for {message.steps} steps')
    shape = table_shape(message)
    require(min(shape) > 0, 'a table of a policy has no entries')
    require(math.prod(shape) <= MAX_TABLE, 'its table is too large')
    require_length('probabilities', message.probabilities, math.prod(shape))
    require_length('own_state', message.own_state, message.states * message.actions)


def table_shape(message: Any) -> tuple[int, ...]:
    """Return the axes of a policy's table: [steps,] own states, observed states, actions."""
    steps = (message.steps,) if message.steps else ()
    return (*steps, message.states, *message.observed_states, message.actions)


def check_team_plan(message: Any) -> None:
    """Check sizes, names and times; what a plan means is checked where it is made."""
    n = len(message.robots)
    require(0 < n <= MAX_ROBOTS, f'a plan for {n} robots')
    _require_robot_names(message.robots)
    edges = len(message.dependents)
    require(edges <= n * (n - 1) // 2, f'{edges} dependencies cannot be acyclic')
    require_length('dependencies', message.dependencies, edges)
    require_length('epsilon', message.epsilon, n)
    require_length('adjacency', message.adjacency, n)
    require_finite(message, 'deadline')
    for name in ('start', 'period'):
        time = getattr(message, name)
        require(time.sec >= 0 and time.nanosec < NANOSECONDS, f'{name} is not a valid time')


def check_synthesis_request(goal: Any) -> None:
    """Check that a goal names a known method and is in range."""
    require(0 < len(goal.scenario) <= MAX_PATH, 'scenario is not a name or path')
    require('\0' not in goal.scenario, 'scenario is not a name or path')
    require(goal.method in METHODS, f'method is none of {", ".join(METHODS)}')
    require_finite(goal, 'epsilon')
    require(len(goal.starts) <= MAX_STARTS, f'{len(goal.starts)} starts')
    require(all(0 < len(s) <= MAX_NAME for s in goal.starts), 'a start is not a name')


def check_synthesis_progress(feedback: Any) -> None:
    """Check that the figures of a progress report make sense."""
    require_probability(feedback, 'success_truthful', 'success_private')
    require_finite(feedback, 'objective', 'total_correlation')


def check_synthesis_report(result: Any) -> None:
    """Check that the planner succeeded and that its figures make sense."""
    reason = printable(result.error_message)
    require(result.error_code == result.SUCCESS, f'the planner failed: {reason}')
    require_probability(result, 'success_truthful', 'success_private')
    require_finite(result, 'total_correlation', 'objective', 'gap')
    require_not_negative(result, 'expected_length', 'seconds')


def _require_robot_names(names: Sequence[str]) -> None:
    for name in names:
        valid = len(name) <= MAX_NAME and _ROBOT_NAME.fullmatch(name)
        require(bool(valid), f'{name[:MAX_NAME]!r} cannot be the name of a robot')
