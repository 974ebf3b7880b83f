"""Describe the dataclasses of a scenario file as JSON Schema (draft 2020-12)."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal

from dp_multiagent.models.scenarios.fields import Length, Range, is_required, strip

Schema = dict[str, Any]

_JSON_TYPES = {bool: 'boolean', int: 'integer', float: 'number', str: 'string'}


def schema(kind: Any) -> Schema:
    """Describe a type as JSON Schema."""
    plain, notes = strip(kind)
    result = _plain_schema(plain)
    for note in notes:
        if isinstance(note, str):
            result['description'] = note
        elif isinstance(note, Range):
            result |= {'minimum': note.least, 'maximum': note.most}
        elif isinstance(note, Length):
            noun = 'Length' if result['type'] == 'string' else 'Items'
            result |= {f'min{noun}': note.least, f'max{noun}': note.most}
        else:
            result['pattern'] = f'^(?:{note.regex})$'
    return result


def _plain_schema(kind: Any) -> Schema:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = dataclasses.fields(kind)
        return {
            'type': 'object',
            'properties': {f.name: schema(hints[f.name]) for f in fields},
            'required': [f.name for f in fields if is_required(f)],
            'additionalProperties': False,
        }
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {'type': 'array', 'items': schema(arguments[0])}
        n = len(arguments)
        return {
            'type': 'array',
            'prefixItems': [schema(item) for item in arguments],
            'minItems': n,
            'maxItems': n,
        }
    if origin is Literal:
        return {'enum': list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {'anyOf': [schema(arguments[0]), {'type': 'null'}]}
    if origin is not None:
        keys = schema(arguments[0])
        values = schema(arguments[1])
        return {'type': 'object', 'propertyNames': keys, 'additionalProperties': values}
    return {'type': _JSON_TYPES[kind]}
