"""The operator: asks for a plan, starts episodes, notes how they went, and ends.

Operator's domain (team's + 50)
    /planning_server/start_episode       std_srvs/Trigger, called
    /episode                             std_msgs/String out: an `Episode`, for a simulator
    /verdict                             std_msgs/String in: a `Verdict`, from a simulator
Team's domain
    /synthesize_policies                 action SynthesizePolicies, called
    /team_plan, /<robot>/budget          taken in

A robot is there when it listens for its policy. An episode starts without those that are not there
in time, and is over with its verdict, or at its end where nobody judges. Anybody can announce an
episode in the team's domain: the one that counts is what the planner's answer names, which comes
from the operator's own domain. An operator that was restarted goes on after what it has written
down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from std_msgs.msg import String
from std_srvs.srv import Trigger

from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.deployment.results import EpisodeResult, Results
from dp_multiagent.errors import DpMultiagentError, RefusedMessageError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import TeamPlan
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import conversions, program, qos
from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.guard import GuardedNode
from dp_multiagent.nodes.spin import make_executor, stop_on_signals
from dp_multiagent.nodes.validation import printable, require
from dp_multiagent.planning.driven import driven
from dp_multiagent.planning.execution import Timetable
from dp_multiagent.planning.plan_store import NEVER_NS, announcement
from dp_multiagent.planning.request import METHODS, SynthesisRequest
from dp_multiagent.sim.episode import Episode, Verdict

SETTLING = 0.5  # seconds; a server may hear us before it knows where its answers go
ANSWER = 5.0  # seconds after which a call is made again
MOST_PLANS = 100  # that are remembered while an answer is awaited
MAX_VERDICT_BYTES = 2**24  # all cells of all robots
NANOSECONDS = conversions.NANOSECONDS


class Stopped(Exception):  # noqa: N818
    """Somebody said stop."""


class Operator:
    """Plans once and runs episodes; `own` and `team` are its feet in the two domains."""

    def __init__(
        self, own: GuardedNode, team: TeamNode, scenario: Scenario, stopped: Callable[[], bool]
    ) -> None:
        self._own, self._team, self._stopped = own, team, stopped
        self._robots = tuple(member.name for member in scenario.members)
        self._game = driven(scenario).players.fingerprint
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._executor = make_executor(own.context)
        self._executor.add_node(own)
        self._executor.add_node(team)
        self._plans: deque[TeamPlan] = deque(maxlen=MOST_PLANS)
        self._running: int | None = None
        self._verdict: Verdict | None = None
        self._spent: dict[str, float] = {}
        self._episodes = own.advertise(String, '/episode', qos.EPISODE)
        own.subscribe(
            String,
            '/verdict',
            qos.VERDICT,
            _verdict_from_msg,
            self._hear_verdict,
            max_bytes=MAX_VERDICT_BYTES,
        )
        # It lives as long as we do: the executor of events does not survive its end.
        self._action = ActionClient(team, SynthesizePolicies, '/synthesize_policies')
        self._trigger = own.create_client(Trigger, '/planning_server/start_episode')
        team.subscribe(
            TeamPlanMsg, '/team_plan', qos.TEAM_PLAN, self._checked_plan, self._plans.append
        )
        for i, robot in enumerate(self._robots):
            check = partial(conversions.privacy_budget_from_msg, robot=i)
            hear = partial(self._hear_budget, robot)
            team.subscribe(PrivacyBudgetMsg, f'/{robot}/budget', qos.BUDGET, check, hear)

    def close(self) -> None:
        """Leave both domains."""
        self._executor.shutdown()
        self._action.destroy()
        self._team.destroy_node()
        self._own.destroy_node()

    def plan(self, request: SynthesisRequest) -> dict[str, Any]:
        """Have a plan made and return its report."""
        self._wait(self._action.server_is_ready)
        self._wait(lambda: False, SETTLING)
        goal = conversions.synthesis_request_to_msg(request)
        handle = self._answer(self._action.send_goal_async(goal, self._report))
        result = self._answer(handle.get_result_async()).result
        if result.error_code != SynthesizePolicies.Result.SUCCESS:
            raise DpMultiagentError(f'no plan: {printable(result.error_message)}')
        report = asdict(conversions.synthesis_report_from_msg(result))
        said = (
            f'{report["success_private"]:.4f} private, {report["success_truthful"]:.4f} truthful'
        )
        self._log(f'planned by {request.method}: success {said}')
        return report

    def gather(self, patience: float) -> None:
        """Wait until time runs and, for a while, until every robot is there."""
        self._wait(lambda: self._now() > 0)
        self._log(f'waiting for {", ".join(self._robots)}')
        self._wait(lambda: not self._absent(), patience)
        for robot in self._absent():
            self._own.get_logger().warning(f'{robot} is not there; going on without')

    def run_episode(self) -> EpisodeResult:
        """Start an episode, tell the simulator, and wait until it is over."""
        plan = None
        while plan is None:
            plan = self._start()
        self._running, self._verdict = plan.episode, None
        episode = Episode(plan.episode, plan.start_ns, plan.period_ns, plan.horizon)
        self._episodes.publish(String(data=episode.to_json()))
        end = Timetable(plan).end
        begun = self._now()
        self._wait(lambda: self._verdict is not None or not begun <= self._now() <= end)
        verdict = self._verdict
        if verdict is None:
            cause = 'nobody judged it' if self._now() >= begun else 'the clock began anew'
            return EpisodeResult(
                episode=plan.episode, outcome='unknown', cause=cause, epsilon_spent=self._spent
            )
        return EpisodeResult(
            episode=plan.episode,
            outcome=verdict.outcome.value,
            step=verdict.step,
            cause=verdict.cause,
            cells=verdict.cells,
            epsilon_spent=dict(self._spent),
        )

    def _start(self) -> TeamPlan | None:
        """Ask for an episode; None if the planner had no plan, or died before it announced one."""
        self._wait(self._trigger.service_is_ready)
        self._plans.clear()
        future = self._trigger.call_async(Trigger.Request())

        def announced() -> TeamPlan | None:
            said = future.result().message if future.done() else None
            return next((plan for plan in self._plans if announcement(plan) == said), None)

        if self._wait(lambda: announced() is not None, ANSWER):
            return announced()
        if future.done():
            self._own.get_logger().warning(f'no episode: {future.result().message}')
            return None
        self._own.get_logger().warning('the planner does not answer')
        return next((plan for plan in self._plans if plan.start_ns != NEVER_NS), None)

    def _absent(self) -> list[str]:
        def is_there(robot: str) -> bool:
            listeners = self._team.get_subscriptions_info_by_topic(f'/{robot}/policy')
            return any(listener.node_name == robot for listener in listeners)

        return [robot for robot in self._robots if not is_there(robot)]

    def _wait(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Serve both nodes until a condition holds; tell whether it did in time."""
        begun = self._steady.now().nanoseconds
        while not condition():
            if self._stopped():
                raise Stopped
            now = self._steady.now().nanoseconds
            if seconds is not None and now > begun + seconds * NANOSECONDS:
                return False
            self._executor.spin_once(timeout_sec=0.05)
        return True

    def _answer(self, future: Any) -> Any:
        self._wait(future.done)
        return future.result()

    def _report(self, message: Any) -> None:
        try:
            progress = conversions.synthesis_progress_from_msg(message.feedback)
        except RefusedMessageError as error:
            self._team.count_refused('/synthesize_policies/_action/feedback', error)
            return
        self._log(f'iteration {progress.iteration}: success {progress.success_private:.4f}')

    def _checked_plan(self, message: Any) -> TeamPlan:
        plan = conversions.team_plan_from_msg(message)
        is_ours = (plan.robots, plan.game) == (self._robots, self._game)
        require(is_ours, 'the plan was made for another team')
        return plan

    def _hear_budget(self, robot: str, budget: Any) -> None:
        self._spent[robot] = budget.epsilon_spent

    def _hear_verdict(self, verdict: Verdict) -> None:
        if verdict.episode == self._running:
            self._verdict = verdict

    def _log(self, text: str) -> None:
        self._own.get_logger().info(text)

    def _now(self) -> int:
        return int(self._own.get_clock().now().nanoseconds)


def main(argv: Sequence[str] | None = None) -> int:
    """Plan and run episodes, then end; return the exit status."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments))


def _parser() -> Any:
    parser = program.make_parser('operator', 'have a team planned for and run its episodes')
    parser.add_argument('--domain', type=int, metavar='N', help="the operator's, the team's + 50")
    parser.add_argument('--scenario', required=True, help='a name from `scenario list`, or a file')
    parser.add_argument('--method', choices=METHODS, default='minimum-dependency')
    parser.add_argument('--epsilon', type=float)
    parser.add_argument('--adjacency', type=int, metavar='K')
    parser.add_argument('--episodes', type=int, default=1, metavar='N')
    parser.add_argument('--results', type=Path, required=True, metavar='FILE')
    parser.add_argument('--patience', type=float, default=30.0, help='seconds for all to be there')
    return parser


def _run(arguments: program.Arguments) -> None:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    team_domain, own_domain = arguments.team_domain, arguments.domain
    if own_domain is None:
        own_domain = team_domain + program.OPERATOR_OFFSET
    with (
        stop_on_signals() as stopped,
        open_domains(
            own=own_domain, team=team_domain, args=[], team_enclave='/team/operator'
        ) as domains,
    ):
        own = GuardedNode('operator', context=domains.own, **program.own_node_options(arguments))
        team = TeamNode('operator', context=domains.team, cli_args=[], use_global_arguments=False)
        operator = Operator(own, team, scenario, stopped)
        try:
            _operate(operator, arguments)
        except Stopped:
            pass
        finally:
            operator.close()


def _operate(operator: Operator, arguments: program.Arguments) -> None:
    results = Results(arguments.results)
    if results.plan() is None:
        request = SynthesisRequest(
            scenario=arguments.scenario,
            method=arguments.method,
            epsilon=arguments.epsilon,
            adjacency=arguments.adjacency,
        )
        results.note_plan(operator.plan(request))
    operator.gather(arguments.patience)
    while len(results.episodes()) < arguments.episodes:
        results.note(operator.run_episode())


def _verdict_from_msg(message: String) -> Verdict:
    return Verdict.from_json(message.data)


if __name__ == '__main__':
    raise SystemExit(main())
