"""`dp_multiagent evaluate PLAN`: say exactly how well a plan does, at any epsilon."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.judgement import add_rollout_options, judge, rolled_out
from dp_multiagent.cli.plan import plain
from dp_multiagent.planning import plan_file


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its options."""
    about = 'say exactly how well a plan does, at its epsilon or another'
    parser = commands.add_parser('evaluate', help=about, description=about, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument('plan', type=Path, help='a file written by `plan --out`')
    parser.add_argument('--epsilon', type=float, help='privacy of an episode, for every robot')
    add_rollout_options(parser)


def _run(arguments: argparse.Namespace) -> Answer:
    plan = plan_file.load(arguments.plan)
    task = plan.task(arguments.epsilon)
    data = {
        'plan': str(arguments.plan),
        'scenario': plan.scenario,
        'method': plan.results.get('method'),
        **judge(task, plan.policies, plan.results.get('total_correlation')),
        **rolled_out(task, plan.policies, arguments),
    }
    text = table(('', ''), [(k.replace('_', ' '), plain(v)) for k, v in data.items()])
    return Answer(text.lstrip('\n'), data)
