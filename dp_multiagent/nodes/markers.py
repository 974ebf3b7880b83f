"""A view of a team for RViz: what everybody may see, and for its operator what is true.

Team's domain
    /team_plan, /<robot>/private_state     taken in; nothing is published there
Operator's domain (team's + 50)
    /private_markers       visualization_msgs/MarkerArray, latched: map, targets, what was told
    /true_markers          likewise, ten times a second: where the robots are, if it is asked for
Robot i's own domain (team's + 1 + i), only for true poses
    /odom                  nav_msgs/Odometry, taken in

The markers of what was told are public, yet they stand in the operator's domain: so nothing new
stands in the team's. Any member that wants the view runs this program in a domain of its own.
Without --true or --robot-domains the program has no foot in a robot's own domain.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from visualization_msgs.msg import Marker, MarkerArray

from dp_multiagent.driving.floor import Floor, Point, Pose
from dp_multiagent.errors import ModelError, RefusedMessageError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import PrivateState, TeamPlan
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import conversions, marker_messages, motion, program, qos
from dp_multiagent.nodes.domains import MAX_DOMAIN, TeamNode, open_domains
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.marker_messages import Member
from dp_multiagent.nodes.spin import spin, stop_on_signals
from dp_multiagent.planning.robot_model import RobotModel

PERIOD = 0.1  # seconds of real time
QOS = qos.EPISODE  # latched, in the operator's domain


class TeamMarkers:
    """Draws what a team tells; `own` is its node in the operator's domain."""

    def __init__(self, model: RobotModel, floor: Floor, own: GuardedNode, team: TeamNode) -> None:
        self._model, self._floor = model, floor
        self._members = members(model.scenario)
        self._plan: TeamPlan | None = None
        self._told: dict[int, PrivateState] = {}
        self._publisher = own.advertise(MarkerArray, '/private_markers', QOS)
        self._background = _background(model.scenario, floor)
        team.subscribe(
            TeamPlanMsg, '/team_plan', qos.TEAM_PLAN, self._checked_plan, self._take_plan
        )
        for i, member in enumerate(self._members):
            team.subscribe(
                PrivateStateMsg,
                f'/{member.name}/private_state',
                qos.PRIVATE_STATE,
                partial(self._checked_state, i),
                self._hear,
            )
        self._publish()

    def _checked_plan(self, message: Any) -> TeamPlan:
        plan = conversions.team_plan_from_msg(message)
        try:
            self._model.refuse_foreign_plan(plan)
        except ModelError as error:
            raise RefusedMessageError(str(error)) from None
        return plan

    def _take_plan(self, plan: TeamPlan) -> None:
        if plan != self._plan:
            self._plan = plan
            self._told.clear()
            self._publish()

    def _checked_state(self, robot: int, message: Any) -> PrivateState:
        if self._plan is None:
            raise RefusedMessageError('there is no plan yet')
        states = len(self._floor.grid.cells)
        return conversions.private_state_from_msg(
            message, plan=self._plan, robot=robot, states=states
        )

    def _hear(self, told: PrivateState) -> None:
        self._told[told.robot] = told
        self._publish()

    def _publish(self) -> None:
        markers = list(self._background)
        for member in self._members:
            told = self._told.get(member.index)
            markers += marker_messages.private_to_msgs(self._floor, member, told)
        self._publisher.publish(MarkerArray(markers=markers))


class TrueMarkers:
    """Draws where robots are; `bodies` are nodes in the robots' own domains."""

    def __init__(
        self, team: Sequence[Member], own: GuardedNode, bodies: Sequence[GuardedNode], topic: str
    ) -> None:
        self._team = team
        self._poses: dict[int, Pose] = {}
        self._publisher = own.advertise(MarkerArray, '/true_markers', QOS)
        for i, body in enumerate(bodies):
            see = partial(self._poses.__setitem__, i)
            body.subscribe(Odometry, topic, qos.MEASURED, motion.odometry_from_msg, see)
        own.every(PERIOD, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        """Tell what was seen since the last time."""
        seen = sorted(self._poses.items())
        self._poses.clear()
        markers = [
            marker
            for i, pose in seen
            for marker in marker_messages.pose_to_msgs(self._team[i], pose)
        ]
        if markers:
            self._publisher.publish(MarkerArray(markers=markers))


def members(scenario: Navigation) -> tuple[Member, ...]:
    """Return the robots of a scenario as they are drawn."""
    count = len(scenario.robots)
    return tuple(Member(i, count, robot.name) for i, robot in enumerate(scenario.robots))


def _background(scenario: Navigation, floor: Floor) -> tuple[Marker, ...]:
    targets = (
        marker_messages.target_to_msg(floor, member, robot.target)
        for member, robot in zip(members(scenario), scenario.robots, strict=True)
    )
    return (*marker_messages.floor_to_msgs(floor), *targets)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw until Ctrl-C; return the exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='markers', description='show a team in RViz')
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--team-domain', type=int, default=program.TEAM_DOMAIN, metavar='N')
    parser.add_argument('--domain', type=int, metavar='N', help="the operator's, the team's + 50")
    parser.add_argument('--true', action='store_true', help='show true poses too')
    own = "the robots' own for --true, the team's + 1 + i"
    parser.add_argument('--robot-domains', type=int, nargs='+', metavar='N', help=own)
    parser.add_argument('--odom-topic', default='/odom', metavar='TOPIC')
    parser.add_argument('--cell-size', type=float, default=1.0, metavar='METRES')
    parser.add_argument('--origin', type=float, nargs=2, default=(0.0, 0.0), metavar=('X', 'Y'))
    return parser


def _run(arguments: argparse.Namespace) -> None:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    if not isinstance(scenario, Navigation):
        raise ModelError(f'a scenario of kind {scenario.kind} has no robots that drive')
    floor = Floor(scenario.grid, arguments.cell_size, Point(*arguments.origin))
    team_domain, operator = arguments.team_domain, arguments.domain
    if operator is None:
        operator = team_domain + program.OPERATOR_OFFSET
    own_domains = _own_domains(arguments, len(scenario.robots), operator)
    with (
        stop_on_signals() as stopped,
        open_domains(own=operator, team=team_domain, args=[]) as domains,
        ExitStack() as held,
    ):
        own = GuardedNode('markers', context=domains.own, cli_args=arguments.ros_args)
        team = TeamNode('markers', context=domains.team, cli_args=[], use_global_arguments=False)
        TeamMarkers(RobotModel.of(scenario, scenario.robots[0].name), floor, own, team)
        bodies = [_onlooker(held, domain) for domain in own_domains]
        if bodies:
            TrueMarkers(members(scenario), own, bodies, arguments.odom_topic)
        spin(own, team, *bodies, until=stopped)


def _own_domains(arguments: argparse.Namespace, count: int, operator: int) -> list[int]:
    if not arguments.true and arguments.robot_domains is None:
        return []
    team = arguments.team_domain
    domains = arguments.robot_domains or [team + 1 + i for i in range(count)]
    if len(domains) != count or len({*domains, operator, team}) != count + 2:
        raise ModelError(f'{count} robots, the operator and the team need {count + 2} domains')
    if not all(0 <= domain <= MAX_DOMAIN for domain in domains):
        raise ModelError(f'a domain is a number from 0 to {MAX_DOMAIN}')
    return domains


def _onlooker(held: ExitStack, domain: int) -> TeamNode:
    """Make a node that shows nothing of itself in a robot's own domain."""
    context = Context()
    held.callback(context.try_shutdown)
    context.init([], domain_id=domain)
    return TeamNode('markers', context=context, cli_args=[], use_global_arguments=False)


if __name__ == '__main__':
    raise SystemExit(main())
