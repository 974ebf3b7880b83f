import json
from xml.etree import ElementTree

from dp_multiagent.cli.main import main


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def heard(path):
    root = ElementTree.parse(path).getroot()
    return {topic.text for topic in root.iterfind('.//topics[@subscribe]/topic')}


def test_one_file_per_member_is_written_and_named(capsys, tmp_path):
    folder = tmp_path / 'new' / 'policies'
    status, out, _ = run(capsys, 'scenario', 'security', 'navigation', '--out', folder, '--json')
    listed = {entry['enclave']: entry['file'] for entry in json.loads(out)['policies']}
    assert status == 0
    assert set(listed) == {'/team/robot1', '/team/robot2', '/team/planner', '/team/operator'}
    assert sorted(listed.values()) == sorted(str(path) for path in folder.iterdir())


def test_robot_hears_whom_the_scenario_says(capsys, tmp_path):
    run(capsys, 'scenario', 'security', 'navigation', '--out', tmp_path)
    assert '/robot1/private_state' in heard(tmp_path / 'robot2.policy.xml')
    assert '/robot2/private_state' not in heard(tmp_path / 'robot1.policy.xml')


def test_graph_of_a_plan_replaces_that_of_the_scenario(capsys, tmp_path):
    run(capsys, 'scenario', 'security', 'navigation', '--out', tmp_path, '--graph', '1>2')
    assert '/robot2/private_state' in heard(tmp_path / 'robot1.policy.xml')
    assert '/robot1/private_state' not in heard(tmp_path / 'robot2.policy.xml')


def test_folder_that_cannot_be_made_gives_one_line_and_status_2(capsys, tmp_path):
    (tmp_path / 'file').write_text('')
    status, out, err = run(
        capsys, 'scenario', 'security', 'navigation', '--out', tmp_path / 'file'
    )
    assert (status, out, err.count('\n')) == (2, '', 1)
    assert str(tmp_path / 'file') in err
