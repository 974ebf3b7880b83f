"""Somebody who speaks on every team topic: stranger.py TEAM_DOMAIN RATE SECONDS [forge].

It waits for a plan, prints `ready`, reads a line, and then publishes RATE messages a second that
look like the team's: private states of any step, policies, budgets, plans of another team. With
`forge` the plans are for this team and about to start, 20 of them a second, each with an identity
of its own and with policies. Then it prints how many messages it has sent.
"""

import random
import sys
import time
from dataclasses import replace

import numpy as np
from dp_multiagent.msg import LocalPolicy as LocalPolicyMsg
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from rclpy.context import Context

from dp_multiagent.models.plan import LocalPolicy, PrivateState
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.spin import make_executor

STATES, ACTIONS = 13, 5  # of a robot in the crossing
AT_ONCE = 10
SOON = 2 * 10**9
FORGE_EVERY = 0.05  # seconds


class Stranger:
    """Makes messages from a plan that was overheard."""

    def __init__(self, node, plan, forges):
        self._random = random.Random(1)
        self._plan, self._forges, self._robots = plan, forges, plan.robots
        self._forged, self._forged_at = plan, 0.0
        kinds = {
            'policy': (LocalPolicyMsg, qos.LOCAL_POLICY),
            'private_state': (PrivateStateMsg, qos.PRIVATE_STATE),
            'budget': (PrivacyBudgetMsg, qos.BUDGET),
        }
        self._topics = [
            (node.create_publisher(TeamPlanMsg, '/team_plan', qos.TEAM_PLAN), self.plan)
        ]
        for i, robot in enumerate(plan.robots):
            for name, (kind, profile) in kinds.items():
                publisher = node.create_publisher(kind, f'/{robot}/{name}', profile)
                self._topics.append((publisher, lambda i=i, name=name: getattr(self, name)(i)))

    def speak(self):
        publisher, make = self._random.choice(self._topics)
        publisher.publish(make())

    def plan(self):
        changes = {'plan_id': self._random.randbytes(16), 'episode': self._random.randrange(9)}
        if not self._forges:
            changes['game'] = self._random.randbytes(32)
            return conversions.team_plan_to_msg(replace(self._plan, **changes))
        if time.monotonic() > self._forged_at + FORGE_EVERY:
            self._forged = replace(self._plan, **changes, start_ns=time.time_ns() + SOON)
            self._forged_at = time.monotonic()
        return conversions.team_plan_to_msg(self._forged)

    def policy(self, robot):
        observed = self._plan.graph.observed[robot]
        table = np.zeros((STATES, *(STATES for _ in observed), ACTIONS))
        table[..., self._random.randrange(ACTIONS)] = 1
        own = np.full((STATES, ACTIONS), 1 / ACTIONS)
        policy = LocalPolicy(robot, observed, table, own)
        plan = self._forged
        if not self._forges and self._random.random() < 0.5:
            plan = replace(plan, plan_id=self._random.randbytes(16))
        return conversions.local_policy_to_msg(policy, plan=plan)

    def private_state(self, robot):
        return conversions.private_state_to_msg(
            PrivateState(
                self._plan.plan_id,
                self._plan.episode,
                self._random.randrange(self._plan.horizon + 1),
                self._random.choice([robot, robot, 1 - robot]),
                self._random.randrange(STATES + 1),
            )
        )

    def budget(self, robot):
        return PrivacyBudgetMsg(robot=robot, epsilon_spent=self._random.uniform(-1, 9))


def overhear(node):
    """Return the plan of the team."""
    heard = []
    executor = make_executor(node.context)
    executor.add_node(node)
    node.create_subscription(TeamPlanMsg, '/team_plan', heard.append, qos.TEAM_PLAN)
    while not heard:
        executor.spin_once(timeout_sec=0.1)
    executor.remove_node(node)
    executor.shutdown()
    return conversions.team_plan_from_msg(heard[0])


def main(domain, rate, seconds, *how):
    context = Context()
    context.init(domain_id=int(domain))
    node = TeamNode('stranger', context=context)
    stranger = Stranger(node, overhear(node), 'forge' in how)
    print('ready', flush=True)
    sys.stdin.readline()
    begin, sent = time.monotonic(), 0
    while time.monotonic() < begin + float(seconds):
        for _ in range(AT_ONCE):
            stranger.speak()
        sent += AT_ONCE
        time.sleep(max(begin + sent / float(rate) - time.monotonic(), 0))
    print(sent, flush=True)
    sys.stdin.readline()


if __name__ == '__main__':
    main(*sys.argv[1:])
