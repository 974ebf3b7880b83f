"""A deployment as data: which program runs as what, in which domains, with which parameters."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool
Option = Value | tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class Process:
    """One program of `dp_multiagent.nodes`.

    `domain` is its own: a robot's, or the operator's. `options` are those of its command line,
    True for a flag, None for one that is left out. The rest is for its node in its own domain:
    `parameters` go before those of the `parameter_file`; nothing of it reaches the team's domain.
    """

    name: str
    program: str
    domain: int
    team_domain: int
    options: Mapping[str, Option] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    parameter_file: str | None = None
    namespace: str = ''
    remappings: Mapping[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        """Return the command line after the program's name, without its ROS parameters.

        >>> robot = Process(name='robot1', program='robot', domain=43, team_domain=42,
        ...                 options={'robot': 'robot1', 'use-sim-time': True, 'budget': None})
        >>> ' '.join(robot.arguments)
        '--domain 43 --team-domain 42 --robot robot1 --use-sim-time'
        """
        domains: dict[str, Option] = {'domain': self.domain, 'team-domain': self.team_domain}
        said: list[str] = []
        for name, value in {**domains, **self.options}.items():
            if value is True:
                said.append(f'--{name}')
            elif isinstance(value, tuple):
                said += [f'--{name}', *value] if value else []
            elif value is not None and value is not False:
                said += [f'--{name}', str(value)]
        return said

    @property
    def ros_arguments(self) -> list[str]:
        """Return what stands after --ros-args, without the namespace.

        >>> robot = Process(name='robot1', program='robot', domain=43, team_domain=42,
        ...                 parameter_file='my.yaml', parameters={'speed': 0.2},
        ...                 remappings={'/tf': 'tf'})
        >>> ' '.join(robot.ros_arguments)
        '--params-file my.yaml -p speed:=0.2 -r /tf:=tf'
        """
        said = [] if self.parameter_file is None else ['--params-file', self.parameter_file]
        for name, value in self.parameters.items():
            said += ['-p', f'{name}:={_as_yaml(value)}']
        for name, new_name in self.remappings.items():
            said += ['-r', f'{name}:={new_name}']
        return said

    @property
    def command(self) -> list[str]:
        """Return the command that runs it with this interpreter."""
        namespace = ['-r', f'__ns:=/{self.namespace.strip("/")}'] if self.namespace else []
        ros = [*self.ros_arguments, *namespace]
        module = f'dp_multiagent.nodes.{self.program}'
        return [
            sys.executable,
            '-m',
            module,
            *self.arguments,
            *(['--ros-args', *ros] if ros else []),
        ]


@dataclass(frozen=True)
class Deployment:
    """The processes of a team; it has done its work when the one called `last` ends.

    `environment` is what they need that the user's own variables do not say otherwise.
    """

    processes: tuple[Process, ...]
    last: str = 'operator'
    environment: Mapping[str, str] = field(default_factory=dict)

    def as_rows(self) -> list[tuple[str, str, int, str]]:
        """Return name, program, own domain and the rest of each, to be shown."""
        return [
            (each.name, each.program, each.domain, ' '.join(each.command[5:]))
            for each in self.processes
        ]

    def as_data(self) -> list[dict[str, Any]]:
        """Return the same for scripts."""
        return [
            {
                'name': each.name,
                'program': each.program,
                'domain': each.domain,
                'team_domain': each.team_domain,
                'options': dict(each.options),
                'parameters': dict(each.parameters),
                'parameter_file': each.parameter_file,
                'namespace': each.namespace,
                'remappings': dict(each.remappings),
            }
            for each in self.processes
        ]


def _as_yaml(value: Value) -> str:
    """Write a value so that ROS reads it as what it is: a text stays one, whatever it says."""
    return json.dumps(value)
