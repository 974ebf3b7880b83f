"""What may stand in the team's domain, and who may say it.

Everybody is in that domain, the eavesdropper included, so the list is short:

    /<robot>/private_state, private_reward, private_message, budget     by that robot
    /team_plan, /<robot>/policy, the action /synthesize_policies        by the planner
    /parameter_events                                                   by any node, always empty

The doctor looks for whatever else is there; the security policies allow nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dp_multiagent.errors import ModelError

if TYPE_CHECKING:
    from dp_multiagent.models.plan import Graph

PLANNER = 'planner'
OPERATOR = 'operator'
ACTION = '/synthesize_policies'
TEAM_PLAN = '/team_plan'
ANYBODYS = '/parameter_events'
ANYBODY = '*'

TOLD_WHILE_DRIVING = ('private_state', 'budget')
TOLD = (*TOLD_WHILE_DRIVING, 'private_reward', 'private_message')
_ACTION_TOPICS = {f'{ACTION}/_action/{name}' for name in ('feedback', 'status')}
_ACTION_SERVICES = {
    f'{ACTION}/_action/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')
}
_OF_A_ROBOT = re.compile(rf'/([a-z][a-z0-9_]*)/({"|".join(TOLD)}|policy)')


@dataclass(frozen=True)
class Rights:
    """What one member may do in the team's domain; `executes` and `calls` are actions."""

    member: str
    publishes: tuple[str, ...]
    subscribes: tuple[str, ...]
    executes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def rights(robots: Sequence[str], graph: Graph) -> tuple[Rights, ...]:
    """Return the rights of each robot, of the planner and of the operator.

    A robot hears its plan, its policy, and the robots that it depends on: `graph` says whom.
    """
    for reserved in (PLANNER, OPERATOR):
        if reserved in robots:
            raise ModelError(f'a robot cannot be called {reserved}: that name is taken')
    told = [topic for robot in robots for topic in _topics(robot, TOLD_WHILE_DRIVING)]
    policies = [f'/{robot}/policy' for robot in robots]
    return (
        *(_robot(robot, [robots[j] for j in graph.observed[i]]) for i, robot in enumerate(robots)),
        Rights(PLANNER, (ANYBODYS, TEAM_PLAN, *policies), (), executes=(ACTION,)),
        Rights(OPERATOR, (ANYBODYS,), (TEAM_PLAN, *told), calls=(ACTION,)),
    )


def _robot(robot: str, observed: Iterable[str]) -> Rights:
    heard = (f'/{other}/private_state' for other in observed)
    return Rights(
        robot,
        (ANYBODYS, *_topics(robot, TOLD_WHILE_DRIVING)),
        (TEAM_PLAN, f'/{robot}/policy', *heard),
    )


def _topics(robot: str, names: Iterable[str]) -> list[str]:
    return [f'/{robot}/{name}' for name in names]


def speaker(name: str, *, is_service: bool = False) -> str | None:
    """Return the node that may publish a topic or offer a service, None if nobody may.

    >>> speaker('/robot1/private_state'), speaker('/robot1/policy'), speaker('/odom')
    ('robot1', 'planner', None)
    """
    if is_service:
        return PLANNER if name in _ACTION_SERVICES else None
    if name == ANYBODYS:
        return ANYBODY
    if name == TEAM_PLAN or name in _ACTION_TOPICS:
        return PLANNER
    found = _OF_A_ROBOT.fullmatch(name)
    if found is None:
        return None
    return PLANNER if found[2] == 'policy' else found[1]


@dataclass(frozen=True, order=True)
class Sighting:
    """A node that publishes a topic or offers a service in the team's domain."""

    name: str
    node: str
    is_service: bool = False

    def offence(self, robots: Collection[str] | None = None) -> str | None:
        """Say what is wrong with it, None if nothing is; `robots` are the team's, if known."""
        kind = 'service' if self.is_service else 'topic'
        allowed = speaker(self.name, is_service=self.is_service)
        if allowed is None:
            return f'{kind} {self.name} of node {self.node} is not on the list'
        if allowed not in (ANYBODY, self.node):
            return f'{kind} {self.name} is the right of {allowed}, not of node {self.node}'
        if robots is not None and allowed not in (ANYBODY, PLANNER, *robots):
            return f'{kind} {self.name} is told by {allowed}, who is not in the team'
        return None
