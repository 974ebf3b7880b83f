"""What scenarios of every kind say about a team: its members, their privacy, who sees whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph
from dp_multiagent.models.scenarios.fields import Length, Pattern, Range

Faults = Iterator[tuple[str, str]]

LARGEST_TEAM = 32
SUM_TOLERANCE = 1e-9

Name = Annotated[
    str,
    Pattern(r'[a-z][a-z0-9_]{0,30}', 'a name of lower-case letters, digits and _'),
    'name in ROS topics, unique in the team',
]
Title = Annotated[str, Length(1, 100), 'what the scenario is about, in one line']
Version = Annotated[Literal[1], 'version of the file format']
Probability = Annotated[float, Range(0, 1)]
Epsilon = Annotated[float, Range(0, 1000), 'privacy of one episode, smaller is more private']
Adjacency = Annotated[int, Range(1, 10_000), 'number of differing states that epsilon covers']
Dependencies = Annotated[
    Mapping[Name, tuple[Name, ...]],
    'robots whose private state a robot sees; acyclic',
]


@dataclass(frozen=True)
class Privacy:
    """The privacy of every member that does not state its own."""

    epsilon: Epsilon
    adjacency: Adjacency


@dataclass(frozen=True)
class Planning:
    """Weights of the synthesis objective v - delta * length - beta * total correlation."""

    delta: Annotated[float, Range(0, 1), 'weight of the expected length']
    beta: Annotated[float, Range(0, 1000), 'weight of the total correlation']
    horizon: Annotated[int, Range(1, 100_000), 'steps after which an episode ends']


class Team:
    """What scenarios of teams share; `member_field` names the field that lists the members."""

    member_field: ClassVar[str]
    dependencies: Dependencies

    @property
    def members(self) -> tuple[Any, ...]:
        """Return the robots or servers."""
        members: tuple[Any, ...] = getattr(self, self.member_field)
        return members

    @property
    def graph(self) -> Graph:
        """Return who depends on whom."""
        index = {member.name: i for i, member in enumerate(self.members)}
        pairs = ((index[i], index[j]) for i, seen in self.dependencies.items() for j in seen)
        return Graph.from_edges(len(self.members), pairs)

    def name_faults(self) -> Faults:
        """Report each member that has the name of an earlier one."""
        count: Counter[str] = Counter()
        for i, member in enumerate(self.members):
            count[member.name] += 1
            if count[member.name] > 1:
                yield f'{self.member_field}[{i}].name', f'{member.name} is taken by another'

    def dependency_faults(self) -> Faults:
        """Report unknown names, self-dependencies, repetitions and cycles."""
        names = [member.name for member in self.members]
        faults = list(_edge_faults(names, self.dependencies))
        yield from faults
        if not faults and len(set(names)) == len(names):
            try:
                _ = self.graph
            except ModelError as error:
                yield 'dependencies', _with_names(str(error), names)


def _edge_faults(names: Sequence[str], dependencies: Mapping[str, Sequence[str]]) -> Faults:
    for name, seen in dependencies.items():
        if name not in names:
            yield f'dependencies.{name}', f'is not one of {", ".join(names)}'
        for j, other in enumerate(seen):
            where = f'dependencies.{name}[{j}]'
            if other not in names:
                yield where, f'{other} is not one of {", ".join(names)}'
            elif other == name:
                yield where, f'{name} cannot depend on itself'
            elif other in seen[:j]:
                yield where, f'{other} is listed twice'


def _with_names(message: str, names: Sequence[str]) -> str:
    head, _, cycle = message.rpartition(' cycle ')
    return f'{head} cycle ' + ' > '.join(names[int(i) - 1] for i in cycle.split(' > '))
