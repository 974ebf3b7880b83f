"""Gazebo as the simulator of a team: it writes the world and runs Gazebo and its bridges.

Robot i's own domain (team's + 1 + i), by a bridge
    /clock, /odom       out
    /cmd_vel            in
Operator's domain (team's + 50), by another
    /clock              out

Gazebo's own transport carries true poses, so it stays on this machine, in a partition of its own.
There is no bridge into the team's domain. Nobody judges here and nobody is put back at a start:
there is one episode, in real time.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dp_multiagent.deployment.description import Deployment, Process
from dp_multiagent.deployment.supervisor import supervise
from dp_multiagent.driving.floor import Floor
from dp_multiagent.errors import DpMultiagentError, MissingPackageError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.nodes import program
from dp_multiagent.nodes.spin import stop_on_signals
from dp_multiagent.sim.bridge import bridge_as_yaml, operator_bridge, robot_bridge
from dp_multiagent.sim.gazebo import FLAVOURS
from dp_multiagent.sim.sdf import world_as_sdf

COMMANDS = {'harmonic': ('gz', 'sim'), 'fortress': ('ign', 'gazebo')}
OPERATOR = 'operator-clock'  # no robot can have this name


@dataclass(frozen=True, kw_only=True)
class Foreign(Process):
    """A program that is not ours."""

    words: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """Return the command that runs it, with the domain that it sees."""
        return ['env', f'ROS_DOMAIN_ID={self.domain}', *self.words]


def main(argv: Sequence[str] | None = None) -> int:
    """Run Gazebo and its bridges until Ctrl-C; return the exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='gazebo', description='simulate a team in Gazebo')
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--team-domain', type=int, default=program.TEAM_DOMAIN, metavar='N')
    parser.add_argument('--domain', type=int, metavar='N', help="the operator's, the team's + 50")
    parser.add_argument('--folder', type=Path, required=True, help='for the world and bridges')
    parser.add_argument('--cell-size', type=float, default=1.0, metavar='METRES')
    parser.add_argument('--window', action='store_true', help='with the window of Gazebo')
    return parser


def _run(arguments: program.Arguments) -> None:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    if not isinstance(scenario, Navigation):
        raise ModelError(f'a scenario of kind {scenario.kind} has no robots that drive')
    flavour = _installed_flavour()
    bridge = _bridge_program()
    files = _write(arguments.folder, scenario, flavour, arguments.cell_size)
    deployment = Deployment(_processes(arguments, list(files.items()), flavour, bridge), last='')
    with stop_on_signals() as stopped:
        ending = supervise(
            deployment, say=_say, stopped=stopped, environment={**os.environ, **_partition()}
        )
    if ending.died is not None:
        print(f'{ending.died} died: {ending.why}', file=sys.stderr)
        raise SystemExit(1)


def _installed_flavour() -> str:
    for flavour, (command, _) in COMMANDS.items():
        if shutil.which(command):
            return flavour
    raise MissingPackageError('Gazebo is not installed: apt install ros-jazzy-ros-gz')


def _bridge_program() -> str:
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        prefix = get_package_prefix('ros_gz_bridge')
    except PackageNotFoundError:
        raise MissingPackageError(
            'the bridge to Gazebo is not installed: apt install ros-jazzy-ros-gz-bridge'
        ) from None
    return str(Path(prefix, 'lib', 'ros_gz_bridge', 'parameter_bridge'))


def _write(
    folder: Path, scenario: Navigation, flavour: str, cell_size: float
) -> Mapping[str, Path]:
    """Write the world, and what crosses into each domain; return the files by name."""
    robots = {robot.name: robot.start for robot in scenario.robots}
    kind = FLAVOURS[flavour]
    texts = {'world': world_as_sdf(Floor(scenario.grid, cell_size), robots, kind)}
    texts |= {name: bridge_as_yaml(robot_bridge(name, kind)) for name in robots}
    texts[OPERATOR] = bridge_as_yaml(operator_bridge(kind))
    files = {name: folder / f'{name}.yaml' for name in texts} | {'world': folder / 'world.sdf'}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            files[name].write_text(text, encoding='utf-8')
    except OSError as error:
        raise DpMultiagentError(f'{folder}: {error.strerror}') from None
    return files


def _processes(
    arguments: program.Arguments, files: list[tuple[str, Path]], flavour: str, bridge: str
) -> tuple[Foreign, ...]:
    """Describe Gazebo and a bridge per robot, and one for the operator, in this order."""
    (_, world), *bridges = files
    team, operator = arguments.team_domain, arguments.domain
    if operator is None:
        operator = team + program.OPERATOR_OFFSET
    server = () if arguments.window else ('-s',)
    words = (*COMMANDS[flavour], '-r', *server, str(world))
    processes = [
        Foreign(name='gazebo', program='', domain=operator, team_domain=team, words=words)
    ]
    for i, (name, file) in enumerate(bridges):
        domain = operator if name == OPERATOR else team + 1 + i
        words = (bridge, '--ros-args', '-p', f'config_file:={file}')
        processes.append(
            Foreign(
                name=f'bridge_{name}', program='', domain=domain, team_domain=team, words=words
            )
        )
    return tuple(processes)


def _partition() -> dict[str, str]:
    name = f'dp_multiagent_{secrets.token_hex(4)}'
    return {
        f'{prefix}_{what}': value
        for prefix in ('GZ', 'IGN')
        for what, value in (('PARTITION', name), ('IP', '127.0.0.1'))
    }


def _say(name: str, line: str) -> None:
    print(f'{name}: {line}', file=sys.stderr, flush=True)


if __name__ == '__main__':
    raise SystemExit(main())
