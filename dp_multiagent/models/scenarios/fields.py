"""Turn a tree of values into frozen dataclasses.

The dataclasses are the one description of a scenario file. Their annotations say what is
allowed: bool, int, float, str, Literal, X | None, tuple[X, ...], tuple[X, Y], Mapping[str, X],
other dataclasses, and Annotated[X, ...] with a Range, a Length, a Pattern or a description.

A dataclass may list `checks`, functions that yield (field, problem) for what types cannot say.
They run even if other fields are at fault, so that a file's faults are all reported at once: a
check that meets a field which could not be read is left out.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from dp_multiagent.models.scenarios.document import Node, Report, join, quote

Check = Callable[[Any], Iterator[tuple[str, str]]]

_NAMES: dict[Any, str] = {
    bool: 'true or false',
    int: 'an integer',
    float: 'a finite number',
    str: 'text',
}


@dataclasses.dataclass(frozen=True)
class Range:
    """Bounds of a number, both included."""

    least: float
    most: float


@dataclasses.dataclass(frozen=True)
class Length:
    """Bounds of the length of a list or text, both included."""

    least: int
    most: int


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A regular expression for a text, and what it means in words."""

    regex: str
    meaning: str


class _Faulty:
    """Stands for a value that could not be read."""


FAULTY = _Faulty()


def read(kind: Any, node: Node, field: str, report: Report) -> Any:
    """Read a value of the given type; report what is wrong and return FAULTY if it cannot be."""
    plain, notes = strip(kind)
    is_list = isinstance(node.value, list) and typing.get_origin(plain) is tuple
    if is_list and _refuse_violations(node.value, notes, node, field, report):
        return FAULTY
    value = _read_plain(plain, node, field, report)
    if value is FAULTY or is_list:
        return value
    return FAULTY if _refuse_violations(value, notes, node, field, report) else value


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Tell whether a field must stand in the file."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def strip(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split Annotated[X, ...] into X and its notes."""
    if typing.get_origin(kind) is typing.Annotated:
        return kind.__origin__, kind.__metadata__
    return kind, ()


def _read_plain(kind: Any, node: Node, field: str, report: Report) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, node, field, report)
    if origin is tuple:
        return _read_tuple(arguments, node, field, report)
    if origin is Mapping or getattr(origin, '__name__', '') == 'Mapping':
        return _read_mapping(arguments[0], arguments[1], node, field, report)
    if origin in (typing.Union, types.UnionType):
        return read(arguments[0], node, field, report) if node.value is not None else None
    if origin is Literal:
        if node.value in arguments and type(node.value) in map(type, arguments):
            return node.value
        expected = 'must be ' + ' or '.join(map(str, arguments))
    else:
        if type(node.value) is kind or (kind is float and type(node.value) is int):
            if kind is not float:
                return node.value
            if math.isfinite(typing.cast(float, node.value)):
                return float(typing.cast(float, node.value))
        expected = f'must be {_NAMES[kind]}'
    report(node.line, field, f'{expected}, not {_show(node)}')
    return FAULTY


def _read_dataclass(kind: Any, node: Node, field: str, report: Report) -> Any:
    if not isinstance(node.value, dict):
        report(node.line, field or 'file', f'must be a mapping, not {_show(node)}')
        return FAULTY
    counted = _Counter(report)
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for key, child in node.value.items():
        if key not in fields:
            known = ', '.join(fields)
            counted(child.line, join(field, key), f'is unknown; known are {known}')
    values = {}
    for name, each in fields.items():
        if name in node.value:
            value = read(hints[name], node.value[name], join(field, name), counted)
            if value is not FAULTY:
                values[name] = value
        elif is_required(each):
            counted(node.line, join(field, name), 'is missing')
        elif each.default_factory is not dataclasses.MISSING:
            values[name] = each.default_factory()
    result = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(result, name, value)
    _run_checks(result, node, field, counted)
    return kind(**values) if not counted.count else result


def _run_checks(partial: Any, node: Node, field: str, counted: _Counter) -> None:
    """Run the checks of a dataclass that may lack the fields which could not be read."""
    complete = not counted.count
    for check in getattr(type(partial), 'checks', ()):
        try:
            for where, problem in check(partial):
                counted(_line_of(node, where), join(field, where), problem)
        except AttributeError:
            if complete:
                raise


def _read_tuple(items: tuple[Any, ...], node: Node, field: str, report: Report) -> Any:
    if not isinstance(node.value, list):
        report(node.line, field, f'must be a list, not {_show(node)}')
        return FAULTY
    if items[-1] is Ellipsis:
        items = (items[0],) * len(node.value)
    elif len(items) != len(node.value):
        report(node.line, field, f'must have {len(items)} items, not {len(node.value)}')
        return FAULTY
    values = tuple(
        read(item, child, f'{field}[{i}]', report)
        for i, (item, child) in enumerate(zip(items, node.value, strict=True))
    )
    return FAULTY if FAULTY in values else values


def _read_mapping(key_kind: Any, kind: Any, node: Node, field: str, report: Report) -> Any:
    if not isinstance(node.value, dict):
        report(node.line, field, f'must be a mapping, not {_show(node)}')
        return FAULTY
    values = {}
    for key, child in node.value.items():
        where = join(field, key)
        if read(key_kind, Node(key, child.line), where, report) is not FAULTY:
            values[key] = read(kind, child, where, report)
    complete = len(values) == len(node.value) and FAULTY not in values.values()
    return values if complete else FAULTY


def _refuse_violations(
    value: Any, notes: tuple[Any, ...], node: Node, field: str, report: Report
) -> bool:
    """Report the notes that a value does not meet; tell whether there were any."""
    problems = [problem for note in notes if (problem := _violation(value, note))]
    for problem in problems:
        report(node.line, field, problem)
    return bool(problems)


def _violation(value: Any, note: Any) -> str | None:
    if isinstance(note, Range) and not note.least <= value <= note.most:
        return f'must be between {note.least:g} and {note.most:g}, not {value:g}'
    if isinstance(note, Length) and not note.least <= len(value) <= note.most:
        return f'must have {note.least} to {note.most} items, not {len(value)}'
    if isinstance(note, Pattern) and not re.fullmatch(note.regex, value):
        return f'must be {note.meaning}, not {quote(value)}'
    return None


class _Counter:
    """Passes reports on and counts them."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.count = 0

    def __call__(self, line: int, field: str, problem: str) -> None:
        self.count += 1
        self.report(line, field, problem)


def _line_of(node: Node, field: str) -> int:
    """Find the line of a field such as robots[1].start below a node."""
    for part in re.findall(r'[^.\[\]]+', field):
        if isinstance(node.value, dict) and part in node.value:
            node = node.value[part]
        elif isinstance(node.value, list) and part.isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
        else:
            break
    return node.line


def _show(node: Node) -> str:
    if isinstance(node.value, dict):
        return 'a mapping'
    return 'a list' if isinstance(node.value, list) else quote(node.value)
