"""SROS2 policies, read back and held to the published structure of schema 0.2.0."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph
from dp_multiagent.models.security import Policy
from dp_multiagent.models.team_domain import rights

NAMES = ('ann', 'bob', 'cid')
GRAPH = Graph(((), (0,), (0, 1)))

# What may stand in what, and with which attributes: (required, optional).
CHILDREN = {
    'policy': {'enclaves'},
    'enclaves': {'enclave'},
    'enclave': {'profiles'},
    'profiles': {'profile'},
    'profile': {'topics', 'services', 'actions'},
    'topics': {'topic'},
    'services': {'service'},
    'actions': {'action'},
}
ATTRIBUTES = {
    'policy': ({'version'}, set()),
    'enclave': ({'path'}, set()),
    'profile': ({'ns', 'node'}, set()),
    'topics': (set(), {'publish', 'subscribe'}),
    'services': (set(), {'reply', 'request'}),
    'actions': (set(), {'call', 'execute'}),
}


def faults(element):
    """List where an element and what is in it differ from the schema."""
    tag, children = element.tag, CHILDREN.get(element.tag, set())
    required, optional = ATTRIBUTES.get(tag, (set(), set()))
    if not required <= set(element.attrib) <= required | optional:
        yield f'{tag} has the attributes {sorted(element.attrib)}'
    if not {element.get(name, 'ALLOW') for name in optional} <= {'ALLOW', 'DENY'}:
        yield f'{tag} neither allows nor denies'
    if children and len(element) == 0 and tag != 'profile':
        yield f'{tag} is empty'
    if not children and not (element.text or '').startswith('/'):
        yield f'{tag} has no name'
    for child in element:
        yield from [] if child.tag in children else [f'{child.tag} stands in {tag}']
        yield from faults(child)


def policies(names=NAMES, graph=GRAPH):
    return {policy.rights.member: policy for policy in map(Policy, rights(names, graph))}


def allowed(policy):
    """Return what a policy allows, as pairs of a verb and a name."""
    root = ElementTree.fromstring(policy.to_xml())
    return {
        (verb, entry.text)
        for group in root.find('enclaves/enclave/profiles/profile')
        for verb, rule in group.attrib.items()
        if rule == 'ALLOW'
        for entry in group
    }


def names_of(policy, verb):
    return {name for said, name in allowed(policy) if said == verb}


@pytest.mark.parametrize('member', [*NAMES, 'planner', 'operator'])
def test_policy_has_the_structure_of_the_schema(member):
    root = ElementTree.fromstring(policies()[member].to_xml())
    assert (root.tag, root.attrib) == ('policy', {'version': '0.2.0'})
    assert list(faults(root)) == []


@pytest.mark.parametrize(
    'text',
    [
        '<policy><enclaves/></policy>',
        '<policy version="0.2.0"><profile ns="/" node="x"/></policy>',
        '<profile node="x"/>',
        '<topics publish="MAYBE"><topic>/x</topic></topics>',
        '<topics call="ALLOW"><topic>/x</topic></topics>',
        '<topics publish="ALLOW"/>',
        '<actions call="ALLOW"><topic>/x</topic></actions>',
        '<topics publish="ALLOW"><topic/></topics>',
    ],
)
def test_structure_check_finds_what_is_wrong(text):
    assert list(faults(ElementTree.fromstring(text)))


def test_member_has_an_enclave_and_a_profile_of_its_name():
    root = ElementTree.fromstring(policies()['bob'].to_xml())
    assert root.find('enclaves/enclave').get('path') == '/team/bob'
    assert root.find('enclaves/enclave/profiles/profile').attrib == {'ns': '/', 'node': 'bob'}


@pytest.mark.parametrize(
    ('robot', 'heard'),
    [
        ('ann', set()),
        ('bob', {'/ann/private_state'}),
        ('cid', {'/ann/private_state', '/bob/private_state'}),
    ],
)
def test_robot_hears_its_plan_its_policy_and_just_those_it_depends_on(robot, heard):
    expected = {'/team_plan', f'/{robot}/policy'} | heard
    assert names_of(policies()[robot], 'subscribe') == expected


@pytest.mark.parametrize('robot', NAMES)
def test_robot_publishes_its_own_topics_and_nothing_else(robot):
    assert names_of(policies()[robot], 'publish') == {
        f'/{robot}/private_state',
        f'/{robot}/budget',
        '/parameter_events',
    }
    assert {verb for verb, _ in allowed(policies()[robot])} == {'publish', 'subscribe'}


def test_planner_tells_plan_and_policies_and_listens_to_no_robot():
    planner = policies()['planner']
    assert names_of(planner, 'publish') == {
        '/parameter_events',
        '/team_plan',
        *(f'/{robot}/policy' for robot in NAMES),
    }
    assert names_of(planner, 'execute') == {'/synthesize_policies'}
    assert names_of(planner, 'subscribe') == set()


def test_operator_asks_for_plans_and_tells_the_team_nothing():
    operator = policies()['operator']
    assert names_of(operator, 'publish') == {'/parameter_events'}
    assert names_of(operator, 'call') == {'/synthesize_policies'}
    assert '/ann/budget' in names_of(operator, 'subscribe')


def test_robot_with_the_name_of_another_member_is_refused():
    with pytest.raises(ModelError, match='cannot be called planner'):
        rights(['ann', 'planner'], Graph(((), ())))


@given(st.lists(st.booleans(), min_size=6, max_size=6))
def test_who_hears_whom_is_the_graph_for_every_graph(chosen):
    pairs = [(i, j) for i in range(4) for j in range(i)]
    edges = {pair for pair, taken in zip(pairs, chosen, strict=True) if taken}
    names = ['a', 'b', 'c', 'd']
    made = policies(names, Graph.from_edges(4, edges))
    hearing = {
        (names.index(robot), names.index(topic.split('/')[1]))
        for robot in names
        for topic in names_of(made[robot], 'subscribe')
        if topic.endswith('/private_state')
    }
    assert hearing == edges


@given(st.lists(st.sampled_from('abcdefgh'), min_size=1, max_size=8, unique=True))
def test_no_topic_but_the_parameter_events_has_two_publishers(names):
    published = [
        topic
        for policy in policies(names, Graph(((),) * len(names))).values()
        for topic in names_of(policy, 'publish')
        if topic != '/parameter_events'
    ]
    assert len(published) == len(set(published))
