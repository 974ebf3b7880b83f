"""The command `dp_multiagent`: a table for people, one JSON object with --json.

Exit status 0 on success, 1 if an audit or the doctor finds something wrong, 2 and one line per
fault on bad input, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import dp_multiagent
from dp_multiagent.cli import (
    audit,
    bag,
    doctor,
    evaluate,
    explain,
    ledger,
    plan,
    reproduce,
    run,
    scenario,
)
from dp_multiagent.errors import DpMultiagentError

COMMANDS = (scenario, run, plan, evaluate, reproduce, explain, ledger, bag, audit, doctor)


class _Parser(argparse.ArgumentParser):
    """A parser that states a fault in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f'{self.prog}: {message} (see {self.prog} --help)\n')


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        answer = arguments.run(arguments)
        print(json.dumps(answer.data) if arguments.json else answer.text, flush=True)
    except DpMultiagentError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (head, less) has seen enough: do not complain while closing stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return int(answer.status)


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        '--json', action='store_true', default=argparse.SUPPRESS, help='print one JSON object'
    )
    parser = _Parser(prog='dp_multiagent', description=dp_multiagent.__doc__)
    parser.add_argument('--json', action='store_true', help=argparse.SUPPRESS)
    parser.add_argument('--version', action='version', version=dp_multiagent.__version__)
    commands = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    for command in COMMANDS:
        command.add_parser(commands, shared)
    return parser
