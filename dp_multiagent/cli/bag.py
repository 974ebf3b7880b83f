"""`dp_multiagent bag topics|check`: what may be recorded, and whether a bag may leave."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_multiagent.cli import bag_contents
from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.models import scenarios
from dp_multiagent.models.recordable import offence, recordable

MAY_LEAVE = 'may leave'


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser('bag', help='say what may be recorded, and check a bag')
    actions = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    about = 'list the topics of a scenario that may be recorded and handed on'
    topics = actions.add_parser('topics', help=about, description=about, parents=[shared])
    topics.add_argument('scenario', help='a name from `scenario list`, or a file')
    topics.set_defaults(run=_topics)
    about = 'check a rosbag2; exit status 1 if it must not leave'
    check = actions.add_parser('check', help=about, description=about, parents=[shared])
    check.add_argument('bag', type=Path, help='the folder of a bag, or a .db3 or .mcap file')
    check.set_defaults(run=_check)


def _topics(arguments: argparse.Namespace) -> Answer:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    topics = recordable(member.name for member in scenario.members)
    data = [{'name': name, 'type': kind} for name, kind in topics.items()]
    return Answer('\n'.join(topics), {'topics': data})


def _check(arguments: argparse.Namespace) -> Answer:
    contents = bag_contents.read(arguments.bag)
    verdicts = [(name, kind, offence(name, kind)) for name, kind in sorted(contents.topics)]
    offences = [f'{name} {why}' for name, _, why in verdicts if why is not None]
    offences += contents.others
    data = {
        'bag': str(arguments.bag),
        'may_leave': not offences,
        'topics': [{'name': name, 'type': kind, 'offence': why} for name, kind, why in verdicts],
        'others': list(contents.others),
    }
    rows = [(name, kind, why or MAY_LEAVE) for name, kind, why in verdicts]
    conclusion = f'must not leave, for {len(offences)} reasons' if offences else MAY_LEAVE
    lines = [table(('topic', 'type', 'verdict'), rows), *contents.others]
    lines += ['', f'{arguments.bag}: {conclusion}']
    return Answer('\n'.join(lines), data, status=int(bool(offences)))
