import csv
import json
from dataclasses import dataclass, replace

import pytest

import dp_multiagent
from dp_multiagent.cli import reproduce
from dp_multiagent.cli.main import main
from dp_multiagent.planning.studies import sweeps
from dp_multiagent.planning.studies.contest import BASELINE_INTERIOR, PRIVATE, Measured
from dp_multiagent.planning.studies.point import Point

pytest.importorskip('matplotlib', reason='the plots of `reproduce` need matplotlib')


def run(capsys, *arguments):
    status = main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@dataclass(frozen=True)
class Row:
    value: float


class Counting:
    """A study of two points that counts how often each is computed, and may be interrupted."""

    def __init__(self):
        self.computed, self.interrupted = [], False

    def points(self, quick):
        return iter([Point(name, self._computing(name)) for name in ('first', 'second')])

    def _computing(self, name):
        def compute(_):
            if self.interrupted and name == 'second':
                raise KeyboardInterrupt
            self.computed.append(name)
            return [Row(float(len(name)))]

        return compute


@pytest.fixture
def counting(monkeypatch):
    study = Counting()
    figure = replace(
        reproduce.FIGURES['fig1'],
        points=study.points,
        row=Row,
        tables=lambda rows: (('value',), [(row.value,) for row in rows]),
    )
    monkeypatch.setitem(reproduce.FIGURES, 'fig1', replace(figure, plot=lambda _: Blank()))
    return study


class Blank:
    def savefig(self, out, **_):
        out.write_bytes(b'')


@pytest.mark.parametrize('figure', ['fig1', 'fig2', 'crossing'])
def test_a_figure_comes_as_table_csv_markdown_and_picture(capsys, tmp_path, figure):
    pytest.importorskip('cvxpy', reason='the interior baseline needs cvxpy')
    status, out, err = run(
        capsys, 'reproduce', figure, '--quick', '--out', tmp_path / 'new', '--json'
    )
    answer = json.loads(out)
    assert status == 0
    assert f'{figure}-quick: ' in err
    with (tmp_path / 'new' / f'{figure}-quick.csv').open() as file:
        written = list(csv.DictReader(file))
    assert [float(row['success_private']) for row in written] == [
        row['success_private'] for row in answer['rows']
    ]
    markdown = (tmp_path / 'new' / f'{figure}-quick.md').read_text().splitlines()
    assert len({line.count('|') for line in markdown}) == 1
    assert (tmp_path / 'new' / f'{figure}-quick.png').read_bytes()[1:4] == b'PNG'


def test_an_interrupted_study_goes_on_where_it_stood(capsys, tmp_path, counting):
    counting.interrupted = True
    status, _, _ = run(capsys, 'reproduce', 'fig1', '--out', tmp_path)
    assert (status, counting.computed) == (130, ['first'])
    counting.interrupted = False
    status, out, err = run(capsys, 'reproduce', 'fig1', '--out', tmp_path, '--json')
    assert (status, counting.computed) == (0, ['first', 'second'])
    assert [row['value'] for row in json.loads(out)['rows']] == [5.0, 6.0]
    assert 'first (1 of 2): kept in' in err


def test_what_another_version_computed_is_not_used(capsys, tmp_path, counting, monkeypatch):
    run(capsys, 'reproduce', 'fig1', '--out', tmp_path)
    monkeypatch.setattr(dp_multiagent, '__version__', '99.0.0')
    run(capsys, 'reproduce', 'fig1', '--out', tmp_path)
    assert counting.computed == ['first', 'second'] * 2


@pytest.mark.parametrize('text', ['{', '[]', f'{{"version": "{dp_multiagent.__version__}"}}'])
def test_a_damaged_file_is_named_in_one_line(capsys, tmp_path, counting, text):
    (tmp_path / 'fig1.json').write_text(text)
    status, out, err = run(capsys, 'reproduce', 'fig1', '--out', tmp_path)
    assert (status, out, err.count('\n')) == (2, '', 1)
    assert 'is not what `reproduce` writes' in err


def test_a_directory_that_cannot_be_made_is_named_in_one_line(capsys, tmp_path, counting):
    (tmp_path / 'file').write_text('')
    out = tmp_path / 'file' / 'deeper'
    status, _, err = run(capsys, 'reproduce', 'fig1', '--out', out)
    assert (status, err) == (2, f'{out}: cannot be written: Not a directory\n')


def test_an_unknown_figure_is_refused_in_one_line(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['reproduce', 'fig4'])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_fig3_sets_the_published_rollouts_beside_the_baseline():
    rows = [
        Measured('navigation', epsilon, method, 0.98, private, 12.0, 'start')
        for epsilon in sweeps.EPSILONS[:2]
        for method, private in ((BASELINE_INTERIOR, 0.1), (PRIVATE, 0.97))
    ]
    header, lines = reproduce.FIGURES['fig3'].tables(rows)
    assert list(header[3:]) == ['0.01', '1.009']
    assert [line[1].strip() for line in lines] == [
        BASELINE_INTERIOR,
        'as published',
        'z of 1,000 rollouts',
        PRIVATE,
    ]
    assert list(lines[1][3:]) == [0.082, 0.087]
    assert lines[2][3] == '-1.9'  # (0.082 - 0.1) / sqrt(0.1 * 0.9 / 1000)
