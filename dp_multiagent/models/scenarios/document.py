"""Read YAML into a tree in which every value knows its line.

Scenario files come from people, so only what they need is let in: one document of mappings,
lists and plain scalars (numbers and booleans as YAML 1.2 has them). Tags, anchors and aliases,
repeated keys, deep nesting and large files are refused by name: that closes the door on YAML
bombs and on code in tags. The tree is built from parser events, without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LARGEST_FILE = 128 * 1024
DEEPEST_NESTING = 16

Scalar = str | int | float | bool | None
Report = Callable[[int, str, str], None]

_INTEGER = re.compile(r'[-+]?[0-9]{1,18}')
_FLOAT = re.compile(r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?')
_NOT_FINITE = {f'{sign}.{word}' for sign in ('', '+', '-') for word in ('inf', 'nan')}
_WORDS: dict[str, Scalar] = {'': None, '~': None, 'null': None, 'true': True, 'false': False}


@dataclass(frozen=True)
class Node:
    """A value of the file: a scalar, a list of nodes or a mapping of nodes, and its line."""

    value: Scalar | list[Node] | dict[str, Node]
    line: int


@dataclass
class _Open:
    """A list or mapping whose end has not been read yet."""

    node: Node
    field: str
    key: tuple[str, int] | None = None


def read_document(text: str, report: Report) -> Node | None:
    """Read YAML text into a tree; report each fault as (line, field, problem)."""
    faults = 0

    def count(line: int, field: str, problem: str) -> None:
        nonlocal faults
        faults += 1
        report(line, field, problem)

    root = None
    try:
        root = _build(yaml.parse(text, Loader=_loader()), count)
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        problem = getattr(error, 'problem', None) or getattr(error, 'reason', None)
        count(mark.line + 1 if mark else 1, 'file', f'is not YAML: {problem or "unreadable"}')
    if root is None and not faults:
        report(1, 'file', 'is empty')
    return root


def read_text(path: Path, report: Report) -> str | None:
    """Read a file that is small enough to be a scenario."""
    try:
        if not path.is_file():
            report(1, 'file', 'is not a file' if path.exists() else 'does not exist')
            return None
        with path.open('rb') as stream:
            data = stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        report(1, 'file', f'cannot be read: {getattr(error, "strerror", None) or error}')
        return None
    if len(data) > LARGEST_FILE:
        report(1, 'file', f'is larger than {LARGEST_FILE // 1024} kB')
        return None
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b'\n') + 1
        report(line, 'file', 'is not UTF-8 text')
        return None


def quote(value: object) -> str:
    """Show a value of the file on one line, shortened."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + '...'


def join(field: str, key: str) -> str:
    """Name the field `key` of a mapping; strange keys are shortened to one line."""
    name = quote(key)[1:-1]
    return f'{field}.{name}' if field else name


def _loader() -> Any:
    """Return PyYAML's parser in C, or the slower one in Python where that is missing."""
    return getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


def _build(events: Iterable[Any], report: Report) -> Node | None:
    """Assemble the first document; stop at what cannot be part of a scenario."""
    root: Node | None = None
    stack: list[_Open] = []
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            report(line, 'file', 'has more than one document')
            return root
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            stack.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            report(line, 'file', 'has an anchor or alias (& or *): write the value out')
            return None
        node, field = _node(event, line, report), ''
        if stack:
            field = _attach(stack[-1], node, event, report)
        else:
            root = node
        if not isinstance(event, yaml.ScalarEvent):
            stack.append(_Open(node, field))
        if len(stack) > DEEPEST_NESTING:
            report(line, 'file', f'is nested deeper than {DEEPEST_NESTING} levels')
            return None
    return root


def _node(event: Any, line: int, report: Report) -> Node:
    if event.tag is not None:
        report(line, 'file', f'has the tag {quote(event.tag)}: tags are not allowed')
    if isinstance(event, yaml.MappingStartEvent):
        return Node({}, line)
    if isinstance(event, yaml.SequenceStartEvent):
        return Node([], line)
    return Node(_scalar(event.value) if event.implicit[0] else event.value, line)


def _attach(parent: _Open, node: Node, event: Any, report: Report) -> str:
    """Put a node into the list or mapping that is open; return the name of its field."""
    container = parent.node.value
    if isinstance(container, list):
        container.append(node)
        return f'{parent.field}[{len(container) - 1}]'
    assert isinstance(container, dict)
    if parent.key is None:
        if not isinstance(event, yaml.ScalarEvent):
            report(node.line, parent.field or 'file', 'has a list or mapping as a key')
        parent.key = (str(getattr(event, 'value', '?')), node.line)
        return parent.field
    key, line = parent.key
    parent.key = None
    field = join(parent.field, key)
    if key in container:
        report(line, field, f'is given twice, first in line {container[key].line}')
    else:
        container[key] = node
    return field


def _scalar(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) or text.lower() in _NOT_FINITE:
        return float(
            text.replace('.inf', 'inf').replace('.nan', 'nan').lower()
            if text.lower() in _NOT_FINITE
            else text
        )
    return text
