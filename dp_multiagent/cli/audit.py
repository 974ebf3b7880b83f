"""`dp_multiagent audit [MECHANISM...]`: attack the mechanisms and bound what they really lose."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dp_multiagent.cli.answer import Answer, table
from dp_multiagent.cli.map_picture import new_figure, save
from dp_multiagent.privacy.audit import ALPHA, Finding, audit
from dp_multiagent.privacy.audit_runs import Source
from dp_multiagent.privacy.audit_suite import SUITE, robot_mechanism, targets
from dp_multiagent.privacy.exact_audit import exact_loss
from dp_multiagent.privacy.noise import system_sampler

DRAWS = 1_000_000
QUIET_SECONDS = 2.0
SECONDS_BETWEEN = 0.5
EXACT_LENGTH = 3
EXACT_TOLERANCE = 1e-9


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command and its options."""
    about = 'attack the mechanisms and bound from below what they really lose'
    parser = commands.add_parser('audit', help=about, description=about, parents=[shared])
    parser.set_defaults(run=_run)
    parser.add_argument(
        'mechanism', nargs='*', help=f'what to attack (default: all): {", ".join(SUITE)}'
    )
    parser.add_argument(
        '--draws',
        type=int,
        default=DRAWS,
        metavar='N',
        help='on each input (default: %(default)s)',
    )
    parser.add_argument('--plot', type=Path, metavar='PNG', help='draw claimed against audited')


class Bar:
    """A bar on stderr for work of more than two seconds, one line that is written again."""

    def __init__(
        self, draws: int, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._clock = stream, clock
        self._all, self._done, self._name = max(draws, 1), 0, ''
        self._next = clock() + QUIET_SECONDS
        self._shown = False

    def pair(self, name: str) -> None:
        """Note that the next pair of a mechanism is attacked."""
        self._name = name
        self._show()

    def drawn(self, draws: int) -> None:
        """Note so many draws."""
        self._done += draws
        self._show()

    def _show(self) -> None:
        if self._clock() < self._next:
            return
        share = min(self._done / self._all, 1.0)
        filled = '#' * int(20 * share)
        self._stream.write(
            f'\r[{filled:.<20}] {share:4.0%}  {self._done:,} draws  {self._name:<22}'
        )
        self._stream.flush()
        self._shown = True
        self._next = self._clock() + SECONDS_BETWEEN

    def close(self) -> None:
        """End the line if there is one."""
        if self._shown:
            self._stream.write('\n')


def _run(arguments: argparse.Namespace) -> Answer:
    begin = time.monotonic()
    bars: list[Bar] = []
    source = Source(system_sampler(), np.random.default_rng(), lambda n: bars[0].drawn(n))
    chosen = targets(source, arguments.mechanism)
    draws = arguments.draws * sum(target.work for target in chosen)
    bars.append(Bar(draws, sys.stderr))
    try:
        findings = audit(chosen, draws=arguments.draws, report=bars[0].pair)
    finally:
        bars[0].close()
    exact = _exact() if any(target.name == 'trajectory' for target in chosen) else []
    violated = [finding.name for finding in findings if finding.violated]
    violated += [f'exact, k = {row["adjacency"]}' for row in exact if row['violated']]
    data = {
        'alpha': ALPHA,
        'draws': arguments.draws,
        'seconds': time.monotonic() - begin,
        'mechanisms': [_as_data(finding) for finding in findings],
        'exact': exact,
        'violated': violated,
    }
    if arguments.plot:
        draw(findings, arguments.plot)
        data['plot'] = str(arguments.plot)
    return Answer(_as_text(data), data, status=1 if violated else 0)


def _exact() -> list[dict[str, Any]]:
    """Audit the trajectory mechanism by enumeration, for one to three differing states."""
    rows = []
    for adjacency in range(1, EXACT_LENGTH + 1):
        mechanism = robot_mechanism(adjacency=adjacency)
        loss = exact_loss(
            mechanism.mu,
            initial=mechanism.mdp.initial,
            length=EXACT_LENGTH,
            adjacency=adjacency,
        )
        claimed = float(mechanism.epsilon)
        rows.append(
            {
                'adjacency': adjacency,
                'length': EXACT_LENGTH,
                'pairs': loss.pairs,
                'claimed_epsilon': claimed,
                'worst_log_ratio': loss.worst,
                'violated': loss.worst > claimed + EXACT_TOLERANCE,
            }
        )
    return rows


def _as_data(finding: Finding) -> dict[str, Any]:
    claim, worst = finding.claim, finding.worst
    return {
        'name': finding.name,
        'noise': finding.noise,
        'protects': str(finding.release.unit),
        'releases': finding.release.count,
        'pairs': len(finding.bounds),
        'delta': claim.delta,
        'claimed_epsilon': claim.epsilon,
        'audited_epsilon': worst.epsilon,
        'claimed_mu': claim.mu,
        'audited_mu': worst.mu,
        'worst_pair': worst.pair,
        'attack': worst.attack,
        'violated': finding.violated,
    }


def _as_text(data: dict[str, Any]) -> str:
    rows = [
        (
            row['name'],
            row['noise'],
            row['pairs'],
            row['claimed_epsilon'],
            row['audited_epsilon'],
            row['delta'],
            *(
                '' if row[key] is None else f'{row[key]:.4f}'
                for key in ('claimed_mu', 'audited_mu')
            ),
            'VIOLATED' if row['violated'] else 'ok',
        )
        for row in data['mechanisms']
    ]
    header = ('mechanism', 'noise', 'pairs', 'claimed', 'audited', 'delta', 'mu', 'audited', '')
    parts = [table(header, rows)]
    if data['exact']:
        cells = [
            (
                row['adjacency'],
                row['pairs'],
                row['claimed_epsilon'],
                f'{row["worst_log_ratio"]:.12f}',
            )
            for row in data['exact']
        ]
        parts.append(
            f'trajectory, exactly, on all words of {EXACT_LENGTH} states\n'
            + table(('k', 'pairs', 'claimed', 'worst log-ratio'), cells)
        )
    parts.append(_verdict(data))
    return '\n\n'.join(parts)


def _verdict(data: dict[str, Any]) -> str:
    said = (
        f'above its claim: {", ".join(data["violated"])}'
        if data['violated']
        else 'no bound is above its claim'
    )
    return f'{data["draws"]:,} draws a side, family-wise error {data["alpha"]:g}: {said}'


def draw(findings: Sequence[Finding], out: Path) -> None:
    """Draw the audited epsilon of every pair over the claimed one, the line where they meet."""
    figure, (axes,) = new_figure((7.0, 5.0), 1)
    for finding in findings:
        audited = [bound.epsilon for bound in finding.bounds]
        axes.plot(
            [finding.claim.epsilon] * len(audited), audited, 'o', alpha=0.6, label=finding.name
        )
    highest = 1.1 * max(finding.claim.epsilon for finding in findings)
    axes.plot([0, highest], [0, highest], '-', color='black', linewidth=1, label='claim')
    axes.set(xlabel='claimed epsilon', ylabel='audited epsilon, lower bound for each pair')
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False)
    save(figure, out)
