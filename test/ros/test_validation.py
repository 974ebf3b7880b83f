"""What is refused, and that refusing is cheap."""

import dataclasses
import time
import tracemalloc
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
import ros_strategies as draw
from builtin_interfaces.msg import Duration, Time
from dp_multiagent.msg import PrivacyBudget as PrivacyBudgetMsg
from dp_multiagent.msg import PrivateState as PrivateStateMsg
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models.plan import Graph, LocalPolicy, TeamPlan
from dp_multiagent.nodes import conversions as convert
from dp_multiagent.nodes import validation

NAN, INF = float('nan'), float('inf')

PLAN = TeamPlan(
    plan_id=bytes(range(16)),
    game=bytes(32),
    episode=2,
    start_ns=10**9,
    period_ns=10**9,
    deadline=0.5,
    horizon=3,
    max_stale=1,
    robots=('anna', 'bert'),
    graph=Graph.from_edges(2, [(1, 0)]),
    epsilon=(1.0, 2.0),
    adjacency=(3, 3),
)
POLICY = LocalPolicy(
    robot=1, observed=(0,), table=np.full((4, 5, 2), 0.5), own_state=np.full((4, 2), 0.5)
)


@dataclasses.dataclass(frozen=True)
class Receiver:
    """How a sound message is made, and how it is received."""

    name: str
    sound: Callable[[], Any]
    take: Callable[[Any], Any]

    def message(self, **fields):
        message = self.sound()
        for name, value in fields.items():
            setattr(message, name, value)
        return message

    def __call__(self, **fields):
        return self.take(self.message(**fields))

    def __repr__(self):
        return self.name


private_state = Receiver(
    'private_state',
    partial(PrivateStateMsg, plan_id=list(PLAN.plan_id), episode=2, step=3, robot=1, state=6),
    partial(convert.private_state_from_msg, plan=PLAN, robot=1, states=7),
)
privacy_budget = Receiver(
    'privacy_budget',
    partial(PrivacyBudgetMsg, robot=1),
    partial(convert.privacy_budget_from_msg, robot=1),
)
local_policy = Receiver(
    'local_policy',
    partial(convert.local_policy_to_msg, POLICY, plan=PLAN),
    partial(convert.local_policy_from_msg, plan=PLAN),
)
team_plan = Receiver(
    'team_plan', partial(convert.team_plan_to_msg, PLAN), convert.team_plan_from_msg
)
request = Receiver(
    'request',
    partial(convert.Goal, scenario='navigation', method='baseline'),
    convert.synthesis_request_from_msg,
)
progress = Receiver('progress', convert.Feedback, convert.synthesis_progress_from_msg)
report = Receiver('report', convert.Result, convert.synthesis_report_from_msg)

ALL = [private_state, privacy_budget, local_policy, team_plan, request, progress, report]


@pytest.mark.parametrize('receive', ALL, ids=repr)
def test_sound_message_is_taken(receive):
    assert receive()


@pytest.mark.parametrize(
    ('receive', 'fields', 'reason'),
    [
        (private_state, {'plan_id': [0] * 16}, 'another plan'),
        (private_state, {'robot': 2}, 'robot 2 is not in the plan'),
        (private_state, {'robot': 0}, 'robot 0 speaks in the name of 1'),
        (private_state, {'episode': 1}, 'episode 1'),
        (private_state, {'step': 4}, 'step 4 is after the end'),
        (private_state, {'state': 7}, 'state 7 does not exist'),
        (privacy_budget, {'robot': 2}, 'robot 2 speaks in the name of 1'),
        (privacy_budget, {'unit': 3}, '3 is not a valid Unit'),
        (privacy_budget, {'epsilon_spent': NAN}, 'epsilon_spent'),
        (privacy_budget, {'delta_remaining': -1.0}, 'delta_remaining'),
        (local_policy, {'plan_id': [0] * 16}, 'another plan'),
        (local_policy, {'robot': 9}, 'robot 9 is not in the plan'),
        (local_policy, {'observed': array('H', [1])}, 'others than the plan says'),
        (local_policy, {'observed': array('H', range(17))}, 'too many robots'),
        (local_policy, {'observed_states': array('I', [])}, 'observed_states has 0'),
        (local_policy, {'observed_states': array('I', [4])}, 'probabilities has 40'),
        (local_policy, {'observed_states': array('I', [0])}, 'no entries'),
        (local_policy, {'steps': 2}, 'tables for 2 steps'),
        (local_policy, {'states': 0}, 'no entries'),
        (local_policy, {'states': 2**32 - 1, 'actions': 2**16 - 1}, 'too large'),
        (local_policy, {'own_state': array('d', [1.0])}, 'own_state has 1 entries'),
        (local_policy, {'probabilities': array('d', [NAN] * 40)}, 'finite'),
        (local_policy, {'probabilities': array('d', [0.6] * 40)}, 'sum to 1'),
        (team_plan, {'robots': []}, 'a plan for 0 robots'),
        (team_plan, {'robots': ['x'] * 257}, 'a plan for 257 robots'),
        (team_plan, {'robots': ['anna', 'anna']}, 'each of its robots once'),
        (team_plan, {'robots': ['anna', '/rosout']}, "'/rosout' cannot be the name"),
        (team_plan, {'robots': ['anna', 'b\n']}, 'cannot be the name'),
        (team_plan, {'robots': ['anna', 'b' * 65]}, 'cannot be the name'),
        (team_plan, {'dependents': array('H', [0, 1])}, '2 dependencies cannot be acyclic'),
        (team_plan, {'dependents': array('H', [])}, 'dependencies has 1 entries'),
        (team_plan, {'dependents': array('H', [2])}, 'robot 2 is not in a team of 2'),
        (team_plan, {'dependencies': array('H', [1])}, 'robot 1 cannot depend on'),
        (team_plan, {'dependencies': array('H', [7])}, 'robot 1 cannot depend on'),
        (team_plan, {'epsilon': array('d', [1.0])}, 'epsilon has 1 entries'),
        (team_plan, {'epsilon': array('d', [1.0, INF])}, 'epsilon must be finite'),
        (team_plan, {'adjacency': array('H', [1])}, 'adjacency has 1 entries'),
        (team_plan, {'adjacency': array('H', [1, 0])}, 'adjacency at least 1'),
        (team_plan, {'deadline': NAN}, 'deadline is not finite'),
        (team_plan, {'deadline': 1.0}, 'deadline between 0 and 1'),
        (team_plan, {'horizon': 0}, 'horizon must be positive'),
        (team_plan, {'period': Duration(sec=0)}, 'period and horizon must be positive'),
        (team_plan, {'period': Duration(sec=-1)}, 'period is not a valid time'),
        (team_plan, {'start': Time(nanosec=10**9)}, 'start is not a valid time'),
        (request, {'scenario': ''}, 'scenario'),
        (request, {'scenario': 'a' * 4097}, 'scenario'),
        (request, {'scenario': 'a\0b'}, 'scenario'),
        (request, {'method': 'magic'}, 'method is none of'),
        (request, {'epsilon': NAN}, 'epsilon is not finite'),
        (request, {'starts': ['a'] * 65}, '65 starts'),
        (request, {'starts': ['']}, 'a start is not a name'),
        (progress, {'success_private': 1.1}, 'success_private is not a probability'),
        (progress, {'success_truthful': NAN}, 'success_truthful is not a probability'),
        (progress, {'objective': INF}, 'objective is not finite'),
        (report, {'error_code': 4, 'error_message': 'out of luck'}, 'out of luck'),
        (report, {'success_truthful': -0.1}, 'success_truthful is not a probability'),
        (report, {'gap': NAN}, 'gap is not finite'),
        (report, {'expected_length': -1.0}, 'expected_length is negative'),
        (report, {'seconds': INF}, 'seconds is not finite'),
    ],
)
def test_unsound_message_is_refused_in_one_line(receive, fields, reason):
    with pytest.raises(RefusedMessageError) as refused:
        receive(**fields)
    assert reason in str(refused.value)
    assert '\n' not in str(refused.value)


def test_cycle_in_a_plan_is_refused():
    robots = ['a', 'b', 'c']
    edges = {'dependents': array('H', [0, 1, 2]), 'dependencies': array('H', [1, 2, 0])}
    sizes = {'epsilon': array('d', [1.0] * 3), 'adjacency': array('H', [1] * 3)}
    with pytest.raises(RefusedMessageError, match='cycle'):
        team_plan(robots=robots, **edges, **sizes)


any_real = st.floats(width=64)
few = {'max_size': 4}
small = st.integers(0, 3)
ANY_FIELD = {
    'uint8': draw.unsigned(8),
    'uint16': small | draw.unsigned(16),
    'uint32': small | draw.unsigned(32),
    'uint64': draw.unsigned(64),
    'double': st.sampled_from([0.0, 0.5, 1.0]) | any_real,
    'string': st.sampled_from(['navigation', 'baseline']) | st.text(max_size=8),
    'uint8[16]': st.just(list(PLAN.plan_id))
    | st.lists(draw.unsigned(8), min_size=16, max_size=16),
    'uint8[32]': st.lists(draw.unsigned(8), min_size=32, max_size=32),
    'sequence<uint16>': st.lists(small, **few).map(lambda x: array('H', x)),
    'sequence<uint32>': st.lists(small, **few).map(lambda x: array('I', x)),
    'sequence<double>': st.lists(any_real, **few).map(lambda x: array('d', x)),
    'sequence<string>': st.lists(draw.names | st.text(max_size=4), **few),
    'builtin_interfaces/Time': st.builds(
        Time, sec=st.integers(-(2**31), 2**31 - 1), nanosec=draw.unsigned(32)
    ),
    'builtin_interfaces/Duration': st.builds(
        Duration, sec=st.integers(-(2**31), 2**31 - 1), nanosec=draw.unsigned(32)
    ),
}


@pytest.mark.parametrize('receive', ALL, ids=repr)
@given(data=st.data())
def test_whatever_comes_is_taken_or_refused_and_nothing_else(receive, data):
    types = receive.message().get_fields_and_field_types()
    touched = data.draw(st.sets(st.sampled_from(sorted(types)), min_size=1))
    fields = {name: data.draw(ANY_FIELD[types[name]], label=name) for name in sorted(touched)}
    with suppress(RefusedMessageError):
        receive(**fields)


def refusal_cost(receive, **fields):
    message = receive.message(**fields)
    tracemalloc.start()
    began = time.perf_counter()
    with pytest.raises(RefusedMessageError):
        receive.take(message)
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


@pytest.mark.parametrize(
    ('receive', 'fields'),
    [
        (local_policy, {'states': 2**32 - 1, 'observed_states': array('I', [2**32 - 1])}),
        (local_policy, {'observed': array('H', bytes(2 * 10**6))}),
        (local_policy, {'observed_states': array('I', bytes(4 * 10**6))}),
        (team_plan, {'robots': ['x'] * 10**6}),
        (team_plan, {'robots': ['anna', 'x' * 10**7]}),
        (team_plan, {'dependents': array('H', bytes(2 * 10**6))}),
        (request, {'starts': ['x'] * 10**6}),
        (request, {'scenario': 'x' * 10**7}),
        (request, {'method': 'x' * 10**7}),
    ],
)
def test_monstrous_message_is_refused_at_no_cost(receive, fields):
    seconds, peak = refusal_cost(receive, **fields)
    assert seconds < 0.5
    assert peak < 1_000_000


def test_largest_plan_is_read_quickly():
    n = validation.MAX_ROBOTS
    everyone = dataclasses.replace(
        PLAN,
        robots=tuple(f'robot_{i}' for i in range(n)),
        graph=Graph(tuple(tuple(range(i)) for i in range(n))),
        epsilon=(1.0,) * n,
        adjacency=(1,) * n,
    )
    message = convert.team_plan_to_msg(everyone)
    began = time.perf_counter()
    assert convert.team_plan_from_msg(message) == everyone
    assert time.perf_counter() - began < 1
