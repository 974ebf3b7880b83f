"""The planner in a process of its own: action, plans on the disk, episodes."""

import signal
import statistics
import time
from itertools import pairwise

import pytest
from action_msgs.msg import GoalStatus
from lifecycle_msgs.srv import GetState
from operator_client import ROBOTS, Operator, Result

from dp_multiagent.nodes import conversions, validation
from dp_multiagent.nodes.planning_server import main
from dp_multiagent.planning.plan_store import NEVER_NS

LONG = {'scenario': 'navigation', 'method': 'private-success'}  # more than a minute
LEAD = 1.5


class Planner:
    """A planner with its domains and its disk, and an operator who talks to it."""

    def __init__(self, start, join, new_domain, folder):
        self.domains = new_domain(), new_domain()
        self.folder = folder
        self._start = start
        self._join = join
        self.program = None
        self._operators = []

    def up(self, *options):
        operator_domain, team_domain = self.domains
        self.program = self._start(
            'planning_server',
            *('--domain', operator_domain, '--team-domain', team_domain),
            *('--plans', self.folder, '--lead', LEAD, '--period', 0.5, *options),
        )
        return self

    def operator(self):
        self._operators.append(Operator(*map(self._join, self.domains)))
        return self._operators[-1]

    def close(self):
        for operator in self._operators:
            operator.close()


@pytest.fixture
def down(start, join, new_domain, tmp_path):
    """Return a planner that is not up yet."""
    planner = Planner(start, join, new_domain, tmp_path / 'plans')
    yield planner
    planner.close()


@pytest.fixture
def planner(down):
    return down.up()


def start_ns(plan):
    return conversions.team_plan_from_msg(plan).start_ns


def is_announced(plan, episode):
    return plan.episode == episode and start_ns(plan) != NEVER_NS


def test_plan_and_policies_reach_the_team_and_who_joins_late(planner):
    operator = planner.operator()
    report = operator.plan(epsilon=2.0)
    plan = conversions.team_plan_from_msg(operator.wait_for_plan())
    assert plan.plan_id == bytes(report.plan_id)
    assert plan.robots == ROBOTS
    assert plan.epsilon == (2.0, 2.0)
    assert plan.start_ns == NEVER_NS
    validation.check_synthesis_report(report)
    late = planner.operator()
    assert late.wait_for_plan() == operator.plans[-1]
    for robot in ROBOTS:
        policy = conversions.local_policy_from_msg(late.policies[robot], plan=plan)
        assert policy.robot == ROBOTS.index(robot)


def test_feedback_comes_twice_a_second_and_cancel_takes_less_than_one(planner):
    operator = planner.operator()
    handle = operator.send(**LONG)
    began = time.monotonic()
    operator.team.wait_for(
        lambda: len(operator.feedback) >= 8 and operator.feedback[-1][1].iteration > 0
    )
    times = [began, *(when for when, _ in operator.feedback)]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert statistics.mean(gaps) <= 0.5
    assert max(gaps) < 1
    for _, feedback in operator.feedback:
        validation.check_synthesis_progress(feedback)

    asked = time.monotonic()
    operator.cancel(handle)
    status, result = operator.result(handle)
    assert time.monotonic() - asked < 1
    assert status == GoalStatus.STATUS_CANCELED
    assert result.error_code == Result.CANCELLED
    assert operator.plan().error_code == Result.SUCCESS


def test_bad_goal_is_answered_with_a_code_and_a_sentence(planner):
    operator = planner.operator()
    for fields, code, sentence in (
        ({'scenario': 'crosing'}, Result.BAD_SCENARIO, 'did you mean crossing'),
        ({'scenario': '/no/such/file.yaml'}, Result.BAD_SCENARIO, 'file.yaml'),
        ({'scenario': ''}, Result.BAD_REQUEST, 'scenario'),
        ({'method': 'magic'}, Result.BAD_REQUEST, 'minimum-dependency'),
        ({'epsilon': float('nan')}, Result.BAD_REQUEST, 'epsilon'),
        ({'starts': ['nowhere']}, Result.BAD_REQUEST, 'tie-broken'),
    ):
        status, result = operator.result(operator.send(**fields))
        assert status == GoalStatus.STATUS_ABORTED
        assert result.error_code == code
        assert sentence in result.error_message
        assert bytes(result.plan_id) == bytes(16)


def test_second_goal_is_refused_and_the_planner_can_end_while_the_first_is_under_way(planner):
    operator = planner.operator()
    operator.send(**LONG)
    _, result = operator.result(operator.send())
    assert result.error_code == Result.FAILED
    assert 'under way' in result.error_message
    asked = time.monotonic()
    planner.program.send(signal.SIGINT)
    assert planner.program.wait() == 0
    assert time.monotonic() - asked < 2


def test_episodes_start_when_told_and_go_on_after_a_kill(planner):
    operator = planner.operator()
    refused = operator.start_episode()
    assert (refused.success, refused.message) == (False, 'there is no plan yet')
    operator.plan()
    asked = time.time_ns()
    answer = operator.start_episode()
    assert answer.success, answer.message
    before = operator.wait_for_plan(lambda plan: is_announced(plan, 0))
    assert LEAD <= (start_ns(before) - asked) / 1e9 < LEAD + 1
    assert answer.message == f'episode 0 starts at {before.start.sec}.{before.start.nanosec:09d}'

    planner.program.send_until_it_ends(signal.SIGKILL)
    again = planner.up().operator()
    assert again.wait_for_plan() == before
    assert again.start_episode().message.startswith('episode 1 ')
    again.wait_for_plan(lambda plan: is_announced(plan, 1))


def test_planner_whose_store_is_damaged_says_so_and_plans_anew(down):
    down.folder.mkdir()
    (down.folder / 'current.json').write_text('{"plan": "00", "episodes": {}}')
    operator = down.up().operator()
    assert operator.start_episode().message == 'there is no plan yet'
    operator.plan()
    operator.wait_for_plan()
    assert 'cannot be offered' in down.program.errors()


def test_planner_waits_for_its_lifecycle_if_told_so(down):
    operator = down.up('--no-autostart').operator()
    client = operator.own.create_client(GetState, '/planning_server/get_state')
    operator.own.wait_for(client.service_is_ready)
    future = client.call_async(GetState.Request())
    operator.own.wait_for(future.done)
    assert future.result().current_state.label == 'unconfigured'
    assert not operator.action.server_is_ready()


@pytest.mark.parametrize(
    ('options', 'line'),
    [
        (('--deadline', '2'), 'deadline'),
        (('--plan', 'no_such.npz'), 'planning_server did not come up'),
        (('--team-domain', '300'), 'domain'),
    ],
)
def test_bad_option_ends_with_status_2_and_a_sentence(new_domain, tmp_path, capsys, options, line):
    domains = f'--domain={new_domain()}', f'--team-domain={new_domain()}'
    assert main([*domains, '--plans', str(tmp_path), *options]) == 2
    assert line in capsys.readouterr().err
