"""A robot in a process of its own; this process is its clock, its planner and its teammate."""

import signal
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dp_multiagent.msg import LocalPolicy, PrivacyBudget, PrivateState, TeamPlan
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from dp_multiagent.models import plan as plans
from dp_multiagent.models import scenarios
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.nodes.robot import main
from dp_multiagent.planning.execution import Timetable
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.privacy.ledger_check import read

PATIENCE = 30.0
QUIET = 0.2  # seconds in which a message that must not come would have come
SECOND = 10**9
START = 100 * SECOND
RIGHT, UP, LEFT, DOWN, STAY = range(5)
ALLOWED = {'/parameter_events', '/team_plan'} | {
    f'/{robot}/{topic}'
    for robot in ('robot1', 'robot2')
    for topic in ('policy', 'private_state', 'budget')
}


class Team:
    """All that a robot of the crossing meets but itself; time passes only when it is told."""

    def __init__(self, name, world, start, join, new_domain):
        self.model = RobotModel.of(scenarios.load(scenarios.find('crossing')), name)
        self.plan = plans.TeamPlan(
            plan_id=bytes(range(16)),
            game=self.model.game.fingerprint,
            episode=0,
            start_ns=START,
            period_ns=SECOND,
            deadline=0.4,
            horizon=12,
            max_stale=1,
            robots=('robot1', 'robot2'),
            graph=self.model.scenario.graph,
            epsilon=(3.0, 3.0),
            adjacency=(1, 1),
        )
        self.world, self.ledger, self._start = world, world / 'ledger', start
        self._domains = new_domain(), new_domain()
        self.own, self.team = (join(domain) for domain in self._domains)
        self._clock = self.own.advertise(Clock, '/clock', qos.PRIVATE_STATE)
        self._plans = self.team.advertise(TeamPlan, '/team_plan', qos.TEAM_PLAN)
        self._policy = self.team.advertise(LocalPolicy, f'/{name}/policy', qos.LOCAL_POLICY)
        if name != 'robot1':
            topic = '/robot1/private_state'
            self._mate = self.team.advertise(PrivateState, topic, qos.PRIVATE_STATE)
        self.statuses, self.words, self.budgets = [], [], []
        self._listen(self.own, String, '/status', qos.STATUS, self.statuses)
        self._listen(
            self.team, PrivateState, f'/{name}/private_state', qos.PRIVATE_STATE, self.words
        )
        self._listen(self.team, PrivacyBudget, f'/{name}/budget', qos.BUDGET, self.budgets)

    def _listen(self, node, kind, topic, profile, heard):
        node.create_subscription(kind, topic, heard.append, profile)

    def up(self, *options):
        own, team = self._domains
        self.statuses.clear()
        clocks = self._clock.get_subscription_count()
        self.program = self._start(
            'robot',
            *(self.world, '--scenario', 'crossing', '--robot', self.model.name),
            *('--domain', own, '--team-domain', team, '--use-sim-time'),
            *('--ledger', self.ledger, '--budget', 3, *options),
        )
        self.wait_for(lambda: self.says('waiting'))
        self.wait_for(lambda: self._clock.get_subscription_count() > clocks)
        return self

    def says(self, text):
        return bool(self.statuses) and text in self.statuses[-1].data

    def offer(self, policy=None, **changes):
        """Publish the plan as changed, and a policy if one is given."""
        self.plan = replace(self.plan, **changes)
        if policy is not None:
            self._policy.publish(conversions.local_policy_to_msg(policy, plan=self.plan))
        self._plans.publish(conversions.team_plan_to_msg(self.plan))

    def begin(self, policy, step=-20):
        """Offer a plan at a step of its episode, and wait until the robot has taken it up."""
        self.at(step, 0.5)
        self.offer(policy)
        self.wait_for(lambda: self.says('waiting for an episode'))

    def at(self, step, fraction=0.0):
        """Let the clock show a time of a step."""
        now = self.plan.start_ns + round((step + fraction) * SECOND)
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(now, SECOND)
        self._clock.publish(message)

    def goes_by(self, step, fraction, happens):
        """Let the clock show a time until something happens."""
        self.at(step, fraction)
        self.wait_for(happens)

    def wait_for(self, happens, seconds=PATIENCE):
        """Serve both domains until something happens, or fail."""
        assert self.serve_until(happens, seconds), 'it did not happen in time'

    def serve_until(self, happens, seconds):
        end = time.monotonic() + seconds
        while not happens() and time.monotonic() < end:
            self.team.executor.spin_once(timeout_sec=0.005)
            self.own.executor.spin_once(timeout_sec=0.005)
        return happens()

    def step(self, step, moves=True):
        """Go through a step, slot by slot, until the robot has told and moved."""
        told, moved = len(self.words), len(self.cells())
        self.at(step)
        self.serve_until(lambda: False, 0.03)
        for slot in (0.1, 0.2, 0.3):
            self.at(step, slot)
            if self.serve_until(lambda: len(self.words) > told, 0.5):
                break
        assert self.words[-1].step == step
        self.at(step, 0.4)
        if moves:
            self.wait_for(lambda: len(self.cells()) > moved)
        return self.words[-1].state

    def cells(self):
        lines = (self.world / f'{self.model.name}.cells').read_text().splitlines()
        return [tuple(map(int, line.split())) for line in lines]

    def charges(self):
        return sum(account.releases for account in read(self.ledger).books.accounts.values())

    def is_quiet(self):
        """Serve for a while; tell whether nothing was told meanwhile."""
        count = len(self.words)
        return not self.serve_until(lambda: len(self.words) > count, QUIET)


def always(model, action, observed=()):
    """Return the policy that takes one action whatever it sees."""
    table = np.zeros((model.mdp.n_states, *(model.game.shape[j] for j in observed), 5))
    table[..., action] = 1
    own = np.zeros((model.mdp.n_states, 5))
    own[:, action] = 1
    return plans.LocalPolicy(model.index, observed, table, own)


def is_feasible(model, word):
    return all(model.mdp.feasible[one, other] for one, other in pairwise(word))


@pytest.fixture
def make_team(start, join, new_domain, tmp_path):
    def make(name='robot1'):
        return Team(name, tmp_path, start, join, new_domain)

    return make


def test_robot_tells_in_its_slot_drives_at_the_deadline_and_pays_once(make_team):
    team = make_team().up()
    team.begin(always(team.model, RIGHT))
    assert team.is_quiet()
    for fraction in (0.0, 0.0999):
        team.at(0, fraction)
        assert team.is_quiet()
    team.goes_by(0, 0.1, lambda: bool(team.words))
    assert team.words[0].state == team.model.mdp.initial
    team.at(0, 0.3999)
    assert team.is_quiet()
    assert team.cells() == [(0, 0)]
    team.goes_by(0, 0.4, lambda: len(team.cells()) == 2)
    assert team.cells() == [(0, 0), (0, 1)]

    word = [team.step(step) for step in range(1, 6)]
    assert is_feasible(team.model, [team.model.mdp.initial, *word])
    assert [m.step for m in team.words] == list(range(6))
    assert team.charges() == 1
    team.wait_for(lambda: bool(team.budgets))
    stated = conversions.privacy_budget_from_msg(team.budgets[-1], robot=0)
    assert (stated.epsilon_spent, stated.epsilon_remaining, stated.releases) == (3, 0, 1)
    assert {name for name, _ in team.team.get_topic_names_and_types()} <= ALLOWED
    assert team.team.get_service_names_and_types() == []


def test_killed_robot_goes_on_with_the_same_word_and_pays_no_second_time(make_team):
    team = make_team().up()
    team.begin(always(team.model, STAY))
    before = [team.step(step) for step in range(4)]
    team.program.send_until_it_ends(signal.SIGKILL)
    team.up()
    team.begin(None, step=2)
    assert team.step(3) == before[-1]
    after = [team.step(step) for step in range(4, 8)]
    assert is_feasible(team.model, before + after)
    assert team.charges() == 1


def test_robot_that_has_its_plan_before_it_knows_the_time_does_not_judge_by_time_zero(make_team):
    team = make_team().up()
    team.plan = replace(team.plan, start_ns=5 * SECOND)
    team.at(-4)
    team.offer(always(team.model, STAY))
    team.wait_for(lambda: team.says('episode 0'))
    before = [team.step(step) for step in range(3)]
    team.program.send_until_it_ends(signal.SIGKILL)
    team.up()
    assert team.is_quiet()
    after = [team.step(step) for step in range(3, 6)]
    assert is_feasible(team.model, before + after)
    assert team.charges() == 1


def test_robot_refuses_a_foreign_plan_and_joins_its_own_late(make_team):
    team = make_team('robot2').up()
    game = team.plan.game
    team.offer(None, game=bytes(32))
    team.wait_for(lambda: 'another scenario' in team.program.errors())
    assert team.says('waiting for a plan')
    team.plan = replace(team.plan, game=game)
    team.begin(always(team.model, LEFT, observed=(0,)), step=5)
    assert team.is_quiet()
    for step in (6, 7):
        team.step(step)
    assert [message.step for message in team.words] == [6, 7]


def test_robot_without_budget_is_quiet_and_holds_and_says_so_only_at_home(make_team):
    team = make_team().up()
    team.begin(always(team.model, RIGHT))
    team.step(0)
    team.offer(episode=1, start_ns=2 * START)
    for fraction in (-20.0, 0.0, 0.1, 0.4):
        team.at(0, fraction)
        assert team.is_quiet()
    team.wait_for(lambda: team.says('quiet, holding: '))
    assert 'remain' in team.statuses[-1].data
    assert team.charges() == 1
    assert len(team.cells()) == 2


def test_lost_robot_holds_goes_on_telling_and_says_so_at_home(make_team):
    team = make_team().up()
    team.begin(always(team.model, RIGHT))
    team.step(0)
    (team.world / 'robot1.lost').touch()
    for step in (1, 2):
        team.step(step, moves=False)
    team.wait_for(lambda: team.says('lost'))
    assert len(team.cells()) == 2


def test_robot_acts_on_what_its_teammate_tells_and_alone_when_that_is_too_old(make_team):
    team = make_team('robot2').up('--slips', 'none')
    told = team.model.game.initial[0] + 1
    echo = always(team.model, STAY, observed=(0,))
    echo.table[:, told] = np.eye(5)[UP]
    echo.own_state[:] = np.eye(5)[LEFT]
    team.begin(echo)
    team.step(0)
    message = plans.PrivateState(team.plan.plan_id, 0, 1, 0, told)
    team._mate.publish(conversions.private_state_to_msg(message))
    assert team.is_quiet()
    for step in (1, 2, 3):
        team.step(step)
    assert team.cells() == [(2, 4), (2, 4), (1, 4), (0, 4), (0, 3)]


def test_policy_that_comes_again_makes_a_robot_forget_nothing(make_team):
    team = make_team('robot2').up()
    told = team.model.game.initial[0] + 1
    echo = always(team.model, STAY, observed=(0,))
    echo.table[:, told] = np.eye(5)[UP]
    echo.own_state[:] = np.eye(5)[LEFT]
    team.begin(echo)
    team.step(0)
    message = plans.PrivateState(team.plan.plan_id, 0, 1, 0, told)
    team._mate.publish(conversions.private_state_to_msg(message))
    assert team.is_quiet()
    team.step(1)
    team.offer(echo)
    assert team.is_quiet()
    team.step(2)
    assert team.cells() == [(2, 4), (2, 4), (1, 4), (0, 4)]


@pytest.mark.parametrize(
    'old', [{'episode': 0, 'start_ns': START}, {'episode': 1, 'start_ns': 3 * START}]
)
def test_plan_that_comes_late_does_not_take_a_robot_out_of_a_newer_episode(make_team, old):
    team = make_team().up('--budget', 6)
    team.begin(always(team.model, STAY))
    newer = {'episode': 1, 'start_ns': 2 * START}
    team.offer(**newer)
    team.goes_by(-1, 0.0, lambda: team.says('episode 1'))
    team.offer(**old)
    assert team.is_quiet()
    team.plan = replace(team.plan, **newer)
    for step in (0, 1):
        team.step(step)
    assert [message.episode for message in team.words] == [1, 1]
    assert team.charges() == 1


@pytest.mark.parametrize(
    ('options', 'line'),
    [
        (['--robot', 'robot9', '--budget', '1'], 'robot9'),
        (['--robot', 'robot1'], '--budget makes one'),
        (['--robot', 'robot1', '--budget', '1', '--slips', 'model'], 'simulations'),
        (['--robot', 'robot1', '--budget', 'much'], 'much'),
    ],
)
def test_bad_option_ends_with_status_2_and_a_sentence(tmp_path, capsys, options, line):
    given = ['--scenario', 'crossing', '--ledger', str(tmp_path / 'ledger'), *options]
    assert main(given, lambda *_: None) == 2
    assert line in capsys.readouterr().err


def test_timetable_of_this_test_is_that_of_the_plan(make_team):
    times = Timetable(make_team().plan)
    assert (times.tell(0, START) - START, times.act(0) - START) == (SECOND // 10, 4 * SECOND // 10)
