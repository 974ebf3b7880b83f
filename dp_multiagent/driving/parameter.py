"""What is to be known of a parameter: its default, what it means, and which values it can have.

A class of settings is a frozen dataclass whose fields are made by `parameter`. Its text and range
are said once: they refuse a bad value here, and `ros2 param describe` shows them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from dp_multiagent.errors import ModelError

ABOUT = 'about'

Value = str | float


@dataclass(frozen=True)
class About:
    """What a parameter means; a number lies between `least` and `most`, both allowed."""

    default: Value
    description: str
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def constraint(self) -> str:
        """Say which values are allowed, '' if any are.

        >>> About('odom', 'where from', choices=('odom', 'tf')).constraint
        'odom or tf'
        >>> About(1.0, 'metres', 0.1, 10.0).constraint
        'from 0.1 to 10'
        """
        if self.choices:
            return ' or '.join(self.choices)
        is_bounded = math.isfinite(self.least) and math.isfinite(self.most)
        return f'from {self.least:g} to {self.most:g}' if is_bounded else ''

    def read(self, name: str, value: object) -> Value:
        """Return a value as its type, a whole number too where one with a fraction is meant."""
        kind = type(self.default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, str) if kind is str else is_number:
            read: Value = kind(value)  # type: ignore[arg-type]
            if self._allows(read):
                return read
        meant = self.constraint or ('a text' if kind is str else 'a number')
        raise ModelError(f'{name}: {value!r} is not {meant}')

    def _allows(self, value: Value) -> bool:
        if isinstance(value, str):
            return not self.choices or value in self.choices
        return math.isfinite(value) and self.least <= value <= self.most


def parameter(
    default: Value,
    description: str,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    choices: tuple[str, ...] = (),
) -> Any:
    """Make a field of a class of settings."""
    about = About(default, description, least, most, choices)
    return field(default=default, metadata={ABOUT: about})


def described(settings: Any) -> Iterator[tuple[str, About]]:
    """Go through the parameters of a class of settings, or of its instance."""
    for each in fields(settings):
        yield each.name, each.metadata[ABOUT]


def refuse_bad_values(settings: Any) -> None:
    """Refuse the first value that is not of its type or range, by name."""
    for name, about in described(settings):
        about.read(name, getattr(settings, name))
