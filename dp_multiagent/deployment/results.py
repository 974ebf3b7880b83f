"""What an operator writes down: the plan's report, then a line of JSON per episode.

The cells in it are true ones, so the file stays with the operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dp_multiagent.errors import DpMultiagentError


@dataclass(frozen=True, kw_only=True)
class EpisodeResult:
    """How an episode went; `outcome` is `unknown` where nobody judges."""

    episode: int
    outcome: str
    step: int | None = None
    cause: str = ''
    cells: Any = ()
    epsilon_spent: Mapping[str, float] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Tell whether all robots reached their targets unharmed."""
        return self.outcome == 'success'


@dataclass(frozen=True)
class Results:
    """A file of results: it is appended to and read again, also by an operator that restarts."""

    path: Path

    def note_plan(self, report: Mapping[str, Any]) -> None:
        """Begin the file with what the planner promises."""
        self._append({'plan': dict(report)})

    def note(self, result: EpisodeResult) -> None:
        """Add an episode."""
        self._append({'result': asdict(result)})

    def plan(self) -> dict[str, Any] | None:
        """Return what the planner promised, None if there is no plan yet."""
        plans = [line['plan'] for line in self._lines() if 'plan' in line]
        return plans[-1] if plans else None

    def episodes(self) -> list[EpisodeResult]:
        """Return the episodes that are over."""
        return [EpisodeResult(**line['result']) for line in self._lines() if 'result' in line]

    def _append(self, content: dict[str, Any]) -> None:
        try:
            with self.path.open('a', encoding='utf-8') as file:
                # It begins a line, whatever an operator that was killed left behind.
                file.write(f'\n{json.dumps(content)}\n')
        except OSError as error:
            raise DpMultiagentError(f'{self.path}: {error.strerror}') from None

    def _lines(self) -> Iterator[dict[str, Any]]:
        text = self.path.read_text(encoding='utf-8') if self.path.exists() else ''
        for line in text.splitlines():
            with suppress(ValueError):  # blank, or cut off
                yield json.loads(line)
