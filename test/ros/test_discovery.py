"""The variables that say how far a domain reaches, as they are while it is opened."""

import os

import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.nodes.discovery import reaching

NAMES = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS', 'ROS_LOCALHOST_ONLY')
WIDE = ('SUBNET', 'base;robot2', '1')
EVERYBODY = ['', '0.0.0.0', '239.255.0.1', '255.255.255.255']
NOBODY = ['nowhere.invalid', '::1', '10.9.0.2;10.9.0.3', '10.9.0.2 10.9.0.3', 'a' * 300, 'a..b']


def variables():
    return tuple(os.environ.get(name) for name in NAMES)


@pytest.fixture(params=[WIDE, ('SUBNET', None, None), (None, None, None)])
def before(request, monkeypatch):
    """Return the variables of an environment that reaches far."""
    for name, value in zip(NAMES, request.param, strict=True):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    return request.param


@pytest.mark.parametrize(
    ('peers', 'addresses'),
    [
        ((), ''),
        (['10.9.0.2'], '10.9.0.2'),
        (['localhost', '10.9.0.2'], '127.0.0.1;10.9.0.2'),
    ],
)
def test_nobody_but_the_peers_is_reached(before, peers, addresses):
    with reaching(peers):
        assert variables() == ('LOCALHOST', addresses, '')
    assert variables() == before


def test_none_leaves_it_to_the_environment(before, monkeypatch):
    monkeypatch.setenv('ROS_DISCOVERY_SERVER', '10.9.0.2:11811')
    with reaching(None):
        assert variables() == before
    assert variables() == before


def test_environment_is_as_before_after_a_failure(before):
    with pytest.raises(KeyError, match='peers'), reaching(()):
        raise KeyError(os.environ.pop('ROS_STATIC_PEERS') + 'peers')
    assert variables() == before


@pytest.mark.parametrize(
    ('peer', 'why'),
    [
        *((peer, 'is not one machine') for peer in EVERYBODY),
        *((peer, 'has no IPv4 address') for peer in NOBODY),
    ],
)
def test_peer_that_is_not_one_machine_is_refused(peer, why):
    before = variables()
    with pytest.raises(ModelError, match=why), reaching(['10.9.0.2', peer]):
        pass
    assert variables() == before


@pytest.mark.parametrize('name', ['ROS_DISCOVERY_SERVER', 'FASTDDS_ENVIRONMENT_FILE'])
def test_server_that_would_hear_of_the_domain_is_refused(before, monkeypatch, name):
    monkeypatch.setenv(name, '')
    with reaching(()):
        pass
    monkeypatch.setenv(name, '10.9.0.2:11811')
    with pytest.raises(ModelError, match=f'{name} is set'), reaching(()):
        pass
    assert variables() == before
