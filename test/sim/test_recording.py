"""Pictures of an episode, looked at pixel by pixel."""

import sys

import numpy as np
import pytest

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.errors import DpMultiagentError, MissingPackageError
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.sim.recording import MOST_FRAMES, PIXELS, ROBOT_COLOURS, SAMPLE_NS, Recording

FLOOR = Floor(GridMap(('..#', '!..'), slip=0.0))


def recorded(samples, told=()):
    recording = Recording(FLOOR, ['one', 'two'], [(0, 1), (1, 2)])
    for k in range(samples):
        x = 0.5 + k / samples
        recording.observe(k * SAMPLE_NS, [Pose(x, 1.5, 0.0), Pose(2.5, 0.5, 0.0)])
    for time, robot, cell in told:
        recording.hear(time, robot, cell)
    return recording


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def near(pixel, colour):
    return np.abs(np.array(pixel, dtype=int) - rgb(colour)).max() < 12


def frames(path):
    image = pytest.importorskip('PIL.Image', reason='pictures need Pillow')
    with image.open(path) as gif:
        for k in range(gif.n_frames):
            gif.seek(k)
            yield np.array(gif.convert('RGB'))


def test_robots_are_where_they_were_in_every_frame(tmp_path):
    _, gif = recorded(10).save(tmp_path, 'drive', 'a drive')
    shown = list(frames(gif))
    assert len(shown) == 10
    for k, frame in enumerate(shown):
        assert near(frame[PIXELS // 2, int((0.5 + k / 10) * PIXELS)], ROBOT_COLOURS[0])
        assert near(frame[3 * PIXELS // 2, 5 * PIXELS // 2], ROBOT_COLOURS[1])


def test_walls_and_deadly_cells_are_marked(tmp_path):
    _, gif = recorded(2).save(tmp_path, 'drive', 'a drive')
    frame = next(frames(gif))
    assert near(frame[PIXELS // 2, 5 * PIXELS // 2], '#3b3b3b')
    assert near(frame[3 * PIXELS // 2, PIXELS // 2], '#d9534f')


def test_what_was_told_appears_when_it_was_told(tmp_path):
    _, gif = recorded(6, told=[(3 * SAMPLE_NS, 0, (1, 1))]).save(tmp_path, 'drive', 'a drive')
    cell = np.s_[PIXELS + 2 : 2 * PIXELS - 2, PIXELS + 2 : 2 * PIXELS - 2]
    marked = [
        any(near(pixel, ROBOT_COLOURS[0]) for pixel in frame[cell].reshape(-1, 3))
        for frame in frames(gif)
    ]
    assert marked == [False] * 3 + [True] * 3


def test_long_episode_has_a_bounded_number_of_frames(tmp_path):
    _, gif = recorded(3 * MOST_FRAMES).save(tmp_path, 'drive', 'a drive')
    assert len(list(frames(gif))) <= MOST_FRAMES


def test_paths_are_drawn_true_and_told(tmp_path):
    image = pytest.importorskip('PIL.Image', reason='pictures need Pillow')
    told = [(k * SAMPLE_NS, 0, cell) for k, cell in enumerate([(1, 1), (1, 2)])]
    without, _ = recorded(10).save(tmp_path, 'without', 'a drive')
    with_told, _ = recorded(10, told).save(tmp_path, 'with', 'a drive')
    inked = []
    for path in (without, with_told):
        pixels = np.array(image.open(path).convert('RGB'), dtype=int).reshape(-1, 3)
        inked.append((np.abs(pixels - rgb(ROBOT_COLOURS[0])).max(axis=1) < 12).sum())
    assert 0 < inked[0] < inked[1]


def test_directory_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(DpMultiagentError, match='cannot be written'):
        recorded(2).save(tmp_path / 'file' / 'below', 'drive', 'a drive')


@pytest.mark.parametrize(('package', 'name'), [('matplotlib', 'matplotlib'), ('PIL', 'pillow')])
def test_missing_package_is_said_in_one_line(package, name, tmp_path, monkeypatch):
    for module in [m for m in sys.modules if m.split('.')[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f'pip install {name}'):
        recorded(2).save(tmp_path, 'drive', 'a drive')
