import json

import pytest

from dp_multiagent.cli.main import main
from dp_multiagent.cli.plan import parse_graph
from dp_multiagent.cli.progress import Progress
from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.planning.request import SynthesisProgress

PROMISED = {
    'success_truthful', 'success_private', 'total_correlation', 'objective', 'expected_length',
    'bound', 'iterations', 'gap', 'seconds',
}  # fmt: skip


def run(capsys, *arguments):
    status = main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    'method', ['baseline', 'minimum-dependency', 'no-communication', 'private-success']
)
def test_plan_prints_what_is_promised(capsys, method):
    status, out, _ = run(
        capsys, 'plan', 'crossing', '--method', method, '--iterations', 3, '--json'
    )
    result = json.loads(out)
    assert status == 0
    assert result.keys() >= PROMISED
    assert 0 <= result['bound'] <= result['success_private'] <= 1
    assert result['graph'] == ('none' if method == 'no-communication' else '2>1')


def test_plan_is_written_and_evaluated_at_any_epsilon(capsys, tmp_path):
    plan = tmp_path / 'navigation.plan'
    _, out, _ = run(capsys, 'plan', 'navigation', '--method', 'baseline', '--out', plan, '--json')
    planned = json.loads(out)
    _, out, _ = run(capsys, 'evaluate', plan, '--json')
    same = json.loads(out)
    for key in ('success_truthful', 'success_private', 'bound', 'expected_length'):
        assert same[key] == planned[key]
    _, out, _ = run(capsys, 'evaluate', plan, '--epsilon', 10, '--rollouts', 20000, '--json')
    open_minded = json.loads(out)
    assert open_minded['success_private'] > planned['success_private'] + 0.5
    played = open_minded['rollouts']
    assert played['low'] <= open_minded['success_private'] <= played['high']


def test_a_silent_plan_is_written_with_the_graph_of_its_policies(capsys, tmp_path):
    plan = tmp_path / 'silent.plan'
    _, out, _ = run(
        capsys, 'plan', 'crossing', '--method', 'no-communication', '--iterations', 3,
        '--out', plan, '--json',
    )  # fmt: skip
    status, again, _ = run(capsys, 'evaluate', plan, '--json')
    assert status == 0
    assert json.loads(again)['graph'] == json.loads(out)['graph'] == 'none'


def test_plan_shows_where_robots_go(capsys, tmp_path):
    picture = tmp_path / 'visits.png'
    _, out, _ = run(capsys, 'plan', 'crossing', '--method', 'baseline', '--picture', picture)
    assert out.rstrip().endswith(f'picture in {picture}')
    assert 'robot1' in out
    assert '→' in out
    assert picture.read_bytes()[1:4] == b'PNG'


def test_filtering_receiver_is_reported(capsys):
    _, out, _ = run(
        capsys, 'plan', 'navigation', '--method', 'baseline', '--epsilon', 1,
        '--rollouts', 5000, '--receiver', 'filter', '--json',
    )  # fmt: skip
    result = json.loads(out)
    assert result['rollouts']['low'] > result['success_private']


@pytest.mark.parametrize(
    ('arguments', 'line'),
    [
        (['--graph', '1>2 2>1'], 'the dependency graph has the cycle'),
        (['--graph', '3>1'], "--graph: '3>1' is no edge such as 2>1 between robot1, robot2"),
        (['--graph', '2'], "--graph: '2' is no edge"),
        (['--epsilon', '-1'], 'epsilon must be finite and not negative, not -1.0'),
        (['--epsilon', 'nan'], 'epsilon must be finite and not negative, not nan'),
        (['--adjacency', '0'], 'adjacency must be at least 1, not 0'),
        (['--start', 'middle'], 'the starts of minimum-dependency are'),
        (['--method', 'baseline', '--memory', 'step'], 'baseline makes policies without memory'),
        (['--rollouts', '0', '--method', 'baseline'], 'at least one rollout is needed'),
    ],
)
def test_bad_input_gives_one_line_and_status_2(capsys, arguments, line):
    status, out, err = run(capsys, 'plan', 'navigation', *arguments)
    assert (status, out) == (2, '')
    assert err.startswith(line)
    assert err.count('\n') == 1


def test_unreachable_target_and_start_to_avoid(capsys, tmp_path):
    text = scenarios.find('crossing').read_text()
    path = tmp_path / 'walled.yaml'
    path.write_text(text.replace("'.....'", "'..#..'"))
    status, _, err = run(capsys, 'plan', path)
    assert status == 2
    assert 'robots[0].target: no path leads there' in err
    path.write_text(text.replace("'..#..'", "'!.#..'", 1))
    status, _, err = run(capsys, 'plan', path)
    assert status == 2
    assert 'robots[0].start: cell (0, 0) is deadly' in err


def test_sysadmin_start_from_which_the_target_cannot_be_reached(capsys, tmp_path):
    text = scenarios.find('sysadmin').read_text()
    stuck = text.replace(
        '    in-repair: {in-repair: 0.1, nominal: 0.9}', '    in-repair: {in-repair: 1.0}'
    )
    path = tmp_path / 'stuck.yaml'
    path.write_text(stuck)
    status, _, err = run(capsys, 'plan', path)
    assert (status, err.count('\n')) == (2, 1)
    assert 'the target cannot be reached' in err


def test_sweep_gives_a_table_a_csv_file_and_a_plot(capsys, tmp_path):
    csv, plot = tmp_path / 's.csv', tmp_path / 's.png'
    status, out, err = run(
        capsys, 'plan', 'crossing', '--sweep', 'epsilon=0.5:3:2', '--iterations', 4,
        '--csv', csv, '--plot', plot, '--json',
    )  # fmt: skip
    points = json.loads(out)['sweep']
    assert status == 0
    assert [point['epsilon'] for point in points] == [0.5, 3.0]
    for point in points:
        others = (point[method] for method in ('baseline', 'minimum-dependency'))
        assert point['private-success'] >= max(point['no-communication'], *others)
    assert csv.read_text().splitlines()[0].startswith('epsilon,baseline,minimum-dependency')
    assert plot.read_bytes()[1:4] == b'PNG'
    assert '2 of 2 values of epsilon done' in err


@pytest.mark.parametrize(
    'sweep', ['epsilon', 'epsilon=1:2', 'delta=1:2:3', 'epsilon=2:1:3', 'epsilon=0:nan:3',
              'epsilon=a:b:c', 'epsilon=1:2:0', 'epsilon=1:2:99999'],
)  # fmt: skip
def test_a_wrong_sweep_gives_one_line(capsys, sweep):
    status, _, err = run(capsys, 'plan', 'crossing', '--sweep', sweep)
    assert (status, err.count('\n')) == (2, 1)
    assert err.startswith('--sweep: ')


def test_graph_by_number_by_name_and_none():
    names = ['anna', 'bert', 'carl']
    assert parse_graph('2>1 3>1', names).observed == ((), (0,), (0,))
    assert parse_graph('bert>anna', names).observed == ((), (0,), ())
    assert parse_graph('none', names).observed == ((), (), ())
    with pytest.raises(ModelError):
        parse_graph('4>1', names)


def test_progress_is_quiet_at_first_and_then_speaks_once_a_second():
    lines, now = [], [0.0]

    class Stream:
        def write(self, text):
            lines.append(text)

        def flush(self):
            pass

    progress = Progress(Stream(), lambda: now[0])
    standing = SynthesisProgress(
        iteration=7,
        objective=0.5,
        success_truthful=0.9,
        success_private=0.8,
        total_correlation=1.0,
    )
    for tenth in range(0, 46):
        now[0] = tenth / 10
        progress(lambda: standing)
    assert lines == ['iteration 7: success 0.8000 private, 0.9000 truthful, objective 0.5\n'] * 3
