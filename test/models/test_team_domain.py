"""What is allowed in the team's domain; the names stand here as the design lists them."""

import pytest

from dp_multiagent.models.plan import Graph
from dp_multiagent.models.team_domain import Sighting, rights, speaker

ROBOTS = ('ann', 'bob')
ACTION = '/synthesize_policies/_action'


@pytest.mark.parametrize(
    ('topic', 'node'),
    [
        ('/ann/private_state', 'ann'),
        ('/ann/private_reward', 'ann'),
        ('/ann/private_message', 'ann'),
        ('/ann/budget', 'ann'),
        ('/ann/policy', 'planner'),
        ('/team_plan', 'planner'),
        (f'{ACTION}/feedback', 'planner'),
        (f'{ACTION}/status', 'planner'),
        ('/parameter_events', 'anyone_at_all'),
    ],
)
def test_topic_of_the_list_is_no_offence(topic, node):
    assert Sighting(topic, node).offence(ROBOTS) is None


@pytest.mark.parametrize('name', ['send_goal', 'cancel_goal', 'get_result'])
def test_action_of_the_planner_is_no_offence(name):
    assert Sighting(f'{ACTION}/{name}', 'planner', is_service=True).offence(ROBOTS) is None


@pytest.mark.parametrize(
    'topic',
    [
        *('/odom', '/cmd_vel', '/tf', '/tf_static', '/scan', '/rosout', '/clock', '/status'),
        *('/diagnostics', '/ann/odom', '/ann/true_state', '/ann/private_state/raw'),
        *('/private_state', '/robots/ann/private_state', '/ann/private_states', '/team_plans'),
    ],
)
def test_any_other_topic_is_an_offence_that_names_its_node(topic):
    offence = Sighting(topic, 'driver').offence(ROBOTS)
    assert topic in offence
    assert 'driver' in offence


@pytest.mark.parametrize(
    'service', ['/ann/get_parameters', '/ann/change_state', '/ann/private_state', '/team_plan']
)
def test_any_other_service_is_an_offence(service):
    assert 'service' in Sighting(service, 'ann', is_service=True).offence(ROBOTS)


@pytest.mark.parametrize(
    ('topic', 'node'),
    [
        ('/ann/private_state', 'bob'),
        ('/ann/policy', 'ann'),
        ('/team_plan', 'ann'),
        (f'{ACTION}/status', 'intruder'),
    ],
)
def test_topic_of_the_list_from_the_wrong_node_is_an_offence(topic, node):
    assert 'is the right of' in Sighting(topic, node).offence(ROBOTS)


def test_robot_of_no_team_is_an_offence_only_if_the_team_is_known():
    stranger = Sighting('/eve/private_state', 'eve')
    assert 'not in the team' in stranger.offence(ROBOTS)
    assert stranger.offence() is None


def test_every_right_to_publish_is_that_of_the_one_speaker():
    for member in rights(ROBOTS, Graph(((), (0,)))):
        for topic in member.publishes:
            assert speaker(topic) in (member.member, '*')
