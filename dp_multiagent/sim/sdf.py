"""A navigation scenario as a Gazebo world, in SDF: the same floor and robots as in `mjcf`.

All dimensions come from there. Wheels and casters meet only the floor, chassis only walls and each
other. Deadly cells are only seen. Gazebo takes the smaller friction of two shapes that meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as Xml

from dp_multiagent.driving.floor import Floor
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import DEADLY, WALL, Cell
from dp_multiagent.sim import mjcf
from dp_multiagent.sim.gazebo import Flavour
from dp_multiagent.sim.sdf_elements import FLOOR, NOTHING, SOLID, Shape, add, add_shape, numbers
from dp_multiagent.sim.sdf_robot import add_robot

SDF_VERSION = '1.9'  # the newest that Fortress reads
WORLD = 'dp_multiagent'
NOTE = 'Made by dp_multiagent scenario world: change the scenario, not this file.'
SYSTEMS = ('Physics', 'UserCommands', 'SceneBroadcaster')

WALL_COLOUR = '0.5 0.5 0.5 1'
MARGIN = 2.0  # metres of floor that are seen around the map


def world_as_sdf(floor: Floor, robots: Mapping[str, Cell], flavour: Flavour) -> str:
    """Return the world of a map with robots, each in the middle of its cell, looking along x."""
    _check(floor, robots)
    root = Xml.Element('sdf', version=SDF_VERSION)
    world = add(root, 'world', name=WORLD)
    _add_surroundings(world, flavour)
    _add_static(world, 'Floor', [_ground(floor)])
    _add_static(world, 'Walls', [_wall(floor, cell) for cell in _cells(floor, WALL)])
    _add_static(world, 'Deadly', [_tile(floor, cell) for cell in _cells(floor, DEADLY)])
    for i, (name, start) in enumerate(robots.items()):
        place = (*floor.centre(start), mjcf.WHEEL_RADIUS)
        add_robot(world, name, place, mjcf.COLOURS[i % len(mjcf.COLOURS)], flavour)
    Xml.indent(root)
    return f'<?xml version="1.0"?>\n<!-- {NOTE} -->\n{Xml.tostring(root, encoding="unicode")}\n'


def _check(floor: Floor, robots: Mapping[str, Cell]) -> None:
    if robots and floor.cell_size <= 2 * mjcf.RADIUS:
        raise ModelError(
            f'cell_size {floor.cell_size:g} is too small: robots are {2 * mjcf.RADIUS:g} m wide'
        )
    if 'world' in robots:
        raise ModelError('no robot can be called world in Gazebo: choose another name')


def _add_surroundings(world: Xml.Element, flavour: Flavour) -> None:
    physics = add(world, 'physics', name='step', type='ignored')
    add(physics, 'max_step_size', mjcf.TIMESTEP)
    add(physics, 'real_time_factor', 1)
    add(world, 'gravity', numbers(0, 0, -mjcf.GRAVITY))
    for system in SYSTEMS:
        add(world, 'plugin', **flavour.system(system))
    sun = add(world, 'light', name='Sun', type='directional')
    add(sun, 'pose', '0 0 10 0 0 0')
    add(sun, 'cast_shadows', 'true')
    add(sun, 'direction', '-0.4 0.2 -0.9')


def _add_static(world: Xml.Element, name: str, shapes: list[Shape]) -> None:
    """Add a model that never moves; its name has a capital, as no robot's can."""
    if shapes:
        model = add(world, 'model', name=name)
        add(model, 'static', 'true')
        link = add(model, 'link', name='link')
        for shape in shapes:
            add_shape(link, shape)


def _cells(floor: Floor, wanted: str) -> list[Cell]:
    return [
        (r, c)
        for r, row in enumerate(floor.grid.drawing)
        for c, sign in enumerate(row)
        if sign == wanted
    ]


def _ground(floor: Floor) -> Shape:
    width = floor.grid.columns * floor.cell_size
    depth = floor.grid.rows * floor.cell_size
    sizes = {'normal': '0 0 1', 'size': numbers(width + 2 * MARGIN, depth + 2 * MARGIN)}
    middle = (floor.origin.x + width / 2, floor.origin.y + depth / 2, 0.0)
    return Shape('floor', 'plane', sizes, middle, mjcf.FLOOR_COLOUR, FLOOR)


def _wall(floor: Floor, cell: Cell) -> Shape:
    return _box('wall', floor, cell, mjcf.WALL_HEIGHT, WALL_COLOUR, SOLID)


def _tile(floor: Floor, cell: Cell) -> Shape:
    return _box('deadly', floor, cell, mjcf.TILE_HEIGHT, mjcf.DEADLY_COLOUR, NOTHING)


def _box(kind: str, floor: Floor, cell: Cell, height: float, colour: str, touches: int) -> Shape:
    name = f'{kind}_{cell[0]}_{cell[1]}'
    sizes = {'size': numbers(floor.cell_size, floor.cell_size, height)}
    return Shape(name, 'box', sizes, (*floor.centre(cell), height / 2), colour, touches)
