"""`dp_multiagent plan SCENARIO`: compute local policies and say exactly how well they do."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.judgement import add_rollout_options, judge, rolled_out
from dp_multiagent.cli.policy_picture import visits_as_png, visits_as_text
from dp_multiagent.cli.progress import Progress
from dp_multiagent.cli.sweep import run_sweep
from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import Graph
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.chain import graph_of
from dp_multiagent.planning.graph_search import search_graphs
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.methods import Candidate
from dp_multiagent.planning.request import METHODS
from dp_multiagent.planning.sweep import parse_sweep
from dp_multiagent.planning.synthesis import MEMORIES, STARTS, Effort, synthesise
from dp_multiagent.planning.task import Task, task_of


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its options."""
    about = 'compute local policies and say exactly how well they do'
    parser = commands.add_parser('plan', help=about, description=about, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument('scenario', help='a name from `scenario list`, or a file')
    parser.add_argument('--method', choices=METHODS, default='minimum-dependency')
    parser.add_argument('--epsilon', type=float, help='privacy of an episode, for every robot')
    parser.add_argument('--adjacency', type=int, metavar='K', help='states that epsilon covers')
    parser.add_argument('--iterations', type=int, metavar='N', help='fix their number')
    known = '; '.join(f'{method}: {", ".join(names)}' for method, names in STARTS.items())
    parser.add_argument(
        '--start', action='append', default=[], metavar='NAME', help=f'may be repeated; {known}'
    )
    parser.add_argument('--memory', choices=MEMORIES, default='none')
    parser.add_argument(
        '--unvisited', choices=[u.value for u in Unvisited], default=Unvisited.OWN_STATE.value
    )
    parser.add_argument(
        '--graph', help='who sees whom: "2>1" (robot 2 sees robot 1), "none", or "search"'
    )
    add_rollout_options(parser)
    parser.add_argument('--out', type=Path, metavar='PLAN', help='write the plan to this file')
    parser.add_argument(
        '--sweep', metavar='epsilon=LOW:HIGH:N', help='private success of all methods over epsilon'
    )
    parser.add_argument('--csv', type=Path, metavar='CSV', help='write the sweep as a table')
    parser.add_argument('--plot', type=Path, metavar='PNG', help='draw the sweep')
    parser.add_argument('--picture', type=Path, metavar='PNG', help='draw where each robot goes')


def _run(arguments: argparse.Namespace) -> Answer:
    path = scenarios.find(arguments.scenario)
    text = scenarios.read(path)
    scenario = scenarios.parse(text, str(path))
    if arguments.picture and not isinstance(scenario, Navigation):
        raise DpMultiagentError(f'{path}: a scenario of kind {scenario.kind} has no map to draw')
    report = Progress()
    task = _task(scenario, arguments, report)
    effort = Effort(arguments.iterations, arguments.memory, report)
    if arguments.sweep:
        epsilons = parse_sweep(arguments.sweep)
        return run_sweep(task, epsilons, effort, arguments.csv, arguments.plot)
    began = time.perf_counter()
    found = synthesise(task, arguments.method, chosen=arguments.start, effort=effort)
    seconds = time.perf_counter() - began
    best = found.best
    task = task.with_graph(graph_of(task.game, best.policies))
    data = {
        'scenario': arguments.scenario,
        'method': found.method,
        'start': best.start,
        'memory': arguments.memory,
        **judge(task, best.policies, best.total_correlation),
        'objective': best.objective,
        'iterations': best.iterations,
        'gap': best.gap,
        'seconds': seconds,
        'controls': found.controls,
        'starts': [_row(candidate) for candidate in found.candidates],
        **rolled_out(task, best.policies, arguments),
    }
    if arguments.out:
        plan = plan_file.Plan(
            path.stem, text, task.graph, task.epsilon, task.adjacency, best.policies, data
        )
        plan_file.save(plan, arguments.out)
    return Answer(_as_text(scenario, task, best, data, arguments.picture), data)


def _task(scenario: Scenario, arguments: argparse.Namespace, report: Progress) -> Task:
    searched = arguments.graph == 'search'
    graph = None
    if arguments.graph is not None and not searched:
        graph = parse_graph(arguments.graph, [member.name for member in scenario.members])
    task = task_of(
        scenario,
        epsilon=arguments.epsilon,
        adjacency=arguments.adjacency,
        graph=graph,
        unvisited=Unvisited(arguments.unvisited),
    )
    return task.with_graph(search_graphs(task, report).best) if searched else task


def parse_graph(text: str, names: list[str]) -> Graph:
    """Read who sees whom, by number or by name: `2>1 3>1` or `robot2>robot1`."""
    numbers = {str(i + 1): i for i in range(len(names))} | {
        name: i for i, name in enumerate(names)
    }
    edges = []
    for edge in text.replace(',', ' ').split() if text != 'none' else ():
        ends = edge.split('>')
        if len(ends) != 2 or not all(end in numbers for end in ends):
            known = ', '.join(names)
            raise ModelError(f'--graph: {edge!r} is no edge such as 2>1 between {known}')
        edges.append((numbers[ends[0]], numbers[ends[1]]))
    return Graph.from_edges(len(names), edges)


def _row(candidate: Candidate) -> dict[str, Any]:
    return {
        'start': candidate.start,
        'success_private': candidate.success_private,
        'success_truthful': candidate.success_truthful,
        'iterations': candidate.iterations,
    }


def _as_text(
    scenario: Scenario, task: Task, best: Candidate, data: dict[str, Any], picture: Path | None
) -> str:
    shown = {key: value for key, value in data.items() if key not in ('starts', 'controls')}
    parts = [table(('', ''), [(k.replace('_', ' '), plain(v)) for k, v in shown.items()])]
    rows = [tuple(row.values()) for row in data['starts']]
    parts.append(table(('start', 'private', 'truthful', 'iterations'), rows))
    if data['controls']:
        controls = [(name.replace('_', ' '), value) for name, value in data['controls'].items()]
        parts.append(table(('control', 'private'), controls))
    if isinstance(scenario, Navigation):
        visits = task.private(best.policies).visits
        parts.append(visits_as_text(scenario, visits))
        if picture:
            visits_as_png(scenario, visits, picture)
            parts.append(f'picture in {picture}')
    return '\n\n'.join(part.lstrip('\n') for part in parts)


def plain(value: Any) -> str:
    """Show a value of the result on one line."""
    if value is None:
        return 'none'
    if isinstance(value, float):
        return f'{value:.6g}'
    if isinstance(value, dict):
        return ', '.join(f'{key} {plain(each)}' for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return ', '.join(map(plain, value))
    return str(value)
