"""A planner and two robots in processes of their own, in real time, watched from the team."""

import statistics
import time
from collections import defaultdict
from functools import partial

import pytest
from dp_multiagent.msg import PrivateState
from operator_client import ROBOTS, Operator
from std_msgs.msg import String

from dp_multiagent.models import scenarios
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.planning.execution import Timetable
from dp_multiagent.planning.plan_store import NEVER_NS

ACTION = '/synthesize_policies/_action'
ALLOWED_TOPICS = {
    '/parameter_events',
    '/team_plan',
    f'{ACTION}/feedback',
    f'{ACTION}/status',
    *(f'/{name}/{topic}' for name in ROBOTS for topic in ('policy', 'private_state', 'budget')),
}
ALLOWED_SERVICES = {f'{ACTION}/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')}
PERIOD = 0.4
LATEST = 0.05  # seconds after its slot, for half of all messages


@pytest.fixture
def watched(start, join, new_domain, tmp_path):
    """Return what an onlooker in the team's domain saw of an episode."""
    operator_domain, team_domain = new_domain(), new_domain()
    start(
        'planning_server',
        *('--domain', operator_domain, '--team-domain', team_domain),
        *('--plans', tmp_path / 'plans', '--lead', 1, '--period', PERIOD),
    )
    own_domains = {name: new_domain() for name in ROBOTS}
    for name, own_domain in own_domains.items():
        start(
            'robot',
            *(tmp_path, '--scenario', 'crossing', '--robot', name, '--budget', 6),
            *('--domain', own_domain, '--team-domain', team_domain),
            *('--ledger', tmp_path / f'{name}.ledger'),
        )
    operator = Operator(join(operator_domain), join(team_domain))
    heard = defaultdict(list)
    for name in ROBOTS:
        operator.team.create_subscription(
            PrivateState, f'/{name}/private_state', partial(hear, heard[name]), qos.PRIVATE_STATE
        )
    operator.team.wait_for(lambda: seen(operator.team) == (ALLOWED_TOPICS, ALLOWED_SERVICES))
    operator.plan()
    for own_domain in own_domains.values():
        wait_until_ready(join(own_domain))
    operator.start_episode()
    message = operator.wait_for_plan(
        lambda plan: conversions.team_plan_from_msg(plan).start_ns != NEVER_NS
    )
    plan = conversions.team_plan_from_msg(message)
    operator.team.wait_for(lambda: time.time_ns() > Timetable(plan).end)
    assert seen(operator.team) == (ALLOWED_TOPICS, ALLOWED_SERVICES)
    operator.close()
    return plan, heard, tmp_path


def wait_until_ready(node):
    """Wait until a robot has its plan and its policy."""
    statuses = []
    node.create_subscription(String, '/status', statuses.append, qos.STATUS)
    node.wait_for(lambda: statuses and statuses[-1].data == 'waiting for an episode')


def hear(messages, message):
    messages.append((time.time_ns(), message))


def seen(node):
    topics = {name for name, _ in node.get_topic_names_and_types()}
    return topics, {name for name, _ in node.get_service_names_and_types()}


def test_every_robot_tells_each_step_once_in_its_slot_and_moves_by_neighbours(watched):
    plan, heard, folder = watched
    times = Timetable(plan)
    delays = []
    for name in ROBOTS:
        assert [message.step for _, message in heard[name]] == list(range(plan.horizon))
        for when, message in heard[name]:
            slot = times.tell(message.step, times.begin(message.step))
            assert slot <= when
            delays.append((when - slot) / 1e9)
        assert len((folder / f'{name}.cells').read_text().splitlines()) == 1 + plan.horizon
    assert statistics.median(delays) < LATEST


def test_shipped_crossing_has_the_robots_of_this_test():
    scenario = scenarios.load(scenarios.find('crossing'))
    assert tuple(robot.name for robot in scenario.robots) == ROBOTS
