"""Run a launch file as `ros2 launch` does: launcher.py FILE [NAME:=VALUE ...].

All that it says goes to its errors, in order.
"""

import os
import sys

from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource


def main():
    _, file, *values = sys.argv
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    included = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(file),
        launch_arguments=[tuple(value.split(':=', 1)) for value in values],
    )
    service = LaunchService(argv=values, noninteractive=True)
    service.include_launch_description(LaunchDescription([included]))
    return service.run()


if __name__ == '__main__':
    raise SystemExit(main())
