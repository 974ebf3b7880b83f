"""Callbacks that raise, and messages that are refused."""

import pytest
from lifecycle_msgs.srv import GetState
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.nodes import qos


def upper_case_only(message):
    if not message.data.isupper():
        raise RefusedMessageError(f'{message.data} is not in capitals')
    return message.data


@pytest.fixture
def node(new_domain, join):
    return join(new_domain())


@pytest.fixture
def publish(node):
    publisher = node.advertise(String, 'words', qos.PRIVATE_STATE)

    def publish_word(word):
        node.wait_for(lambda: publisher.get_subscription_count() > 0)
        publisher.publish(String(data=word))

    return publish_word


def test_callback_gets_what_the_check_returns(node, publish):
    heard = []
    node.subscribe(String, 'words', qos.PRIVATE_STATE, upper_case_only, heard.append)
    publish('YES')
    node.wait_for(lambda: heard == ['YES'])


def test_refused_messages_are_counted_and_logged_ever_more_rarely(node, publish, capfd):
    heard = []
    node.subscribe(String, 'words', qos.PRIVATE_STATE, upper_case_only, heard.append)
    for count in range(1, 21):
        publish(f'no {count}')
        node.wait_for(lambda count=count: node.refused['/words'] == count)
    publish('YES')
    node.wait_for(lambda: heard == ['YES'])
    log = capfd.readouterr().err
    logged = [n for n in range(1, 21) if f'refused message {n}: no {n} is not in capitals' in log]
    assert logged == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    'broken', [b'', b'\0\1\0\0', b'\0\1\0\0\0\0\0\x80', b'\0\1\0\0\7\0\0\0ab']
)
def test_broken_bytes_are_refused_and_counted(node, broken):
    heard = []
    node.subscribe(String, 'words', qos.PRIVATE_STATE, upper_case_only, heard.append)
    publisher = node.advertise(String, 'words', qos.PRIVATE_STATE)
    node.wait_for(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(broken)
    publisher.publish(serialize_message(String(data='YES')))
    node.wait_for(lambda: heard == ['YES'])
    assert node.refused == {'/words': 1}


def test_message_that_is_too_large_is_refused_unread(node, publish):
    heard = []
    node.subscribe(
        String, 'words', qos.PRIVATE_STATE, upper_case_only, heard.append, max_bytes=100
    )
    publish('A' * 100)
    publish('YES')
    node.wait_for(lambda: heard == ['YES'])
    assert node.refused == {'/words': 1}


def test_message_refused_after_its_subscription_is_gone_is_counted(node, publish, capfd):
    def leave_and_refuse(message):
        node.destroy_subscription(subscription)
        raise RefusedMessageError('too late')

    subscription = node.subscribe(
        String, 'words', qos.PRIVATE_STATE, leave_and_refuse, lambda _: None
    )
    publish('one')
    node.wait_for(lambda: node.refused == {'/words': 1})
    assert 'Traceback' not in capfd.readouterr().err


def test_tracebacks_are_logged_ever_more_rarely(node, publish, capfd):
    heard = []

    def fail(word):
        heard.append(word)
        raise ValueError(word)

    node.subscribe(String, 'words', qos.PRIVATE_STATE, lambda message: message.data, fail)
    for count in range(1, 12):
        publish(f'no {count}')
        node.wait_for(lambda count=count: len(heard) == count)
    log = capfd.readouterr().err
    logged = [n for n in range(1, 12) if f'ValueError: no {n}\n' in log]
    assert logged == [1, 2, 4, 8]
    assert '/words, 8 times so far: Traceback' in log


@pytest.mark.parametrize('fault', [ValueError, RefusedMessageError, AssertionError])
def test_subscription_survives_a_raising_callback(node, publish, capfd, fault):
    heard = []

    def hear(word):
        heard.append(word)
        if len(heard) == 1:
            raise fault('cannot hear')

    node.subscribe(String, 'words', qos.PRIVATE_STATE, lambda message: message.data, hear)
    publish('one')
    node.wait_for(lambda: heard == ['one'])
    publish('two')
    node.wait_for(lambda: heard == ['one', 'two'])
    log = capfd.readouterr().err
    assert 'Traceback' in log
    assert f'{fault.__name__}: cannot hear' in log
    assert not node.refused


def test_subscription_survives_a_check_that_is_wrong(node, publish):
    heard = []
    node.subscribe(String, 'words', qos.PRIVATE_STATE, lambda msg: int(msg.data), heard.append)
    publish('not a number')
    publish('7')
    node.wait_for(lambda: heard == [7])


def test_timer_survives_a_raising_callback(node):
    ticks = []
    node.every(0.01, lambda: (ticks.append(1), 1 / 0))
    node.wait_for(lambda: len(ticks) >= 3)


def test_raising_service_answers_with_an_empty_response(node):
    def answer(request, response):
        response.current_state.label = 'half done'
        raise ValueError('cannot answer')

    node.offer(GetState, 'ask', answer)
    client = node.create_client(GetState, 'ask')
    node.wait_for(client.service_is_ready)
    for _ in range(2):
        future = client.call_async(GetState.Request())
        node.wait_for(future.done)
        assert future.result() == GetState.Response()
