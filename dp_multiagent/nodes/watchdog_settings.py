"""The parameters of the watchdog, with what `ros2 param describe` says of them.

The defaults are for a navigator that answers each pose of an odometry with 25 Hz or more. One that
speaks at times of its own (Nav2, or with the pose from tf) needs a control period of twice its own
or more, and poses that come less often need longer to be stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node

from dp_multiagent.driving.floor import Floor, Point
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.watchdog import Rules, Stop
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap


def _about(default: Any, text: str, least: float = 0.0, most: float = 0.0) -> Any:
    return field(default=default, metadata={'text': text, 'range': (least, most)})


@dataclass(frozen=True)
class Settings:
    """The parameters, under the same names; those of the navigator have the same meaning."""

    wanted_topic: str = _about('cmd_vel_wanted', 'velocities that the navigator wants')
    wheels_topic: str = _about('cmd_vel', 'velocities that the base obeys')
    pose: str = _about('odom', 'where the pose comes from: odom or tf')
    odom_topic: str = _about('odom', 'odometry, with pose: odom')
    map_frame: str = _about('map', 'with pose: tf')
    base_frame: str = _about('base_link', 'with pose: tf')
    cell_size: float = _about(1.0, 'metres', 0.01, 1000.0)
    origin_x: float = _about(0.0, "of the map's lower left corner, metres", -1e6, 1e6)
    origin_y: float = _about(0.0, "of the map's lower left corner, metres", -1e6, 1e6)
    speed: float = _about(Limits.speed, 'limit, metres a second', 0.001, 100.0)
    acceleration: float = _about(Limits.acceleration, 'limit, metres a second^2', 0.001, 100.0)
    turn_speed: float = _about(Limits.turn_speed, 'limit, radians a second', 0.001, 100.0)
    turn_acceleration: float = _about(
        Limits.turn_acceleration, 'limit, radians a second^2', 0.001, 1000.0
    )
    control_period: float = _about(Rules.period, 'seconds for an answer to a pose', 0.001, 10.0)
    pose_stale_after: float = _about(Rules.stale_after, 'seconds', 0.001, 10.0)
    resume_after: float = _about(Rules.resume_after, 'seconds without a fault', 0.001, 60.0)
    slack: float = _about(Rules.slack, 'metres of noise between two poses', 0.001, 10.0)
    turn_slack: float = _about(Rules.turn_slack, 'radians of noise likewise', 0.001, 10.0)
    braking: float = _about(4.0, 'what the base does if told zero, metres a second^2', 0.01, 100.0)

    def __post_init__(self) -> None:
        if self.pose not in ('odom', 'tf'):
            raise ModelError(f"pose: {self.pose!r} is none of ('odom', 'tf')")
        if self.wanted_topic == self.wheels_topic:
            raise ModelError(f'wanted_topic and wheels_topic are both {self.wheels_topic!r}')

    @classmethod
    def of(cls, node: Node) -> Settings:
        """Declare the parameters at a node and read them; nobody can set them later."""
        try:
            for each in fields(cls):
                node.declare_parameter(each.name, each.default, _described(each.metadata))
        except ParameterException as error:
            raise ModelError(f'a parameter is not of its kind or range: {error}') from None
        return cls(**{each.name: node.get_parameter(each.name).value for each in fields(cls)})

    @property
    def rules(self) -> Rules:
        """Return when the wheels must stand."""
        return Rules(
            self.control_period,
            self.pose_stale_after,
            self.resume_after,
            self.slack,
            self.turn_slack,
        )

    @property
    def limits(self) -> Limits:
        """Return what holds whatever is wanted."""
        return Limits(self.speed, self.acceleration, self.turn_speed, self.turn_acceleration)

    def floor(self, grid: GridMap) -> Floor:
        """Lay out a map."""
        return Floor(grid, self.cell_size, Point(self.origin_x, self.origin_y))

    @property
    def stop(self) -> Stop:
        """Return the stop from full speed of a robot that tells its pose once in a period."""
        reaction = 2 * self.control_period
        return Stop.of(self.speed, braking=self.braking, reaction=reaction)


def _described(metadata: Any) -> ParameterDescriptor:
    least, most = metadata['range']
    ranges = [FloatingPointRange(from_value=least, to_value=most)] if least < most else []
    return ParameterDescriptor(
        description=metadata['text'], read_only=True, floating_point_range=ranges
    )
