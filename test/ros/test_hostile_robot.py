"""A robot among strangers: it refuses, counts, lives, and pays for nothing that it need not."""

from dataclasses import replace

import numpy as np
import pytest
from dp_multiagent.msg import LocalPolicy, PrivateState, TeamPlan
from hostile import EACH, Patient, flood, generous
from mutations import Mutator
from test_diagnostics import Reports
from test_robot import LEFT, SECOND, START, STAY, UP, always, make_team  # noqa: F401

from dp_multiagent.models import plan as plans
from dp_multiagent.nodes import conversions, qos

REST = 30
LOGGED = (1, 2, 4)  # refused messages whose reason is said
FOREIGN_PLANS = [
    ({'game': bytes(32)}, 'made for another scenario'),
    ({'epsilon': (3.0, 3.000001)}, 'gives at most 3'),
    ({'robots': ('anna', 'bert')}, ''),
    ({'robots': ('robot2', 'robot1')}, 'made for other robots'),
    ({'period_ns': 1000}, ''),
]
FOREIGN_POLICIES = [
    ({'plan_id': [9] * 16}, 'another plan'),
    ({'actions': 1, 'probabilities': [1.0] * 169, 'own_state': [1.0] * 13}, 'another robot'),
    ({'robot': 0}, ''),
    ({'observed': [], 'observed_states': [], 'probabilities': [0.2] * 65}, 'others than the plan'),
    ({'observed_states': [10**9]}, ''),
    ({'states': 2**32 - 1}, ''),
]
TOPICS = {
    '/team_plan': (TeamPlan, qos.TEAM_PLAN),
    '/robot2/policy': (LocalPolicy, qos.LOCAL_POLICY),
    '/robot1/private_state': (PrivateState, qos.PRIVATE_STATE),
}


class Siege:
    """Robot 2 with a plan and a policy, among strangers."""

    def __init__(self, team, *options):
        self.reports = Reports(team.own)
        self.team = team.up(*options)
        self.policy = always(team.model, LEFT, observed=(0,))
        self.team.begin(self.policy)
        self.patient = Patient(team.program, team.own, 'robot2')
        self.publishers = {
            topic: team.team.create_publisher(kind, topic, generous(profile))
            for topic, (kind, profile) in TOPICS.items()
        }
        for publisher in self.publishers.values():
            team.wait_for(lambda publisher=publisher: publisher.get_subscription_count() > 0)

    def sound(self):
        """Return a sound message for each topic."""
        team = self.team
        told = plans.PrivateState(team.plan.plan_id, 0, 1, 0, team.model.game.initial[0])
        return {
            '/team_plan': conversions.team_plan_to_msg(team.plan),
            '/robot2/policy': conversions.local_policy_to_msg(self.policy, plan=team.plan),
            '/robot1/private_state': conversions.private_state_to_msg(told),
        }

    def refused(self):
        """Return how many messages were refused, by topic."""
        values = self.reports.values('messages')
        return {topic.removeprefix('team: '): int(count) for topic, count in values.items()}

    def publish(self, topic, message):
        self.publishers[topic].publish(message)

    def forge(self, **changes):
        """Publish a plan that looks like the team's but for some changes."""
        forged = replace(self.team.plan, **changes)
        self.publish('/team_plan', conversions.team_plan_to_msg(forged))
        return forged

    def board(self):
        """Let the robot take part in the episode of the plan, which is about to start."""
        self.team.at(-5)
        self.team.wait_for(lambda: self.team.says('episode 0'))

    def go_on(self):
        """Run a valid episode of a plan of its own."""
        team = self.team
        team.plan = replace(team.plan, plan_id=bytes([7] * 16), start_ns=1000 * START)
        team.at(-20)
        team.offer(self.policy)
        team.wait_for(lambda: team._policy.get_subscription_count() > 0)
        team.words.clear()
        for step in range(3):
            team.step(step)
        assert [message.step for message in team.words] == [0, 1, 2]


@pytest.fixture
def siege(make_team):  # noqa: F811
    return lambda *options: Siege(make_team('robot2'), *options)


@pytest.mark.parametrize('topic', TOPICS)
@pytest.mark.parametrize('how', ['message', 'serialised'])
def test_robot_in_an_episode_withstands_changed_messages(siege, record_property, topic, how):
    robot = siege('--budget', 10**6, '--rest', REST)
    robot.board()
    sound, change = robot.sound()[topic], getattr(Mutator(EACH), how)
    sent = flood(robot.publishers[topic], (change(sound) for _ in range(EACH)))
    robot.team.wait_for(lambda: robot.refused().get(topic, 0) > sent / 5)
    robot.patient.assert_well(topics=len(TOPICS))
    robot.go_on()
    robot.patient.assert_well(topics=len(TOPICS))
    record_property('sent', sent)
    record_property('refused', robot.refused()[topic])
    record_property('memory_growth_mb', round(robot.patient.growth() / 2**20, 1))


def test_plans_of_other_teams_are_refused_counted_and_disturb_nobody(siege):
    robot = siege('--budget', 9)
    robot.board()
    for count, (changes, reason) in enumerate(FOREIGN_PLANS, 1):
        robot.forge(**changes, episode=count)
        robot.team.wait_for(lambda count=count: robot.refused() == {'/team_plan': count})
        assert count not in LOGGED or reason in robot.team.program.errors()
    for step in range(2):
        robot.team.step(step)
    assert robot.team.charges() == 1


def test_plan_for_too_many_robots_is_refused(siege):
    robot = siege()
    many = conversions.team_plan_to_msg(robot.team.plan)
    many.robots = [f'robot{i}' for i in range(1_000)]
    too_many = conversions.team_plan_to_msg(robot.team.plan)
    too_many.robots = [f'robot{i}' for i in range(200_000)]
    for message, reason in ((many, 'for 1000 robots'), (too_many, 'bytes')):
        robot.publish('/team_plan', message)
        robot.team.wait_for(lambda reason=reason: reason in robot.team.program.errors())
    robot.team.wait_for(lambda: robot.refused() == {'/team_plan': 2})
    robot.patient.assert_well()


def test_policies_of_other_plans_robots_and_graphs_are_refused_and_counted(siege):
    robot = siege()
    robot.board()
    for count, (changes, reason) in enumerate(FOREIGN_POLICIES, 1):
        message = robot.sound()['/robot2/policy']
        for name, value in changes.items():
            setattr(message, name, value)
        robot.publish('/robot2/policy', message)
        robot.team.wait_for(lambda count=count: robot.refused() == {'/robot2/policy': count})
        assert count not in LOGGED or reason in robot.team.program.errors()
    robot.team.step(0)
    assert robot.team.cells()[-1] == (2, 3)


def test_ever_new_policies_cost_neither_budget_nor_steps(siege):
    robot = siege()
    robot.board()
    for step in range(3):
        for share in np.linspace(0.1, 0.9, 50):
            policy = always(robot.team.model, STAY, observed=(0,))
            policy.table[..., UP], policy.table[..., STAY] = share, 1 - share
            message = conversions.local_policy_to_msg(policy, plan=robot.team.plan)
            robot.publish('/robot2/policy', message)
        robot.team.step(step)
    assert [message.step for message in robot.team.words] == [0, 1, 2]
    assert robot.team.charges() == 1
    robot.patient.assert_well()


@pytest.mark.parametrize('rest', [0, REST])
def test_forged_plans_drain_a_budget_only_as_fast_as_the_rest_allows(siege, rest):
    robot = siege('--budget', 10**6, '--rest', rest)
    for second in range(20):
        robot.team.at(-5, second)
        for i in range(3):
            start_ns = robot.team.plan.start_ns + second * SECOND
            forged = robot.forge(plan_id=bytes([second, i] * 8), start_ns=start_ns)
            policy = conversions.local_policy_to_msg(robot.policy, plan=forged)
            robot.publish('/robot2/policy', policy)
            robot.team.serve_until(lambda: False, 0.1)
    robot.patient.assert_well(topics=10)
    if rest:
        assert robot.team.charges() == 1
    else:
        assert robot.team.charges() > 5


def test_episode_is_not_given_up_for_a_forged_plan_until_the_rest_is_over(siege):
    robot = siege('--budget', 9, '--rest', REST)
    robot.board()
    forged = robot.forge(plan_id=bytes([9] * 16), start_ns=2 * START)
    for step in range(6):
        robot.team.step(step)
    assert [message.step for message in robot.team.words] == list(range(6))
    policy = conversions.local_policy_to_msg(robot.policy, plan=forged)
    robot.publish('/robot2/policy', policy)
    robot.team.plan = forged
    robot.team.at(-5)
    robot.team.wait_for(lambda: robot.team.charges() == 2)


def test_words_about_steps_far_ahead_do_not_count(siege):
    robot = siege()
    model = robot.team.model
    start = model.game.initial[0]
    robot.policy.table[:] = np.eye(5)[STAY]
    robot.policy.table[:, start + 1] = np.eye(5)[UP]
    robot.team.offer(robot.policy)
    robot.board()
    for told in (start + 1, start):
        for step in range(11, 13):
            message = plans.PrivateState(robot.team.plan.plan_id, 0, step, 0, told)
            robot.publish('/robot1/private_state', conversions.private_state_to_msg(message))
    robot.team.serve_until(lambda: False, 0.3)
    robot.team.step(11)
    alone = (2, 3)
    assert robot.team.cells() == [(2, 4), alone]
