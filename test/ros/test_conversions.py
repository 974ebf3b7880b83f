"""Every core object through its message, its bytes on the wire, and back."""

import dataclasses

import numpy as np
import pytest
import ros_strategies as draw
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message

from dp_multiagent.errors import ModelError, RefusedMessageError
from dp_multiagent.models.plan import PrivateState
from dp_multiagent.nodes import conversions as convert
from dp_multiagent.planning.request import SynthesisRequest


def over_the_wire(message):
    return deserialize_message(serialize_message(message), type(message))


@given(draw.plans_with_private_states())
def test_private_state_comes_back(drawn):
    plan, state, states = drawn
    message = over_the_wire(convert.private_state_to_msg(state))
    back = convert.private_state_from_msg(message, plan=plan, robot=state.robot, states=states)
    assert back == state


@given(draw.plans_with_policies())
def test_local_policy_comes_back(drawn):
    plan, policy = drawn
    message = over_the_wire(convert.local_policy_to_msg(policy, plan=plan))
    back = convert.local_policy_from_msg(message, plan=plan)
    assert (back.robot, back.observed, back.by_step) == (
        policy.robot,
        policy.observed,
        policy.by_step,
    )
    np.testing.assert_array_equal(back.table, policy.table)
    np.testing.assert_array_equal(back.own_state, policy.own_state)


@given(draw.team_plans())
def test_team_plan_comes_back(plan):
    assert convert.team_plan_from_msg(over_the_wire(convert.team_plan_to_msg(plan))) == plan


@given(draw.budgets)
def test_privacy_budget_comes_back(budget):
    message = over_the_wire(convert.privacy_budget_to_msg(budget))
    assert convert.privacy_budget_from_msg(message, robot=budget.robot) == budget


@given(draw.requests)
def test_synthesis_request_comes_back(request):
    message = over_the_wire(convert.synthesis_request_to_msg(request))
    assert convert.synthesis_request_from_msg(message) == request


@given(draw.progresses)
def test_synthesis_progress_comes_back(progress):
    message = over_the_wire(convert.synthesis_progress_to_msg(progress))
    assert convert.synthesis_progress_from_msg(message) == progress


@given(draw.reports, draw.plan_ids)
def test_synthesis_report_comes_back(report, plan_id):
    message = over_the_wire(convert.synthesis_report_to_msg(report, plan_id=plan_id))
    assert convert.synthesis_report_from_msg(message) == report
    assert bytes(message.plan_id) == plan_id


@given(draw.plans_with_private_states())
def test_private_state_has_the_same_size_whatever_it_says(drawn):
    _, state, _ = drawn
    message = convert.private_state_to_msg(state)
    assert len(serialize_message(message)) == len(serialize_message(PrivateStateMsg()))


@given(draw.budgets)
def test_privacy_budget_has_the_same_size_whatever_it_says(budget):
    message = convert.privacy_budget_to_msg(budget)
    assert len(serialize_message(message)) == len(serialize_message(PrivacyBudgetMsg()))


@pytest.mark.parametrize('kind', [PrivateStateMsg, PrivacyBudgetMsg])
def test_what_leaves_a_robot_has_no_field_of_variable_size(kind):
    for field in kind.get_fields_and_field_types().values():
        assert 'string' not in field
        assert 'sequence' not in field


def test_numpy_integers_can_be_sent():
    state = PrivateState(bytes(16), *np.array([1, 2, 3, 4], dtype=np.int64))
    assert over_the_wire(convert.private_state_to_msg(state)).state == 4


@pytest.mark.parametrize(
    'wrong',
    [{'state': -1}, {'state': 2**32}, {'robot': 2**16}, {'step': -1}, {'plan_id': bytes(15)}],
)
def test_private_state_that_does_not_fit_its_message_is_not_sent(wrong):
    state = PrivateState(plan_id=bytes(16), episode=0, step=0, robot=0, state=0)
    with pytest.raises(ModelError, match='fit a field'):
        convert.private_state_to_msg(dataclasses.replace(state, **wrong))


@pytest.mark.parametrize('field', ['adjacency', 'iterations'])
def test_zero_cannot_be_asked_for_as_it_would_mean_none(field):
    with pytest.raises(ModelError, match='cannot be asked for as 0'):
        convert.synthesis_request_to_msg(SynthesisRequest(scenario='s', **{field: 0}))


@pytest.mark.parametrize('code', [1, 2, 3, 4, 255])
def test_report_of_a_failed_synthesis_is_refused_with_its_reason(code):
    result = convert.Result(error_code=code, error_message='no such scenario')
    with pytest.raises(RefusedMessageError, match='no such scenario'):
        convert.synthesis_report_from_msg(result)


@given(st.data())
def test_fields_of_an_action_left_out_are_none(data):
    request = data.draw(draw.requests)
    bare = dataclasses.replace(request, epsilon=None, adjacency=None, iterations=None)
    goal = convert.synthesis_request_to_msg(bare)
    assert (goal.epsilon, goal.adjacency, goal.iterations) == (-1, 0, 0)
