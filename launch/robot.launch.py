"""Start one real robot of a team, on that robot.

`ros2 launch dp_multiagent robot.launch.py --show-args` lists the arguments. Base, sensors and
localisation, or Nav2, are started beside it in the robot's own domain. For several robots of one
kind give each a namespace and a frame prefix; also those of a launch file that includes this one
(PushRosNamespace, SetRemap, SetParameter) hold, in the robot's own domain and never in the team's.
Absolute on purpose, whatever the namespace: /status, /diagnostics and /clock.
"""

from dp_multiagent.deployment.launch_arguments import ROBOT
from dp_multiagent.deployment.launching import robot_launch
from dp_multiagent.nodes.launch_file import launch_file


def generate_launch_description():
    return launch_file(ROBOT, robot_launch)
