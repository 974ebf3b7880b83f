"""How the generations of Gazebo call their plugins, messages and our robots' topics.

Harmonic goes with ROS 2 Jazzy, Fortress with Humble.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Flavour:
    """One generation of Gazebo.

    >>> FLAVOURS['fortress'].system('DiffDrive')['filename']
    'ignition-gazebo-diff-drive-system'
    """

    library: str
    namespace: str
    messages: str

    def system(self, name: str) -> dict[str, str]:
        """Return the attributes of the plugin element that loads a system."""
        words = ''.join(f'-{letter.lower()}' if letter.isupper() else letter for letter in name)
        return {
            'filename': f'{self.library}{words}-system',
            'name': f'{self.namespace}::systems::{name}',
        }

    def message(self, name: str) -> str:
        """Return the full name of a message type."""
        return f'{self.messages}.{name}'


FLAVOURS: Mapping[str, Flavour] = {
    'harmonic': Flavour('gz-sim', 'gz::sim', 'gz.msgs'),
    'fortress': Flavour('ignition-gazebo', 'ignition::gazebo', 'ignition.msgs'),
}

CLOCK_TOPIC = '/clock'


def velocity_topic(robot: str) -> str:
    """Return where a robot hears in Gazebo how fast to drive."""
    return f'/{robot}/cmd_vel'


def odometry_topic(robot: str) -> str:
    """Return where Gazebo tells the true pose of a robot."""
    return f'/{robot}/odom'
