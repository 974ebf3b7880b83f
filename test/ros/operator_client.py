"""An operator of a planner: asks for plans in the team's domain, starts episodes in its own."""

from __future__ import annotations

import time
from functools import partial

from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.msg import LocalPolicy, TeamPlan
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

from dp_multiagent.nodes import qos

Goal = SynthesizePolicies.Goal
Result = SynthesizePolicies.Result
ROBOTS = ('robot1', 'robot2')


class Operator:
    """Talk to a planner; `feedback` are (time, message), `plans` and `policies` what was heard."""

    def __init__(self, own, team, robots=ROBOTS):
        self.own, self.team, self.robots = own, team, robots
        self.action = ActionClient(team, SynthesizePolicies, '/synthesize_policies')
        self.trigger = own.create_client(Trigger, '/planning_server/start_episode')
        self.feedback, self.plans, self.policies = [], [], {}
        team.create_subscription(TeamPlan, '/team_plan', self.plans.append, qos.TEAM_PLAN)
        for robot in robots:
            heard = partial(self.policies.__setitem__, robot)
            team.create_subscription(LocalPolicy, f'/{robot}/policy', heard, qos.LOCAL_POLICY)

    def close(self):
        """Leave the team; an action client that is left behind would still be seen there."""
        self.action.destroy()

    def send(self, **fields):
        """Send a goal and return its handle."""
        self.team.wait_for(self.action.server_is_ready)
        goal = Goal(**({'scenario': 'crossing', 'method': 'baseline'} | fields))
        return self._await(self.action.send_goal_async(goal, self._hear))

    def result(self, handle):
        """Return status and result of a goal."""
        answer = self._await(handle.get_result_async())
        return answer.status, answer.result

    def plan(self, **fields):
        """Ask for a plan that must succeed; return its report."""
        result = self.result(self.send(**fields))[1]
        assert result.error_code == Result.SUCCESS, result.error_message
        return result

    def cancel(self, handle):
        return self._await(handle.cancel_goal_async())

    def start_episode(self):
        """Start an episode and return the answer."""
        self.own.wait_for(self.trigger.service_is_ready)
        future = self.trigger.call_async(Trigger.Request())
        self.own.wait_for(future.done)
        return future.result()

    def wait_for_plan(self, matches=lambda plan: True):
        """Return the last plan that was heard, once it matches and its policies are there."""
        self.team.wait_for(lambda: self.plans and matches(self.plans[-1]))
        plan_id = bytes(self.plans[-1].plan_id)
        self.team.wait_for(
            lambda: all(
                robot in self.policies and bytes(self.policies[robot].plan_id) == plan_id
                for robot in self.robots
            )
        )
        return self.plans[-1]

    def _hear(self, message):
        self.feedback.append((time.monotonic(), message.feedback))

    def _await(self, future):
        self.team.wait_for(future.done)
        return future.result()
