"""Two domains in one process, looked at by a third party in another."""

import os
import sys

import pytest
from dp_multiagent.msg import PrivateState
from rclpy.context import Context
from std_msgs.msg import String

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.security import Policy
from dp_multiagent.models.team_domain import rights
from dp_multiagent.nodes import qos
from dp_multiagent.nodes.domains import TeamNode, open_domains


def names(pairs):
    return {name for name, _ in pairs}


def test_team_sees_the_private_state_and_nothing_of_the_own_domain(new_domain, start, join):
    own, team = new_domain(), new_domain()
    start('two_domains', own, team)
    friend, stranger = join(own), join(team)
    secrets, leaks, words = [], [], []
    friend.create_subscription(String, '/robot_1/true_state', secrets.append, qos.TEAM_PLAN)
    stranger.create_subscription(
        PrivateState, '/robot_1/private_state', words.append, qos.PRIVATE_STATE
    )
    friend.wait_for(lambda: '/robot_1/change_state' in names(friend.get_service_names_and_types()))
    friend.wait_for(lambda: '/rosout' in names(friend.get_topic_names_and_types()))
    friend.wait_for(lambda: bool(secrets))
    stranger.wait_for(lambda: len(words) >= 3)
    stranger.wait_for(lambda: 'speaker' in stranger.get_node_names())

    assert names(stranger.get_topic_names_and_types()) == {
        '/parameter_events',
        '/robot_1/private_state',
    }
    assert names(stranger.get_service_names_and_types()) == set()
    assert set(stranger.get_node_names()) == {'speaker', 'third_party'}

    stranger.create_subscription(String, '/robot_1/true_state', leaks.append, qos.TEAM_PLAN)
    heard = len(words)
    stranger.wait_for(lambda: len(words) >= heard + 5)
    assert leaks == []


def test_team_node_stays_quiet_even_if_its_arguments_say_otherwise(new_domain):
    loud = ['--ros-args', '-p', 'start_type_description_service:=true', '--enable-rosout-logs']
    with open_domains(own=new_domain(), team=new_domain(), args=loud) as domains:
        node = TeamNode('quiet', context=domains.team, cli_args=loud)
        assert list(node.services) == []
        assert names(node.get_topic_names_and_types()) == {'/parameter_events'}
        assert names(node.get_service_names_and_types()) == set()


def test_own_domain_is_that_of_the_environment_unless_given(new_domain, monkeypatch):
    own = new_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own))
    with open_domains(team=new_domain()) as domains:
        assert domains.own.get_domain_id() == own


def test_both_domains_are_closed_afterwards(new_domain):
    with open_domains(own=new_domain(), team=new_domain()) as domains:
        assert domains.own.ok()
        assert domains.team.ok()
    assert not domains.own.ok()
    assert not domains.team.ok()


def test_own_and_team_domain_must_differ(new_domain, monkeypatch):
    domain = new_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    with pytest.raises(ModelError, match='nothing would be private'), open_domains(team=domain):
        pass


@pytest.mark.parametrize(('own', 'team'), [(1, -1), (1, 233), (-1, 1), (233, 1)])
def test_domain_out_of_range_is_refused(own, team):
    with pytest.raises(ModelError, match='from 0 to 232'), open_domains(own=own, team=team):
        pass


@pytest.fixture
def opened(monkeypatch):
    """Return domain, range and peers of each context as it is opened, where all reach far."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    monkeypatch.setenv('ROS_STATIC_PEERS', '10.9.0.3')
    seen = []

    def init(self, args=None, *, domain_id=None, really=Context.init):
        names = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS')
        seen.append((domain_id, *(os.environ[name] for name in names)))
        really(self, args, domain_id=domain_id)

    monkeypatch.setattr(Context, 'init', init)
    return seen


@pytest.mark.parametrize(
    ('own_peers', 'reached'),
    [
        (None, ('SUBNET', '10.9.0.3')),
        ((), ('LOCALHOST', '')),
        (['10.9.0.2'], ('LOCALHOST', '10.9.0.2')),
    ],
)
def test_own_domain_reaches_its_peers_and_the_team_as_the_environment_says(
    new_domain, opened, own_peers, reached
):
    own, team = new_domain(), new_domain()
    with open_domains(own=own, team=team, args=[], own_peers=own_peers):
        assert opened == [(own, *reached), (team, 'SUBNET', '10.9.0.3')]


@pytest.mark.parametrize(
    ('own', 'args', 'error'),
    [(233, [], ModelError), (1, ['--ros-args', '-p', 'no parameter'], RuntimeError)],
)
def test_environment_is_as_before_if_the_own_domain_cannot_be_opened(opened, own, args, error):
    before = dict(os.environ)
    with pytest.raises(error), open_domains(own=own, team=2, args=args, own_peers=()):
        pass
    assert dict(os.environ) == before


@pytest.mark.parametrize('args', [[], None, ['--ros-args', '--log-level', 'info']])
def test_team_has_an_enclave_of_its_own(new_domain, monkeypatch, args):
    monkeypatch.setattr(sys, 'argv', ['program', '--ros-args', '--enclave', '/mine'])
    domains = open_domains(
        own=new_domain(), team=new_domain(), args=args, team_enclave='/team/robot1'
    )
    with domains as domains:
        own, team = (TeamNode('bob', context=each) for each in (domains.own, domains.team))
        (found,) = own.get_node_names_and_namespaces_with_enclaves()
        assert found == ('bob', '/', '/mine' if args is None else '/')
        (found,) = team.get_node_names_and_namespaces_with_enclaves()
        assert found == ('bob', '/', '/team/robot1')


def test_keys_for_the_team_are_looked_for_in_its_enclave(new_domain, monkeypatch, tmp_path):
    keys = tmp_path / 'enclaves' / 'team' / 'robot1'
    keys.parent.mkdir(parents=True)
    for name, value in (('ENABLE', 'true'), ('STRATEGY', 'Enforce'), ('KEYSTORE', tmp_path)):
        monkeypatch.setenv(f'ROS_SECURITY_{name}', str(value))
    chosen = {'own': new_domain(), 'team': new_domain(), 'team_enclave': '/team/robot1'}
    with pytest.raises(RuntimeError, match=f"'{keys}' does not exist"), open_domains(**chosen):
        pass
    keys.mkdir()
    with open_domains(**chosen) as domains:
        assert domains.team.ok()


def test_members_of_a_team_are_in_the_enclaves_of_their_policies(deploy, join, team_domain):
    scenario = scenarios.load(scenarios.find('crossing'))
    names = [member.name for member in scenario.members]
    members = {(each.member, Policy(each).enclave) for each in rights(names, scenario.graph)}
    deploy(scenario='crossing', episodes=100).start()
    stranger, operator = join(team_domain), join(team_domain + 50)

    def found(node):
        everybody = node.get_node_names_and_namespaces_with_enclaves()
        return {(name, enclave) for name, _, enclave in everybody}

    stranger.wait_for(lambda: members <= found(stranger))
    operator.wait_for(lambda: {('operator', '/'), ('planning_server', '/')} <= found(operator))
    own = join(team_domain + 1)
    own.wait_for(lambda: (names[0], '/') in found(own))
