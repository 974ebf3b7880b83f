"""`dp_multiagent run SCENARIO`: start a whole team as processes and show what happened."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.deployment.domain_lock import alone_in
from dp_multiagent.deployment.navigation import (
    SIMULATORS,
    Options,
    navigation,
    refuse_folder_in_use,
)
from dp_multiagent.deployment.results import Results
from dp_multiagent.deployment.shared_memory import remove_abandoned
from dp_multiagent.deployment.supervisor import Ending, supervise
from dp_multiagent.planning.request import METHODS

LOG_FORMAT = '{severity}: {message}'


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its options."""
    about = 'start planner, robots and simulator as processes and run episodes'
    parser = commands.add_parser('run', help=about, description=about, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument('scenario', help='a name from `scenario list`, or a file')
    parser.add_argument('--simulator', choices=SIMULATORS, default=Options.simulator)
    parser.add_argument('--method', choices=METHODS, default=Options.method)
    parser.add_argument('--epsilon', type=float, help='privacy of an episode, for every robot')
    parser.add_argument('--adjacency', type=int, metavar='K', help='states that epsilon covers')
    parser.add_argument('--team-domain', type=int, default=Options.team_domain, metavar='N')
    parser.add_argument('--record', type=Path, metavar='DIR', help='a PNG and a GIF per episode')
    parser.add_argument('--episodes', type=int, default=Options.episodes, metavar='N')
    parser.add_argument('--budget', type=float, metavar='EPSILON', help='of every robot, in all')
    parser.add_argument(
        '--rate', type=float, default=Options.rate, help='simulated by real time; 0: the fastest'
    )
    parser.add_argument('--period', type=float, default=Options.period, help='of a step, seconds')
    parser.add_argument('--deadline', type=float, default=Options.deadline, help='part of a step')
    parser.add_argument(
        '--no-slips', dest='slips', action='store_false', help='robots go where they mean to'
    )
    parser.add_argument('--seed', type=int, default=Options.seed, help='of the slips')
    parser.add_argument('--max-stale', type=int, default=Options.max_stale, metavar='STEPS')
    parser.add_argument(
        '--lead', type=float, default=Options.lead, help='seconds from an announcement to a start'
    )
    parser.add_argument(
        '--patience', type=float, default=Options.patience, help='seconds for all to be there'
    )
    parser.add_argument(
        '--parameters', type=Path, metavar='FILE', help='how robots drive, for ROS, see config/'
    )
    parser.add_argument('--window', action='store_true', help='of Gazebo')
    parser.add_argument('--respawn', action='store_true', help='start again what dies')
    parser.add_argument(
        '--folder', type=Path, metavar='DIR', help='keep plans, ledgers and results here'
    )
    parser.add_argument('--show', action='store_true', help='only show what would be started')


def _run(arguments: argparse.Namespace) -> Answer:
    with ExitStack() as held:
        stopped = held.enter_context(_stop_on_signals())
        options = _options(arguments, held)
        deployment = navigation(options)
        if arguments.show:
            rows = deployment.as_rows()
            shown = table(('name', 'program', 'own domain', 'command line'), rows)
            return Answer(shown, {'processes': deployment.as_data()})
        held.enter_context(alone_in(options.team_domain))
        held.callback(remove_abandoned)
        options.folder.mkdir(parents=True, exist_ok=True)
        ending = supervise(
            deployment,
            say=_say,
            stopped=lambda: bool(stopped),
            respawn=arguments.respawn,
            environment={
                'RCUTILS_CONSOLE_OUTPUT_FORMAT': LOG_FORMAT,
                'ROS_LOG_DIR': str(options.folder / 'log'),
                **deployment.environment,
                **os.environ,
            },
        )
        return _answer(ending, options, Results(options.results))


def _options(arguments: argparse.Namespace, held: ExitStack) -> Options:
    chosen = {each.name: getattr(arguments, each.name) for each in fields(Options)}
    if chosen['folder'] is None:
        temporary = held.enter_context(tempfile.TemporaryDirectory(prefix='dp_multiagent_'))
        chosen['folder'] = Path(temporary)
    for name in ('folder', 'record', 'parameters'):
        if chosen[name] is not None:
            chosen[name] = chosen[name].resolve()
    options = Options(**chosen)
    refuse_folder_in_use(options)
    return options


@contextmanager
def _stop_on_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C, SIGTERM, and the end of the terminal unless that is to be ignored."""
    received: list[int] = []
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, lambda *_: received.append(1)) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _say(name: str, line: str) -> None:
    print(f'[{name}] {line}', file=sys.stderr, flush=True)


def _answer(ending: Ending, options: Options, results: Results) -> Answer:
    plan, episodes = results.plan() or {}, results.episodes()
    steps = [result.step for result in episodes if result.succeeded and result.step is not None]
    data = {
        'scenario': options.scenario,
        'method': options.method,
        'done': ending.done,
        'died': ending.died,
        'why': ending.why,
        'episodes': len(episodes),
        'successes': sum(result.succeeded for result in episodes),
        'success_private_exact': plan.get('success_private'),
        'mean_steps_of_successes': sum(steps) / len(steps) if steps else None,
        'epsilon_spent': dict(episodes[-1].epsilon_spent) if episodes else {},
        'record': None if options.record is None else str(options.record),
        'outcomes': [
            {'episode': r.episode, 'outcome': r.outcome, 'step': r.step, 'cause': r.cause}
            for r in episodes
        ],
    }
    status = 0 if ending.died is None else 1
    return Answer(_as_text(data), data, status)


def _as_text(data: dict[str, Any]) -> str:
    rows = [tuple(str(value) for value in row.values()) for row in data['outcomes']]
    parts = [table(('episode', 'outcome', 'step', 'cause'), rows)] if rows else []
    spent = ', '.join(f'{robot} {value:g}' for robot, value in data['epsilon_spent'].items())
    lines = [f'{data["successes"]} of {data["episodes"]} episodes succeeded']
    if data['success_private_exact'] is not None:
        lines.append(f'the plan promises {data["success_private_exact"]:.4f}')
    lines.append(f'epsilon spent: {spent or "none"}')
    if data['record'] is not None:
        lines.append(f'pictures in {data["record"]}')
    if data['died'] is not None:
        lines.append(f'{data["died"]} died: {data["why"]}')
    elif not data['done']:
        lines.append('stopped')
    return '\n\n'.join([*parts, '\n'.join(lines)])
