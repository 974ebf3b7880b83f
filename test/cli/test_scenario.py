import json

import pytest

import dp_multiagent
from dp_multiagent.cli.main import main
from dp_multiagent.models import scenarios


def run(capsys, *arguments):
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['--version'])
    assert caught.value.code == 0
    assert capsys.readouterr().out.strip() == dp_multiagent.__version__


@pytest.mark.parametrize('arguments', [[], ['nonsense'], ['scenario'], ['scenario', 'show']])
def test_a_wrong_call_gives_one_line_and_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_list_names_every_shipped_scenario(capsys):
    status, out, _ = run(capsys, 'scenario', 'list', '--json')
    assert status == 0
    assert [entry['name'] for entry in json.loads(out)['scenarios']] == list(scenarios.shipped())
    _, out, _ = run(capsys, 'scenario', 'list')
    assert all(name in out for name in scenarios.shipped())


def test_show_says_who_depends_on_whom(capsys):
    status, out, _ = run(capsys, 'scenario', 'show', 'navigation', '--json')
    shown = json.loads(out)
    assert status == 0
    assert (shown['dependencies'], shown['epsilon'], shown['joint_states']) == (
        '2>1',
        [1.0, 1.0],
        484,
    )


def test_show_tells_of_a_team_too_large_to_plan_for_and_check_refuses_it(capsys, tmp_path):
    text = scenarios.find('navigation').read_text()
    head, tail = text.split('robots:', 1)[0], text.split('privacy:', 1)[1]
    robots = ''.join(f'  - {{name: r{i}, start: [1, {i}], target: [3, {i}]}}\n' for i in range(5))
    tail = tail.split('dependencies:')[0]
    path = tmp_path / 'five.yaml'
    path.write_text(f'{head.replace("!", ".")}robots:\n{robots}privacy:{tail}')
    status, out, _ = run(capsys, 'scenario', 'show', str(path), '--json')
    assert (status, json.loads(out)['joint_states']) == (0, 22**5)
    status, out, err = run(capsys, 'scenario', 'check', str(path))
    assert (status, out) == (2, '')
    assert err.startswith(f'{path}: 5 agents have 5.2e+06 joint states, too many to plan for')
    assert err.count('\n') == 1


def test_json_may_stand_before_the_command(capsys):
    _, out, _ = run(capsys, '--json', 'scenario', 'check', 'navigation')
    assert json.loads(out) == {'ok': ['navigation']}


def test_check_lists_the_faults_of_all_files_with_status_2(capsys, tmp_path):
    paths = [tmp_path / name for name in ('a.yaml', 'b.yaml')]
    for path in paths:
        path.write_text('kind: navigation\nversion: x\n')
    status, out, err = run(capsys, 'scenario', 'check', *map(str, paths))
    assert (status, out) == (2, '')
    assert all(f'{path}:2: version: must be 1' in err for path in paths)


def test_a_typo_in_a_name_gets_a_suggestion(capsys):
    status, _, err = run(capsys, 'scenario', 'show', 'navigaton')
    assert status == 2
    assert err == "no scenario is called 'navigaton'; did you mean navigation?\n"


def test_draw_shows_the_map_and_writes_a_picture(capsys, tmp_path):
    picture = tmp_path / 'map.png'
    status, out, _ = run(capsys, 'scenario', 'draw', 'navigation', '--out', str(picture))
    assert status == 0
    assert out.startswith('! ! # ! .\n. . . . .\n. . # . .\n. . . . .\nA b # a B\n')
    assert picture.read_bytes()[1:4] == b'PNG'


def test_draw_colours_walls_and_deadly_cells_where_they_are(tmp_path):
    image = pytest.importorskip('matplotlib.image')
    import numpy as np

    from dp_multiagent.cli.map_picture import new_map, save

    figure, axes = new_map(scenarios.load(scenarios.find('navigation')).grid)
    axes.set_axis_off()
    axes.set_position((0, 0, 1, 1))
    save(figure, tmp_path / 'bare.png')
    pixels = image.imread(tmp_path / 'bare.png')[..., :3]
    rows, columns = pixels.shape[:2]

    def colour(row, column):
        return pixels[int((row + 0.5) / 5 * rows), int((column + 0.5) / 5 * columns)]

    assert np.ptp(colour(2, 2)) < 0.05
    assert colour(2, 2).max() < 0.5
    assert colour(0, 0)[0] > 2 * colour(0, 0)[1]
    assert colour(1, 1).min() > 0.95


def test_draw_refuses_what_has_no_map_and_where_it_cannot_write(capsys, tmp_path):
    status, _, err = run(capsys, 'scenario', 'draw', 'sysadmin')
    assert (status, err.count('\n')) == (2, 1)
    out = str(tmp_path / 'missing' / 'map.png')
    status, _, err = run(capsys, 'scenario', 'draw', 'navigation', '--out', out)
    assert (status, err) == (2, f'{out}: cannot be written: No such file or directory\n')


def test_schema_is_printed(capsys):
    _, out, _ = run(capsys, 'scenario', 'schema')
    assert json.loads(out) == scenarios.json_schema()
