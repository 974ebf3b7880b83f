"""Scenario files: versioned YAML that describes a team and its task.

A kind of scenario is one module with one frozen dataclass, listed in KINDS. It has the fields of
the file, `members`, `graph`, `players` and `game()`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dp_multiagent.errors import DpMultiagentError, Fault, ScenarioError
from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.plan import Graph
from dp_multiagent.models.players import Players
from dp_multiagent.models.scenarios import fields, team
from dp_multiagent.models.scenarios.document import (
    Node,
    Report,
    quote,
    read_document,
    read_text,
)
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.models.scenarios.schema import schema
from dp_multiagent.models.scenarios.sysadmin import SysAdmin

KINDS: Mapping[str, type[Any]] = {'navigation': Navigation, 'sysadmin': SysAdmin}


class Member(Protocol):
    """A robot or server: its name and the privacy it asks for, None for the team's."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def epsilon(self) -> float | None: ...  # noqa: D102
    @property
    def adjacency(self) -> int | None: ...  # noqa: D102


class Scenario(Protocol):
    """What every kind of scenario offers."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def privacy(self) -> team.Privacy: ...  # noqa: D102
    @property
    def planning(self) -> team.Planning: ...  # noqa: D102
    @property
    def members(self) -> Sequence[Member]: ...  # noqa: D102
    @property
    def graph(self) -> Graph: ...  # noqa: D102
    @property
    def players(self) -> Players: ...  # noqa: D102

    def game(self) -> MarkovGame: ...  # noqa: D102


def load(path: Path) -> Scenario:
    """Load a scenario file, or raise a ScenarioError that lists all its faults."""
    return parse(read(path), str(path))


def read(path: Path) -> str:
    """Return the text of a scenario file."""
    faults: list[Fault] = []
    text = read_text(path, _collector(str(path), faults))
    if text is None:
        raise ScenarioError(tuple(faults))
    return text


def parse(text: str, name: str) -> Scenario:
    """Make a scenario of its text; `name` stands for the file in the faults."""
    faults: list[Fault] = []
    report = _collector(name, faults)
    scenario = None
    root = read_document(text, report)
    if root is not None:
        kind = _kind(root, report)
        if kind is not None:
            scenario = fields.read(kind, root, '', report)
    if faults:
        raise ScenarioError(tuple(sorted(faults, key=lambda fault: fault.line)))
    assert scenario is not None
    loaded: Scenario = scenario
    return loaded


def find(name: str) -> Path:
    """Return the file of a shipped scenario, or the given path if it is one."""
    if '/' in name or name.endswith(('.yaml', '.yml')):
        return Path(name)
    names = shipped()
    if name not in names:
        close = difflib.get_close_matches(name, names, 1)
        hint = f'did you mean {close[0]}?' if close else f'there are {", ".join(names)}'
        raise DpMultiagentError(f'no scenario is called {quote(name)}; {hint}')
    return names[name]


def shipped() -> dict[str, Path]:
    """List the scenarios that come with the package, by name."""
    return {path.stem: path for path in sorted((share() / 'config' / 'scenarios').glob('*.yaml'))}


def share() -> Path:
    """Return the directory of the files that come with the package.

    It is the source tree, or share/dp_multiagent under the prefix of the installation.
    """
    package = Path(__file__).parents[2]
    if (package.parent / 'config' / 'scenarios').is_dir():
        return package.parent
    for prefix in package.parents:
        candidate = prefix / 'share' / 'dp_multiagent'
        if (candidate / 'config').is_dir():
            return candidate
    raise DpMultiagentError('the files of dp_multiagent are not installed: install it again')


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of all kinds of scenario files."""
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': 'dp_multiagent scenario',
        'oneOf': [schema(kind) for kind in KINDS.values()],
    }


def _collector(name: str, faults: list[Fault]) -> Report:
    def report(line: int, field: str, problem: str) -> None:
        faults.append(Fault(name, line, field, problem))

    return report


def _kind(root: Node, report: Report) -> type[Any] | None:
    known = ' or '.join(KINDS)
    if not isinstance(root.value, dict):
        report(root.line, 'file', 'must be a mapping')
    elif 'kind' not in root.value:
        report(root.line, 'kind', f'is missing; it must be {known}')
    else:
        node = root.value['kind']
        if isinstance(node.value, str) and node.value in KINDS:
            return KINDS[node.value]
        report(node.line, 'kind', f'must be {known}')
    return None
