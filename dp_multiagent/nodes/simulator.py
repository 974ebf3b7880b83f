"""The embedded simulator: one process with a foot in every robot's own domain and the operator's.

Robot i's own domain (team's + 1 + i)
    /clock              rosgraph_msgs/Clock out, every 0.04 simulated seconds
    /odom               nav_msgs/Odometry out, likewise: the true pose, as of a perfect localiser
    /cmd_vel            geometry_msgs/Twist in, obeyed for half a second
    /status             std_msgs/String in: whether the robot is ready for the episode
Operator's domain (team's + 50)
    /clock              out
    /episode            std_msgs/String in: an `Episode` as JSON; all robots go to their starts
    /verdict            std_msgs/String out: a `Verdict` as JSON, one per episode
Team's domain, only with --record
    /<robot>/private_state     taken in, to draw what was told

Time does not go on before every robot that takes part has answered the last pose with a velocity
(or has been silent for a while): however fast the simulation runs, a robot is never overtaken.
From the announcement of an episode to its start the robots are held. It starts when every robot
that takes part is ready for it, and while there is none time goes on no faster than real time: so
nobody misses a start, however fast the simulation runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rosgraph_msgs.msg import Clock as ClockMsg
from std_msgs.msg import String

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.pilot import Velocity
from dp_multiagent.errors import DpMultiagentError, ModelError, RefusedMessageError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.msg import PrivateState
from dp_multiagent.nodes import motion, program, qos
from dp_multiagent.nodes.domains import TeamNode
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.spin import spin, stop_on_signals
from dp_multiagent.sim.episode import Episode, Verdict
from dp_multiagent.sim.judge import Judge
from dp_multiagent.sim.recording import Recording
from dp_multiagent.sim.world import TICK, World

PATIENCE = 1.0  # seconds of real time for a robot to answer
POLL = 0.001  # seconds of real time
MOST_BEHIND = 0.1  # seconds of real time that are made up for


class Body(GuardedNode):
    """A robot's hardware in its own domain: it measures and obeys."""

    def __init__(self, name: str, obey: Any, **options: Any) -> None:
        super().__init__(f'{name}_body', **options)
        self._obey = obey
        self._clock = self.advertise(ClockMsg, '/clock', qos.CLOCK)
        self._odometry = self.advertise(Odometry, '/odom', qos.ODOMETRY)
        self.subscribe(Twist, '/cmd_vel', qos.VELOCITY, motion.velocity_from_msg, self._hear)
        self.subscribe(String, '/status', qos.STATUS, lambda message: message.data, self._note)
        self._status = ''
        self._takes_part = False
        self.is_awaited = False

    def is_ready_for(self, episode: int) -> bool:
        """Tell whether the robot takes part in an episode, or will not."""
        return not self._takes_part or self._status in (f'episode {episode}', 'quiet')

    def tell(self, time_ns: int, pose: Pose, velocity: Velocity) -> None:
        """Publish time and pose."""
        self.is_awaited = self._takes_part
        self._clock.publish(ClockMsg(clock=motion.time_to_msg(time_ns)))
        message = motion.odometry_to_msg(
            pose, velocity, time_ns=time_ns, frame='odom', child='base_link'
        )
        self._odometry.publish(message)

    def give_up(self) -> None:
        """Wait for this robot no longer, until it is heard again."""
        self._takes_part = self._takes_part and not self.is_awaited
        self.is_awaited = False

    def _note(self, status: str) -> None:
        self._status = status.partition(',')[0]

    def _hear(self, velocity: Velocity) -> None:
        self._takes_part, self.is_awaited = True, False
        self._obey(velocity)


class Simulator(GuardedNode):
    """The simulator's node in the operator's domain; it runs the world and judges."""

    def __init__(
        self,
        scenario: Navigation,
        bodies: Sequence[Context],
        *,
        rate: float,
        cell_size: float = 1.0,
        record: Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__('simulator', **options)
        self._floor = Floor(scenario.grid, cell_size)
        self._targets = [robot.target for robot in scenario.robots]
        self._world = World(self._floor, {robot.name: robot.start for robot in scenario.robots})
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._rate = rate
        self._due_ns = self._told_ns = self._steady.now().nanoseconds
        self._judge: Judge | None = None
        self._recording: Recording | None = None
        self._record = record
        self._clock = self.advertise(ClockMsg, '/clock', qos.CLOCK)
        self._verdicts = self.advertise(String, '/verdict', qos.VERDICT)
        self.subscribe(String, '/episode', qos.EPISODE, _episode_from_msg, self._begin)
        self.bodies = [
            Body(name, partial(self._obey, i), context=context, **_quiet())
            for i, (name, context) in enumerate(zip(self._world.names, bodies, strict=True))
        ]
        self.every(POLL, self._advance, clock=self._steady)

    def hear_private_state(self, robot: int, message: PrivateState) -> None:
        """Note what a robot told in the episode that is under way."""
        judge, recording = self._judge, self._recording
        if recording is None or judge is None or judge.verdict is not None:
            return
        if message.episode == judge.episode.episode:
            cell = self._floor.grid.cells[message.state]
            recording.hear(self._world.time_ns, robot, cell)

    def _begin(self, episode: Episode) -> None:
        self._world.reset()
        self._judge = Judge(self._floor, self._targets, episode)
        if self._record is not None:
            self._recording = Recording(self._floor, self._world.names, self._targets)
        self.get_logger().info(f'episode {episode.episode}: robots are at their starts')

    def _obey(self, robot: int, velocity: Velocity) -> None:
        judge = self._judge
        if judge is None or self._world.time_ns >= judge.episode.start_ns:
            self._world.command(robot, velocity)
        self._advance()

    def _advance(self) -> None:
        """Go on by one tick if it is time and nobody is waited for."""
        now = self._steady.now().nanoseconds
        if now < self._due_ns:
            return
        if any(body.is_awaited for body in self.bodies) or not self._may_start():
            if now < self._told_ns + PATIENCE * 1e9:
                return
            for body in self.bodies:
                body.give_up()
        self._due_ns = max(self._due_ns + self._interval_ns(), now - round(MOST_BEHIND * 1e9))
        self._world.tick()
        poses = [self._world.pose(i) for i in range(len(self.bodies))]
        self._tell(poses)
        self._observe(poses)
        self._told_ns = self._steady.now().nanoseconds

    def _may_start(self) -> bool:
        """Tell whether nobody is waited for at the start of an episode."""
        judge, now = self._judge, self._world.time_ns
        if judge is None or not now < judge.episode.start_ns <= now + round(TICK * 1e9):
            return True
        return all(body.is_ready_for(judge.episode.episode) for body in self.bodies)

    def _interval_ns(self) -> int:
        """Return the real time of a tick."""
        is_idle = self._judge is None or self._judge.verdict is not None
        rate = min(self._rate or 1.0, 1.0) if is_idle else self._rate
        return round(TICK / rate * 1e9) if rate > 0 else 0

    def _tell(self, poses: Sequence[Pose]) -> None:
        time_ns = self._world.time_ns
        self._clock.publish(ClockMsg(clock=motion.time_to_msg(time_ns)))
        for i, (body, pose) in enumerate(zip(self.bodies, poses, strict=True)):
            body.tell(time_ns, pose, self._world.velocity(i))

    def _observe(self, poses: Sequence[Pose]) -> None:
        time_ns = self._world.time_ns
        if self._judge is None or self._judge.verdict is not None:
            return
        if self._recording is not None and time_ns >= self._judge.episode.start_ns:
            self._recording.observe(time_ns, poses)
        verdict = self._judge.observe(time_ns, poses, self._world.touched)
        if verdict is not None:
            self._conclude(verdict)

    def _conclude(self, verdict: Verdict) -> None:
        said = f'episode {verdict.episode}: {verdict.outcome.value} at step {verdict.step}'
        self.get_logger().info(f'{said}: {verdict.cause}')
        if self._record is not None and self._recording is not None:
            name = f'episode_{verdict.episode:04d}'
            try:
                self._recording.save(self._record, name, f'{said}\n{verdict.cause}')
            except DpMultiagentError as error:
                self.get_logger().error(str(error))
        self._verdicts.publish(String(data=verdict.to_json()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the simulator until Ctrl-C; return its exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='simulator', description='simulate a team of robots')
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--team-domain', type=int, default=program.TEAM_DOMAIN, metavar='N')
    parser.add_argument('--domain', type=int, metavar='N', help="the operator's, the team's + 50")
    own = "the robots' own, the team's + 1 + i"
    parser.add_argument('--robot-domains', type=int, nargs='+', metavar='N', help=own)
    parser.add_argument(
        '--rate', type=float, default=1.0, help='simulated by real time; 0: as fast as possible'
    )
    parser.add_argument('--cell-size', type=float, default=1.0, metavar='METRES')
    parser.add_argument('--record', type=Path, metavar='DIR', help='a PNG and a GIF per episode')
    return parser


def _run(arguments: argparse.Namespace) -> None:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    if not isinstance(scenario, Navigation):
        raise ModelError(f'a scenario of kind {scenario.kind} has no robots that drive')
    if not arguments.rate >= 0:
        raise ModelError(f'rate {arguments.rate} is negative')
    team, count = arguments.team_domain, len(scenario.robots)
    own = arguments.robot_domains or [team + 1 + i for i in range(count)]
    operator = arguments.domain
    if operator is None:
        operator = team + program.OPERATOR_OFFSET
    if len(own) != count or len({*own, operator, team}) != count + 2:
        raise ModelError(f'{count} robots, the operator and the team need {count + 2} domains')
    with stop_on_signals() as stopped, _open(operator, *own) as contexts, ExitStack() as held:
        simulator = Simulator(
            scenario,
            contexts[1:],
            rate=arguments.rate,
            cell_size=arguments.cell_size,
            record=arguments.record,
            context=contexts[0],
            cli_args=arguments.ros_args,
        )
        listeners = []
        if arguments.record is not None:
            (context,) = held.enter_context(_open(team))
            listeners.append(_listener(simulator, scenario, context))
        spin(simulator, *simulator.bodies, *listeners, until=stopped)


def _listener(simulator: Simulator, scenario: Navigation, context: Context) -> TeamNode:
    """Make a node that listens to the team, for the pictures."""
    node = TeamNode('recorder', context=context, cli_args=[], use_global_arguments=False)
    states = len(scenario.grid.cells)

    def checked(message: PrivateState) -> PrivateState:
        if message.state >= states:
            raise RefusedMessageError(f'state {message.state} does not exist')
        return message

    for i, robot in enumerate(scenario.robots):
        hear = partial(simulator.hear_private_state, i)
        topic = f'/{robot.name}/private_state'
        node.subscribe(PrivateState, topic, qos.PRIVATE_STATE, checked, hear)
    return node


@contextmanager
def _open(*domains: int) -> Iterator[list[Context]]:
    contexts: list[Context] = []
    try:
        for domain in domains:
            contexts.append(Context())
            contexts[-1].init([], domain_id=domain)
        yield contexts
    finally:
        for context in reversed(contexts):
            context.try_shutdown()


def _quiet() -> dict[str, Any]:
    return {
        'cli_args': [],
        'use_global_arguments': False,
        'enable_rosout': False,
        'start_parameter_services': False,
    }


def _episode_from_msg(message: String) -> Episode:
    return Episode.from_json(message.data)


if __name__ == '__main__':
    raise SystemExit(main())
