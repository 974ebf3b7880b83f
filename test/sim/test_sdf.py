"""The Gazebo world is the MuJoCo model: the same shapes, masses and starts, and nothing else."""

import copy
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_worlds import differences, floats, read_mujoco, read_sdf

from dp_multiagent.cli.main import main
from dp_multiagent.driving.floor import Floor, Point
from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.sim.gazebo import FLAVOURS
from dp_multiagent.sim.mjcf import world_as_xml
from dp_multiagent.sim.sdf import world_as_sdf

WORLDS = Path(__file__).parents[2] / 'worlds'
SHIPPED = [
    (name, flavour)
    for name, path in scenarios.shipped().items()
    for flavour in FLAVOURS
    if scenarios.load(path).kind == 'navigation'
]
FLOOR = Floor(GridMap(('.#.', '.!.'), slip=0.0))
ROBOTS = {'robot1': (0, 0), 'robot2': (1, 2)}
UNCOMPARED = {'ambient', 'diffuse', 'direction', 'real_time_factor', 'odom_publish_frequency'}

maps = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.text('.#!', min_size=width, max_size=width), min_size=1, max_size=6)
)
origins = st.builds(Point, st.floats(-5, 5), st.floats(-5, 5))


@pytest.fixture
def mujoco():
    return pytest.importorskip('mujoco', reason='the MuJoCo model needs it: pip install mujoco')


@pytest.mark.parametrize(('name', 'flavour'), SHIPPED)
def test_shipped_world_is_the_mujoco_model(mujoco, name, flavour):
    scenario = scenarios.load(scenarios.find(name))
    model = world_as_xml(Floor(scenario.grid), {r.name: r.start for r in scenario.robots})
    world = (WORLDS / f'{name}_{flavour}.sdf').read_text(encoding='utf-8')
    assert differences(read_sdf(world), read_mujoco(model)) == []


@settings(deadline=None, max_examples=50)
@given(maps, st.floats(0.5, 3), origins, st.data())
def test_any_world_is_the_mujoco_model(rows, size, origin, data):
    pytest.importorskip('mujoco', reason='the MuJoCo model needs it: pip install mujoco')
    floor = Floor(GridMap(tuple(rows), slip=0.0), size, origin)
    cells = st.tuples(st.integers(0, len(rows) - 1), st.integers(0, len(rows[0]) - 1))
    starts = data.draw(st.lists(cells, max_size=3))
    robots = {f'robot{i + 1}': start for i, start in enumerate(starts)}
    world = world_as_sdf(floor, robots, FLAVOURS['fortress'])
    assert differences(read_sdf(world), read_mujoco(world_as_xml(floor, robots))) == []


def numbers_of(root):
    """Yield every number that a Gazebo world has in common with a MuJoCo model: element, index."""
    world = root.find('world')
    for part in world:
        if part.tag not in ('light', 'plugin') and part.get('name') != 'Floor':
            for element in part.iter():
                if element.tag not in UNCOMPARED and is_numeric(element.text):
                    yield from ((element, i) for i in range(len(element.text.split())))


def is_numeric(text):
    try:
        return bool(floats(text or ''))
    except ValueError:
        return False


def change(element, index):
    words = element.text.split()
    is_mask = element.tag == 'collide_bitmask'
    words[index] = str(3 - int(words[index]) if is_mask else 1.01 * float(words[index]) + 1e-5)
    element.text = ' '.join(words)


def test_any_number_that_differs_is_noticed(mujoco):
    root = ElementTree.fromstring(world_as_sdf(FLOOR, ROBOTS, FLAVOURS['harmonic']))
    model = read_mujoco(world_as_xml(FLOOR, ROBOTS))
    places = list(numbers_of(root))
    unnoticed = []
    for element, index in places:
        before = element.text
        change(element, index)
        if not differences(read_sdf(ElementTree.tostring(root)), model):
            unnoticed.append((element.tag, before, index))
        element.text = before
    assert len(places) > 200
    assert unnoticed == []


@pytest.mark.parametrize('tag', ['visual', 'collision', 'inertial'])
def test_any_part_that_is_missing_or_double_is_noticed(mujoco, tag):
    whole = ElementTree.fromstring(world_as_sdf(FLOOR, ROBOTS, FLAVOURS['harmonic']))
    model = read_mujoco(world_as_xml(FLOOR, ROBOTS))
    for i, link in enumerate(whole.iter('link')):
        for j in range(len(link.findall(tag))):
            damaged = copy.deepcopy(whole)
            parent = list(damaged.iter('link'))[i]
            part = parent.findall(tag)[j]
            parent.remove(part)
            assert differences(read_sdf(ElementTree.tostring(damaged)), model)
            if tag != 'inertial':
                parent.extend([part, part])
                assert differences(read_sdf(ElementTree.tostring(damaged)), model)


def test_deadly_cells_are_seen_and_not_felt():
    world = ElementTree.fromstring(world_as_sdf(FLOOR, ROBOTS, FLAVOURS['harmonic']))
    (deadly,) = (model for model in world.iter('model') if model.get('name') == 'Deadly')
    assert len(list(deadly.iter('visual'))) == 1
    assert list(deadly.iter('collision')) == []


def test_floor_is_seen_under_the_whole_map():
    floor = Floor(GridMap(('...', '...'), slip=0.0), 2.0, Point(10.0, -7.0))
    world = ElementTree.fromstring(world_as_sdf(floor, {}, FLAVOURS['harmonic']))
    visual = world.find('world/model[@name="Floor"]/link/visual')
    x, y, *_ = floats(visual.findtext('pose'))
    width, depth = floats(visual.findtext('geometry/plane/size'))
    assert x - width / 2 <= 10 <= 16 <= x + width / 2
    assert y - depth / 2 <= -7 <= -3 <= y + depth / 2


@pytest.mark.parametrize(
    ('flavour', 'library', 'namespace'),
    [('harmonic', 'gz-sim', 'gz::sim'), ('fortress', 'ignition-gazebo', 'ignition::gazebo')],
)
def test_every_flavour_gets_its_own_plugins(flavour, library, namespace):
    world = ElementTree.fromstring(world_as_sdf(FLOOR, ROBOTS, FLAVOURS[flavour]))
    systems = {
        'physics': 'Physics',
        'user-commands': 'UserCommands',
        'scene-broadcaster': 'SceneBroadcaster',
        'diff-drive': 'DiffDrive',
        'odometry-publisher': 'OdometryPublisher',
    }
    assert {(p.get('filename'), p.get('name')) for p in world.iter('plugin')} == {
        (f'{library}-{file}-system', f'{namespace}::systems::{name}')
        for file, name in systems.items()
    }


def test_every_robot_has_its_own_topics_and_tells_its_true_pose_in_the_robots_frames():
    world = ElementTree.fromstring(world_as_sdf(FLOOR, ROBOTS, FLAVOURS['harmonic']))
    for name in ROBOTS:
        drive, localiser = world.findall(f'world/model[@name="{name}"]/plugin')
        assert drive.findtext('topic') == f'/{name}/cmd_vel'
        assert drive.findtext('odom_topic') == f'/{name}/wheel_odom'
        assert localiser.findtext('odom_topic') == f'/{name}/odom'
        assert localiser.findtext('odom_frame') == drive.findtext('frame_id') == 'odom'
        assert localiser.findtext('robot_base_frame') == 'base_link'


def test_a_robot_may_be_called_as_a_part_of_the_map():
    robots = dict.fromkeys(['floor', 'walls', 'deadly', 'sun'], (0, 0))
    world = ElementTree.fromstring(world_as_sdf(FLOOR, robots, FLAVOURS['harmonic']))
    names = [part.get('name') for part in world.find('world') if part.tag in ('model', 'light')]
    assert len(names) == len(set(names)) == 8


def test_the_name_that_gazebo_keeps_is_refused():
    with pytest.raises(ModelError, match='called world'):
        world_as_sdf(FLOOR, {'world': (0, 0)}, FLAVOURS['harmonic'])


def test_cells_too_small_for_a_robot_are_refused():
    floor = Floor(FLOOR.grid, 0.35)
    with pytest.raises(ModelError, match=r'cell_size 0\.35 is too small'):
        world_as_sdf(floor, ROBOTS, FLAVOURS['harmonic'])


def test_worlds_are_those_of_the_shipped_scenarios_and_up_to_date(tmp_path):
    for name, flavour in SHIPPED:
        out = tmp_path / f'{name}_{flavour}.sdf'
        assert main(['scenario', 'world', name, '--flavour', flavour, '--out', str(out)]) == 0
    made = {path.name: path.read_text(encoding='utf-8') for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text(encoding='utf-8') for path in WORLDS.iterdir()}


def sdf_checker():
    """Return the program that checks SDF: `gz` of newer installations or `ign` of older ones."""
    for program in ('gz', 'ign'):
        if shutil.which(program):
            versions = subprocess.run([program, 'sdf', '--versions'], capture_output=True)
            if versions.returncode == 0 and versions.stdout.strip()[:1].isdigit():
                return program
    return None


def check(path):
    program = sdf_checker()
    if program is None:
        pytest.skip('nothing checks SDF here: apt install ignition-tools libsdformat-dev')
    return subprocess.run([program, 'sdf', '--check', str(path)], capture_output=True, text=True)


@pytest.mark.parametrize(('name', 'flavour'), SHIPPED)
def test_gazebo_finds_nothing_to_say_about_a_shipped_world(name, flavour):
    checked = check(WORLDS / f'{name}_{flavour}.sdf')
    assert (checked.returncode, checked.stdout.strip()) == (0, 'Valid.')
    assert 'Warning' not in checked.stderr


@pytest.mark.parametrize(
    ('before', 'after'),
    [('<child>left_wheel<', '<child>third_wheel<'), ('_visual"', '"'), ('<axis>', '<axes>')],
)
def test_gazebo_finds_what_is_wrong(tmp_path, before, after):
    text = world_as_sdf(FLOOR, ROBOTS, FLAVOURS['harmonic'])
    assert before in text
    path = tmp_path / 'damaged.sdf'
    path.write_text(text.replace(before, after))
    assert check(path).stdout.strip() != 'Valid.'
