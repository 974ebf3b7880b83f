"""Send back every message of this package and every goal of its action: echo.py DOMAIN."""

import inspect
import sys

import dp_multiagent.msg
from dp_multiagent.action import SynthesizePolicies
from rclpy.action import ActionServer
from rclpy.context import Context

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.spin import spin, stop_on_signals


class Echo(TeamNode):
    def __init__(self, context):
        super().__init__('echo', context=context)
        for name, kind in inspect.getmembers(dp_multiagent.msg, inspect.isclass):
            out = self.advertise(kind, f'{name}/out', qos.TEAM_PLAN)
            self.subscribe(kind, f'{name}/in', qos.TEAM_PLAN, lambda msg: msg, out.publish)
        self.action = ActionServer(self, SynthesizePolicies, 'synthesize', self.synthesize)

    def synthesize(self, goal):
        asked = goal.request
        goal.publish_feedback(
            SynthesizePolicies.Feedback(
                iteration=asked.iterations,
                objective=-1.5,
                success_truthful=0.75,
                success_private=0.5,
                total_correlation=asked.epsilon,
            )
        )
        goal.succeed()
        return SynthesizePolicies.Result(
            error_message='|'.join([asked.scenario, asked.method, *asked.starts]),
            plan_id=list(range(16)),
            objective=asked.epsilon,
            iterations=asked.adjacency,
            seconds=1e300,
        )


def main():
    with stop_on_signals() as stopped:
        context = Context()
        context.init(domain_id=int(sys.argv[1]))
        spin(Echo(context), until=stopped)
        context.try_shutdown()


if __name__ == '__main__':
    main()
