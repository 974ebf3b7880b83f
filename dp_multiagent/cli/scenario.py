"""`dp_multiagent scenario list|show|check|draw|schema|security|world`: look at scenarios."""

from __future__ import annotations

import argparse
import json
from math import prod
from pathlib import Path
from typing import Any

from dp_multiagent.cli import security, world
from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.map_picture import map_as_png, map_as_text
from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.game import MOST_JOINT_STATES
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.models.scenarios.navigation import Navigation


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser('scenario', help='list, show, check or draw scenario files')
    actions = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for name, run, about in (
        ('list', _list, 'list the shipped scenarios'),
        ('show', _show, 'say what a scenario contains'),
        ('check', _check, 'check scenario files and name every fault'),
        ('draw', _draw, 'draw the map of a scenario'),
        ('schema', _schema, 'print the JSON Schema of scenario files'),
    ):
        action = actions.add_parser(name, help=about, description=about, parents=[shared])
        action.set_defaults(run=run)
        if name == 'check':
            action.add_argument('scenario', nargs='+', help='names or files')
        elif name in ('show', 'draw'):
            action.add_argument('scenario', help='a name from `scenario list`, or a file')
        if name == 'draw':
            action.add_argument('--out', type=Path, help='the PNG file (default: NAME.png)')
    security.add_parser(actions, shared)
    world.add_parser(actions, shared)


def _list(_: argparse.Namespace) -> Answer:
    found = {name: scenarios.load(path) for name, path in scenarios.shipped().items()}
    rows = [(name, s.kind, len(s.members), s.title) for name, s in found.items()]
    data = [
        {'name': name, 'kind': kind, 'members': members, 'title': title}
        for name, kind, members, title in rows
    ]
    return Answer(table(('name', 'kind', 'members', 'title'), rows), {'scenarios': data})


def _show(arguments: argparse.Namespace) -> Answer:
    path = scenarios.find(arguments.scenario)
    scenario = scenarios.load(path)
    data = _summary(path, scenario)
    lines = [(key.replace('_', ' '), _plain(value)) for key, value in data.items()]
    width = max(len(key) for key, _ in lines)
    text = '\n'.join(f'{key.ljust(width)}  {value}' for key, value in lines)
    if isinstance(scenario, Navigation):
        text += '\n\n' + map_as_text(scenario)
    return Answer(text, data)


def _check(arguments: argparse.Namespace) -> Answer:
    faults = []
    for name in arguments.scenario:
        try:
            scenarios.load(scenarios.find(name)).game()
        except ModelError as error:
            faults.append(f'{name}: {error}')
        except DpMultiagentError as error:
            faults.append(str(error))
    if faults:
        raise DpMultiagentError('\n'.join(faults))
    lines = [f'{name}: ok' for name in arguments.scenario]
    return Answer('\n'.join(lines), {'ok': list(arguments.scenario)})


def _draw(arguments: argparse.Namespace) -> Answer:
    path = scenarios.find(arguments.scenario)
    scenario = scenarios.load(path)
    if not isinstance(scenario, Navigation):
        raise DpMultiagentError(f'{path}: a scenario of kind {scenario.kind} has no map to draw')
    out = arguments.out or Path(f'{path.stem}.png')
    map_as_png(scenario, out)
    return Answer(f'{map_as_text(scenario)}\n\nwritten to {out}', {'png': str(out)})


def _schema(_: argparse.Namespace) -> Answer:
    schema = scenarios.json_schema()
    return Answer(json.dumps(schema, indent=2), schema)


def _summary(path: Path, scenario: Scenario) -> dict[str, Any]:
    players, default = scenario.players, scenario.privacy
    joint_states = prod(players.shape)
    can_be_planned = joint_states <= MOST_JOINT_STATES
    return {
        'file': str(path),
        'kind': scenario.kind,
        'title': scenario.title,
        'members': [member.name for member in scenario.members],
        'dependencies': str(scenario.graph),
        'epsilon': [_own(member.epsilon, default.epsilon) for member in scenario.members],
        'adjacency': [_own(member.adjacency, default.adjacency) for member in scenario.members],
        'joint_states': joint_states,
        'failures': list(scenario.game().causes) if can_be_planned else [],
        'delta': scenario.planning.delta,
        'beta': scenario.planning.beta,
        'horizon': scenario.planning.horizon,
        'fingerprint': players.fingerprint.hex(),
    }


def _own(value: float | None, default: float) -> float:
    return default if value is None else value


def _plain(value: Any) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list) else str(value)
