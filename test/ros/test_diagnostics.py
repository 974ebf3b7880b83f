"""What a robot, or any other process, reports of itself, with nothing of its true state."""

import re

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from dp_multiagent.msg import PrivateState
from rclpy.context import Context
from std_msgs.msg import String
from test_robot import LEFT, RIGHT, STAY, always, make_team  # noqa: F401

from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models.plan import PrivateState as Told
from dp_multiagent.nodes import conversions, diagnostics, qos
from dp_multiagent.nodes.diagnostics import Diagnostics, Finding, Level
from dp_multiagent.nodes.lifecycle import ManagedNode
from dp_multiagent.nodes.qos_watch import WatchedTeamNode
from dp_multiagent.nodes.spin import make_executor

COUNTS = {'told', 'missed', 'overslept', 'stale', 'acted alone'}
LATENESS = {'late p50 ms', 'late max ms'}
BUDGET = ('releases', 'epsilon spent', 'epsilon left', 'delta spent', 'delta left')
SUMMARY = re.compile(
    r'active|\d+ refused|\d+ mismatched|\d+ topics with more than one|\d+ told, \d+ missed|'
    r'\d+ releases paid|quiet: /status .*'
)
NUMBER = re.compile(r'\d+(\.\d+)?')


class Reports:
    """The last report that was heard in a domain, by the name of the status."""

    def __init__(self, node):
        self.last = {}
        node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, qos.CLOCK)

    def _hear(self, message):
        self.last = {status.name.partition(': ')[2]: status for status in message.status}

    def level(self, name):
        return Level(self.last[name].level[0]) if name in self.last else None

    def values(self, name):
        status = self.last.get(name)
        return {pair.key: pair.value for pair in status.values} if status else {}


@pytest.fixture
def watch(make_team):  # noqa: F811
    def start(name='robot1', *options):
        team = make_team(name)
        reports = Reports(team.own)
        return team.up(*options), reports

    return start


def tells(reports, **expected):
    """Return a condition: the steps are reported so."""
    return lambda: expected.items() <= (reports.values('steps') or {'': ''}).items()


def test_robot_on_time_reports_its_steps_and_its_budget_as_numbers_only(watch):
    team, reports = watch()
    team.begin(always(team.model, RIGHT))
    for step in range(3):
        team.step(step)
    team.wait_for(tells(reports, told='3'))
    assert reports.values('steps').keys() == COUNTS | LATENESS
    assert reports.values('steps')['missed'] == reports.values('steps')['acted alone'] == '0'
    (unit,) = {key.rpartition(': ')[0] for key in reports.values('budget')}
    values = [reports.values('budget')[f'{unit}: {name}'] for name in BUDGET]
    assert values == ['1', '3', '0', '0', '0']
    assert {name: reports.level(name) for name in reports.last} == dict.fromkeys(
        ('lifecycle', 'messages', 'qos', 'publishers', 'steps', 'budget'), Level.OK
    )
    for status in reports.last.values():
        assert SUMMARY.fullmatch(status.message)
        assert all(NUMBER.fullmatch(pair.value) for pair in status.values)
    topics = {name for name, _ in team.team.get_topic_names_and_types()}
    assert '/diagnostics' not in topics


def test_lateness_is_reported(watch):
    team, reports = watch()
    team.begin(always(team.model, STAY))
    team.at(0)
    team.serve_until(lambda: False, 0.1)
    team.goes_by(0, 0.15, lambda: bool(team.words))
    team.wait_for(tells(reports, told='1'))
    assert reports.values('steps')['late max ms'] == '50.000'


def test_lost_robot_reports_the_same_as_one_that_is_not(watch):
    team, reports = watch()
    team.begin(always(team.model, RIGHT))
    (team.world / 'robot1.lost').touch()
    for step in range(2):
        team.step(step, moves=False)
        assert team.is_quiet()
    team.wait_for(tells(reports, told='2'))
    assert team.says('lost')
    assert reports.level('steps') is Level.OK
    assert all(SUMMARY.fullmatch(status.message) for status in reports.last.values())


def test_steps_without_news_of_a_teammate_are_reported(watch):
    team, reports = watch('robot2')
    team.begin(always(team.model, LEFT, observed=(0,)))
    team.step(0)
    told = Told(team.plan.plan_id, 0, 1, 0, team.model.game.initial[0])
    team._mate.publish(conversions.private_state_to_msg(told))
    assert team.is_quiet()
    for step in (1, 2, 3):
        team.step(step)
    team.wait_for(tells(reports, told='4', stale='2', **{'acted alone': '1'}))
    assert reports.level('steps') is Level.WARN


def test_refused_messages_are_counted_per_topic_and_domain(watch):
    team, reports = watch()
    team.offer(None, game=bytes(32))
    team.wait_for(lambda: reports.values('messages') == {'team: /team_plan': '1'})
    assert reports.level('messages') is Level.WARN


def test_robot_that_cannot_pay_reports_an_error(watch):
    team, reports = watch('robot1', '--budget', '1')
    team.begin(always(team.model, RIGHT))
    team.at(0, -5)
    team.wait_for(lambda: reports.level('budget') is Level.ERROR)
    assert team.says('quiet, holding')


def test_subscription_that_cannot_be_served_is_reported(watch):
    team, reports = watch()
    team.team.create_subscription(PrivateState, '/robot1/private_state', print, qos.TEAM_PLAN)
    team.wait_for(lambda: reports.values('qos') == {'team: /robot1/private_state': '1'})
    assert reports.level('qos') is Level.WARN
    assert 'DURABILITY' in team.program.errors()


def test_another_that_speaks_in_the_name_of_a_robot_is_reported(watch):
    team, reports = watch()
    team.wait_for(lambda: reports.level('publishers') is Level.OK)
    team.team.create_publisher(PrivateState, '/robot1/private_state', qos.PRIVATE_STATE)
    team.wait_for(lambda: reports.values('publishers') == {'/robot1/private_state': '2'})
    assert reports.level('publishers') is Level.WARN


class Process:
    """A managed node and its foot in a team, in this process."""

    def __init__(self, new_domain, wait_for):
        self._wait_for = wait_for
        self.contexts = [Context(), Context()]
        for context in self.contexts:
            context.init(domain_id=new_domain())
        self.node = ManagedNode('planner', context=self.contexts[0])
        self.team = WatchedTeamNode('planner', context=self.contexts[1])
        self.executor = make_executor(self.contexts[0])
        for node in (self.node, self.team):
            self.executor.add_node(node)
        self.reports = Reports(self.node)

    def wait_for(self, condition):
        self._wait_for(self.executor, condition)

    def close(self):
        self.executor.shutdown()
        for node in (self.node, self.team):
            node.destroy_node()
            node.context.try_shutdown()


@pytest.fixture
def process(new_domain, wait_for, monkeypatch):
    monkeypatch.setattr(diagnostics, 'PERIOD', 0.02)
    process = Process(new_domain, wait_for)
    yield process
    process.close()


def test_every_state_of_the_lifecycle_is_reported(process):
    Diagnostics(process.node, process.team)
    for transition, state, level in (
        (lambda: None, 'unconfigured', Level.WARN),
        (process.node.trigger_configure, 'inactive', Level.WARN),
        (process.node.trigger_activate, 'active', Level.OK),
        (process.node.trigger_deactivate, 'inactive', Level.WARN),
        (process.node.trigger_cleanup, 'unconfigured', Level.WARN),
    ):
        transition()
        process.wait_for(
            lambda state=state: (
                'lifecycle' in process.reports.last
                and process.reports.last['lifecycle'].message == state
            )
        )
        assert process.reports.level('lifecycle') is level


def test_refusal_is_a_warning_for_a_while(process):
    def refuse(message):
        raise RefusedMessageError('never')

    process.node.subscribe(String, '/said', qos.STATUS, refuse, print)
    publisher = process.node.create_publisher(String, '/said', qos.STATUS)
    Diagnostics(process.node, process.team)
    process.wait_for(lambda: process.reports.level('messages') is Level.OK)
    publisher.publish(String())
    process.wait_for(lambda: process.reports.level('messages') is Level.WARN)
    assert process.reports.values('messages') == {'own: /said': '1'}
    process.wait_for(lambda: process.reports.level('messages') is Level.OK)
    assert process.reports.values('messages') == {'own: /said': '1'}


def test_every_publisher_that_cannot_be_heard_is_counted(process, join):
    process.team.create_subscription(String, '/said', print, qos.STATUS)
    other = join(process.contexts[1].get_domain_id())
    for _ in range(3):
        other.create_publisher(String, '/said', qos.CLOCK)
    process.wait_for(lambda: process.team.mismatched == {'/said': 3})


def test_exception_of_the_node_ends_no_report(process):
    answers = iter([ValueError('first'), [Finding('last', 'fine', {'share': np.float64(0.5)})]])

    def more():
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    Diagnostics(process.node, process.team, more)
    process.wait_for(lambda: process.reports.values('last') == {'share': '0.5'})
