"""The doctor's eye on real nodes: a driver in the wrong domain, and a team with no leak."""

import json
import os

import pytest
from operator_client import ROBOTS, Operator

from dp_multiagent.cli.checks import ledger as ledger_check
from dp_multiagent.cli.checks import network
from dp_multiagent.cli.checks import team as team_check
from dp_multiagent.cli.main import main
from dp_multiagent.models import scenarios
from dp_multiagent.models.team_domain import rights
from dp_multiagent.nodes.doctor import look_around

TURNS = 8
SECONDS = 4.0


def look_until(team_domain, is_seen):
    """Look for a while, as often as it takes on a machine under load."""
    for _ in range(TURNS):
        view = look_around(team_domain, SECONDS)
        if is_seen(view):
            return view
    pytest.fail(f'it was not seen: {view}')


def names(view):
    return {sighting.name for sighting in view.sightings}


def test_driver_in_the_domain_of_the_team_is_found_and_named(start, new_domain):
    team = new_domain()
    start('leak', team, '/odom', '/tf').expect('leaks 2')
    hidden = {'/odom', '/tf', '/rosout', '/base/wheel_driver/get_parameters'}
    view = look_until(team, lambda view: hidden <= names(view))
    offences = view.offences()
    assert {'topic /odom of node /base/wheel_driver is not on the list'} <= set(offences)
    assert all('/base/wheel_driver' in offence for offence in offences)
    assert any('service /base/wheel_driver/get_parameters' in offence for offence in offences)


def test_doctor_says_who_leaks_what_with_status_1(start, new_domain, capfd):
    team = new_domain()
    start('leak', team, '/odom').expect('leaks 1')
    look_until(team, lambda view: '/odom' in names(view))
    status = main(['doctor', '--json', '--team-domain', str(team)])
    (check,) = (
        each
        for each in json.loads(capfd.readouterr().out)['checks']
        if each['check'] == 'true state in team'
    )
    assert (status, check['result']) == (1, 'FAILED')
    assert 'topic /odom of node /base/wheel_driver' in check['found']


def test_two_robots_of_one_name_are_found(start, new_domain):
    team = new_domain()
    for _ in range(2):
        start('leak', team).expect('leaks 0')
    view = look_until(team, lambda view: len(view.nodes) == 2)
    assert view.twins == ('/base/wheel_driver',)


@pytest.mark.parametrize(('reach', 'result'), [('SUBNET', 'FAILED'), ('LOCALHOST', 'ok')])
def test_program_that_announces_the_own_domain_to_everybody_is_found(
    start, new_domain, monkeypatch, reach, result
):
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', reach)
    own = new_domain()
    start('leak', own, '/odom').expect('leaks 1')
    finding = network.announced(own)
    assert finding.result.value == result
    assert ('(process ' in finding.found) == (result == 'FAILED')


def test_own_domain_that_answers_a_stranger_is_found(start, new_domain):
    own = new_domain()
    start('leak', own, '/odom').expect('leaks 1')
    for _ in range(TURNS):
        finding = team_check.closed('127.0.0.1', own, SECONDS)
        if '/odom' in finding.found:
            break
    assert finding.result.value == 'FAILED'
    assert 'ROS_STATIC_PEERS' not in os.environ
    assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


def test_empty_domain_cannot_be_entered(new_domain):
    assert team_check.closed('127.0.0.1', new_domain(), 0.3).result.value == 'ok'


def test_doctor_is_not_seen_by_itself(new_domain):
    view = look_around(new_domain(), 0.3)
    assert (view.nodes, view.sightings, view.plan) == ((), frozenset(), None)


@pytest.fixture
def team(start, join, new_domain, tmp_path):
    """Return the domain of a planner and two robots that have their plan, and robot 2's own."""
    team_domain, operator_domain = new_domain(), new_domain()
    start(
        'planning_server',
        *('--domain', operator_domain, '--team-domain', team_domain, '--period', 4),
        *('--plans', tmp_path / 'plans'),
    )
    own = {name: new_domain() for name in ROBOTS}
    for name in ROBOTS:
        start(
            'robot',
            *(tmp_path, '--scenario', 'crossing', '--robot', name, '--budget', 6),
            *('--domain', own[name], '--team-domain', team_domain),
            *('--ledger', tmp_path / f'{name}.ledger'),
        )
    operator = Operator(join(operator_domain), join(team_domain))
    operator.plan()
    operator.wait_for_plan()
    operator.close()
    return team_domain, own, operator.team


def used(node, name):
    """Return what a node publishes and subscribes to, without its action."""
    found = (
        node.get_publisher_names_and_types_by_node(name, '/'),
        node.get_subscriber_names_and_types_by_node(name, '/'),
    )
    return tuple({topic for topic, _ in pairs if '/_action/' not in topic} for pairs in found)


def test_clean_team_passes_and_does_what_its_security_policies_allow(
    team, tmp_path, monkeypatch, capfd
):
    team_domain, own, onlooker = team
    scenario = scenarios.load(scenarios.find('crossing'))
    allowed = {member.member: member for member in rights(ROBOTS, scenario.graph)}
    for name in (*ROBOTS, 'planner'):
        expected = set(allowed[name].publishes), set(allowed[name].subscribes)
        onlooker.wait_for(lambda name=name, expected=expected: used(onlooker, name) == expected)

    others = {*ROBOTS, 'planner', 'third_party'}
    everything = {topic for name in (*ROBOTS, 'planner') for topic in allowed[name].publishes}
    view = look_until(
        team_domain, lambda view: set(view.nodes) == others and everything <= names(view)
    )
    assert view.offences(ROBOTS) == ()
    assert view.plan.period_ns == 4 * 10**9

    monkeypatch.setattr(ledger_check, 'FORGETFUL', set())
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own['robot2']))
    options = {
        'scenario': 'crossing',
        'robot': 'robot2',
        'ledger': tmp_path / 'robot2.ledger',
        'team-domain': team_domain,
        'domain': own['robot2'],
    }
    words = [str(word) for name, value in options.items() for word in (f'--{name}', value)]
    status = main(['doctor', '--json', *words])
    report = json.loads(capfd.readouterr().out)
    failed = [check for check in report['checks'] if check['result'] == 'FAILED']
    assert (failed, status, report['ok']) == ([], 0, True)
    results = {check['check']: check['result'] for check in report['checks']}
    assert {results[name] for name in ('true state in team', 'names in team', 'budget')} == {'ok'}
