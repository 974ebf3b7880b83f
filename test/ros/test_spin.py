"""The spin loop, on either executor."""

import signal
import sys
import time

import pytest
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import TeamNode, open_domains
from dp_multiagent.nodes.spin import MAX_FAILURES, make_executor, spin, stop_on_signals


def plain_executor(context):
    return SingleThreadedExecutor(context=context)


both_executors = pytest.mark.parametrize('executor', [make_executor, plain_executor])


@pytest.fixture
def domains(new_domain):
    with open_domains(own=new_domain(), team=new_domain()) as domains:
        yield domains


@pytest.fixture
def deadline():
    """Tell when to give up."""
    end = time.monotonic() + 30
    return lambda: time.monotonic() > end


@both_executors
def test_one_loop_serves_two_domains(domains, executor, deadline):
    heard = {'own': [], 'team': []}
    nodes = []
    for name, context in (('own', domains.own), ('team', domains.team)):
        node = TeamNode('talker', context=context)
        out = node.advertise(String, 'words', qos.PRIVATE_STATE)
        node.every(0.01, lambda name=name, out=out: out.publish(String(data=name)))
        node.subscribe(String, 'words', qos.PRIVATE_STATE, lambda m: m.data, heard[name].append)
        nodes.append(node)
    spin(
        *nodes,
        until=lambda: min(map(len, heard.values())) >= 20 or deadline(),
        executor=executor,
    )
    assert set(heard['own']) == {'own'}
    assert set(heard['team']) == {'team'}
    assert min(map(len, heard.values())) >= 20


@both_executors
def test_loop_survives_a_callback_that_nobody_guards(domains, executor, deadline, capfd):
    node = TeamNode('careless', context=domains.team)
    ticks = []
    node.create_timer(0.01, lambda: (ticks.append(1), 1 / 0))
    spin(node, until=lambda: len(ticks) >= 3 or deadline(), executor=executor)
    assert len(ticks) >= 3
    assert 'ZeroDivisionError' in capfd.readouterr().err


@both_executors
def test_loop_ends_when_a_context_is_shut_down(domains, executor, deadline):
    own = TeamNode('own', context=domains.own)
    team = TeamNode('team', context=domains.team)
    own.every(0.01, domains.team.try_shutdown)
    spin(own, team, until=deadline, executor=executor)
    assert not domains.team.ok()
    assert not deadline()


def test_loop_gives_up_on_an_executor_that_only_fails(domains):
    class Broken(SingleThreadedExecutor):
        calls = 0

        def spin_once(self, timeout_sec=None):
            Broken.calls += 1
            raise ValueError('broken')

    node = TeamNode('lost', context=domains.own)
    with pytest.raises(ValueError, match='broken'):
        spin(node, until=lambda: False, executor=lambda context: Broken(context=context))
    assert Broken.calls == MAX_FAILURES


def test_plain_executor_is_taken_where_there_is_no_other(domains, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    assert isinstance(make_executor(domains.own), SingleThreadedExecutor)


def test_events_executor_is_preferred(domains):
    pytest.importorskip('rclpy.experimental', reason='this ROS has no EventsExecutor')
    assert type(make_executor(domains.own)).__name__ == 'EventsExecutor'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('executor', ['events', 'plain'])
def test_signal_ends_a_program_with_status_0_within_2_seconds(new_domain, start, executor, number):
    program = start('until_signal', new_domain(), new_domain(), executor)
    program.expect('spinning')
    sent = time.monotonic()
    program.send(number)
    assert program.wait() == 0
    assert time.monotonic() - sent < 2
    program.expect('done')
    assert 'Traceback' not in program.errors()


def test_signal_while_a_program_builds_its_nodes_ends_it_in_order(new_domain, start):
    program = start('until_signal', new_domain(), new_domain(), 'events', 'wait')
    program.expect('building')
    program.send(signal.SIGINT)
    program.tell('go on')
    assert program.wait() == 0
    program.expect('done')


def test_second_signal_ends_a_program_at_once(new_domain, start):
    program = start('until_signal', new_domain(), new_domain(), 'events', 'wait')
    program.expect('building')
    assert program.send_until_it_ends(signal.SIGTERM) == -signal.SIGTERM


def test_signal_handlers_are_restored():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stopped:
        assert signal.getsignal(signal.SIGINT) != before[0]
        assert not stopped()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
