"""Each fault that a file can have is named with its line, its field and what is wrong."""

import pytest

from dp_multiagent.errors import ScenarioError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.document import LARGEST_FILE

NAVIGATION = scenarios.find('navigation').read_text()
SYSADMIN = scenarios.find('sysadmin').read_text()


def faults_of(tmp_path, text):
    path = tmp_path / 'my.yaml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    return [str(fault).replace(f'{tmp_path}/', '') for fault in caught.value.faults]


def line_of(text, part):
    return text[: text.index(part)].count('\n') + 1


@pytest.mark.parametrize(
    ('text', 'old', 'new', 'fault'),
    [
        (NAVIGATION, 'version: 1', 'version: 2', 'version: must be 1, not 2'),
        (NAVIGATION, 'version: 1', 'version: 1.0', 'version: must be 1, not 1.0'),
        (NAVIGATION, 'kind: navigation', 'kind: nav', 'kind: must be navigation or sysadmin'),
        (NAVIGATION, 'horizon: 200', 'horizon: soon', 'planning.horizon: must be an integer'),
        (NAVIGATION, 'horizon: 200', 'horizon: true', 'planning.horizon: must be an integer'),
        (NAVIGATION, 'horizon: 200', 'horizon: 0', 'planning.horizon: must be between 1 and'),
        (NAVIGATION, 'epsilon: 1.0', 'epsilon: .nan', 'privacy.epsilon: must be a finite number'),
        (NAVIGATION, 'epsilon: 1.0', 'epsilon: 1e999', 'privacy.epsilon: must be a finite'),
        (NAVIGATION, 'epsilon: 1.0', 'epsilon: -1', 'privacy.epsilon: must be between 0 and'),
        (NAVIGATION, 'epsilon: 1.0', 'epsilon: [1]', 'privacy.epsilon: must be a finite number'),
        (NAVIGATION, 'slip: 0.05', 'slip: 0.06', 'motion.slip: intended and slip sum to 1.01'),
        (NAVIGATION, 'slip: 0.05', 'slipp: 0.05', 'motion.slipp: is unknown; known are intended'),
        (NAVIGATION, 'swaps: allowed', 'swaps: maybe', 'motion.swaps: must be allowed or coll'),
        (NAVIGATION, 'start: [4, 0]', 'start: [4, 2]', 'robots[0].start: cell (4, 2) is a wall'),
        (NAVIGATION, 'start: [4, 0]', 'start: [0, 0]', 'robots[0].start: cell (0, 0) is deadly'),
        (NAVIGATION, 'start: [4, 0]', 'start: [5, 0]', 'robots[0].start: cell (5, 0) is off'),
        (NAVIGATION, 'start: [4, 0]', 'start: [4]', 'robots[0].start: must have 2 items, not 1'),
        (NAVIGATION, 'start: [4, 4]', 'start: [4, 0]', 'robots[1].start: cell (4, 0) is that of'),
        (NAVIGATION, 'name: robot2', 'name: robot1', 'robots[1].name: robot1 is taken by another'),
        (NAVIGATION, 'name: robot2', 'name: Robot 2', 'robots[1].name: must be a name of lower'),
        (NAVIGATION, 'robot2: [robot1]', 'robot2: [robot2]', 'dependencies.robot2[0]: robot2 can'),
        (NAVIGATION, 'robot2: [robot1]', 'robot2: [robot3]', 'dependencies.robot2[0]: robot3 is'),
        (NAVIGATION, 'robot2: [robot1]', 'robot9: [robot1]', 'dependencies.robot9: is not one of'),
        (NAVIGATION, "'!!#!.'", "'!!#!'", 'map.cells[1]: has 5 cells, the first row has 4'),
        (NAVIGATION, "'!!#!.'", "'!!#!x'", "map.cells[0]: has 'x', which is none of . # !"),
        (NAVIGATION, 'title: Two', 'titel: Two', 'titel: is unknown; known are version, kind'),
        (SYSADMIN, 'offline: {offline: 1.0}', 'offline: {offline: 0.9}',
         'transitions.wait.offline: probabilities sum to 0.9, not to 1'),
        (SYSADMIN, 'offline: {offline: 1.0}', 'off: {offline: 1.0}',
         'transitions.wait.off: must be nominal or needs-repair or in-repair or offline'),
        (SYSADMIN, 'in_repair: 2', 'in_repair: -1', 'limits.in_repair: must be between 0 and 32'),
    ],
)  # fmt: skip
def test_one_fault_is_named_with_its_line(tmp_path, text, old, new, fault):
    assert old in text
    faults = faults_of(tmp_path, text.replace(old, new, 1))
    assert any(f.split(': ', 1)[1].startswith(fault) for f in faults), faults
    line = line_of(text, old) + ('map.cells[1]' in fault)
    assert any(f.startswith(f'my.yaml:{line}: {fault}') for f in faults), faults


def test_cycle_in_the_dependency_graph(tmp_path):
    text = NAVIGATION.replace('robot2: [robot1]', 'robot2: [robot1]\n  robot1: [robot2]')
    (fault,) = faults_of(tmp_path, text)
    assert 'dependencies: the dependency graph has the cycle robot' in fault


def test_target_that_no_path_reaches(tmp_path):
    text = NAVIGATION.replace("'.....'", "'..#..'")
    faults = faults_of(tmp_path, text)
    assert [f.split(': ', 1)[1] for f in faults] == [
        'robots[0].target: no path leads there from (4, 0)',
        'robots[1].target: no path leads there from (4, 4)',
    ]


def test_team_larger_than_any(tmp_path):
    robots = '\n'.join(f'  - {{name: r{i}, start: [1, 0], target: [3, 0]}}' for i in range(33))
    head, tail = NAVIGATION.split('robots:')[0], NAVIGATION.split('privacy:')[1]
    faults = faults_of(tmp_path, f'{head}robots:\n{robots}\nprivacy:{tail}')
    assert any('robots: must have 1 to 32' in fault for fault in faults), faults


def test_limits_broken_at_the_start(tmp_path):
    text = SYSADMIN.replace('initial: needs-repair', 'initial: offline')
    (fault,) = faults_of(tmp_path, text)
    assert 'servers: 4 start offline, the limit is 2' in fault


def test_missing_field_and_missing_state(tmp_path):
    (fault,) = faults_of(tmp_path, NAVIGATION.replace('  horizon: 200\n', ''))
    assert fault.endswith('planning.horizon: is missing')
    text = SYSADMIN.replace('    offline: {offline: 1.0}\n', '')
    (fault,) = faults_of(tmp_path, text)
    assert fault.endswith('transitions.wait.offline: is missing')


def test_all_faults_are_reported_at_once(tmp_path):
    text = NAVIGATION
    for old, new in (
        ('start: [4, 0]', 'start: [4, 2]'),
        ('target: [4, 1]', 'target: here'),
        ('slip: 0.05', 'slip: 0.5'),
        ('robot2: [robot1]', 'robot2: [robot1]\n  robot1: [robot2]'),
        ('epsilon: 1.0', 'epsilon: .nan\n  colour: red'),
        ('horizon: 200', 'horizon: 200\n  horizon: 300'),
    ):
        text = text.replace(old, new)
    fields = [fault.split(': ')[1] for fault in faults_of(tmp_path, text)]
    assert fields == [
        'motion.slip',
        'robots[0].start',
        'robots[1].target',
        'dependencies',
        'privacy.epsilon',
        'privacy.colour',
        'planning.horizon',
    ]


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('', 'my.yaml:1: file: is empty'),
        ('- 1', 'my.yaml:1: file: must be a mapping'),
        ('title: x', 'my.yaml:1: kind: is missing; it must be navigation or sysadmin'),
        ('a: 1\nb: ]', 'my.yaml:2: file: is not YAML'),
        ('a: 1\n---\nb: 2', 'my.yaml:2: file: has more than one document'),
        ('a: !!python/object/apply:os.system [ls]', "has the tag 'tag:yaml.org,2002:python"),
        ('a: &x 1\nb: *x', 'my.yaml:1: file: has an anchor or alias'),
        ('? [1, 2]\n: 3', 'my.yaml:1: file: has a list or mapping as a key'),
        ('[' * 5000, 'my.yaml:1: file: is nested deeper than 16 levels'),
        (b'kind: navigation\ntitle: \xff\xfe', 'my.yaml:2: file: is not UTF-8 text'),
        (b'kind: \x00', 'my.yaml:1: file: is not YAML'),
        ('x: ' + 'y' * 10_000_000, f'my.yaml:1: file: is larger than {LARGEST_FILE // 1024} kB'),
        ('kind: navigation\nhorizon: ' + '9' * 5000, 'horizon: is unknown'),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_scenario_document(tmp_path, text, fault):
    faults = faults_of(tmp_path, text)
    assert any(fault in f for f in faults), faults
    assert all(len(f) < 300 and '\n' not in f for f in faults)


def test_a_yaml_bomb_is_refused_at_its_first_anchor(tmp_path):
    bomb = 'a0: &a0 [x, x]\n' + ''.join(
        f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]\n' for i in range(1, 30)
    )
    (fault,) = faults_of(tmp_path, bomb)
    assert fault.startswith('my.yaml:1: file: has an anchor or alias')


def test_missing_file_and_directory(tmp_path):
    for path, problem in ((tmp_path / 'no.yaml', 'does not exist'), (tmp_path, 'is not a file')):
        with pytest.raises(ScenarioError, match=problem):
            scenarios.load(path)
