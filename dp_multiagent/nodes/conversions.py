"""The seam between the core and ROS: every core object to its message and back, in pairs.

`x_to_msg` raises ModelError if a message cannot hold the object; `x_from_msg` checks first and
raises RefusedMessageError, so that nothing invalid passes into the core.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from numpy.typing import NDArray

from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.errors import ModelError, RefusedMessageError
from dp_multiagent.models.plan import Graph, LocalPolicy, PrivateState, TeamPlan
from dp_multiagent.msg import LocalPolicy as LocalPolicyMsg
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from dp_multiagent.msg import TeamPlan as TeamPlanMsg
from dp_multiagent.nodes import validation
from dp_multiagent.planning.request import SynthesisProgress, SynthesisReport, SynthesisRequest
from dp_multiagent.privacy.budget import PrivacyBudget, Unit

Goal = SynthesizePolicies.Goal
Feedback = SynthesizePolicies.Feedback
Result = SynthesizePolicies.Result

NANOSECONDS = validation.NANOSECONDS


def private_state_to_msg(state: PrivateState) -> PrivateStateMsg:
    """Return the message that tells a private state."""
    return PrivateStateMsg(
        plan_id=_bytes(state.plan_id, 16),
        episode=_unsigned(state.episode, 32),
        step=_unsigned(state.step, 32),
        robot=_unsigned(state.robot, 16),
        state=_unsigned(state.state, 32),
    )


def private_state_from_msg(
    msg: PrivateStateMsg, *, plan: TeamPlan, robot: int, states: int
) -> PrivateState:
    """Return what `robot`, whose MDP has so many states, tells in the episode of a plan."""
    validation.check_private_state(msg, plan=plan, robot=robot, states=states)
    return PrivateState(plan.plan_id, msg.episode, msg.step, msg.robot, msg.state)


def privacy_budget_to_msg(budget: PrivacyBudget) -> PrivacyBudgetMsg:
    """Return the message that states a budget."""
    return PrivacyBudgetMsg(
        robot=_unsigned(budget.robot, 16),
        unit=int(budget.unit),
        epsilon_spent=float(budget.epsilon_spent),
        epsilon_remaining=float(budget.epsilon_remaining),
        delta_spent=float(budget.delta_spent),
        delta_remaining=float(budget.delta_remaining),
        releases=_unsigned(budget.releases, 64),
    )


def privacy_budget_from_msg(msg: PrivacyBudgetMsg, *, robot: int) -> PrivacyBudget:
    """Return the budget that `robot` states."""
    validation.check_privacy_budget(msg, robot=robot)
    with _refusing():
        return PrivacyBudget(
            robot=msg.robot,
            unit=Unit(msg.unit),
            epsilon_spent=msg.epsilon_spent,
            epsilon_remaining=msg.epsilon_remaining,
            delta_spent=msg.delta_spent,
            delta_remaining=msg.delta_remaining,
            releases=msg.releases,
        )


def local_policy_to_msg(policy: LocalPolicy, *, plan: TeamPlan) -> LocalPolicyMsg:
    """Return the message that gives a robot its policy in a plan."""
    observed = policy.table.shape[1 + policy.by_step : -1]
    states, actions = policy.own_state.shape
    return LocalPolicyMsg(
        plan_id=_bytes(plan.plan_id, 16),
        robot=_unsigned(policy.robot, 16),
        observed=_unsigned_array(policy.observed, 16),
        steps=_unsigned(policy.steps, 32),
        states=_unsigned(states, 32),
        observed_states=_unsigned_array(observed, 32),
        actions=_unsigned(actions, 16),
        probabilities=_doubles(policy.table),
        own_state=_doubles(policy.own_state),
    )


def local_policy_from_msg(msg: LocalPolicyMsg, *, plan: TeamPlan) -> LocalPolicy:
    """Return the policy that a message gives one of the robots of a plan."""
    validation.check_local_policy(msg, plan=plan)
    with _refusing():
        return LocalPolicy(
            robot=msg.robot,
            observed=tuple(msg.observed),
            table=np.array(msg.probabilities).reshape(validation.table_shape(msg)),
            own_state=np.array(msg.own_state).reshape(msg.states, msg.actions),
            by_step=bool(msg.steps),
        )


def team_plan_to_msg(plan: TeamPlan) -> TeamPlanMsg:
    """Return the message that tells a team its plan."""
    start, period = _seconds(plan.start_ns), _seconds(plan.period_ns)
    return TeamPlanMsg(
        plan_id=_bytes(plan.plan_id, 16),
        game=_bytes(plan.game, 32),
        episode=_unsigned(plan.episode, 32),
        start=Time(sec=start[0], nanosec=start[1]),
        period=Duration(sec=period[0], nanosec=period[1]),
        deadline=float(plan.deadline),
        horizon=_unsigned(plan.horizon, 32),
        max_stale=_unsigned(plan.max_stale, 16),
        robots=list(plan.robots),
        dependents=_unsigned_array((i for i, _ in plan.graph.edges), 16),
        dependencies=_unsigned_array((j for _, j in plan.graph.edges), 16),
        epsilon=array('d', plan.epsilon),
        adjacency=_unsigned_array(plan.adjacency, 16),
    )


def team_plan_from_msg(msg: TeamPlanMsg) -> TeamPlan:
    """Return the plan that a message tells."""
    validation.check_team_plan(msg)
    with _refusing():
        edges = zip(msg.dependents, msg.dependencies, strict=True)
        return TeamPlan(
            plan_id=bytes(msg.plan_id),
            game=bytes(msg.game),
            episode=msg.episode,
            start_ns=msg.start.sec * NANOSECONDS + msg.start.nanosec,
            period_ns=msg.period.sec * NANOSECONDS + msg.period.nanosec,
            deadline=msg.deadline,
            horizon=msg.horizon,
            max_stale=msg.max_stale,
            robots=tuple(msg.robots),
            graph=Graph.from_edges(len(msg.robots), edges),
            epsilon=tuple(msg.epsilon),
            adjacency=tuple(msg.adjacency),
        )


def synthesis_request_to_msg(request: SynthesisRequest) -> Goal:
    """Return the goal that asks for policies; 0 stands for what is left to the planner."""
    if 0 in (request.adjacency, request.iterations):
        raise ModelError('adjacency and iterations cannot be asked for as 0')
    if request.epsilon is not None and request.epsilon < 0:
        raise ModelError('epsilon cannot be asked for as negative')
    return Goal(
        scenario=request.scenario,
        method=request.method,
        epsilon=-1.0 if request.epsilon is None else float(request.epsilon),
        adjacency=_unsigned(request.adjacency or 0, 16),
        iterations=_unsigned(request.iterations or 0, 32),
        starts=list(request.starts),
    )


def synthesis_request_from_msg(goal: Goal) -> SynthesisRequest:
    """Return what a goal asks for."""
    validation.check_synthesis_request(goal)
    return SynthesisRequest(
        scenario=goal.scenario,
        method=goal.method,
        epsilon=None if goal.epsilon < 0 else goal.epsilon,
        adjacency=goal.adjacency or None,
        iterations=goal.iterations or None,
        starts=tuple(goal.starts),
    )


def synthesis_progress_to_msg(progress: SynthesisProgress) -> Feedback:
    """Return the feedback that tells where a synthesis stands."""
    return Feedback(
        iteration=_unsigned(progress.iteration, 32),
        objective=float(progress.objective),
        success_truthful=float(progress.success_truthful),
        success_private=float(progress.success_private),
        total_correlation=float(progress.total_correlation),
    )


def synthesis_progress_from_msg(feedback: Feedback) -> SynthesisProgress:
    """Return where a synthesis stands."""
    validation.check_synthesis_progress(feedback)
    return SynthesisProgress(
        iteration=feedback.iteration,
        objective=feedback.objective,
        success_truthful=feedback.success_truthful,
        success_private=feedback.success_private,
        total_correlation=feedback.total_correlation,
    )


def synthesis_report_to_msg(report: SynthesisReport, *, plan_id: bytes) -> Result:
    """Return the result of a successful synthesis."""
    return Result(
        error_code=Result.SUCCESS,
        plan_id=_bytes(plan_id, 16),
        success_truthful=float(report.success_truthful),
        success_private=float(report.success_private),
        total_correlation=float(report.total_correlation),
        objective=float(report.objective),
        expected_length=float(report.expected_length),
        iterations=_unsigned(report.iterations, 32),
        gap=float(report.gap),
        seconds=float(report.seconds),
    )


def synthesis_report_from_msg(result: Result) -> SynthesisReport:
    """Return how good the policies are; refuse the result of a synthesis that failed."""
    validation.check_synthesis_report(result)
    return SynthesisReport(
        success_truthful=result.success_truthful,
        success_private=result.success_private,
        total_correlation=result.total_correlation,
        objective=result.objective,
        expected_length=result.expected_length,
        iterations=result.iterations,
        gap=result.gap,
        seconds=result.seconds,
    )


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise RefusedMessageError(str(error)) from error


def _bytes(content: bytes, length: int) -> NDArray[np.uint8]:
    if len(content) != length:
        raise ModelError(f'{len(content)} bytes do not fit a field of {length}')
    return np.frombuffer(content, dtype=np.uint8)


def _unsigned(value: Any, bits: int) -> int:
    number = operator.index(value)
    if not 0 <= number < 2**bits:
        raise ModelError(f'{number} does not fit a field of {bits} bits')
    return number


def _unsigned_array(values: Iterable[Any], bits: int) -> array[int]:
    return array({16: 'H', 32: 'I'}[bits], [_unsigned(value, bits) for value in values])


def _doubles(table: NDArray[np.float64]) -> array[float]:
    return array('d', np.ascontiguousarray(table, dtype=np.float64).tobytes())


def _seconds(nanoseconds: int) -> tuple[int, int]:
    seconds, rest = divmod(operator.index(nanoseconds), NANOSECONDS)
    return _unsigned(seconds, 31), rest
