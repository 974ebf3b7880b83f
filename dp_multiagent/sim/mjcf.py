"""A navigation scenario as a MuJoCo model, in MuJoCo's XML.

Every wall is a box, every deadly cell a red tile that nothing can touch, every robot a round
chassis on two driven wheels and two casters. Wheels and casters meet only the floor, chassis only
walls and each other. Off the map there is floor, and no wall. A wheel is a ball that turns around
one axle: it meets the floor in one point, as a narrow tyre does.

MuJoCo takes the larger friction of two geoms that meet: the casters have a priority, so that
theirs counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as Xml

from dp_multiagent.driving.floor import Floor
from dp_multiagent.models.gridmap import DEADLY, WALL, Cell

TIMESTEP = 0.005  # seconds
GRAVITY = 9.81  # metres a second squared

RADIUS = 0.175  # metres, of a robot
HEIGHT = 0.12
CLEARANCE = 0.02  # metres, under the chassis
CHASSIS_MASS = 5.0  # kilograms

WHEEL_RADIUS = 0.05
TRACK = 0.24  # metres between the wheels
WHEEL_MASS = 0.3
WHEEL_TORQUE = 0.6  # newton metres, too little to make a wheel spin
WHEEL_GAIN = 2.0  # newton metres for each radian a second that is missing
WHEEL_FRICTION = 1.0

CASTER_RADIUS = 0.02
CASTER_OFFSET = 0.14
CASTER_MASS = 0.05
CASTER_FRICTION = 0.001

WALL_HEIGHT = 0.3
TILE_HEIGHT = 0.002

FLOOR_COLOUR = '0.9 0.9 0.9 1'
DEADLY_COLOUR = '0.85 0.33 0.31 1'
WHEEL_COLOUR = '0.1 0.1 0.1 1'
COLOURS = ('0.12 0.47 0.71 1', '1 0.5 0.05 1', '0.17 0.63 0.17 1', '0.84 0.15 0.16 1')

# Whatever rolls touches what bears it; whatever is solid touches what is solid.
ROLLS = {'contype': '1', 'conaffinity': '0'}
BEARS = {'contype': '0', 'conaffinity': '1'}
SOLID = {'contype': '2', 'conaffinity': '2'}
AIR = {'contype': '0', 'conaffinity': '0'}


def world_as_xml(floor: Floor, robots: Mapping[str, Cell]) -> str:
    """Return the model of a map with robots, each in the middle of its cell, looking along x."""
    root = Xml.Element('mujoco', model='dp_multiagent')
    Xml.SubElement(
        root,
        'option',
        timestep=str(TIMESTEP),
        integrator='implicitfast',
        gravity=_numbers(0, 0, -GRAVITY),
    )
    world = Xml.SubElement(root, 'worldbody')
    Xml.SubElement(world, 'light', pos='0 0 10')
    _add_geom(world, BEARS, name='floor', type='plane', size='0 0 1', rgba=FLOOR_COLOUR)
    for r, row in enumerate(floor.grid.drawing):
        for c, sign in enumerate(row):
            if sign == WALL:
                _add_wall(world, floor, (r, c))
            elif sign == DEADLY:
                _add_tile(world, floor, (r, c))
    actuators = Xml.SubElement(root, 'actuator')
    for i, (name, start) in enumerate(robots.items()):
        _add_robot(world, name, (*floor.centre(start), WHEEL_RADIUS), COLOURS[i % len(COLOURS)])
        for side in ('left', 'right'):
            Xml.SubElement(
                actuators,
                'velocity',
                name=f'{name}_{side}',
                joint=f'{name}_{side}',
                kv=str(WHEEL_GAIN),
                forcerange=f'-{WHEEL_TORQUE} {WHEEL_TORQUE}',
            )
    Xml.indent(root)
    return Xml.tostring(root, encoding='unicode')


def _add_wall(world: Xml.Element, floor: Floor, cell: Cell) -> None:
    half = floor.cell_size / 2
    _add_geom(
        world,
        SOLID,
        name=f'wall_{cell[0]}_{cell[1]}',
        type='box',
        pos=_numbers(*floor.centre(cell), WALL_HEIGHT / 2),
        size=_numbers(half, half, WALL_HEIGHT / 2),
    )


def _add_tile(world: Xml.Element, floor: Floor, cell: Cell) -> None:
    half = floor.cell_size / 2
    _add_geom(
        world,
        AIR,
        name=f'deadly_{cell[0]}_{cell[1]}',
        type='box',
        pos=_numbers(*floor.centre(cell), TILE_HEIGHT / 2),
        size=_numbers(half, half, TILE_HEIGHT / 2),
        rgba=DEADLY_COLOUR,
    )


def _add_robot(world: Xml.Element, name: str, place: Sequence[float], colour: str) -> None:
    body = Xml.SubElement(world, 'body', name=name, pos=_numbers(*place))
    Xml.SubElement(body, 'freejoint', name=name)
    _add_geom(
        body,
        SOLID,
        name=name,
        type='cylinder',
        pos=_numbers(0, 0, CLEARANCE + HEIGHT / 2 - WHEEL_RADIUS),
        size=_numbers(RADIUS, HEIGHT / 2),
        mass=str(CHASSIS_MASS),
        rgba=colour,
    )
    for offset in (CASTER_OFFSET, -CASTER_OFFSET):
        _add_geom(
            body,
            ROLLS,
            type='sphere',
            pos=_numbers(offset, 0, CASTER_RADIUS - WHEEL_RADIUS),
            size=str(CASTER_RADIUS),
            mass=str(CASTER_MASS),
            friction=_numbers(CASTER_FRICTION, CASTER_FRICTION, CASTER_FRICTION),
            priority='1',
            condim='1',
        )
    for side, y in (('left', TRACK / 2), ('right', -TRACK / 2)):
        _add_wheel(body, f'{name}_{side}', y)


def _add_wheel(body: Xml.Element, name: str, y: float) -> None:
    wheel = Xml.SubElement(body, 'body', pos=_numbers(0, y, 0))
    Xml.SubElement(wheel, 'joint', name=name, type='hinge', axis='0 1 0')
    _add_geom(
        wheel,
        ROLLS,
        type='sphere',
        size=str(WHEEL_RADIUS),
        mass=str(WHEEL_MASS),
        friction=_numbers(WHEEL_FRICTION, 0.005, 0.0001),
        rgba=WHEEL_COLOUR,
    )


def _add_geom(parent: Xml.Element, touches: Mapping[str, str], **attributes: str) -> None:
    Xml.SubElement(parent, 'geom', {**attributes, **touches})


def _numbers(*values: float) -> str:
    return ' '.join(f'{value:.10g}' for value in values)
