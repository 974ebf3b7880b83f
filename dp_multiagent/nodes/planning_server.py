"""The planner: plans on request, keeps its plans, tells the team its plan and starts episodes.

Operator's domain (team's + 50)
    /planning_server/...                     the services of a lifecycle node
    /diagnostics                             diagnostic_msgs/DiagnosticArray, once a second
    /planning_server/start_episode           std_srvs/Trigger: announce the next episode
Team's domain
    /synthesize_policies                     action SynthesizePolicies, one goal at a time
    /team_plan                               TeamPlan, latched
    /<robot>/policy                          LocalPolicy, latched

Until an episode is announced the start of the plan lies at the end of time. After a restart the
last plan is offered again, with the episode that is under way.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.publisher import Publisher
from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger

from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.errors import DpMultiagentError, RefusedMessageError
from dp_multiagent.models.plan import TeamPlan
from dp_multiagent.msg import LocalPolicy as LocalPolicyMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import conversions, program, qos
from dp_multiagent.nodes.diagnostics import Diagnostics
from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.qos_watch import QosWatch, WatchedTeamNode
from dp_multiagent.nodes.spin import spin, stop_on_signals
from dp_multiagent.planning.job import Failure, Job, Planned, Trouble
from dp_multiagent.planning.plan_store import NEVER_NS, Offer, Pace, PlanStore

NANOSECONDS = conversions.NANOSECONDS
WATCH_EVERY = 0.05  # seconds
FEEDBACK_EVERY = 0.3  # seconds; twice a second is promised
RESULT_KEPT = 10  # seconds; each kept one is part of every status that is published
MAX_GOAL_BYTES = 2**16  # a goal is kept as long as its result

Result = SynthesizePolicies.Result


@dataclass(frozen=True)
class Settings:
    """Where plans are kept, how fast they are executed, how long before its start an episode is
    announced, and a plan to begin with.
    """

    folder: Path
    pace: Pace
    lead_ns: int
    first_plan: Path | None = None


class PlanningServer(QosWatch, ManagedNode):
    """The planner's node in the operator's domain; `team` is its foot in the team's."""

    def __init__(self, settings: Settings, team: TeamNode, **options: Any) -> None:
        super().__init__('planning_server', **options)
        self._settings, self._team = settings, team
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._store: PlanStore | None = None
        self._offer: Offer | None = None
        self._plan: TeamPlan | None = None
        self._policy_publishers: dict[str, Publisher] = {}
        self._goal: ServerGoalHandle | None = None
        self._job: Job | None = None
        self._silent_since = 0
        self._diagnostics = Diagnostics(self, team)

    def configure(self) -> None:
        """Open the store of plans."""
        self._store = PlanStore(self._settings.folder)
        if self._settings.first_plan is not None:
            self._store.adopt(self._settings.first_plan)
        self._offer = self._last_offer(self._store)

    def activate(self) -> None:
        """Offer the last plan, the action and the start of episodes."""
        plan = self._team.advertise(TeamPlanMsg, '/team_plan', qos.TEAM_PLAN)
        self.on_release(lambda: self._team.destroy_publisher(plan))
        self.on_release(self._withdraw_policies)
        self._plan_publisher = plan
        action = ActionServer(
            self._team,
            SynthesizePolicies,
            '/synthesize_policies',
            execute_callback=lambda goal: Result(),
            goal_callback=_admit,
            handle_accepted_callback=self._accept,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            result_timeout=RESULT_KEPT,
        )
        self.on_release(action.destroy)
        self.on_release(self._drop_job)
        self.offer(Trigger, '~/start_episode', self._start_episode)
        self.every(WATCH_EVERY, self._watch, clock=self._steady)
        self._recall = self.every(WATCH_EVERY, self._offer_again, clock=self._steady)

    def _last_offer(self, store: PlanStore) -> Offer | None:
        try:
            return store.offer()
        except DpMultiagentError as error:
            self.get_logger().error(f'the last plan cannot be offered: {error}')
            return None

    def _offer_again(self) -> None:
        """Offer the last plan once the clock runs, without an episode of another clock's."""
        now = self._now()
        if now == 0:
            return
        self._recall.cancel()
        if self._offer is not None and self._plan is None:
            start = self._offer.start_ns
            is_of_this_clock = start is None or start - self._settings.lead_ns <= now
            self._publish(self._offer if is_of_this_clock else replace(self._offer, start_ns=None))

    def _publish(self, offer: Offer) -> None:
        """Tell the team its plan; the policies first, so that who has the plan finds them."""
        self._offer, plan = offer, offer.team_plan(self._settings.pace)
        if self._plan is None or self._plan.plan_id != plan.plan_id:
            self._withdraw_policies()
            for policy, robot in zip(offer.policies, plan.robots, strict=True):
                publisher = self._team.advertise(
                    LocalPolicyMsg, f'/{robot}/policy', qos.LOCAL_POLICY
                )
                publisher.publish(conversions.local_policy_to_msg(policy, plan=plan))
                self._policy_publishers[robot] = publisher
        self._announce(plan)

    def _announce(self, plan: TeamPlan) -> None:
        self._plan = plan
        self._plan_publisher.publish(conversions.team_plan_to_msg(plan))
        state = 'offered' if plan.start_ns == NEVER_NS else f'episode {plan.episode} announced'
        self.get_logger().info(f'plan {plan.plan_id.hex()[:8]}: {state}')

    def _withdraw_policies(self) -> None:
        for publisher in self._policy_publishers.values():
            self._team.destroy_publisher(publisher)
        self._policy_publishers.clear()
        self._plan = None

    def _start_episode(self, _request: Any, response: Any) -> Any:
        response.success, response.message = False, 'there is no plan yet'
        now = self._now()
        if now == 0:
            response.message = 'the clock does not run yet'
        elif self._offer is not None and self._plan is not None and self._store is not None:
            self._offer = self._store.announce(self._offer, now + self._settings.lead_ns)
            start_ns = now + self._settings.lead_ns
            self._announce(replace(self._plan, episode=self._offer.episode, start_ns=start_ns))
            response.success = True
            seconds, rest = divmod(start_ns, NANOSECONDS)
            response.message = f'episode {self._offer.episode} starts at {seconds}.{rest:09d}'
        return response

    def _accept(self, goal: ServerGoalHandle) -> None:
        """Begin a synthesis. It runs beside the executor, so the goal is executed at its end."""
        try:
            request = conversions.synthesis_request_from_msg(goal.request)
        except RefusedMessageError as error:
            self._conclude(goal, Failure(Trouble.BAD_REQUEST, str(error)))
            return
        if self._job is not None:
            self._conclude(goal, Failure(Trouble.FAILED, 'another synthesis is under way'))
            return
        self._goal, self._job = goal, Job(request)
        self._silent_since = self._steady.now().nanoseconds
        self._job.start()

    def _watch(self) -> None:
        if self._job is None or self._goal is None:
            return
        if self._goal.is_cancel_requested:
            self._job.cancel()
        outcome = self._job.outcome
        if outcome is not None:
            goal, self._goal, self._job = self._goal, None, None
            self._conclude(goal, outcome)
            return
        now = self._steady.now().nanoseconds
        if now - self._silent_since >= FEEDBACK_EVERY * NANOSECONDS:
            self._silent_since = now
            feedback = conversions.synthesis_progress_to_msg(self._job.progress)
            self._goal.publish_feedback(feedback)

    def _conclude(self, goal: ServerGoalHandle, outcome: Planned | Failure) -> None:
        if isinstance(outcome, Planned):
            outcome = self._put_in_force(outcome)
        goal.execute(partial(self._answer, outcome))

    def _put_in_force(self, planned: Planned) -> Result | Failure:
        assert self._store is not None
        try:
            offer = self._store.keep(planned.plan)
        except DpMultiagentError as error:
            return Failure(Trouble.FAILED, str(error))
        self._publish(offer)
        return conversions.synthesis_report_to_msg(planned.report, plan_id=offer.plan_id)

    def _answer(self, outcome: Result | Failure, goal: ServerGoalHandle) -> Result:
        if not isinstance(outcome, Failure):
            goal.succeed()
            return outcome
        if outcome.details:
            self.get_logger().error(outcome.details)
        if outcome.trouble is Trouble.CANCELLED and goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        code = getattr(Result, outcome.trouble.name)
        return Result(error_code=code, error_message=outcome.sentence)

    def _drop_job(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._goal = self._job = None

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)


def _admit(request: SynthesizePolicies.Goal) -> GoalResponse:
    is_small = len(serialize_message(request)) <= MAX_GOAL_BYTES
    return GoalResponse.ACCEPT if is_small else GoalResponse.REJECT


def main(argv: Sequence[str] | None = None) -> int:
    """Run the planner until Ctrl-C; return its exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = program.make_parser('planning_server', 'plan, offer plans and start episodes')
    parser.add_argument('--domain', type=int, metavar='N', help="the operator's, the team's + 50")
    parser.add_argument('--plans', type=Path, required=True, metavar='DIR', help='kept there')
    parser.add_argument('--plan', type=Path, metavar='FILE', help='a plan to begin with')
    parser.add_argument('--period', type=float, default=2.0, help='of a step, in seconds')
    parser.add_argument('--deadline', type=float, default=0.2, help='fraction of a period')
    parser.add_argument('--max-stale', type=int, default=2, metavar='STEPS')
    parser.add_argument('--lead', type=float, default=2.0, help='seconds before a start')
    return parser


def _run(arguments: program.Arguments) -> None:
    pace = Pace(round(arguments.period * NANOSECONDS), arguments.deadline, arguments.max_stale)
    lead_ns = round(arguments.lead * NANOSECONDS)
    settings = Settings(arguments.plans, pace, lead_ns, arguments.plan)
    team_domain, own = arguments.team_domain, arguments.domain
    if own is None:
        own = team_domain + program.OPERATOR_OFFSET
    with (
        stop_on_signals() as stopped,
        open_domains(own=own, team=team_domain, args=[], team_enclave='/team/planner') as domains,
    ):
        team = WatchedTeamNode(
            'planner', context=domains.team, cli_args=[], use_global_arguments=False
        )
        options = program.own_node_options(arguments)
        node = PlanningServer(settings, team, context=domains.own, **options)
        if not arguments.no_autostart:
            program.bring_up(node)
        spin(node, team, until=stopped)


if __name__ == '__main__':
    raise SystemExit(main())
