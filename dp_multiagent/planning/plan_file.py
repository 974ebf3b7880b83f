"""Plans on disk: one npz file with a JSON header, no pickle.

The file holds the local policies, who depends on whom, the privacy they were made for, the
scenario's text and the fingerprint of its players, and what the synthesis reported. Loading
refuses whatever does not fit together: another format, a damaged or compressed archive, policies
for another game, a cyclic graph, rows that are no distributions. It needs no joint states, so a
plan that was made by other means can be kept and offered for a team too large to plan for here.
"""

from __future__ import annotations

import json
import math
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.planning.chain import graph_of
from dp_multiagent.planning.task import Task, task_of

FORMAT = 2  # since 2 `game` is the fingerprint of the players, not of joint states
LARGEST_FILE = 2**31
FIELDS = {
    'format', 'scenario', 'scenario_text', 'game', 'graph', 'epsilon', 'adjacency', 'by_step',
    'results',
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """Policies and all that is needed to use and to judge them."""

    scenario: str
    scenario_text: str
    graph: Graph
    epsilon: tuple[float, ...]
    adjacency: tuple[int, ...]
    policies: tuple[LocalPolicy, ...]
    results: dict[str, Any]

    def parsed(self) -> Scenario:
        """Return the scenario of this plan."""
        return scenarios.parse(self.scenario_text, self.scenario)

    def task(self, epsilon: float | None = None) -> Task:
        """Return the task of this plan, at another epsilon if one is given."""
        task = task_of(self.parsed(), graph=self.graph)
        own = Task(
            task.game,
            task.graph,
            self.epsilon,
            self.adjacency,
            task.delta,
            task.beta,
            task.horizon,
        )
        return own if epsilon is None else own.with_epsilon(epsilon)


def save(plan: Plan, path: Path) -> None:
    """Write a plan; an existing file is replaced whole or not at all."""
    header = {
        'format': FORMAT,
        'scenario': plan.scenario,
        'scenario_text': plan.scenario_text,
        'game': plan.parsed().players.fingerprint.hex(),
        'graph': plan.graph.observed,
        'epsilon': plan.epsilon,
        'adjacency': plan.adjacency,
        'by_step': [policy.by_step for policy in plan.policies],
        'results': plan.results,
    }
    text = json.dumps(header).encode()
    arrays: dict[str, Any] = {'header': np.frombuffer(text, dtype=np.uint8)}
    for policy in plan.policies:
        arrays[f'table_{policy.robot}'] = policy.table
        arrays[f'own_state_{policy.robot}'] = policy.own_state
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        Path(stream.name).replace(path)
    except OSError as error:
        raise DpMultiagentError(f'{path}: cannot be written: {error.strerror}') from None


def load(path: Path) -> Plan:
    """Load a plan and check that all of it fits together."""
    try:
        return _checked(_arrays(path))
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, 'strerror', None) or 'is damaged'
        raise ModelError(f'{path}: is no plan that can be read: {reason}') from None
    except (ValueError, TypeError, KeyError, EOFError) as error:
        first_line = (str(error) or type(error).__name__).split('\n')[0]
        raise ModelError(f'{path}: is no plan: {first_line}') from None


def _arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of an archive that is not compressed and not too large."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ModelError('it is compressed')
        if sum(member.file_size for member in members) > LARGEST_FILE:
            raise ModelError('it is too large')
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _checked(arrays: dict[str, Any]) -> Plan:
    header = json.loads(bytes(arrays['header']))
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise ModelError(f'its format is not {FORMAT}: plan again')
    if set(header) != FIELDS:
        raise ModelError('fields of its header are missing or unknown')
    graph = Graph(tuple(tuple(seen) for seen in header['graph']))
    policies = tuple(
        LocalPolicy(
            i,
            seen,
            np.asarray(arrays[f'table_{i}'], dtype=float),
            np.asarray(arrays[f'own_state_{i}'], dtype=float),
            by_step=bool(header['by_step'][i]),
        )
        for i, seen in enumerate(graph.observed)
    )
    plan = Plan(
        str(header['scenario']),
        str(header['scenario_text']),
        graph,
        tuple(float(epsilon) for epsilon in header['epsilon']),
        tuple(int(k) for k in header['adjacency']),
        policies,
        dict(header['results']),
    )
    _refuse_what_does_not_fit(plan, header['game'])
    return plan


def _refuse_what_does_not_fit(plan: Plan, fingerprint: str) -> None:
    if not all(math.isfinite(epsilon) and epsilon >= 0 for epsilon in plan.epsilon):
        raise ModelError('an epsilon is negative or not finite')
    if any(k < 1 for k in plan.adjacency):
        raise ModelError('an adjacency is less than 1')
    players = plan.parsed().players
    n = players.n_agents
    if not len(plan.graph.observed) == len(plan.epsilon) == len(plan.adjacency) == n:
        raise ModelError(f'graph, epsilon and adjacency must be given for {n} robots')
    if players.fingerprint.hex() != fingerprint:
        raise ModelError('its policies are for another game than its scenario')
    graph_of(players, plan.policies)
