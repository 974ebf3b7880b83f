"""A real robot process that drives in circles in the simulator, and is killed on the way.

Simulator, watchdog and robot are processes; whoever uses the rig starts them, and gives it a node
in the robot's own domain, the operator's and the team's. The rig is the planner and the operator.
"""

from __future__ import annotations

import math
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from dp_multiagent.msg import LocalPolicy, TeamPlan
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.time import Time
from std_msgs.msg import String

from dp_multiagent.driving.floor import Pose, wrapped
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.pilot import Velocity
from dp_multiagent.driving.watchdog import Rules
from dp_multiagent.models import plan as plans
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import Graph
from dp_multiagent.nodes import conversions, motion, qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.sim.episode import Episode

SECOND = 10**9
LEAD = 2 * SECOND
SETTLED = 1.5  # simulated seconds after which a robot certainly stands
STANDS = 0.003, 0.03  # metres and radians from where it comes to rest
SPEEDS = {'speed': 0.35, 'turn_speed': 3.0}
DEADLINE = 0.1
PERIOD_NS = round(Limits(**SPEEDS).step_time(1.0) / (1 - DEADLINE) * SECOND)
SCENARIO = """\
version: 1
kind: navigation
title: One robot that drives in circles, away from its target
map:
  cells: ['..#.', '....']
motion: {intended: 0.9, slip: 0.1, swaps: collision}
robots:
  - {name: robot1, start: [0, 0], target: [0, 3]}
privacy: {epsilon: 1.0, adjacency: 1}
planning: {delta: 0.01, beta: 0.1, horizon: 20}
"""
RIGHT, UP, LEFT, DOWN, STAY = range(5)
CIRCLE = {(0, 0): RIGHT, (0, 1): DOWN, (1, 1): LEFT, (1, 0): UP}


@dataclass(frozen=True)
class Halt:
    """What followed a kill: the speed before it, the way and the simulated time to a stand.

    While the simulator waits for an answer its world stands still. A real one goes on for that
    control period: `distance_in_the_field` and `seconds_in_the_field` count it too.
    """

    speed: float
    turn_speed: float
    distance: float
    seconds: float

    @property
    def distance_in_the_field(self) -> float:
        return self.distance + abs(self.speed) * Rules.period

    @property
    def seconds_in_the_field(self) -> float:
        return self.seconds + Rules.period * (self.speed != 0 or self.turn_speed != 0)


class Seen(NamedTuple):
    """A pose of the simulator, and the real time at which it was published."""

    time_ns: int
    pose: Pose
    velocity: Velocity
    published_at: int


class Onlooker:
    """Follows the poses in a robot's own domain, none left out, and when each was published.

    Only the plain executor says that.
    """

    def __init__(self, context):
        self.track = []
        node = TeamNode('onlooker', context=context)
        node.create_subscription(Odometry, '/odom', self._note, QoSProfile(depth=1000))
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(node)

    def look(self, seconds=0.0):
        """Take in all that has arrived, and what arrives for a while."""
        known = -1
        while known != len(self.track):
            known = len(self.track)
            self._executor.spin_once(timeout_sec=seconds)

    def last_before(self, real_time):
        """Return the index of the last pose that was published before."""
        return sum(seen.published_at <= real_time for seen in self.track) - 1

    def _note(self, message, about):
        time_ns = Time.from_msg(message.header.stamp).nanoseconds
        pose = motion.odometry_from_msg(message)
        velocity = motion.velocity_from_msg(message.twist.twist)
        self.track.append(Seen(time_ns, pose, velocity, about['source_timestamp']))


class KillRig:
    """`launch(module, *options)` starts a node's program and returns a process to signal."""

    def __init__(self, launch, join, domains, folder: Path, *, rate, watched=True):
        self._launch, self._folder, self._watched = launch, folder, watched
        self._own_domain, operator_domain, self._team_domain = domains
        self._scenario = folder / 'circles.yaml'
        self._scenario.write_text(SCENARIO)
        self._model = RobotModel.of(scenarios.load(self._scenario), 'robot1')
        launch(
            'simulator',
            *('--scenario', self._scenario, '--rate', rate, '--domain', operator_domain),
            *('--team-domain', self._team_domain, '--robot-domains', self._own_domain),
        )
        if watched:
            launch('watchdog', *self._options(), '--ros-args', *_parameters(SPEEDS))
        self._own, self._operator = join(self._own_domain), join(operator_domain)
        self._team = join(self._team_domain)
        self._sent, self._wanted = [], []
        self._onlooker = Onlooker(self._own.context)
        self.track = self._onlooker.track
        self._own.create_subscription(Twist, '/cmd_vel', self._sent.append, qos.VELOCITY)
        self._own.create_subscription(
            Twist, self._velocity_topic, self._wanted.append, qos.VELOCITY
        )
        self._wait_for(lambda: bool(self.track))
        self._offers = []
        self._plan = self._begin()
        self.robot = self._start_robot()

    def kill(self, *, steps, fraction) -> Halt:
        """Kill the robot so many steps after it set off and in this part of a tick; restart it."""
        del self.track[:-1], self._sent[:]
        self._wait_for(lambda: any(is_moving(message) for message in self._sent))
        moment = self.now + round(steps * PERIOD_NS)
        self._wait_for(lambda: self.now >= moment)
        self._wait_for_part_of_a_tick(fraction)
        killed_at = time.time_ns()
        self.robot.send(signal.SIGKILL)
        self.robot.wait()
        self._wait_for(lambda: self._seconds_since(killed_at) > SETTLED)
        halt = _halt(self.track[self._onlooker.last_before(killed_at) :])
        self.robot = self._start_robot()
        return halt

    def _seconds_since(self, real_time):
        """Return the simulated seconds since a real time."""
        return (self.now - self.track[self._onlooker.last_before(real_time)].time_ns) / 1e9

    @property
    def _velocity_topic(self):
        return 'cmd_vel_wanted' if self._watched else 'cmd_vel'

    @property
    def now(self) -> int:
        """Return the time of the last pose."""
        return self.track[-1].time_ns

    def _wait_for(self, condition):
        def looked():
            self._onlooker.look()
            return condition()

        self._own.wait_for(looked)

    def _wait_for_part_of_a_tick(self, fraction):
        ticks, begin = len(self.track), time.monotonic()
        self._wait_for(lambda: len(self.track) > ticks)
        self._onlooker.look(fraction * (time.monotonic() - begin))

    def _begin(self):
        """Make a plan that goes on for long, and announce its episode to the simulator."""
        episodes = self._operator.create_publisher(String, '/episode', qos.EPISODE)
        self._operator.wait_for(lambda: episodes.get_subscription_count() == 1)
        episode = Episode(0, self.now + LEAD, PERIOD_NS, horizon=1000)
        episodes.publish(String(data=episode.to_json()))
        return plans.TeamPlan(
            plan_id=bytes(range(16)),
            game=self._model.game.fingerprint,
            episode=0,
            start_ns=episode.start_ns,
            period_ns=PERIOD_NS,
            deadline=DEADLINE,
            horizon=episode.horizon,
            max_stale=1,
            robots=('robot1',),
            graph=Graph(((),)),
            epsilon=(1.0,),
            adjacency=(1,),
        )

    def _start_robot(self):
        while self._offers:
            self._team.destroy_publisher(self._offers.pop())
        robot = self._launch(
            'robot',
            *(*self._options(), '--ledger', self._folder / 'ledger', '--budget', 1),
            *('--ros-args', *_parameters(SPEEDS | {'velocity_topic': self._velocity_topic})),
        )
        # It answers poses, so it has heard the clock: a plan before that would begin at time 0.
        self._wanted.clear()
        self._wait_for(lambda: len(self._wanted) > 10)
        self._offer()
        return robot

    def _offer(self):
        plan = self._plan
        policy = conversions.local_policy_to_msg(_circles(self._model), plan=plan)
        for kind, topic, profile, message in (
            (LocalPolicy, '/robot1/policy', qos.LOCAL_POLICY, policy),
            (TeamPlan, '/team_plan', qos.TEAM_PLAN, conversions.team_plan_to_msg(plan)),
        ):
            self._offers.append(self._team.create_publisher(kind, topic, profile))
            self._offers[-1].publish(message)

    def _options(self):
        return (
            *('--scenario', self._scenario, '--robot', 'robot1', '--use-sim-time'),
            *('--domain', self._own_domain, '--team-domain', self._team_domain),
        )


def is_moving(message: Twist) -> bool:
    """Tell whether a command makes the wheels turn."""
    return message.linear.x != 0 or message.angular.z != 0


def _halt(track):
    """Measure from the last pose before a kill to where the robot came to rest."""
    begin, final = track[0], track[-1]
    away = [seen.time_ns for seen in track if not _is_at(seen.pose, final.pose)]
    return Halt(
        speed=begin.velocity.forward,
        turn_speed=begin.velocity.turn,
        distance=max(math.dist(seen.pose[:2], begin.pose[:2]) for seen in track),
        seconds=(away[-1] - begin.time_ns) / 1e9 + Rules.period if away else 0.0,
    )


def _is_at(pose, place):
    metres, radians = STANDS
    turned = abs(wrapped(pose.heading - place.heading))
    return math.dist(pose[:2], place[:2]) <= metres and turned <= radians


def _circles(model):
    table = np.zeros((model.mdp.n_states, 5))
    for cell in model.grid.cells:
        table[model.state(cell), CIRCLE.get(cell, STAY)] = 1
    return plans.LocalPolicy(model.index, (), table, table)


def _parameters(values):
    return [word for name, value in values.items() for word in ('-p', f'{name}:={value}')]
