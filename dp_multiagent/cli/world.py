"""`dp_multiagent scenario world SCENARIO`: write a scenario as a Gazebo world."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer
from dp_multiagent.driving.floor import Floor
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.sim.bridge import bridge_as_yaml, operator_bridge, robot_bridge
from dp_multiagent.sim.gazebo import FLAVOURS, Flavour
from dp_multiagent.sim.sdf import world_as_sdf

ABOUT = 'write a scenario as a Gazebo world, and what crosses between Gazebo and ROS'
OPERATOR = 'operator-clock'  # no robot can have this name


def add_parser(actions: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to those of `scenario`."""
    parser = actions.add_parser('world', help=ABOUT, description=ABOUT, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument('scenario', help='a name from `scenario list`, or a file')
    parser.add_argument(
        '--flavour',
        choices=tuple(FLAVOURS),
        default='harmonic',
        help='the Gazebo of ROS 2 Jazzy (harmonic, the default) or of Humble (fortress)',
    )
    parser.add_argument('--out', type=Path, help='the SDF file (default: NAME_FLAVOUR.sdf)')
    parser.add_argument(
        '--cell-size', type=float, default=1.0, metavar='M', help='metres (default: 1)'
    )
    parser.add_argument(
        '--bridge', type=Path, metavar='DIR', help='for one file of ros_gz_bridge per robot'
    )


def _run(arguments: argparse.Namespace) -> Answer:
    path = scenarios.find(arguments.scenario)
    scenario = scenarios.load(path)
    if not isinstance(scenario, Navigation):
        raise DpMultiagentError(f'{path}: a scenario of kind {scenario.kind} has no map')
    flavour = FLAVOURS[arguments.flavour]
    out = arguments.out or Path(f'{path.stem}_{arguments.flavour}.sdf')
    robots = {robot.name: robot.start for robot in scenario.robots}
    _write(out, world_as_sdf(Floor(scenario.grid, arguments.cell_size), robots, flavour))
    files = {} if arguments.bridge is None else _bridges(arguments.bridge, list(robots), flavour)
    lines = [f'{name}: {file}' for name, file in {'world': out, **files}.items()]
    bridges = {name: str(file) for name, file in files.items()}
    data = {'sdf': str(out), 'flavour': arguments.flavour, 'bridges': bridges}
    return Answer('\n'.join(lines), data)


def _bridges(folder: Path, robots: list[str], flavour: Flavour) -> dict[str, Path]:
    bridges = {name: robot_bridge(name, flavour) for name in robots}
    bridges[OPERATOR] = operator_bridge(flavour)
    files = {name: folder / f'{name}.yaml' for name in bridges}
    for name, crossings in bridges.items():
        _write(files[name], bridge_as_yaml(crossings))
    return files


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise DpMultiagentError(f'{path}: cannot be written: {error.strerror}') from None
