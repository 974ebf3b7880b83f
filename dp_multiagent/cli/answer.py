"""What a command answers: a text for people and the same as data for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """The result of a command; `data` is printed as one JSON object with --json."""

    text: str
    data: dict[str, Any]
    status: int = 0


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out a table in columns, numbers to the right."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[c]) for row in cells) for c in range(len(header))]
    right = [
        all(isinstance(row[c], (int, float)) for row in rows) and bool(rows)
        for c in range(len(header))
    ]
    lines = (
        '  '.join(
            text.rjust(width) if flush else text.ljust(width)
            for text, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )
    return '\n'.join(lines)


def _cell(value: object) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)
