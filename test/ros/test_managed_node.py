"""The lifecycle base class, commanded through its services in a process of its own."""

import signal

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from std_msgs.msg import String

CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4
SHUTDOWN_UNCONFIGURED, SHUTDOWN_INACTIVE, SHUTDOWN_ACTIVE = 5, 6, 7

LEGAL = {
    'unconfigured': {CONFIGURE, SHUTDOWN_UNCONFIGURED},
    'inactive': {CLEANUP, ACTIVATE, SHUTDOWN_INACTIVE},
    'active': {DEACTIVATE, SHUTDOWN_ACTIVE},
    'finalized': set(),
}
LEGAL_LABELS = {
    'unconfigured': {'configure', 'shutdown'},
    'inactive': {'cleanup', 'activate', 'shutdown'},
    'active': {'deactivate', 'shutdown'},
    'finalized': set(),
}
WAY_TO = {
    'unconfigured': [],
    'inactive': [CONFIGURE],
    'active': [CONFIGURE, ACTIVATE],
    'finalized': [SHUTDOWN_UNCONFIGURED],
}
KNOWN_IDS = {
    getattr(Transition, name) for name in dir(Transition) if name.startswith('TRANSITION_')
}
LABELS = {'create', 'configure', 'cleanup', 'activate', 'deactivate', 'shutdown', 'destroy'}
INTERNAL_LABELS = {'transition_success', 'transition_failure', 'transition_error', 'no such', 'é'}


class Operator:
    """Command the node of programs/managed.py through its lifecycle services."""

    def __init__(self, node):
        self._node = node
        self._change = node.create_client(ChangeState, '/subject/change_state')
        self._get = node.create_client(GetState, '/subject/get_state')
        node.wait_for(self._change.service_is_ready)
        node.wait_for(self._get.service_is_ready)

    def request(self, transition=0, label=''):
        wanted = Transition(id=transition, label=label)
        return self._call(self._change, ChangeState.Request(transition=wanted)).success

    def state(self):
        return self._call(self._get, GetState.Request()).current_state.label

    def hears_a_tick(self):
        ticks = []
        subscription = self._node.create_subscription(String, 'ticks', ticks.append, 1)
        self._node.wait_for(lambda: bool(ticks))
        self._node.destroy_subscription(subscription)

    def _call(self, client, request):
        future = client.call_async(request)
        self._node.wait_for(future.done)
        return future.result()


@pytest.mark.parametrize('state', LEGAL)
def test_every_illegal_transition_is_refused_and_the_node_lives(state, new_domain, start, join):
    domain = new_domain()
    subject = start('managed', domain, new_domain())
    operator = Operator(join(domain))
    for transition in WAY_TO[state]:
        assert operator.request(transition)

    for transition in set(range(256)) - LEGAL[state]:
        assert not operator.request(transition)
    for label in (LABELS | INTERNAL_LABELS) - LEGAL_LABELS[state]:
        assert not operator.request(label=label)

    assert operator.state() == state
    if state == 'active':
        operator.hears_a_tick()
    subject.send(signal.SIGINT)
    assert subject.wait() == 0


def test_legal_transitions_lead_through_all_states_twice(new_domain, start, join):
    domain = new_domain()
    start('managed', domain, new_domain())
    operator = Operator(join(domain))
    visited = []
    for transition in 2 * [CONFIGURE, ACTIVATE, DEACTIVATE, CLEANUP]:
        assert operator.request(transition)
        visited.append(operator.state())
    assert visited == 2 * ['inactive', 'active', 'inactive', 'unconfigured']


def test_interrupt_of_an_active_node_stops_it_in_order(new_domain, start, join):
    domain = new_domain()
    subject = start('managed', domain, new_domain())
    operator = Operator(join(domain))
    assert operator.request(CONFIGURE)
    assert operator.request(ACTIVATE)
    subject.send(signal.SIGINT)
    for hook in ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown'):
        subject.expect(hook)
    assert subject.wait() == 0


@pytest.mark.parametrize(
    ('faulty', 'way', 'last', 'state'),
    [
        ('configure', [], CONFIGURE, 'unconfigured'),
        ('activate', [CONFIGURE], ACTIVATE, 'inactive'),
        ('deactivate', [CONFIGURE, ACTIVATE], DEACTIVATE, 'unconfigured'),
        ('cleanup', [CONFIGURE], CLEANUP, 'unconfigured'),
        ('shutdown', [], SHUTDOWN_UNCONFIGURED, 'finalized'),
        ('shutdown', [CONFIGURE], SHUTDOWN_INACTIVE, 'finalized'),
        ('cleanup', [CONFIGURE], SHUTDOWN_INACTIVE, 'finalized'),
        ('shutdown', [CONFIGURE, ACTIVATE], SHUTDOWN_ACTIVE, 'finalized'),
        ('deactivate', [CONFIGURE, ACTIVATE], SHUTDOWN_ACTIVE, 'finalized'),
        ('cleanup', [CONFIGURE, ACTIVATE], SHUTDOWN_ACTIVE, 'finalized'),
    ],
)
def test_raising_hook_is_logged_and_leaves_the_node_in_a_known_state(
    faulty, way, last, state, new_domain, start, join
):
    domain = new_domain()
    subject = start('managed', domain, new_domain(), faulty)
    operator = Operator(join(domain))
    for transition in way:
        assert operator.request(transition)

    assert not operator.request(last)

    assert operator.state() == state
    assert 'Traceback' in subject.errors()
    assert f'RuntimeError: {faulty} is broken' in subject.errors()
    assert subject.is_running()
