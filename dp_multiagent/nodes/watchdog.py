"""The watchdog of a robot's wheels: a process of its own, that outlives who steers.

Own domain
    cmd_vel_wanted      geometry_msgs/Twist in: from the navigator, one after each pose
    odom or tf          the pose in
    cmd_vel             geometry_msgs/Twist out: to the base, the only one that it should hear

When the wheels must stand and when they may turn again is said in `driving.watchdog`; why they
stand, in the log, without a pose. It has no foot in the team's domain. It is not a lifecycle node:
nobody can switch it off but by ending it, and then the base gets a last zero. Should it die
itself, the base's own timeout is left.

On a robot it goes by the steady clock, which nobody sets. In a simulation it goes by /clock; one
that waits for an answer to its last pose stands still meanwhile, so a silence of half a second of
real time counts as a control period there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.time import Time

from dp_multiagent.driving.floor import Pose
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.driving.watchdog import Cause, Stop, Watchdog
from dp_multiagent.errors import ModelError, RefusedMessageError
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.nodes import motion, program, qos, whereabouts
from dp_multiagent.nodes.discovery import reaching
from dp_multiagent.nodes.domains import MAX_DOMAIN
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.spin import spin, stop_on_signals
from dp_multiagent.nodes.watchdog_settings import Settings

PATIENCE = 0.5  # seconds of real time for an answer while a simulation waits
POLL = 0.1  # seconds of real time
LAST_WORD = 0.2  # seconds for the last zero to arrive
STOP = Stop(distance=0.05, seconds=0.2)  # what a team can rely on at low speed


class WatchdogNode(GuardedNode):
    """Passes on what may be driven, and a zero whenever it must."""

    def __init__(self, grid: GridMap, **options: Any) -> None:
        super().__init__('watchdog', **options)
        settings = Settings.of(self)
        self._floor = settings.floor(grid)
        self._watchdog = Watchdog(self._floor, settings.limits, settings.rules)
        self._period_ns = round(settings.control_period * 1e9)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._is_simulated = bool(self.get_parameter('use_sim_time').value)
        self._clock = self.get_clock() if self._is_simulated else self._steady
        self._told_ns = self._heard_ns = 0
        self._said: Cause | None = None
        self._wheels = self.advertise(Twist, settings.wheels_topic, qos.VELOCITY)
        self.subscribe(Twist, settings.wanted_topic, qos.VELOCITY, _velocity_from_msg, self._want)
        self._follow(settings)
        self._timer = self.every(settings.control_period, self._tick, clock=self._clock)
        if self._is_simulated:
            self.every(POLL, self._lose_patience, clock=self._steady)
        self._say_how_it_stops(settings)

    def destroy_node(self) -> None:
        """Leave the wheels at rest."""
        if self.context.ok():
            self._wheels.publish(motion.velocity_to_msg(STILL))
            self._wheels.wait_for_all_acked(Duration(seconds=LAST_WORD))
        super().destroy_node()

    def _follow(self, settings: Settings) -> None:
        if settings.pose == 'odom':
            self.subscribe(
                Odometry, settings.odom_topic, qos.MEASURED, lambda message: message, self._hear
            )
            return
        follow = whereabouts.Settings(
            pose='tf', map_frame=settings.map_frame, base_frame=settings.base_frame
        )
        where = whereabouts.Whereabouts(
            self, self._floor, follow, on_pose=lambda: self._see(where.pose)
        )

    def _hear(self, message: Odometry) -> None:
        if self._is_simulated:
            self._told_ns = Time.from_msg(message.header.stamp).nanoseconds
        try:
            pose = motion.odometry_from_msg(message)
        except RefusedMessageError:
            self._see(None)
        else:
            self._see(pose)

    def _see(self, pose: Pose | None) -> None:
        if not self._watchdog.is_waiting:
            self._heard_ns = self._steady.now().nanoseconds
        self._act(lambda: self._watchdog.see(pose, self._now()))

    def _want(self, velocity: Velocity) -> None:
        self._act(lambda: self._watchdog.want(velocity, self._now()))

    def _tick(self) -> None:
        self._act(lambda: self._watchdog.tick(self._now()))

    def _lose_patience(self) -> None:
        """Stop for an answer that never comes, in a simulation that waits for it."""
        waited = self._steady.now().nanoseconds - self._heard_ns
        if self._watchdog.is_waiting and waited > PATIENCE * 1e9:
            self._act(lambda: self._watchdog.tick(self._watchdog.due_ns))

    def _act(self, decide: Callable[[], Velocity | None]) -> None:
        velocity: Velocity | None = STILL  # also if deciding fails
        try:
            velocity = decide()
        finally:
            if velocity is not None:
                self._wheels.publish(motion.velocity_to_msg(velocity))
            self._wake_in(self._watchdog.due_ns - self._now())
        self._say(self._watchdog.cause)

    def _wake_in(self, nanoseconds: int) -> None:
        self._timer.timer_period_ns = min(max(nanoseconds, 1), self._period_ns * 10)
        self._timer.reset()

    def _say(self, cause: Cause | None) -> None:
        if cause is self._said:
            return
        self._said = cause
        if cause is None:
            self.get_logger().info('the wheels may turn')
        else:
            self.get_logger().warning(f'the wheels stand: {cause.value}')

    def _say_how_it_stops(self, settings: Settings) -> None:
        stop = settings.stop
        said = (
            f'from {settings.speed:g} m/s a stop takes {stop.distance:.3f} m, {stop.seconds:.2f} s'
        )
        if stop.distance <= STOP.distance and stop.seconds <= STOP.seconds:
            self.get_logger().info(said)
        else:
            self.get_logger().warning(f'{said}; with a lower speed it takes less')

    def _now(self) -> int:
        now = int(self._clock.now().nanoseconds)
        # A simulation's pose may arrive before the /clock that it belongs to.
        is_ahead = 0 < self._told_ns - now <= self._period_ns
        return self._told_ns if is_ahead else now


def main(argv: Sequence[str] | None = None) -> int:
    """Watch over a robot's wheels until Ctrl-C; return the exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='watchdog', description="watch over a robot's wheels")
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--robot', required=True, metavar='NAME', help='as in the scenario')
    parser.add_argument('--team-domain', type=int, default=program.TEAM_DOMAIN, metavar='N')
    parser.add_argument('--domain', type=int, metavar='N', help="own domain, the team's + 1 + i")
    parser.add_argument(
        '--own-peers',
        nargs='+',
        default=(),
        metavar='HOST',
        help='other computers of this robot; nobody else is told of its own domain',
    )
    parser.add_argument('--use-sim-time', action='store_true', help='take the time from /clock')
    return parser


def _run(arguments: program.Arguments) -> None:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    if not isinstance(scenario, Navigation):
        raise ModelError(f'a scenario of kind {scenario.kind} has no robots that drive')
    names = [robot.name for robot in scenario.robots]
    if arguments.robot not in names:
        raise ModelError(f'no robot is called {arguments.robot!r}; there are {", ".join(names)}')
    own = arguments.domain
    if own is None:
        own = arguments.team_domain + 1 + names.index(arguments.robot)
    if own == arguments.team_domain or not 0 <= own <= MAX_DOMAIN:
        raise ModelError(f"--domain: {own} is the team's, or not from 0 to {MAX_DOMAIN}")
    context = Context()
    with stop_on_signals() as stopped:
        with reaching(arguments.own_peers):
            context.init([], domain_id=own)
        try:
            options = program.own_node_options(arguments)
            spin(WatchdogNode(scenario.grid, context=context, **options), until=stopped)
        finally:
            context.try_shutdown()


def _velocity_from_msg(message: Twist) -> Velocity:
    """Return the velocity as it is: what is not finite is for the watchdog to see."""
    return Velocity(message.linear.x, message.angular.z)


if __name__ == '__main__':
    raise SystemExit(main())
