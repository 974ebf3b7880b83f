"""A robot with an executor of choice: fleet_robot.py events|plain wheels|none OPTION...

Without wheels it is at once where it drives to; with them it needs odometry.
"""

import sys
from functools import partial

from rclpy.executors import SingleThreadedExecutor

from dp_multiagent.models import scenarios
from dp_multiagent.nodes import robot
from dp_multiagent.nodes.spin import make_executor

EXECUTORS = {
    'events': make_executor,
    'plain': lambda context: SingleThreadedExecutor(context=context),
}


class Teleporter:
    step_time = 0.0

    def __init__(self, cell):
        self.cell = cell

    def drive_to(self, cell):
        self.cell = cell


def make_teleporter(node, _grid):
    options = sys.argv[3:]
    scenario = scenarios.load(scenarios.find(options[options.index('--scenario') + 1]))
    return Teleporter({each.name: each.start for each in scenario.robots}[node.get_name()])


if __name__ == '__main__':
    executor, wheels = sys.argv[1:3]
    robot.spin = partial(robot.spin, executor=EXECUTORS[executor])
    navigator = None if wheels == 'wheels' else make_teleporter
    raise SystemExit(robot.main(sys.argv[3:], navigator))
