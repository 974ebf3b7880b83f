"""The tables of docs/audit.md against what the code claims and finds out now."""

from pathlib import Path

import faulty
import numpy as np
import pytest

from dp_multiagent.privacy.audit import Claim
from dp_multiagent.privacy.audit_suite import SUITE, robot_mechanism, targets
from dp_multiagent.privacy.exact_audit import exact_loss

PAGE = Path(__file__).parents[2] / 'docs' / 'audit.md'


def rows(first_columns):
    """Return the cells of the table whose header starts with these columns."""
    lines = PAGE.read_text(encoding='utf-8').splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f'| {first_columns} |'))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith('|'):
            break
        found.append([cell.strip() for cell in line.strip('|').split('|')])
    return found


def test_the_run_on_the_page_has_every_mechanism_with_its_claim():
    table = {row[0]: row for row in rows('mechanism | noise')}
    assert list(table) == list(SUITE)
    for target in targets(faulty.honest_source(np.random.default_rng(0))):
        claim = Claim.of(target.release)
        _, _, pairs, delta, epsilon, audited, mu, audited_mu = table[target.name]
        assert (int(pairs), float(delta)) == (len(target.pairs), pytest.approx(claim.delta))
        assert float(epsilon) == claim.epsilon > float(audited) > 0
        if claim.mu is None:
            assert (mu, audited_mu) == ('', '')
        else:
            assert float(mu) == pytest.approx(claim.mu, abs=5e-5)
            assert float(mu) > float(audited_mu) > 0.95 * float(mu)
    assert f'{sum(int(row[2]) for row in table.values())} pairs' in PAGE.read_text('utf-8')


def test_the_exact_losses_on_the_page_are_those_of_the_mechanism():
    for k, pairs, epsilon, worst in rows('k | pairs'):
        mechanism = robot_mechanism(epsilon=float(epsilon), adjacency=int(k))
        found = exact_loss(mechanism.mu, initial=4, length=3, adjacency=int(k))
        assert (found.pairs, f'{found.worst:.9f}') == (int(pairs), worst)


def test_the_losses_of_the_printed_theorem_on_the_page_are_enumerated():
    mdp = robot_mechanism().mdp
    for k, epsilon, worst in rows('k | claimed epsilon'):
        mu = faulty.printed_theorem_1(mdp, float(epsilon), int(k))
        found = exact_loss(mu, initial=mdp.initial, length=3, adjacency=int(k))
        assert f'{found.worst:.6f}' == worst


def test_the_page_lists_every_planted_fault():
    listed = [row[0].strip('`') for row in rows('fault')]
    assert listed == [fault.__name__ for fault in faulty.FAULTS]
    assert f'has {len(listed)} mechanisms' in PAGE.read_text('utf-8')
    assert all(float(claimed) < float(audited) for _, _, claimed, audited, _ in rows('fault'))
