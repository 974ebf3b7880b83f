"""What a ledger records, and the books that follow from it: budget and spent for each unit.

Losses add up (basic composition): after releases of (epsilon_i, delta_i) a unit has spent
(sum epsilon_i, sum delta_i), exactly, in rationals. The books refuse what would pass a budget,
a budget that falls, and a second bound for the same neighbours: a release for one bound costs
privacy at every other bound too, so two budgets would each miss what the other counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dp_multiagent.errors import BudgetExceededError, LedgerError, ModelError
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Release, Unit

NOTHING = PrivacyLoss(epsilon=0, delta=0)


@dataclass(frozen=True)
class Budget:
    """Entry: from now on releases of a unit may cost this much in all."""

    unit: Unit
    loss: PrivacyLoss


@dataclass(frozen=True)
class WordName:
    """Which private word was paid for: the plan and the number of the episode."""

    plan_id: bytes
    episode: int


@dataclass(frozen=True)
class Charge:
    """Entry: a release is paid for; `word` names the episode if it was for one."""

    release: Release
    word: WordName | None = None


Record = Budget | Charge


@dataclass(frozen=True)
class Account:
    """Budget, spent and remaining privacy of one unit, and how many releases were paid for."""

    unit: Unit
    budget: PrivacyLoss
    spent: PrivacyLoss = NOTHING
    releases: int = 0

    @property
    def remaining(self) -> PrivacyLoss:
        """Return what may still be spent."""
        return PrivacyLoss(
            epsilon=self.budget.epsilon - self.spent.epsilon,
            delta=self.budget.delta - self.spent.delta,
        )


@dataclass(frozen=True)
class Books:
    """The account of each unit; recording gives new books and leaves these as they are."""

    accounts: Mapping[Unit, Account] = field(default_factory=dict)

    def after(self, record: Record) -> Books:
        """Return the books with one record more, or refuse it."""
        if isinstance(record, Budget):
            account = self._with_budget(record)
        else:
            account = self._with_charge(record.release)
        return Books({**self.accounts, account.unit: account})

    def _with_budget(self, record: Budget) -> Account:
        account = self.accounts.get(record.unit)
        if account is None:
            for unit in self.accounts:
                if unit.neighbours is record.unit.neighbours:
                    raise LedgerError(f'there is a budget for {unit}, so none for {record.unit}')
            return Account(record.unit, record.loss)
        old, new = account.budget, record.loss
        if new.epsilon < old.epsilon or new.delta < old.delta:
            raise LedgerError(f'a budget can only be raised: {_stated(old)}, then {_stated(new)}')
        return replace(account, budget=new)

    def _with_charge(self, release: Release) -> Account:
        account = self.accounts.get(release.unit)
        if account is None:
            raise LedgerError(f'there is no budget for {release.unit}')
        epsilon = release.count * release.loss.epsilon
        delta = release.count * release.loss.delta
        left = account.remaining
        if epsilon > left.epsilon or delta > left.delta:
            raise BudgetExceededError(
                f'budget exceeded for {release.unit}: '
                f'requested epsilon {plain(epsilon)}, delta {plain(delta)}; '
                f'spent {_stated(account.spent)}; remaining {_stated(left)}'
            )
        spent = PrivacyLoss(
            epsilon=account.spent.epsilon + epsilon, delta=account.spent.delta + delta
        )
        return replace(account, spent=spent, releases=account.releases + release.count)


def to_json(record: Record) -> str:
    """Write a record as canonical JSON."""
    if isinstance(record, Budget):
        document: dict[str, Any] = {
            'kind': 'budget',
            'unit': {'neighbours': record.unit.neighbours.name, 'bound': str(record.unit.bound)},
            'epsilon': str(record.loss.epsilon),
            'delta': str(record.loss.delta),
        }
    else:
        document = {'kind': 'charge', 'release': json.loads(record.release.to_json())}
        if record.word is not None:
            document |= {'plan': record.word.plan_id.hex(), 'episode': record.word.episode}
    return _canonical(document)


def from_json(text: str) -> Record:
    """Read a record; anything but what `to_json` wrote is refused."""
    try:
        record = _record(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ModelError) as error:
        raise LedgerError(f'not a record: {error}') from error
    if to_json(record) != text:
        raise LedgerError('not a record: the text is not what to_json writes')
    return record


def plain(number: Fraction) -> str:
    """Write a rational as a decimal: in full if it has at most 15 digits, else rounded."""
    text = f'{float(number):.15g}'
    return text if Fraction(text) == number else f'about {float(number):.6g}'


def _record(document: dict[str, Any]) -> Record:
    if document['kind'] == 'budget':
        unit = document['unit']
        return Budget(
            Unit(neighbours=Neighbours[unit['neighbours']], bound=unit['bound']),
            PrivacyLoss(epsilon=document['epsilon'], delta=document['delta']),
        )
    release = Release.from_json(_canonical(document['release']))
    if 'plan' not in document:
        return Charge(release)
    return Charge(release, WordName(bytes.fromhex(document['plan']), document['episode']))


def _canonical(document: object) -> str:
    return json.dumps(document, sort_keys=True, separators=(',', ':'))


def _stated(loss: PrivacyLoss) -> str:
    return f'epsilon {plain(loss.epsilon)}, delta {plain(loss.delta)}'
