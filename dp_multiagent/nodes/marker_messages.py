"""The seam to RViz: the map, targets, private states and poses as markers, in the frame `map`.

A robot keeps its colour in all of them. What robots tell stands in the middle of a cell, moved a
little to the side of each robot, because several may tell the same cell.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterable
from dataclasses import dataclass

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point as PointMsg
from geometry_msgs.msg import Quaternion, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from dp_multiagent.driving.floor import Floor, Point, Pose
from dp_multiagent.models.gridmap import DEADLY, WALL, Cell
from dp_multiagent.models.plan import PrivateState

FRAME = 'map'
GREY = ColorRGBA(r=0.25, g=0.25, b=0.25, a=1.0)
RED = ColorRGBA(r=0.85, g=0.3, b=0.3, a=0.8)
PALE = ColorRGBA(r=0.93, g=0.93, b=0.93, a=1.0)
WALL_HEIGHT = 0.3  # metres
RADIUS = 0.175  # metres, of a robot
FORGOTTEN_AFTER = 1  # seconds, a true pose that nobody renews


@dataclass(frozen=True)
class Member:
    """A robot as it is drawn: its place in a team of so many, and its name."""

    index: int
    team: int
    name: str

    def colour(self, opacity: float) -> ColorRGBA:
        """Return the colour of the robot."""
        red, green, blue = colorsys.hsv_to_rgb(self.index / self.team, 0.8, 0.9)
        return ColorRGBA(r=red, g=green, b=blue, a=opacity)

    def beside(self, centre: Point, distance: float) -> Point:
        """Return the side of a place that is this robot's."""
        if self.team == 1:
            return centre
        angle = math.tau * self.index / self.team
        return Point(centre.x + distance * math.cos(angle), centre.y + distance * math.sin(angle))


def floor_to_msgs(floor: Floor) -> list[Marker]:
    """Return the ground, the walls and the deadly cells."""
    size, grid = floor.cell_size, floor.grid
    width, height = grid.columns * size, grid.rows * size
    middle = Point(floor.origin.x + width / 2, floor.origin.y + height / 2)
    ground = _marker('map', 0, Marker.CUBE, PALE)
    ground.pose.position = _point(middle, -0.02)
    ground.scale = Vector3(x=width, y=height, z=0.02)
    walls = _cubes(floor, 1, GREY, WALL, WALL_HEIGHT)
    return [ground, *walls, *_cubes(floor, 2, RED, DEADLY, 0.02)]


def target_to_msg(floor: Floor, member: Member, target: Cell) -> Marker:
    """Return the target of a robot, a ring's worth of colour on the ground."""
    marker = _marker('target', member.index, Marker.CYLINDER, member.colour(0.4))
    marker.pose.position = _point(floor.centre(target), 0.01)
    marker.scale = Vector3(x=0.8 * floor.cell_size, y=0.8 * floor.cell_size, z=0.02)
    return marker


def private_to_msgs(floor: Floor, member: Member, told: PrivateState | None) -> list[Marker]:
    """Return what a robot told last, or the removal of that."""
    ball = _marker('private', member.index, Marker.SPHERE, member.colour(0.7))
    label = _marker('private label', member.index, Marker.TEXT_VIEW_FACING, member.colour(1.0))
    if told is None:
        ball.action = label.action = Marker.DELETE
        return [ball, label]
    size = floor.cell_size
    place = member.beside(floor.centre(floor.grid.cells[told.state]), 0.2 * size)
    ball.pose.position, label.pose.position = _point(place, 0.15 * size), _point(place, 0.5 * size)
    ball.scale = Vector3(x=0.3 * size, y=0.3 * size, z=0.3 * size)
    label.scale.z = 0.18 * size
    label.text = f'{member.name} tells, step {told.step}'
    return [ball, label]


def pose_to_msgs(member: Member, pose: Pose) -> list[Marker]:
    """Return where a robot truly is; it vanishes if nobody says so again."""
    body = _marker('true', member.index, Marker.CYLINDER, member.colour(1.0))
    nose = _marker('true heading', member.index, Marker.ARROW, GREY)
    for marker, height in ((body, 0.1), (nose, 0.22)):
        marker.pose.position = _point(Point(pose.x, pose.y), height)
        marker.pose.orientation = Quaternion(
            z=math.sin(pose.heading / 2), w=math.cos(pose.heading / 2)
        )
        marker.lifetime = Duration(sec=FORGOTTEN_AFTER)
    body.scale = Vector3(x=2 * RADIUS, y=2 * RADIUS, z=0.2)
    nose.scale = Vector3(x=1.5 * RADIUS, y=0.05, z=0.05)
    return [body, nose]


def _cubes(
    floor: Floor, number: int, colour: ColorRGBA, sign: str, height: float
) -> Iterable[Marker]:
    cells = [
        (r, c)
        for r, row in enumerate(floor.grid.drawing)
        for c, at in enumerate(row)
        if at == sign
    ]
    if not cells:
        return
    marker = _marker('map', number, Marker.CUBE_LIST, colour)
    marker.scale = Vector3(x=floor.cell_size, y=floor.cell_size, z=height)
    marker.points = [_point(floor.centre(cell), height / 2) for cell in cells]
    yield marker


def _marker(namespace: str, number: int, kind: int, colour: ColorRGBA) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, color=colour)
    marker.header.frame_id = FRAME
    return marker


def _point(place: Point, height: float) -> PointMsg:
    return PointMsg(x=float(place.x), y=float(place.y), z=float(height))
