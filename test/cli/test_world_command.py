"""`dp_multiagent scenario world` writes what Gazebo and its bridge need, or says why not."""

import json
from xml.etree import ElementTree

import pytest
import yaml

from dp_multiagent.cli.main import main


def run(capsys, *arguments):
    status = main(['scenario', 'world', *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_world_is_named_after_scenario_and_flavour(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(capsys, 'crossing', '--json')
    assert status == 0
    assert json.loads(out) == {
        'sdf': 'crossing_harmonic.sdf',
        'flavour': 'harmonic',
        'bridges': {},
    }
    assert ElementTree.parse(tmp_path / 'crossing_harmonic.sdf').getroot().tag == 'sdf'


def test_cells_have_the_size_that_is_asked_for(capsys, tmp_path):
    out = tmp_path / 'world.sdf'
    run(capsys, 'crossing', '--cell-size', '2', '--out', str(out))
    robot = ElementTree.parse(out).find('world/model[@name="robot1"]/pose')
    assert robot.text.split()[:2] == ['1', '5']


def test_bridge_files_are_one_per_robot_and_the_operators(capsys, tmp_path):
    world, folder = tmp_path / 'world.sdf', tmp_path / 'deep' / 'bridges'
    options = ['--flavour', 'fortress', '--out', str(world), '--bridge', str(folder), '--json']
    status, out, _ = run(capsys, 'navigation', *options)
    assert status == 0
    assert json.loads(out)['bridges'] == {
        name: str(folder / f'{name}.yaml') for name in ('robot1', 'robot2', 'operator-clock')
    }
    topics = {
        path.stem: [crossing['gz_topic_name'] for crossing in yaml.safe_load(path.read_text())]
        for path in folder.iterdir()
    }
    assert topics == {
        'robot1': ['/clock', '/robot1/odom', '/robot1/cmd_vel'],
        'robot2': ['/clock', '/robot2/odom', '/robot2/cmd_vel'],
        'operator-clock': ['/clock'],
    }


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['sysadmin'], 'a scenario of kind sysadmin has no map'),
        (['crossing', '--cell-size', '0.2'], 'cell_size 0.2 is too small'),
        (['crossing', '--cell-size', 'nan'], 'cell_size nan is not a length'),
        (['crossing', '--out', '{here}/file/world.sdf'], 'world.sdf: cannot be written'),
        (['crossing', '--bridge', '{here}/file'], 'robot1.yaml: cannot be written'),
    ],
)
def test_bad_input_gives_one_line_and_status_2(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'file').write_text('')
    status, out, err = run(capsys, *(word.format(here=tmp_path) for word in arguments))
    assert (status, out, err.count('\n')) == (2, '', 1)
    assert said in err
