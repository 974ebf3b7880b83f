"""Scenarios of kind `sysadmin`: servers that must all be nominal at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from dp_multiagent.models import sysadmin
from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.players import Players
from dp_multiagent.models.scenarios import team
from dp_multiagent.models.scenarios.fields import Check, Length, Range

State = Literal['nominal', 'needs-repair', 'in-repair', 'offline']
Rows = Mapping[State, Mapping[State, team.Probability]]


@dataclass(frozen=True)
class Server:
    """One server of the team."""

    name: team.Name
    initial: Annotated[State, 'state in which it starts']
    epsilon: team.Epsilon | None = None
    adjacency: team.Adjacency | None = None


@dataclass(frozen=True)
class Transitions:
    """Probability of the next state, for each action and state."""

    wait: Rows
    repair: Rows

    def row_faults(self) -> team.Faults:
        """Report states without a distribution, and probabilities that do not sum to one."""
        for action in sysadmin.ACTIONS:
            rows = getattr(self, action, None)
            if rows is None:
                continue
            for state in sysadmin.STATES:
                if state not in rows:
                    yield f'{action}.{state}', 'is missing'
                elif abs(sum(rows[state].values()) - 1) > team.SUM_TOLERANCE:
                    total = sum(rows[state].values())
                    yield f'{action}.{state}', f'probabilities sum to {total:g}, not to 1'

    checks: ClassVar[tuple[Check, ...]] = (row_faults,)


@dataclass(frozen=True)
class Limits:
    """How many servers may be out of service at one time."""

    in_repair: Annotated[int, Range(0, team.LARGEST_TEAM)]
    offline: Annotated[int, Range(0, team.LARGEST_TEAM)]


@dataclass(frozen=True)
class SysAdmin(team.Team):
    """Servers that must all be nominal at once, while few are in repair or offline."""

    version: team.Version
    kind: Literal['sysadmin']
    title: team.Title
    servers: Annotated[tuple[Server, ...], Length(1, team.LARGEST_TEAM)]
    transitions: Transitions
    limits: Limits
    privacy: team.Privacy
    planning: team.Planning
    dependencies: team.Dependencies = field(default_factory=dict)

    member_field: ClassVar[str] = 'servers'

    @property
    def players(self) -> Players:
        """Return who plays, and how many may be out of service."""
        rows = {'wait': self.transitions.wait, 'repair': self.transitions.repair}
        return sysadmin.players(
            rows,
            [server.initial for server in self.servers],
            most_in_repair=self.limits.in_repair,
            most_offline=self.limits.offline,
        )

    def game(self) -> MarkovGame:
        """Build the Markov game."""
        return sysadmin.game(self.players)

    def start_faults(self) -> team.Faults:
        """Report a first joint state that breaks the limits."""
        initial: list[str] = [server.initial for server in self.servers]
        for state, most in (
            ('in-repair', self.limits.in_repair),
            ('offline', self.limits.offline),
        ):
            if initial.count(state) > most:
                yield 'servers', f'{initial.count(state)} start {state}, the limit is {most}'

    checks: ClassVar[tuple[Check, ...]] = (
        team.Team.name_faults,
        team.Team.dependency_faults,
        start_faults,
    )
