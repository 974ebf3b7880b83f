"""Plan for a team, start its robots and let them drive, in a simulation by default.

`ros2 launch dp_multiagent navigation.launch.py --show-args` lists the arguments. What is started
is what `dp_multiagent run navigation --show` shows.
"""

from dp_multiagent.deployment.launch_arguments import NAVIGATION
from dp_multiagent.deployment.launching import navigation_launch
from dp_multiagent.nodes.launch_file import launch_file


def generate_launch_description():
    return launch_file(NAVIGATION, navigation_launch)
