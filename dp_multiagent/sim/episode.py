"""What the operator tells the simulator about an episode, and what it answers; both as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models.gridmap import Cell

LARGEST = 2**63 - 1


class Outcome(Enum):
    """How an episode ended."""

    SUCCESS = 'success'
    COLLISION = 'collision'
    DEATH = 'death'
    TIMEOUT = 'timeout'


@dataclass(frozen=True)
class Episode:
    """Which episode begins at what simulated time; step k is judged at start + k period."""

    episode: int
    start_ns: int
    period_ns: int
    horizon: int

    def __post_init__(self) -> None:
        _refuse_what_is_no_number(**vars(self))
        if self.episode < 0 or self.start_ns < 0 or self.period_ns <= 0 or self.horizon <= 0:
            raise RefusedMessageError('period and horizon must be positive, the rest not negative')

    def step_ns(self, step: int) -> int:
        """Return when a step is judged."""
        return self.start_ns + step * self.period_ns

    def to_json(self) -> str:
        """Return the text that tells an episode.

        >>> told = Episode(episode=3, start_ns=0, period_ns=4_000_000_000, horizon=20)
        >>> Episode.from_json(told.to_json()) == told
        True
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Episode:
        """Read what the operator tells."""
        return cls(**_fields(text, set(cls.__dataclass_fields__)))


@dataclass(frozen=True)
class Verdict:
    """How an episode truly went; `cells` has one tuple per step with the cell of each robot."""

    episode: int
    outcome: Outcome
    step: int
    cause: str
    cells: tuple[tuple[Cell | None, ...], ...]

    def __post_init__(self) -> None:
        _refuse_what_is_no_number(episode=self.episode, step=self.step)
        if type(self.cause) is not str:
            raise RefusedMessageError('cause is not a text')

    def to_json(self) -> str:
        """Return the text that tells a verdict."""
        return json.dumps({**asdict(self), 'outcome': self.outcome.value})

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read what the simulator tells."""
        content = _fields(text, set(cls.__dataclass_fields__))
        try:
            content['outcome'] = Outcome(content['outcome'])
            content['cells'] = tuple(
                tuple(None if cell is None else _cell(*cell) for cell in cells)
                for cells in content['cells']
            )
        except (ValueError, TypeError):
            raise RefusedMessageError(
                'its outcome or its cells are not those of a verdict'
            ) from None
        return cls(**content)


def _fields(text: str, names: set[str]) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedMessageError('it is not JSON') from None
    if not isinstance(content, dict) or set(content) != names:
        raise RefusedMessageError(f'it must have exactly the fields {", ".join(sorted(names))}')
    return content


def _cell(row: object, column: object) -> Cell:
    if type(row) is not int or type(column) is not int:
        raise TypeError
    return row, column


def _refuse_what_is_no_number(**values: object) -> None:
    for name, value in values.items():
        if type(value) is not int or abs(value) > LARGEST:
            raise RefusedMessageError(f'{name} is not a whole number of 64 bits')
