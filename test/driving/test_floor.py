"""Cells and metres."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.driving.floor import Floor, Point, wrapped
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap

GRID = GridMap(('..#', '#..'), slip=0.1)


def test_row_0_is_on_top_and_column_0_on_the_left():
    floor = Floor(GRID)
    assert floor.centre((1, 0)) == Point(0.5, 0.5)
    assert floor.centre((0, 0)) == Point(0.5, 1.5)
    assert floor.centre((0, 2)) == Point(2.5, 1.5)


@given(
    st.sampled_from(GRID.cells),
    st.floats(0.1, 10),
    st.tuples(st.floats(-100, 100), st.floats(-100, 100)),
    st.tuples(st.floats(-0.49, 0.49), st.floats(-0.49, 0.49)),
)
def test_every_place_in_a_cell_belongs_to_it(cell, size, origin, offset):
    floor = Floor(GRID, cell_size=size, origin=Point(*origin))
    x, y = floor.centre(cell)
    assert floor.cell_at(x + offset[0] * size, y + offset[1] * size) == cell


@pytest.mark.parametrize(
    'place', [(2.5, 1.5), (0.5, 0.5), (-0.1, 1.5), (3.1, 0.5), (1.5, 2.1), (1.5, -0.1)]
)
def test_walls_and_what_is_off_the_map_are_no_cells(place):
    assert Floor(GRID).cell_at(*place) is None


@pytest.mark.parametrize('place', [(math.nan, 1.0), (1.0, math.inf)])
def test_place_that_is_no_number_is_no_cell(place):
    assert Floor(GRID).cell_at(*place) is None


@pytest.mark.parametrize('size', [0.0, -1.0, math.nan, math.inf])
def test_cell_size_must_be_a_length(size):
    with pytest.raises(ModelError, match='cell_size'):
        Floor(GRID, cell_size=size)


def test_origin_must_be_a_place():
    with pytest.raises(ModelError, match='origin'):
        Floor(GRID, origin=Point(0.0, math.nan))


@given(st.floats(-1000, 1000))
def test_wrapped_angle_is_the_same_direction(angle):
    assert -math.pi <= wrapped(angle) <= math.pi
    assert math.isclose(math.cos(wrapped(angle)), math.cos(angle), abs_tol=1e-9)
    assert math.isclose(math.sin(wrapped(angle)), math.sin(angle), abs_tol=1e-9)
