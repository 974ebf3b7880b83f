"""The tables of docs/noise.md, computed again from the code."""

import math
from pathlib import Path

import pytest

from dp_multiagent.privacy.accountant import BasicAccountant, ZcdpAccountant
from dp_multiagent.privacy.gaussian import GaussianMechanism, noise_multiplier
from dp_multiagent.privacy.numerical_accountant import PldAccountant, RdpAccountant
from dp_multiagent.privacy.randomised_response import RandomisedResponse
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Unit

PAGE = Path(__file__).parents[2] / 'docs' / 'noise.md'
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (0.1, 0.01, 1e-5)
RELEASES = (1, 10, 25, 100)
UNIT = Unit(neighbours=Neighbours.MESSAGE_INPUTS, bound=1)


def table(header, rows):
    """Write a table as the page has it."""
    lines = [header, ['---'] * len(header), *rows]
    return '\n'.join('| ' + ' | '.join(map(str, cells)) + ' |' for cells in lines)


def classical(epsilon, delta):
    """Return sigma / sensitivity of the textbook, which is proved for epsilon < 1 only."""
    return f'{math.sqrt(2 * math.log(1.25 / delta)) / epsilon:.3f}' if epsilon < 1 else 'no proof'


def calibrations():
    rows = []
    for delta in DELTAS:
        for epsilon in EPSILONS:
            analytic = noise_multiplier(epsilon, delta, 'analytic')
            paper = noise_multiplier(epsilon, delta, 'paper')
            saved = f'{100 * (1 - analytic / paper):.0f} %'
            numbers = [f'{analytic:.3f}', f'{paper:.3f}', saved, classical(epsilon, delta)]
            rows.append([f'{epsilon:g}', f'{delta:g}', *numbers])
    header = ['epsilon', 'delta', '`analytic`', '`paper`', 'less noise', 'textbook']
    return table(header, rows)


def compositions():
    loss = PrivacyLoss(epsilon=0.5, delta='1e-8')
    gaussian = GaussianMechanism(unit=UNIT, loss=loss, sensitivity=2, entries=8)
    accountants = (BasicAccountant(), ZcdpAccountant(), RdpAccountant(), PldAccountant())
    rows = [
        [
            count,
            *(
                f'{float(accountant.cost([gaussian.planned(count)], delta="1e-5").epsilon):.2f}'
                for accountant in accountants
            ),
        ]
        for count in RELEASES
    ]
    return table(['releases', 'basic', 'zCDP', 'RDP', 'PLD'], rows)


def responses():
    rows = []
    for symbols in (2, 3, 10):
        for epsilon in (0.1, 1.0, 3.0):
            loss = PrivacyLoss(epsilon=epsilon, delta=0)
            told = RandomisedResponse(unit=UNIT, loss=loss, symbols=symbols)
            rows.append([symbols, f'{epsilon:g}', f'{told.truth:.3f}', f'{told.other:.3f}'])
    return table(['symbols', 'epsilon', 'truth', 'each other'], rows)


@pytest.mark.parametrize('computed', [calibrations, compositions, responses])
def test_the_page_has_the_table_that_the_code_gives(computed):
    if computed is compositions:
        pytest.importorskip('dp_accounting', reason='dp-accounting is not installed')
    assert computed() in PAGE.read_text(encoding='utf-8')


@pytest.mark.parametrize(('epsilon', 'saved'), [(1.0, 0.32), (0.1, 0.78)])
def test_analytic_calibration_saves_the_noise_that_the_page_says(epsilon, saved):
    analytic = noise_multiplier(epsilon, 0.1, 'analytic')
    assert 1 - analytic / noise_multiplier(epsilon, 0.1, 'paper') == pytest.approx(
        saved, abs=0.005
    )
