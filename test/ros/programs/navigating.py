"""Drive over cells, one per period of simulated time: navigating.py DOMAIN SCENARIO R,C R,C ...

It says where it is when the clock runs and after each step, and when it holds at the end.
"""

import sys

from rclpy.context import Context
from rclpy.parameter import Parameter

from dp_multiagent.models import scenarios
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.navigator import make_navigator
from dp_multiagent.nodes.spin import spin, stop_on_signals

PERIOD = 4.0  # simulated seconds


class Driver(GuardedNode):
    def __init__(self, context, grid, cells):
        super().__init__(
            'driver',
            context=context,
            parameter_overrides=[Parameter('use_sim_time', value=True)],
        )
        self.navigator = make_navigator(self, grid)
        self.cells = cells
        self.waiting = self.every(0.04, self.begin)

    def begin(self):
        if self.navigator.cell is not None:
            self.waiting.cancel()
            print(f'at {self.navigator.cell}', flush=True)
            self.drive()
            self.every(PERIOD, self.step)

    def step(self):
        state = 'arrived' if self.navigator.arrived else 'on the way'
        print(f'{state} at {self.navigator.cell}', flush=True)
        self.drive()

    def drive(self):
        if self.cells:
            self.navigator.drive_to(self.cells.pop(0))


def main():
    domain, name, *cells = sys.argv[1:]
    grid = scenarios.load(scenarios.find(name)).grid
    with stop_on_signals() as stopped:
        context = Context()
        context.init(domain_id=int(domain))
        route = [tuple(map(int, cell.split(','))) for cell in cells]
        spin(Driver(context, grid, route), until=stopped)
        context.try_shutdown()


if __name__ == '__main__':
    main()
