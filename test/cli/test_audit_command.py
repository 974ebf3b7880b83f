"""`dp_multiagent audit`: what it prints, draws and returns."""

import io
import json

import numpy as np
import pytest

from dp_multiagent.cli.audit import Bar
from dp_multiagent.cli.main import main
from dp_multiagent.privacy import audit_suite


def run(capsys, *arguments):
    status = main(['audit', *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def weak_laplace(source):
    """Return the Laplace mechanism with a tenth of its noise."""

    class Weak:
        def laplace(self, *, scale, size):
            return np.rint(source.rng.laplace(scale=scale / 10, size=size)).astype(np.int64)

    return audit_suite.laplace(audit_suite.Source(Weak(), source.rng))


def test_claim_and_bound_of_each_mechanism_are_printed(capsys):
    status, out, _ = run(capsys, 'laplace', 'gaussian', '--draws', 5000, '--json')
    report = json.loads(out)
    assert (status, report['violated'], report['draws']) == (0, [], 5000)
    laplace, gaussian = report['mechanisms']
    assert (laplace['name'], laplace['pairs'], laplace['claimed_mu']) == ('laplace', 28, None)
    assert 0 < laplace['audited_epsilon'] < laplace['claimed_epsilon'] == 0.5
    assert 0 < gaussian['audited_mu'] < gaussian['claimed_mu']
    assert report['exact'] == []


def test_trajectory_is_audited_exactly_as_well(capsys):
    _, out, _ = run(capsys, 'trajectory', '--draws', 1000, '--json')
    for row in json.loads(out)['exact']:
        assert row['worst_log_ratio'] == pytest.approx(row['claimed_epsilon'], abs=1e-9)


def test_a_table_says_that_no_bound_is_above_its_claim(capsys):
    status, out, _ = run(capsys, 'trajectory-simulated', '--draws', 2000)
    assert status == 0
    assert out.splitlines()[1].split()[:1] == ['trajectory-simulated']
    assert out.endswith('family-wise error 1e-06: no bound is above its claim\n')


def test_a_broken_claim_is_named_and_gives_status_1(capsys, monkeypatch):
    monkeypatch.setitem(audit_suite.SUITE, 'laplace', weak_laplace)
    status, out, _ = run(capsys, 'laplace', '--draws', 2000)
    assert status == 1
    assert 'VIOLATED' in out
    assert out.endswith('above its claim: laplace\n')


def test_claims_and_bounds_are_drawn(capsys, tmp_path):
    picture = tmp_path / 'audit.png'
    run(capsys, 'laplace', '--draws', 1000, '--plot', picture)
    assert picture.read_bytes()[1:4] == b'PNG'


@pytest.mark.parametrize(
    ('arguments', 'line'),
    [
        (['laplase'], "there is no audit of 'laplase', only of trajectory"),
        (['laplace', '--draws', '999'], 'an audit needs at least 1000 draws, not 999'),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, line):
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count('\n')) == (2, '', 1)
    assert err.startswith(line)


def test_the_bar_is_quiet_at_first_and_then_moves():
    now, stream = [0.0], io.StringIO()
    bar = Bar(4000, stream, clock=lambda: now[0])
    bar.pair('laplace')
    bar.drawn(1000)
    assert stream.getvalue() == ''
    now[0] = 2.5
    bar.pair('gaussian')
    bar.drawn(500)
    now[0] = 3.5
    bar.drawn(500)
    bar.close()
    first, second = stream.getvalue().strip('\r\n').split('\r')
    assert first.split() == ['[#####...............]', '25%', '1,000', 'draws', 'gaussian']
    assert second.split() == ['[##########..........]', '50%', '2,000', 'draws', 'gaussian']
