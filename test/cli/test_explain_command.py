import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dp_multiagent.cli.main import main
from dp_multiagent.models import scenarios


def run(capsys, *arguments):
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def explained(capsys, *arguments):
    status, out, _ = run(capsys, 'explain', *arguments, '--json')
    assert status == 0
    return json.loads(out)


def test_it_says_who_tells_what_to_whom(capsys):
    shown = explained(capsys, 'navigation')
    (robot,) = shown['members']
    assert (robot['name'], robot['seen_by'], shown['silent']) == ('robot1', ['robot2'], ['robot2'])
    assert robot['protected'] == 'trajectories that differ in at most 3 states'
    assert (robot['mechanism'], robot['states_told']) == ('trajectory', 200)


def test_losses_of_episodes_add_up_exactly(capsys):
    (robot,) = explained(capsys, 'navigation', '--episodes', '7')['members']
    assert robot['episode'] == {'epsilon': '1', 'delta': '0'}
    assert robot['episodes'] == {'count': 7, 'epsilon': '7', 'delta': '0'}


def test_many_episodes_cost_less_if_delta_may_be_positive(capsys):
    arguments = ('navigation', '--episodes', '1000', '--delta', '1e-6')
    (robot,) = explained(capsys, *arguments)['members']
    assert robot['episodes']['delta'] == '1/1000000'
    rho = 1000 / 2
    known_bound = rho + 2 * math.sqrt(rho * math.log(1e6))
    assert 500 < Fraction(robot['episodes']['epsilon']) <= known_bound < 1000


def test_noise_is_that_of_theorem_one(capsys):
    (robot,) = explained(capsys, 'navigation')['members']
    for level in robot['noise']:
        others = level['possible'] - 1
        assert level['true'] == pytest.approx(1 / (others * math.exp(-1 / 3) + 1))
        assert level['true'] + others * level['each_other'] == pytest.approx(1)
    assert [level['possible'] for level in robot['noise']] == [3, 4, 5]


def test_a_blind_guess_is_as_far_off_as_two_cells_are(capsys):
    (robot,) = explained(capsys, 'navigation')['members']
    cells = scenarios.load(scenarios.find('navigation')).grid.cells
    distances = [math.dist(one, other) for one in cells for other in cells]
    blind = robot['error']['blind']
    assert blind['true'] == pytest.approx(1 / len(cells))
    assert blind['cells'] == pytest.approx(np.quantile(distances, 0.95, method='inverted_cdf'))


def edited(tmp_path, old, new):
    text = scenarios.find('navigation').read_text()
    assert old in text
    path = tmp_path / 'edited.yaml'
    path.write_text(text.replace(old, new))
    return str(path)


def test_less_privacy_is_less_error(capsys, tmp_path):
    def error(epsilon):
        path = edited(tmp_path, 'epsilon: 1.0', f'epsilon: {epsilon}')
        return explained(capsys, path)['members'][0]['error']

    errors = [error(epsilon) for epsilon in (0.1, 5, 10, 30)]
    for motion in ('wandering', 'standing'):
        truth = [found[motion]['true'] for found in errors]
        cells = [found[motion]['cells'] for found in errors]
        assert truth == sorted(truth)
        assert cells == sorted(cells, reverse=True)
    assert errors[-1]['wandering']['cells'] == 0


def test_servers_have_no_distance_but_a_share_of_truth(capsys):
    shown = explained(capsys, 'sysadmin')
    assert [member['name'] for member in shown['members']] == ['server1', 'server2', 'server3']
    assert shown['members'][0]['seen_by'] == ['server2', 'server3', 'server4']
    assert all('cells' not in member['error']['wandering'] for member in shown['members'])


def test_words_say_what_the_numbers_say(capsys):
    status, out, _ = run(capsys, 'explain', 'navigation', '--episodes', '50')
    assert status == 0
    for words in (
        'robot1 tells its private state to robot2\n',
        'trajectories that differ in at most 3 states\n',
        'of 5 possible next states the true one is told with probability 0.259,',
        'one episode  epsilon 1, delta 0, however long it is\n',
        'at most 2.72 times as likely for one trajectory as for a neighbour\n',
        '50 episodes  epsilon 50, delta 0\n',
        'within 4.47 cells at 95% of the steps',
        'robot2 tells nothing: nobody depends on it\n',
    ):
        assert words in out


def test_an_epsilon_that_protects_nothing_is_called_so(capsys, tmp_path):
    _, out, _ = run(capsys, 'explain', edited(tmp_path, 'epsilon: 1.0', 'epsilon: 1000'))
    assert 'so large an epsilon protects nothing' in out


def test_a_team_that_tells_nothing_is_called_so(capsys, tmp_path):
    path = edited(tmp_path, 'dependencies:\n  robot2: [robot1]\n', '')
    _, out, _ = run(capsys, 'explain', path)
    assert 'robot1 tells nothing' in out
    assert 'robot2 tells nothing' in out


@pytest.mark.parametrize(
    ('arguments', 'line'),
    [
        (['navigaton'], "no scenario is called 'navigaton'; did you mean navigation?"),
        (['navigation', '--episodes', '0'], '--episodes must be from 1 to 1000000000'),
        (['navigation', '--delta', 'x'], "delta: 'x' is not a number"),
        (['navigation', '--delta', '1'], 'delta must be at least 0 and less than 1, not 1'),
    ],
)
def test_bad_input_gives_one_line_and_status_2(capsys, arguments, line):
    assert run(capsys, 'explain', *arguments) == (2, '', f'{line}\n')
