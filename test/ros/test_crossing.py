"""Every message and the action from this process to another one and back."""

import inspect
import random

import dp_multiagent.msg
import numpy as np
import pytest
from dp_multiagent.action import SynthesizePolicies
from rclpy.action import ActionClient

from dp_multiagent.nodes import qos

KINDS = dict(inspect.getmembers(dp_multiagent.msg, inspect.isclass))
WIDTHS = {'uint8': 8, 'uint16': 16, 'uint32': 32, 'uint64': 64}
LENGTH = 1000


def filled(kind, rng):
    """Return a message with something in every field, long lists and largest numbers included."""
    message = kind()
    for name, field in kind.get_fields_and_field_types().items():
        setattr(message, name, value_of(field, getattr(message, name), rng))
    return message


def value_of(field, default, rng):
    if field.startswith('sequence<'):
        element = field[len('sequence<') : -1]
        values = [value_of(element, None, rng) for _ in range(LENGTH)]
        return type(default)(default.typecode, values) if hasattr(default, 'typecode') else values
    if field.startswith('uint8['):
        return np.array([rng.randrange(256) for _ in default], dtype=np.uint8)
    if field in WIDTHS:
        return rng.choice([2 ** WIDTHS[field] - 1, rng.randrange(2 ** WIDTHS[field])])
    if field == 'int32':
        return rng.randrange(-(2**31), 2**31)
    if field == 'double':
        return rng.choice([rng.uniform(-1e300, 1e300), 5e-324, -0.0, rng.random()])
    if field == 'string':
        return ''.join(rng.choices('robot_1 äß漢🤖', k=20))
    return filled(type(default), rng)  # a message within a message


def test_every_message_type_is_known_to_this_test():
    assert {'PrivateState', 'LocalPolicy', 'TeamPlan', 'PrivacyBudget'} <= set(KINDS)


def test_every_message_type_crosses_between_two_processes(new_domain, start, join):
    domain = new_domain()
    start('echo', domain)
    node = join(domain)
    rng = random.Random(1)
    sent, received = {}, {}
    for name, kind in KINDS.items():
        node.create_subscription(
            kind,
            f'{name}/out',
            lambda message, name=name: received.update({name: message}),
            qos.TEAM_PLAN,
        )
        sent[name] = filled(kind, rng)
        node.advertise(kind, f'{name}/in', qos.TEAM_PLAN).publish(sent[name])
    node.wait_for(lambda: set(received) == set(sent))
    assert received == sent
    assert all(received[name] is not sent[name] for name in sent)


@pytest.fixture
def client(new_domain, start, join):
    domain = new_domain()
    start('echo', domain)
    node = join(domain)
    client = ActionClient(node, SynthesizePolicies, 'synthesize')
    node.wait_for(client.server_is_ready)
    yield client
    client.destroy()


def test_goal_feedback_and_result_cross_between_two_processes(client):
    goal = SynthesizePolicies.Goal(
        scenario='küche', method='baseline', epsilon=0.1, adjacency=65535, iterations=2**32 - 1
    )
    goal.starts = ['left', 'right']
    feedback = []
    node = client._node
    sent = client.send_goal_async(goal, feedback_callback=lambda m: feedback.append(m.feedback))
    node.wait_for(sent.done)
    assert sent.result().accepted
    answer = sent.result().get_result_async()
    node.wait_for(lambda: answer.done() and bool(feedback))

    result = answer.result().result
    assert result.error_message == 'küche|baseline|left|right'
    assert bytes(result.plan_id) == bytes(range(16))
    assert (result.objective, result.iterations, result.seconds) == (0.1, 65535, 1e300)
    assert feedback == [
        SynthesizePolicies.Feedback(
            iteration=2**32 - 1,
            objective=-1.5,
            success_truthful=0.75,
            success_private=0.5,
            total_correlation=0.1,
        )
    ]
