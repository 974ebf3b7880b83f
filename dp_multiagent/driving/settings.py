"""How a robot drives: the parameters of its navigator.

They are listed with comments in config/nodes/robot.yaml. A robot reads them when it is activated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from dp_multiagent.driving.floor import Floor, Point
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.parameter import described, parameter, refuse_bad_values
from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import GridMap

FARTHEST = 1e6  # metres
TOPIC = re.compile(r'(/|~/)?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)


@dataclass(frozen=True)
class Settings:
    """The parameters of a navigator, under the same names; lengths in metres, times in seconds."""

    navigator: str = parameter(
        'own', 'who drives: our control law, or Nav2', choices=('own', 'nav2')
    )
    pose: str = parameter('odom', 'where the pose comes from', choices=('odom', 'tf'))
    odom_topic: str = parameter('odom', 'odometry in, used with pose: odom')
    velocity_topic: str = parameter('cmd_vel', 'velocities out, for the base')
    scan_topic: str = parameter('scan', 'laser scans in, if there is a scanner')
    map_frame: str = parameter('map', 'frame of the map, as it is, without the prefix')
    base_frame: str = parameter('base_link', 'frame of the robot, used with pose: tf')
    frame_prefix: str = parameter('', "stands before the robot's frame, for example turtle1/")
    cell_size: float = parameter(1.0, 'side of a cell of the map, m', 0.01, 100.0)
    origin_x: float = parameter(0.0, 'x of the lower left corner, m', -FARTHEST, FARTHEST)
    origin_y: float = parameter(0.0, 'y of the lower left corner, m', -FARTHEST, FARTHEST)
    speed: float = parameter(Limits.speed, 'highest speed, m/s', 0.001, 100.0)
    acceleration: float = parameter(
        Limits.acceleration, 'highest acceleration, m/s^2', 0.001, 1000.0
    )
    turn_speed: float = parameter(Limits.turn_speed, 'highest turning speed, rad/s', 0.001, 100.0)
    turn_acceleration: float = parameter(
        Limits.turn_acceleration, 'highest turning acceleration, rad/s^2', 0.001, 1000.0
    )
    radius: float = parameter(0.175, 'of the robot, seen from above, m', 0.001, 10.0)
    margin: float = parameter(0.05, 'kept to what the scanner sees ahead, m', 0.0, 10.0)
    stale_after: float = parameter(
        0.5, 'age at which pose and scan are no longer used, s', 0.01, 60.0
    )

    def __post_init__(self) -> None:
        refuse_bad_values(self)
        for name in ('odom_topic', 'velocity_topic', 'scan_topic'):
            if not TOPIC.fullmatch(getattr(self, name)):
                raise ModelError(f'{name}: {getattr(self, name)!r} is no name of a topic')
        for names, frame in (
            ('map_frame', self.map_frame),
            ('frame_prefix and base_frame', self.robot_frame),
        ):
            if not frame or frame.startswith('/'):
                raise ModelError(f'{names}: {frame!r} is empty or begins with a slash')

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read a parameter file of ROS, as far as it is for all nodes and about a navigator."""
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
            values = dict(content.get('/**', {}).get('ros__parameters', {}))
        except OSError as error:
            raise ModelError(f'{path}: {error.strerror}') from None
        except (yaml.YAMLError, AttributeError, TypeError, ValueError):
            raise ModelError(
                f'{path}: is no parameter file, see config/nodes/robot.yaml'
            ) from None
        try:
            known = {k: about.read(k, values[k]) for k, about in described(cls) if k in values}
            return cls(**known)  # type: ignore[arg-type]
        except ModelError as error:
            raise ModelError(f'{path}: {error}') from None

    @property
    def robot_frame(self) -> str:
        """Return the robot's frame as tf knows it.

        >>> Settings(frame_prefix='turtle1/').robot_frame
        'turtle1/base_link'
        """
        return self.frame_prefix + self.base_frame

    @property
    def limits(self) -> Limits:
        """Return what the robot can do."""
        return Limits(self.speed, self.acceleration, self.turn_speed, self.turn_acceleration)

    def floor(self, grid: GridMap) -> Floor:
        """Lay out a map."""
        return Floor(grid, self.cell_size, Point(self.origin_x, self.origin_y))
