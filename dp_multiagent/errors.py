"""The few exceptions that users meet."""

from __future__ import annotations

from typing import NamedTuple


class DpMultiagentError(Exception):
    """Any error of this package; its text is fit to be shown to a user as it is."""


class ModelError(DpMultiagentError, ValueError):
    """A model (MDP, game, map, plan) was given values that do not make sense."""


class RefusedMessageError(DpMultiagentError, ValueError):
    """A message from another process was refused; nothing of it was used."""


class MissingPackageError(DpMultiagentError, ImportError):
    """A feature needs a package that is not installed; the text says which."""


class Fault(NamedTuple):
    """One thing that is wrong in a file."""

    file: str
    line: int
    field: str
    problem: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: {self.field}: {self.problem}'


class ScenarioError(DpMultiagentError, ValueError):
    """A scenario file has faults; the text lists every one as `file:line: field: problem`."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__('\n'.join(map(str, faults)))
        self.faults = faults


class BudgetExceededError(DpMultiagentError):
    """A release would cost more than its budget has left; nothing was charged."""


class LedgerError(DpMultiagentError):
    """A ledger cannot be relied on or written to; nothing may be released."""
