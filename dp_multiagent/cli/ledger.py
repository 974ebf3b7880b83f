"""`dp_multiagent ledger show|verify|export`: look at what a robot has paid."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.errors import LedgerError
from dp_multiagent.privacy import ledger_check
from dp_multiagent.privacy.ledger_books import Account
from dp_multiagent.privacy.ledger_file import Entry
from dp_multiagent.privacy.units import PrivacyLoss

HEADER = (
    *('protected', 'releases'),
    *('epsilon: budget', 'spent', 'remaining'),
    *('delta: budget', 'spent', 'remaining'),
)


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser('ledger', help="show, verify or export a robot's privacy ledger")
    actions = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for name, run, about in (
        ('show', _show, 'show what is spent and what is left of each budget'),
        ('verify', _verify, 'check every entry and name every fault'),
        ('export', _export, 'write the entries as JSON lines'),
    ):
        action = actions.add_parser(name, help=about, description=about, parents=[shared])
        action.set_defaults(run=run)
        action.add_argument('ledger', type=Path, help='the file of the ledger')


def _show(arguments: argparse.Namespace) -> Answer:
    accounts = ledger_check.read(arguments.ledger).books.accounts.values()
    data = {'ledger': str(arguments.ledger), 'accounts': [_account(a) for a in accounts]}
    return Answer(table(HEADER, [_row(a) for a in accounts]), data)


def _verify(arguments: argparse.Namespace) -> Answer:
    faults = ledger_check.verify(arguments.ledger)
    if faults:
        raise LedgerError('\n'.join(faults))
    entries = len(ledger_check.read(arguments.ledger).entries)
    text = f'{arguments.ledger}: {entries} entries, no fault'
    return Answer(text, {'ledger': str(arguments.ledger), 'entries': entries, 'faults': []})


def _export(arguments: argparse.Namespace) -> Answer:
    entries = [_entry(entry) for entry in ledger_check.read(arguments.ledger).entries]
    return Answer('\n'.join(map(json.dumps, entries)), {'entries': entries})


def _row(account: Account) -> tuple[object, ...]:
    losses = (account.budget, account.spent, account.remaining)
    epsilon = (float(loss.epsilon) for loss in losses)
    delta = (float(loss.delta) for loss in losses)
    return (account.unit, account.releases, *epsilon, *delta)


def _account(account: Account) -> dict[str, Any]:
    return {
        'protected': str(account.unit),
        'neighbours': account.unit.neighbours.name,
        'bound': str(account.unit.bound),
        'releases': account.releases,
        'budget': exactly(account.budget),
        'spent': exactly(account.spent),
        'remaining': exactly(account.remaining),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {**asdict(entry), 'record': json.loads(entry.record)}


def exactly(loss: PrivacyLoss) -> dict[str, str]:
    """Return a loss as the texts of its rationals."""
    return {'epsilon': str(loss.epsilon), 'delta': str(loss.delta)}
