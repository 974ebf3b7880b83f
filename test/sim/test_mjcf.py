"""The model has what the scenario has and nothing else."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.driving.floor import Floor, Point
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.sim.mjcf import RADIUS, world_as_xml

maps = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.text('.#!', min_size=width, max_size=width), min_size=1, max_size=6)
)
sizes = st.floats(0.5, 3)
origins = st.builds(Point, st.floats(-5, 5), st.floats(-5, 5))


def boxes(model, kind):
    """Return the rectangles (left, bottom, right, top) of the boxes of a kind, by name."""
    found = {}
    for geom in model.find('worldbody').iter('geom'):
        if geom.get('name', '').startswith(f'{kind}_'):
            x, y, _ = map(float, geom.get('pos').split())
            hx, hy, _ = map(float, geom.get('size').split())
            found[geom.get('name')] = (x - hx, y - hy, x + hx, y + hy)
    return found


@settings(deadline=None)
@given(maps, sizes, origins)
def test_every_wall_and_every_deadly_cell_is_a_box_and_nothing_else_is(rows, size, origin):
    floor = Floor(GridMap(tuple(rows), slip=0.0), size, origin)
    model = ElementTree.fromstring(world_as_xml(floor, {}))
    for sign, kind in (('#', 'wall'), ('!', 'deadly')):
        expected = {
            f'{kind}_{r}_{c}': (
                origin.x + c * size,
                origin.y + (len(rows) - 1 - r) * size,
                origin.x + (c + 1) * size,
                origin.y + (len(rows) - r) * size,
            )
            for r, row in enumerate(rows)
            for c, cell in enumerate(row)
            if cell == sign
        }
        found = boxes(model, kind)
        assert found.keys() == expected.keys()
        for name, rectangle in found.items():
            assert rectangle == pytest.approx(expected[name], abs=1e-6)
    geoms = model.findall('.//geom')
    assert len(geoms) == 1 + len(boxes(model, 'wall')) + len(boxes(model, 'deadly'))


def test_walls_are_solid_and_deadly_cells_are_only_marked(drive):
    model = drive(['.#', '!.'], (0, 0)).world.model
    assert model.geom('wall_0_1').contype[0] & model.geom('robot1').conaffinity[0]
    assert model.geom('deadly_1_0').contype[0] == model.geom('deadly_1_0').conaffinity[0] == 0


def test_robots_stand_in_the_middle_of_their_cells(drive):
    poses = drive(['..', '..'], (0, 1), (1, 0)).poses
    assert poses[0] == pytest.approx((1.5, 1.5, 0), abs=1e-3)
    assert poses[1] == pytest.approx((0.5, 0.5, 0), abs=1e-3)


def test_no_part_of_a_robot_stands_out_of_its_chassis(drive):
    model = drive(['.'], (0, 0)).world.model
    for geom in range(1, model.ngeom):
        body = model.geom(geom).bodyid[0]
        x, y = (model.geom(geom).pos + (model.body(body).pos if body > 1 else 0))[:2]
        assert math.hypot(x, y) + model.geom(geom).size[0] <= RADIUS
