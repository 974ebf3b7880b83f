"""The elements of SDF that worlds and robots are written with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from dp_multiagent.sim.inertia import Inertia

# Shapes touch if they have a bit in common.
NOTHING, FLOOR, SOLID = 0, 1, 2

Place = tuple[float, float, float]
HERE: Place = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Shape:
    """A shape that is seen and, if it touches something, felt; without a friction it has 1."""

    name: str
    kind: str
    sizes: Mapping[str, str]
    place: Place
    colour: str
    touches: int = NOTHING
    friction: float | None = None


def add(
    parent: Xml.Element, tag: str, value: str | float | None = None, **attributes: str
) -> Xml.Element:
    """Add an element with a value and attributes, and return it."""
    element = Xml.SubElement(parent, tag, attributes)
    if value is not None:
        element.text = value if isinstance(value, str) else numbers(value)
    return element


def add_pose(parent: Xml.Element, place: Place) -> None:
    """Put an element somewhere in its parent's frame, unturned."""
    if place != HERE:
        add(parent, 'pose', numbers(*place, 0, 0, 0))


def add_shape(link: Xml.Element, shape: Shape) -> None:
    """Add a shape to a link."""
    if shape.touches:
        collision = add(link, 'collision', name=shape.name)
        _add_geometry(collision, shape)
        surface = add(collision, 'surface')
        add(add(surface, 'contact'), 'collide_bitmask', shape.touches)
        if shape.friction is not None:
            friction = add(add(surface, 'friction'), 'ode')
            add(friction, 'mu', shape.friction)
            add(friction, 'mu2', shape.friction)
    visual = add(link, 'visual', name=f'{shape.name}_visual')
    _add_geometry(visual, shape)
    material = add(visual, 'material')
    add(material, 'ambient', shape.colour)
    add(material, 'diffuse', shape.colour)


def add_inertia(link: Xml.Element, inertia: Inertia) -> None:
    """Say what a link weighs."""
    inertial = add(link, 'inertial')
    x, y, z = inertia.centre.tolist()
    add_pose(inertial, (x, y, z))
    add(inertial, 'mass', inertia.mass)
    tensor = add(inertial, 'inertia')
    for i, row in enumerate('xyz'):
        for j, column in enumerate('xyz'[i:], start=i):
            add(tensor, f'i{row}{column}', inertia.tensor[i, j])


def numbers(*values: float) -> str:
    """Write numbers with ten digits, the same on every machine.

    >>> numbers(0.1 + 0.2, -0.0)
    '0.3 0'
    """
    return ' '.join(f'{value + 0.0:.10g}' for value in values)


def _add_geometry(parent: Xml.Element, shape: Shape) -> None:
    add_pose(parent, shape.place)
    solid = add(add(parent, 'geometry'), shape.kind)
    for size, value in shape.sizes.items():
        add(solid, size, value)
