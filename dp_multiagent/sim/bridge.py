"""What crosses between Gazebo and ROS, for `parameter_bridge` of ros_gz_bridge.

A robot's bridge runs in that robot's own domain. There the robot finds what a real base has, /odom
and /cmd_vel, and the time; in Gazebo the topics carry its name. The operator's domain needs only
the time. No bridge may run in the team's domain: it would tell the true pose to everyone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import yaml

from dp_multiagent.sim.gazebo import CLOCK_TOPIC, Flavour, odometry_topic, velocity_topic

TO_ROS, TO_GAZEBO = 'GZ_TO_ROS', 'ROS_TO_GZ'


@dataclass(frozen=True)
class Crossing:
    """One topic that a bridge carries over, with the fields of the bridge's configuration file."""

    ros_topic_name: str
    gz_topic_name: str
    ros_type_name: str
    gz_type_name: str
    direction: str


def robot_bridge(robot: str, flavour: Flavour) -> tuple[Crossing, ...]:
    """Return what a robot's bridge carries between Gazebo and the robot's own domain."""
    odometry, velocity = odometry_topic(robot), velocity_topic(robot)
    return (
        *operator_bridge(flavour),
        Crossing('/odom', odometry, 'nav_msgs/msg/Odometry', flavour.message('Odometry'), TO_ROS),
        Crossing(
            '/cmd_vel', velocity, 'geometry_msgs/msg/Twist', flavour.message('Twist'), TO_GAZEBO
        ),
    )


def operator_bridge(flavour: Flavour) -> tuple[Crossing, ...]:
    """Return what the operator's bridge carries from Gazebo to the operator's domain."""
    clock = flavour.message('Clock')
    return (Crossing('/clock', CLOCK_TOPIC, 'rosgraph_msgs/msg/Clock', clock, TO_ROS),)


def bridge_as_yaml(crossings: Sequence[Crossing]) -> str:
    """Return the file that `parameter_bridge` takes as its parameter `config_file`."""
    return yaml.safe_dump([asdict(each) for each in crossings], sort_keys=False)
