"""A robot's process: it executes its policy, tells its private states, and keeps its ledger.

Own domain
    /<robot>/...                   the services of a lifecycle node
    /status                        std_msgs/String, latched: what the robot does, or why it holds
    /diagnostics                   diagnostic_msgs/DiagnosticArray, once a second
    what the navigator takes in and sends; its settings are ROS parameters
Team's domain
    /team_plan, /<robot>/policy, /<other>/private_state        taken in
    /<robot>/private_state         PrivateState, in a fixed slot of each step
    /<robot>/budget                PrivacyBudget, latched, after each charge

Without budget the robot tells nothing and holds; why, it says only in its own domain.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from rclpy.subscription import Subscription
from std_msgs.msg import String

from dp_multiagent.errors import (
    BudgetExceededError,
    DpMultiagentError,
    LedgerError,
    ModelError,
    RefusedMessageError,
)
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import Cell, GridMap
from dp_multiagent.models.plan import LocalPolicy, TeamPlan
from dp_multiagent.msg import LocalPolicy as LocalPolicyMsg
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import conversions, diagnostics, program, qos, robot_options
from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.qos_watch import QosWatch, WatchedTeamNode
from dp_multiagent.nodes.spin import spin, stop_on_signals
from dp_multiagent.nodes.validation import MAX_POLICY_BYTES
from dp_multiagent.planning.allowance import Allowance
from dp_multiagent.planning.execution import Part, Timetable
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.planning.step_record import StepRecord
from dp_multiagent.privacy.budget import PrivacyBudget
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import Unit

LONGEST_WAIT_NS = 10**9  # a clock may be set, so the next moment is looked up again after this

_parser = robot_options.make_parser


class Navigator(Protocol):
    """What drives the robot from cell to cell."""

    @property
    def cell(self) -> Cell | None:
        """Return the cell in which the robot is, None if it is lost or off the map."""

    @property
    def step_time(self) -> float:
        """Return how many seconds a neighbouring cell may take, 0 if nobody knows."""

    def drive_to(self, cell: Cell) -> None:
        """Drive to a neighbouring cell and stay there."""


MakeNavigator = Callable[[ManagedNode, GridMap], Navigator]


class Robot(QosWatch, ManagedNode):
    """The robot's node in its own domain; `team` is its foot in the team's."""

    def __init__(
        self,
        model: RobotModel,
        ledger: Ledger,
        allowance: Allowance,
        movement: robot_options.Movement,
        make_navigator: MakeNavigator,
        team: TeamNode,
        **options: Any,
    ) -> None:
        super().__init__(model.name, **options)
        self._model, self._ledger, self._team = model, ledger, team
        self._allowance = allowance
        self._movement, self._make_navigator = movement, make_navigator
        self._listening: list[Subscription] = []
        self._record = StepRecord()
        self._forget()
        self._diagnostics = diagnostics.Diagnostics(self, team, self._findings)

    def activate(self) -> None:
        """Take in plans and be ready for episodes."""
        self._forget()
        name = self._model.name
        self._status_publisher = self.advertise(String, '/status', qos.STATUS)
        self._state_publisher = self._tell_team(
            PrivateStateMsg, 'private_state', qos.PRIVATE_STATE
        )
        self._budget_publisher = self._tell_team(PrivacyBudgetMsg, 'budget', qos.BUDGET)
        self._navigator = self._make_navigator(self, self._model.grid)
        self._timer = self.every(LONGEST_WAIT_NS / 1e9, self._tick)
        plans = self._team.subscribe(
            TeamPlanMsg, '/team_plan', qos.TEAM_PLAN, self._checked_plan, self._take_plan
        )
        self.on_release(lambda: self._team.destroy_subscription(plans))
        self.on_release(self._stop_listening)
        self._say('waiting for a plan')
        self.get_logger().info(f'{name} is up')

    def _forget(self) -> None:
        self._plan: TeamPlan | None = None
        self._policy: LocalPolicy | None = None
        self._part: Part | None = None
        self._gave_up = False
        self._said = ''

    def _tell_team(self, kind: type, topic: str, profile: Any) -> Any:
        publisher = self._team.advertise(kind, f'/{self._model.name}/{topic}', profile)
        self.on_release(lambda: self._team.destroy_publisher(publisher))
        return publisher

    def _checked_plan(self, message: Any) -> TeamPlan:
        plan = conversions.team_plan_from_msg(message)
        _refusing(self._allowance.refuse_dear_plan, plan)
        _refusing(self._refuse_hasty_plan, plan)
        return _refusing(self._model.refuse_foreign_plan, plan)

    def _refuse_hasty_plan(self, plan: TeamPlan) -> None:
        needed = self._navigator.step_time / (1 - plan.deadline)
        if plan.period_ns < round(needed * 1e9):
            raise ModelError(
                f'steps of {plan.period_ns / 1e9:g} s are too short: this robot needs '
                f'{needed:.2f} s to the next cell, see its parameter speed'
            )

    def _checked_policy(self, message: Any) -> LocalPolicy:
        assert self._plan is not None
        policy = conversions.local_policy_from_msg(message, plan=self._plan)
        return _refusing(self._model.refuse_foreign_policy, policy)

    def _take_plan(self, plan: TeamPlan) -> None:
        part, now = self._part, self._now()
        is_under_way = part is not None and now < part.times.end
        if plan == self._plan or (is_under_way and not plan.replaces(part.plan)):
            return
        if part is not None and self._allowance.rests(now):
            self._allowance.keep(plan)
            return
        is_new = self._plan is None or self._plan.plan_id != plan.plan_id
        self._plan, self._part, self._gave_up = plan, None, False
        if is_new:
            self._policy = None
            self._listen(plan)
        self._tick()

    def _listen(self, plan: TeamPlan) -> None:
        """Take in the policy, which is latched, and what the robots tell that it depends on."""
        self._stop_listening()
        topic = f'/{self._model.name}/policy'
        self._listening.append(
            self._team.subscribe(
                LocalPolicyMsg,
                topic,
                qos.LOCAL_POLICY,
                self._checked_policy,
                self._take_policy,
                max_bytes=MAX_POLICY_BYTES,
            )
        )
        for j in plan.graph.observed[self._model.index]:
            self._listening.append(
                self._team.subscribe(
                    PrivateStateMsg,
                    f'/{plan.robots[j]}/private_state',
                    qos.PRIVATE_STATE,
                    partial(self._checked_state, j),
                    self._hear,
                )
            )

    def _stop_listening(self) -> None:
        for subscription in self._listening:
            self._team.destroy_subscription(subscription)
        self._listening.clear()

    def _take_policy(self, policy: LocalPolicy) -> None:
        if self._policy is not None and policy.equals(self._policy):
            return
        self._policy = policy
        if self._part is not None:
            self._part.policy = policy
        self._tick()

    def _checked_state(self, j: int, message: Any) -> Any:
        assert self._plan is not None
        states = self._model.game.shape[j]
        return conversions.private_state_from_msg(message, plan=self._plan, robot=j, states=states)

    def _hear(self, told: Any) -> None:
        if self._part is not None:
            self._part.hear(told)

    def _tick(self) -> None:
        """Do what is due and wake up when the next thing is."""
        self._wake_in(LONGEST_WAIT_NS)
        kept = self._allowance.next_plan(self._now())
        if kept is not None:
            self._take_plan(kept)
        try:
            due = self._advance(self._now())
        except (BudgetExceededError, LedgerError) as error:
            self._give_up(str(error))
            return
        if due is not None:
            self._wake_in(due - self._now())

    def _advance(self, now: int) -> int | None:
        """Take part in the episode that is under way; return when to go on."""
        is_time_unknown = now == 0  # a simulated clock has not been heard yet
        if is_time_unknown or self._plan is None or self._policy is None or self._gave_up:
            return None
        times = Timetable(self._plan)
        entry = times.entry(now)
        if now >= times.end or (self._part is None and entry != now):
            self._say('waiting for an episode')
            return entry
        if self._part is None:
            self._part = self._enter(self._plan, self._policy, times.step(now))
            self._allowance.enter(now)
        state = self._model.state(self._navigator.cell)
        orders = self._part.advance(now, state)
        if orders.tell is not None:
            self._state_publisher.publish(conversions.private_state_to_msg(orders.tell))
        if orders.move is not None:
            self._navigator.drive_to(self._model.grid.cells[self._movement(orders.move)])
        self._say(f'episode {self._plan.episode}' if state is not None else 'lost, holding')
        return self._part.due_ns(now)

    def _enter(self, plan: TeamPlan, policy: LocalPolicy, step: int) -> Part:
        """Pay for an episode, or go on with one that is paid for."""
        mechanism = self._model.mechanism(plan)
        release = mechanism.planned()
        word = self._ledger.word(
            release,
            plan_id=plan.plan_id,
            episode=plan.episode,
            initial=mechanism.mdp.initial,
        )
        self._publish_budget(release.unit)
        if word.step > max(step, 0):
            raise LedgerError(f'episode {plan.episode} of this plan was executed before')
        initial, uniform = self._model.game.initial, _system_uniform
        return Part(
            *(plan, policy, mechanism, word),
            initial=initial,
            uniform=uniform,
            record=self._record,
        )

    def _publish_budget(self, unit: Unit) -> None:
        account = self._ledger.account(unit)
        stated = PrivacyBudget.of_trajectories(account, self._model.index)
        self._budget_publisher.publish(conversions.privacy_budget_to_msg(stated))

    def _give_up(self, why: str) -> None:
        """Tell nothing and hold until the next episode."""
        self._part, self._gave_up = None, True
        self._say(f'quiet, holding: {why}')

    def _findings(self) -> list[diagnostics.Finding]:
        return [
            diagnostics.publishers(self._team, self._team_topics()),
            diagnostics.steps(self._record),
            diagnostics.budget(self._ledger.accounts, is_quiet=self._gave_up),
        ]

    def _team_topics(self) -> list[str]:
        """Return the topics in the team's domain that this robot speaks on or listens to."""
        own = [f'/{self._model.name}/{topic}' for topic in ('private_state', 'budget')]
        return ['/team_plan', *own, *(each.topic_name for each in self._listening)]

    def _say(self, status: str) -> None:
        if status != self._said:
            self._said = status
            self._status_publisher.publish(String(data=status))
            self.get_logger().info(status)

    def _wake_in(self, nanoseconds: int) -> None:
        self._timer.timer_period_ns = min(max(nanoseconds, 1), LONGEST_WAIT_NS)
        self._timer.reset()

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)


def _refusing(refuse: Callable[[Any], None], content: Any) -> Any:
    """Return what arrived, or refuse its message if it is not for this robot."""
    try:
        refuse(content)
    except ModelError as error:
        raise RefusedMessageError(str(error)) from None
    return content


def main(argv: Sequence[str] | None = None, make_navigator: MakeNavigator | None = None) -> int:
    """Run a robot until Ctrl-C, with a navigator of its own if one is given."""
    arguments = program.parse(_parser(), argv)
    return program.run(partial(_run, arguments, make_navigator or _wheels))


def _wheels(node: ManagedNode, grid: GridMap) -> Navigator:
    """Make our navigator; who brings another does not need the packages of this one."""
    from dp_multiagent.nodes.navigator import make_navigator

    return make_navigator(node, grid)


def _run(arguments: argparse.Namespace, make_navigator: MakeNavigator) -> None:
    if arguments.slips == 'model' and not arguments.use_sim_time:
        raise DpMultiagentError('--slips model is for simulations, with --use-sim-time')
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    model = RobotModel.of(scenario, arguments.robot)
    team_domain, own = arguments.team_domain, arguments.domain
    if own is None:
        own = team_domain + 1 + model.index
    with (
        stop_on_signals() as stopped,
        robot_options.make_ledger(arguments, model) as ledger,
        open_domains(
            own=own,
            team=team_domain,
            args=[],
            own_peers=arguments.own_peers,
            team_enclave=f'/team/{model.name}',
        ) as domains,
    ):
        team = WatchedTeamNode(
            model.name, context=domains.team, cli_args=[], use_global_arguments=False
        )
        robot = Robot(
            model,
            ledger,
            robot_options.make_allowance(arguments, model),
            robot_options.make_movement(arguments, model),
            make_navigator,
            team,
            context=domains.own,
            **program.own_node_options(arguments),
        )
        if not arguments.no_autostart:
            program.bring_up(robot)
        spin(robot, team, until=stopped)


def _system_uniform() -> float:
    """Draw from [0, 1) with the operating system's randomness; it chooses actions, not noise."""
    return secrets.randbits(53) / 2**53


if __name__ == '__main__':
    raise SystemExit(main())
