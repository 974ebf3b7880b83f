"""The doctor as a command; what ROS shows it is made up here."""

import json

import pytest

from dp_multiagent.cli import doctor
from dp_multiagent.cli.checks import clock, network, noise, software, team
from dp_multiagent.cli.checks.finding import Result, failed, fine, run
from dp_multiagent.cli.checks.ledger import Asked
from dp_multiagent.cli.doctor import Patient
from dp_multiagent.cli.main import main
from dp_multiagent.models.plan import Graph, TeamPlan
from dp_multiagent.models.team_domain import Sighting
from dp_multiagent.models.team_view import TeamView

CLEAN = TeamView(
    ('planner', 'robot1'),
    frozenset({Sighting('/team_plan', 'planner'), Sighting('/robot1/private_state', 'robot1')}),
)
PLAN = TeamPlan(
    plan_id=bytes(16),
    game=bytes(32),
    episode=0,
    start_ns=0,
    period_ns=4 * 10**9,
    deadline=0.1,
    horizon=9,
    max_stale=2,
    robots=('robot1', 'robot2'),
    graph=Graph(((), (0,))),
    epsilon=(0.25, 3.0),
    adjacency=(2, 1),
)


@pytest.fixture
def healthy(monkeypatch):
    """Make a robot on which nothing is wrong, with a clean team."""
    monkeypatch.setattr(software, 'packages', lambda: fine('packages', 'there'))
    monkeypatch.setattr(software, 'interfaces', lambda: fine('interfaces', 'there'))
    monkeypatch.setattr(software, 'robot_program', lambda: fine('robot program', 'loads'))
    monkeypatch.setattr(network, 'announced', lambda own: fine('own domain', 'quiet'))
    monkeypatch.setattr(team, 'look', lambda domain, seconds: CLEAN)
    monkeypatch.setattr(clock, 'chrony', lambda limit: fine('chrony', 'right'))
    monkeypatch.setenv('ROS_DOMAIN_ID', '43')
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.delenv('ROS_STATIC_PEERS', raising=False)


def ask(capsys, *words):
    status = main(['doctor', *words])
    return status, capsys.readouterr().out


@pytest.mark.usefixtures('healthy')
def test_healthy_robot_gives_status_0_and_a_table(capsys):
    status, out = ask(capsys, '--scenario', 'navigation', '--robot', 'robot1')
    assert status == 0
    assert out.split()[:3] == ['check', 'result', 'remedy']
    assert out.endswith('nothing is wrong\n')


@pytest.mark.usefixtures('healthy')
def test_one_failure_gives_status_1_and_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(noise, 'sampler', lambda: failed('noise', 'is numpy', 'do not start'))
    status, out = ask(capsys, '--json')
    report = json.loads(out)
    assert (status, report['ok']) == (1, False)
    assert [check for check in report['checks'] if check['result'] == 'FAILED'] == [
        {'check': 'noise', 'result': 'FAILED', 'found': 'is numpy', 'remedy': 'do not start'}
    ]


@pytest.mark.usefixtures('healthy')
def test_check_that_breaks_does_not_end_the_doctor(capsys, monkeypatch):
    monkeypatch.setattr(noise, 'sampler', lambda: 1 / 0)
    status, out = ask(capsys, '--json')
    found = {check['check']: check for check in json.loads(out)['checks']}
    assert status == 1
    assert found['noise']['found'] == 'the check broke: division by zero'
    assert found['budget']['result'] == 'not checked'


@pytest.mark.usefixtures('healthy')
def test_team_that_cannot_be_looked_at_is_a_finding(capsys, monkeypatch):
    def break_down(domain, seconds):
        raise RuntimeError('no middleware')

    monkeypatch.setattr(team, 'look', break_down)
    status, out = ask(capsys, '--json')
    found = {check['check']: check for check in json.loads(out)['checks']}
    assert status == 1
    assert 'no middleware' in found["team's domain"]['found']
    assert found['true state in team']['result'] == 'not checked'


@pytest.mark.usefixtures('healthy')
def test_robot_that_is_not_in_the_scenario_gives_one_line_and_status_2(capsys):
    assert main(['doctor', '--scenario', 'navigation', '--robot', 'eve']) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('', "--robot: 'eve' is none of robot1, robot2\n")


@pytest.mark.usefixtures('healthy')
def test_own_domain_is_that_of_the_deployment(capsys):
    options = ('--scenario', 'navigation', '--robot', 'robot2', '--team-domain', '20', '--json')
    _, out = ask(capsys, *options)
    found = {check['check']: check['found'] for check in json.loads(out)['checks']}
    assert found['domains'] == 'own 22, team 20'


def test_without_a_scenario_the_own_domain_is_that_of_the_shell(capsys, healthy):
    _, out = ask(capsys, '--json')
    found = {check['check']: check['found'] for check in json.loads(out)['checks']}
    assert found['domains'] == 'own 43, team 42'


def test_plan_in_force_says_what_an_episode_costs_and_how_far_clocks_may_be_off():
    patient = Patient(robot='robot1', asked=Asked(1.0, 3))
    seen = patient.seen_in(TeamView((), frozenset(), PLAN))
    assert seen.asked == Asked(0.25, 2)
    assert seen.allowance() == pytest.approx(0.75 * 0.1 * 4.0 / 2)
    assert patient.seen_in(None) == patient.seen_in(CLEAN) == patient


def test_robot_of_no_plan_keeps_the_price_of_its_scenario():
    seen = Patient(robot='eve', asked=Asked(1.0, 3)).seen_in(TeamView((), frozenset(), PLAN))
    assert seen.asked == Asked(1.0, 3)


def test_offences_are_named_up_to_a_number():
    topics = {Sighting(f'/secret_{i}', 'driver') for i in range(20)}
    finding = team.true_state(TeamView(('driver',), frozenset(topics)), None)
    assert finding.result is Result.FAILED
    assert finding.found.count('driver') == 8
    assert finding.found.endswith('and 12 more')


def test_empty_team_is_no_proof_and_says_so():
    assert team.true_state(TeamView((), frozenset()), None).result is Result.NOTE


def test_twins_fail():
    view = TeamView(('robot1', 'robot1', 'planner'), frozenset())
    assert 'robot1' in team.twins(view).found
    assert team.twins(view).result is Result.FAILED
    assert team.twins(CLEAN).result is Result.FINE


def test_message_of_a_broken_check_is_one_line():
    def break_down():
        raise ValueError('first\n  second')

    assert run('x', break_down).found == 'the check broke: first second'


def test_alone_the_doctor_states_a_bad_name_in_one_line(capsys):
    assert doctor.main(['--scenario', 'nonsense']) == 2
    assert capsys.readouterr().err.count('\n') == 1
