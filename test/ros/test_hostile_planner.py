"""A planner among strangers: whatever they ask for, it answers, lives, and plans on."""

import os

import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.msg import LocalPolicy, TeamPlan
from hostile import EACH, MOST_GROWTH, Patient, flood, generous
from mutations import Mutator
from operator_client import Goal, Result
from rclpy.serialization import serialize_message
from test_planning_server import down, planner  # noqa: F401
from unique_identifier_msgs.msg import UUID

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.planning_server import MAX_GOAL_BYTES

FeedbackMessage = SynthesizePolicies.Impl.FeedbackMessage
STATUSES = GoalStatusArray(status_list=[GoalStatus()])
AT_ONCE = 8  # a service keeps ten
LINES_OF_A_PLAN = 1
BUFFERS = 4  # as large as a giant message, which the middleware keeps
GIANT_GROWTH = 500 * 2**20  # bytes: what the middleware keeps for as many; all goals have 1.2e9


@pytest.fixture
def patient(planner):  # noqa: F811
    planner.asks = planner.operator()
    planner.asks.plan()  # so that what planning loads is in memory
    return Patient(planner.program, planner.asks.own, 'planning_server')


def ask_in_vain(operator, goals):
    """Send goals a few at a time; return the results, None for a goal that was not accepted."""
    results, waiting = [], []
    for goal in goals:
        waiting.append(operator.action.send_goal_async(goal))
        if len(waiting) == AT_ONCE:
            handles = answers(operator, waiting)
            asked = [handle.get_result_async() for handle in handles if handle.accepted]
            results += [answer.result for answer in answers(operator, asked)]
            results += [None for handle in handles if not handle.accepted]
            waiting = []
    return results


def answers(operator, futures):
    operator.team.wait_for(lambda: all(future.done() for future in futures))
    return [future.result() for future in futures]


def test_changed_goals_are_answered_and_a_sound_one_is_planned_for(
    planner,  # noqa: F811
    patient,
    record_property,
):
    change, sound = Mutator(1), Goal(scenario='crossing', method='baseline', starts=['a'])
    goals = [change.message(sound) for _ in range(EACH - EACH % AT_ONCE)]
    giants = [size for goal in goals if (size := len(serialize_message(goal))) > MAX_GOAL_BYTES]
    results = ask_in_vain(planner.asks, goals)
    admitted = [result for result in results if result is not None]
    assert (len(results), len(admitted)) == (len(goals), len(goals) - len(giants))
    codes = {result.error_code for result in admitted}
    assert {Result.BAD_REQUEST, Result.BAD_SCENARIO} <= codes
    assert all(len(result.error_message) < 6_000 for result in admitted)
    planned = sum(result.error_code == Result.SUCCESS for result in admitted)
    patient.assert_well(
        most_growth=MOST_GROWTH + BUFFERS * sum(giants), more_lines=LINES_OF_A_PLAN * planned
    )
    assert planner.asks.plan().error_code == Result.SUCCESS
    planner.asks.wait_for_plan()
    record_property('sent', len(results))
    record_property('refused', len(results) - planned)
    record_property('memory_growth_mb', round(patient.growth() / 2**20, 1))


def test_giant_goals_are_not_kept(planner, patient):  # noqa: F811
    giant = Goal(scenario='crossing', method='baseline', starts=['a' * 5_000] * 3_000)
    assert ask_in_vain(planner.asks, [giant] * (10 * AT_ONCE)) == [None] * (10 * AT_ONCE)
    assert patient.growth() < GIANT_GROWTH
    assert planner.asks.plan().error_code == Result.SUCCESS


def test_goals_that_nobody_sent_can_be_cancelled_in_vain(planner, patient):  # noqa: F811
    team = planner.asks.team
    client = team.create_client(CancelGoal, '/synthesize_policies/_action/cancel_goal')
    team.wait_for(client.service_is_ready)
    for _ in range(200):
        unknown = GoalInfo(goal_id=UUID(uuid=list(os.urandom(16))))
        future = client.call_async(CancelGoal.Request(goal_info=unknown))
        team.wait_for(future.done)
        assert not future.result().goals_canceling
    patient.assert_well()
    assert planner.asks.plan().error_code == Result.SUCCESS


def test_planner_does_not_listen_to_who_speaks_on_its_own_topics(planner, patient):  # noqa: F811
    planner.asks.plan()
    plan = planner.asks.wait_for_plan()
    change = Mutator(2)
    for sound, topic, profile in (
        (TeamPlan(), '/team_plan', qos.TEAM_PLAN),
        (LocalPolicy(), '/robot1/policy', qos.LOCAL_POLICY),
        (FeedbackMessage(), '/synthesize_policies/_action/feedback', qos.CLOCK),
        (STATUSES, '/synthesize_policies/_action/status', qos.STATUS),
    ):
        publisher = planner.asks.team.create_publisher(type(sound), topic, generous(profile))
        assert flood(publisher, (change.message(sound) for _ in range(EACH // 2)))
        assert flood(publisher, (change.serialised(sound) for _ in range(EACH // 2)))
        planner.asks.team.destroy_publisher(publisher)
    patient.assert_well()
    assert planner.asks.start_episode().success
    planner.asks.wait_for_plan(
        lambda heard: bytes(heard.plan_id) == bytes(plan.plan_id) and heard.start.sec < 2**31 - 1
    )
