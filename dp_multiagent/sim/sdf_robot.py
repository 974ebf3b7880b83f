"""A robot of `mjcf` as a Gazebo model that is driven by /<robot>/cmd_vel.

Its true pose goes out on /<robot>/odom, in the map's frame, as of a perfect localiser; what the
wheels alone would say goes to /<robot>/wheel_odom.
"""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from dp_multiagent.sim import mjcf
from dp_multiagent.sim.gazebo import Flavour, odometry_topic, velocity_topic
from dp_multiagent.sim.inertia import Inertia
from dp_multiagent.sim.sdf_elements import (
    FLOOR,
    HERE,
    SOLID,
    Place,
    Shape,
    add,
    add_inertia,
    add_pose,
    add_shape,
    numbers,
)
from dp_multiagent.sim.world import TICK

ODOM_FRAME, BASE_FRAME = 'odom', 'base_link'

CHASSIS_PLACE: Place = (0.0, 0.0, mjcf.CLEARANCE + mjcf.HEIGHT / 2 - mjcf.WHEEL_RADIUS)
CASTER_PLACES: dict[str, Place] = {
    'front': (mjcf.CASTER_OFFSET, 0.0, mjcf.CASTER_RADIUS - mjcf.WHEEL_RADIUS),
    'back': (-mjcf.CASTER_OFFSET, 0.0, mjcf.CASTER_RADIUS - mjcf.WHEEL_RADIUS),
}
WHEEL_PLACES: dict[str, Place] = {
    'left': (0.0, mjcf.TRACK / 2, 0.0),
    'right': (0.0, -mjcf.TRACK / 2, 0.0),
}


def add_robot(world: Xml.Element, name: str, place: Place, colour: str, flavour: Flavour) -> None:
    """Add a robot that looks along x to a world."""
    model = add(world, 'model', name=name)
    add_pose(model, place)
    _add_base(model, colour)
    for side, where in WHEEL_PLACES.items():
        _add_wheel(model, side, where)
    _add_drive(model, name, flavour)
    _add_localiser(model, name, flavour)


def _add_base(model: Xml.Element, colour: str) -> None:
    link = add(model, 'link', name=BASE_FRAME)
    front, back = (
        Inertia.of_sphere(mjcf.CASTER_MASS, place, mjcf.CASTER_RADIUS)
        for place in CASTER_PLACES.values()
    )
    chassis = Inertia.of_cylinder(mjcf.CHASSIS_MASS, CHASSIS_PLACE, mjcf.RADIUS, mjcf.HEIGHT)
    add_inertia(link, front + back + chassis)
    size = {'radius': numbers(mjcf.RADIUS), 'length': numbers(mjcf.HEIGHT)}
    add_shape(link, Shape('chassis', 'cylinder', size, CHASSIS_PLACE, colour, SOLID))
    for name, place in CASTER_PLACES.items():
        add_shape(link, _ball(f'{name}_caster', mjcf.CASTER_RADIUS, place, mjcf.CASTER_FRICTION))


def _add_wheel(model: Xml.Element, side: str, place: Place) -> None:
    link = add(model, 'link', name=f'{side}_wheel')
    add_pose(link, place)
    add_inertia(link, Inertia.of_sphere(mjcf.WHEEL_MASS, HERE, mjcf.WHEEL_RADIUS))
    add_shape(link, _ball('wheel', mjcf.WHEEL_RADIUS, HERE, mjcf.WHEEL_FRICTION))
    joint = add(model, 'joint', name=side, type='revolute')
    add(joint, 'parent', BASE_FRAME)
    add(joint, 'child', f'{side}_wheel')
    axis = add(joint, 'axis')
    add(axis, 'xyz', '0 1 0')
    add(add(axis, 'limit'), 'effort', mjcf.WHEEL_TORQUE)


def _ball(name: str, radius: float, place: Place, friction: float) -> Shape:
    size = {'radius': numbers(radius)}
    return Shape(name, 'sphere', size, place, mjcf.WHEEL_COLOUR, FLOOR, friction)


def _add_drive(model: Xml.Element, robot: str, flavour: Flavour) -> None:
    plugin = add(model, 'plugin', **flavour.system('DiffDrive'))
    add(plugin, 'left_joint', 'left')
    add(plugin, 'right_joint', 'right')
    add(plugin, 'wheel_separation', mjcf.TRACK)
    add(plugin, 'wheel_radius', mjcf.WHEEL_RADIUS)
    add(plugin, 'topic', velocity_topic(robot))
    add(plugin, 'odom_topic', f'/{robot}/wheel_odom')
    add(plugin, 'odom_publish_frequency', 1 / TICK)
    add(plugin, 'frame_id', ODOM_FRAME)
    add(plugin, 'child_frame_id', BASE_FRAME)


def _add_localiser(model: Xml.Element, robot: str, flavour: Flavour) -> None:
    plugin = add(model, 'plugin', **flavour.system('OdometryPublisher'))
    add(plugin, 'odom_topic', odometry_topic(robot))
    add(plugin, 'odom_publish_frequency', 1 / TICK)
    add(plugin, 'odom_frame', ODOM_FRAME)
    add(plugin, 'robot_base_frame', BASE_FRAME)
