"""Plan for a team of real robots and run its episodes, on the base station.

`ros2 launch dp_multiagent base.launch.py --show-args` lists the arguments. The robots run
robot.launch.py, with the same scenario and team domain.
"""

from dp_multiagent.deployment.launch_arguments import BASE
from dp_multiagent.deployment.launching import base_launch
from dp_multiagent.nodes.launch_file import launch_file


def generate_launch_description():
    return launch_file(BASE, base_launch)
