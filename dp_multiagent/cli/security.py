"""`dp_multiagent scenario security SCENARIO --out DIR`: write SROS2 policies for a team."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.plan import parse_graph
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models import scenarios
from dp_multiagent.models.security import Policy
from dp_multiagent.models.team_domain import rights

ABOUT = "write SROS2 policies for the team's domain, one per robot, planner and operator"


def add_parser(actions: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to those of `scenario`."""
    parser = actions.add_parser('security', help=ABOUT, description=ABOUT, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument('scenario', help='a name from `scenario list`, or a file')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='for the files')
    parser.add_argument(
        '--graph', help='who sees whom in the plan, "2>1" or "none"; the scenario\'s by default'
    )


def _run(arguments: argparse.Namespace) -> Answer:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    names = [member.name for member in scenario.members]
    graph = scenario.graph
    if arguments.graph is not None:
        graph = parse_graph(arguments.graph, names)
    policies = [Policy(member) for member in rights(names, graph)]
    files = [_write(arguments.out, policy) for policy in policies]
    rows = [
        (policy.enclave, ', '.join(policy.rights.subscribes) or 'nothing', str(file))
        for policy, file in zip(policies, files, strict=True)
    ]
    data = [{'enclave': enclave, 'hears': hears, 'file': file} for enclave, hears, file in rows]
    return Answer(table(('enclave', 'hears', 'file'), rows), {'policies': data})


def _write(folder: Path, policy: Policy) -> Path:
    path = folder / policy.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(policy.to_xml(), encoding='utf-8')
    except OSError as error:
        raise DpMultiagentError(f'{path}: cannot be written: {error.strerror}') from None
    return path
