"""What a check has found: whether all is well, and what to do if not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class Result(Enum):
    """How a check went; only FAILED makes the doctor's exit status 1."""

    FINE = 'ok'
    NOTE = 'note'
    FAILED = 'FAILED'
    SKIPPED = 'not checked'


@dataclass(frozen=True)
class Finding:
    """The result of one check, in a line; `remedy` says what to do about it."""

    check: str
    result: Result
    found: str
    remedy: str = ''


Check = Callable[[], Finding]


def fine(check: str, found: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Result.FINE, found)


def note(check: str, found: str, remedy: str = '') -> Finding:
    """Return something to know, which is no failure."""
    return Finding(check, Result.NOTE, found, remedy)


def failed(check: str, found: str, remedy: str) -> Finding:
    """Return that something is wrong, and what to do."""
    return Finding(check, Result.FAILED, found, remedy)


def skipped(check: str, why: str, remedy: str = '') -> Finding:
    """Return that nothing was looked at, and why."""
    return Finding(check, Result.SKIPPED, why, remedy)


def run(name: str, check: Check) -> Finding:
    """Run a check; one that breaks is a finding too."""
    try:
        return check()
    except Exception as error:
        what = ' '.join(str(error).split()) or type(error).__name__
        return failed(name, f'the check broke: {what}', 'report this')
