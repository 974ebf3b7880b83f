"""Stand between the robots of a team, and between the last one and its wheels, and disturb.

    relay.py TEAM BODY OWN FILE DISTURBANCES ROBOT=SIDE...

Every robot believes that its domain SIDE is the team's. In the domain TEAM somebody of its name
stands in for it. The last robot has its wheels and its clock in the domain OWN, those of the
simulator are in BODY: so the simulation waits for the relay, and all delays are simulated time.

The n-th episode suffers the n-th of the DISTURBANCES (JSON), and then they begin again. FILE gets
a line of JSON per private state that a robot tells, and at the end the topics and services that
were seen in the robots' domains and what became of the messages.
"""

import heapq
import itertools
import json
import random
import struct
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from dp_multiagent.msg import LocalPolicy, PrivacyBudget, PrivateState, TeamPlan
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.spin import spin, stop_on_signals

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import disturbance

SECOND = 10**9
RESEND = 0.1  # seconds
LOOK_EVERY = 0.2  # seconds of real time
STAMP = struct.Struct('<iI')  # of a time, which both a clock and odometry begin with
HEADER = 4  # bytes before it


class Network:
    """Carries messages in simulated time, as well as the disturbance of the episode lets it."""

    def __init__(self, disturbances):
        self._disturbances, self._of = disturbances, disturbances[0]
        self._now = self._start = 0
        self._queue, self._serial = [], itertools.count()
        self.fates = {each.name: Counter() for each in disturbances}

    def begin(self, plan):
        """Take note of an episode that is announced."""
        self._start = plan.start.sec * SECOND + plan.start.nanosec
        self._of = self._disturbances[plan.episode % len(self._disturbances)]

    @property
    def ahead(self):
        """Return how far the clock of the robot that listens is ahead, in nanoseconds."""
        return round(self._of.ahead(self._seconds) * SECOND)

    def pass_time(self, now):
        """Deliver what is due."""
        self._now = now
        while self._queue and self._queue[0][0] <= now:
            _, _, deliver, latched = heapq.heappop(self._queue)
            if not self._of.is_cut(self._seconds):
                deliver()
            elif latched:
                self._push(self._of.cut[1] - self._seconds, deliver, latched)
            else:
                self._count('cut')

    def send(self, deliver, *, latched=False):
        """Carry a message if it is lucky; what is latched is."""
        of, wait = self._of, self._of.delay
        if latched:
            while random.random() < of.loss:
                wait += RESEND
                self._count('resent')
        elif of.is_cut(self._seconds):
            return self._count('cut')
        elif random.random() < of.loss:
            return self._count('lost')
        elif random.random() < of.detours:
            wait += of.detour
            self._count('overtaken')
        self._count('carried')
        self._push(wait, deliver, latched)
        if random.random() < (1.0 if latched and of.copies else of.copies):
            self._count('copied')
            self._push(wait + of.detour, deliver, latched)
        self.pass_time(self._now)
        return None

    @property
    def _seconds(self):
        return (self._now - self._start) / SECOND

    def _push(self, wait, deliver, latched):
        due = self._now + round(wait * SECOND)
        heapq.heappush(self._queue, (due, next(self._serial), deliver, latched))

    def _count(self, fate):
        self.fates[self._of.name][fate] += 1


class Link:
    """One robot's connection to its team: `side` is where it is, `team` where it seems to be."""

    def __init__(self, robot, side, team, network, note):
        self.robot, self._network, self._note = robot, network, note
        self.side, self.team = foot('relay', side), foot(robot, team)
        self.topics, self.services = set(), set()
        self._is_there = False
        self._plans = self.side.advertise(TeamPlan, '/team_plan', qos.TEAM_PLAN)
        self._policies = self.side.advertise(LocalPolicy, f'/{robot}/policy', qos.LOCAL_POLICY)
        self._budgets = self.team.advertise(PrivacyBudget, f'/{robot}/budget', qos.BUDGET)
        self._tellers = [teller(self.team, robot)]
        listen(self.team, TeamPlan, '/team_plan', qos.TEAM_PLAN, self._plan)
        listen(self.side, PrivacyBudget, f'/{robot}/budget', qos.BUDGET, self._spent)
        listen(self.side, PrivateState, f'/{robot}/private_state', qos.PRIVATE_STATE, self._told)
        self.side.create_timer(LOOK_EVERY, self._look)

    def connect(self, other):
        """Let another robot hear what this one tells."""
        self._tellers.append(teller(other.side, self.robot))

    def _look(self):
        """Look around; listen for the policy in the robot's name once it does: it is there."""
        self.topics |= {name for name, _ in self.side.get_topic_names_and_types()}
        self.services |= {name for name, _ in self.side.get_service_names_and_types()}
        topic = f'/{self.robot}/policy'
        listeners = self.side.get_subscriptions_info_by_topic(topic)
        if not self._is_there and any(each.node_name == self.robot for each in listeners):
            self._is_there = True
            listen(self.team, LocalPolicy, topic, qos.LOCAL_POLICY, self._policy)

    def _plan(self, raw):
        self._network.begin(deserialize_message(raw, TeamPlan))
        self._network.send(partial(self._plans.publish, raw), latched=True)

    def _policy(self, raw):
        self._network.send(partial(self._policies.publish, raw), latched=True)

    def _spent(self, raw):
        self._network.send(partial(self._budgets.publish, raw), latched=True)

    def _told(self, raw):
        told = deserialize_message(raw, PrivateState)
        self._note(
            robot=told.robot,
            plan=bytes(told.plan_id).hex(),
            episode=told.episode,
            step=told.step,
            state=told.state,
        )
        for each in self._tellers:
            self._network.send(partial(each.publish, raw))


class Wheels:
    """What a robot has of its own: clock and odometry of its body, its velocity and status."""

    def __init__(self, body, own, network):
        self._network = network
        self.body, self.own = foot('relay', body), foot('relay', own)
        self._clock = self.own.advertise(Clock, '/clock', qos.CLOCK)
        self._odometry = self.own.advertise(Odometry, '/odom', qos.ODOMETRY)
        listen(self.body, Clock, '/clock', qos.CLOCK, self._tick)
        listen(self.body, Odometry, '/odom', qos.ODOMETRY, self._move)
        velocity = self.body.advertise(Twist, '/cmd_vel', qos.VELOCITY)
        status = self.body.advertise(String, '/status', qos.STATUS)
        listen(self.own, Twist, '/cmd_vel', qos.VELOCITY, velocity.publish)
        listen(self.own, String, '/status', qos.STATUS, status.publish)

    def _tick(self, raw):
        seconds, rest = STAMP.unpack_from(raw, HEADER)
        self._network.pass_time(seconds * SECOND + rest)
        self._clock.publish(shifted(raw, self._network.ahead))

    def _move(self, raw):
        self._odometry.publish(shifted(raw, self._network.ahead))


def shifted(raw, ahead):
    """Return a message with the stamp that it has by a clock that is ahead."""
    if not ahead:
        return raw
    seconds, rest = STAMP.unpack_from(raw, HEADER)
    changed = bytearray(raw)
    STAMP.pack_into(changed, HEADER, *divmod(seconds * SECOND + rest + ahead, SECOND))
    return bytes(changed)


def foot(name, domain):
    context = Context()
    context.init([], domain_id=domain)
    return TeamNode(name, context=context, cli_args=[], use_global_arguments=False)


def teller(node, robot):
    return node.advertise(PrivateState, f'/{robot}/private_state', qos.PRIVATE_STATE)


def listen(node, kind, topic, profile, hear):
    node.create_subscription(kind, topic, hear, profile, raw=True)


def main():
    team, body, own = map(int, sys.argv[1:4])
    path, disturbances, *robots = sys.argv[4:]
    network = Network(disturbance.from_json(disturbances))
    with stop_on_signals() as stopped, open(path, 'w') as file:  # noqa: PTH123

        def note(**content):
            file.write(json.dumps(content) + '\n')

        sides = [each.split('=') for each in robots]
        links = [Link(robot, int(side), team, network, note) for robot, side in sides]
        for one, other in itertools.permutations(links, 2):
            one.connect(other)
        wheels = Wheels(body, own, network)
        print('relaying', flush=True)
        feet = [foot for link in links for foot in (link.side, link.team)]
        spin(wheels.body, wheels.own, *feet, until=stopped)
        note(
            topics=sorted(set().union(*(link.topics for link in links))),
            services=sorted(set().union(*(link.services for link in links))),
            fates=network.fates,
        )


if __name__ == '__main__':
    main()
