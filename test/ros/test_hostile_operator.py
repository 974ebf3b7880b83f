"""An operator among strangers; this process is its planner, its simulator and the strangers."""

import time
from dataclasses import replace

import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from dp_multiagent.action import SynthesizePolicies
from dp_multiagent.msg import PrivacyBudget, TeamPlan
from hostile import EACH, flood, generous
from mutations import Mutator
from rclpy.action import ActionServer
from std_msgs.msg import String
from std_srvs.srv import Trigger

from dp_multiagent.deployment.results import Results
from dp_multiagent.models import plan as plans
from dp_multiagent.models import scenarios
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.sim.episode import Episode, Outcome, Verdict

SECOND = 10**9
EPISODE = 123
VERDICT = Verdict(EPISODE, Outcome.SUCCESS, 2, 'all there', (((0, 1), (2, 2)),))


class Base:
    """An operator that has its plan already, and all that it meets."""

    def __init__(self, start, join, new_domain, folder):
        model = RobotModel.of(scenarios.load(scenarios.find('crossing')), 'robot1')
        self.plan = plans.TeamPlan(
            plan_id=bytes(range(16)),
            game=model.game.fingerprint,
            episode=EPISODE,
            start_ns=time.time_ns() + SECOND,
            period_ns=SECOND,
            deadline=0.4,
            horizon=300,
            max_stale=1,
            robots=('robot1', 'robot2'),
            graph=model.scenario.graph,
            epsilon=(3.0, 3.0),
            adjacency=(1, 1),
        )
        self._start, self._domains = start, (new_domain(), new_domain())
        self.own, self.team = map(join, self._domains)
        self.results = Results(folder / 'episodes.jsonl')
        self.episodes, self.asked = [], 0
        self.own.create_service(Trigger, '/planning_server/start_episode', self._announce)
        self.own.create_subscription(String, '/episode', self._hear, qos.EPISODE)
        self.verdicts = self.own.create_publisher(String, '/verdict', generous(qos.VERDICT))
        self.plans = self.team.create_publisher(TeamPlan, '/team_plan', generous(qos.TEAM_PLAN))

    def up(self):
        own, team = self._domains
        self.program = self._start(
            *('node', 'operator', '--scenario', 'crossing', '--results', self.results.path),
            *('--domain', own, '--team-domain', team, '--patience', 0.1),
        )
        return self

    def wait_for(self, condition):
        def happens():
            self.team.executor.spin_once(timeout_sec=0.01)
            return condition()

        self.own.wait_for(happens)

    def publish(self, **changes):
        forged = replace(self.plan, **changes)
        self.plans.publish(conversions.team_plan_to_msg(forged))

    def _announce(self, _request, response):
        """Announce an episode, after and before a stranger does."""
        self.asked += 1
        self.publish(episode=7, horizon=2**31, start_ns=self.plan.start_ns + SECOND)
        time.sleep(0.1)
        self.publish()
        time.sleep(0.1)
        self.publish(plan_id=bytes(16), start_ns=self.plan.start_ns + 1)
        seconds, rest = divmod(self.plan.start_ns, SECOND)
        response.success = True
        response.message = f'episode {EPISODE} starts at {seconds}.{rest:09d}'
        return response

    def _hear(self, message):
        self.episodes.append(Episode.from_json(message.data))


@pytest.fixture
def base(start, join, new_domain, tmp_path):
    base = Base(start, join, new_domain, tmp_path)
    base.results.note_plan({'success_private': 1.0})
    return base.up()


def test_operator_runs_the_episode_that_the_planner_named(base):
    base.wait_for(lambda: base.episodes)
    assert base.episodes == [Episode(EPISODE, base.plan.start_ns, SECOND, 300)]
    base.verdicts.publish(String(data=replace(VERDICT, episode=7).to_json()))
    base.verdicts.publish(String(data=VERDICT.to_json()))
    assert base.program.wait() == 0
    (result,) = base.results.episodes()
    assert (result.episode, result.outcome) == (EPISODE, 'success')


@pytest.mark.parametrize('changes', [{'game': bytes(32)}, {'robots': ('anna', 'bert')}])
def test_plan_of_another_team_is_refused(base, changes):
    base.wait_for(lambda: base.episodes)
    base.publish(**changes)
    base.wait_for(lambda: 'made for another team' in base.program.errors())
    assert base.program.is_running()


def test_operator_in_an_episode_withstands_changed_messages(base):
    base.wait_for(lambda: base.episodes)
    change = Mutator(3)
    plan = conversions.team_plan_to_msg(base.plan)
    verdict = replace(VERDICT, episode=1).to_json()
    flood(base.plans, (change.message(plan) for _ in range(EACH)))
    flood(base.plans, (change.serialised(plan) for _ in range(EACH)))
    flood(base.verdicts, (String(data=change.text(verdict)) for _ in range(EACH)))
    flood(base.verdicts, (change.serialised(String(data=verdict)) for _ in range(EACH)))
    budgets = base.team.create_publisher(PrivacyBudget, '/robot1/budget', generous(qos.BUDGET))
    base.wait_for(lambda: budgets.get_subscription_count() > 0)
    flood(budgets, (change.message(PrivacyBudget()) for _ in range(EACH)))
    flood(budgets, (change.serialised(PrivacyBudget()) for _ in range(EACH)))
    for topic in ('/team_plan', '/verdict', '/robot1/budget'):
        base.wait_for(lambda topic=topic: f'{topic}: refused message 64' in base.program.errors())
    assert 'Traceback' not in base.program.errors()
    base.verdicts.publish(String(data=VERDICT.to_json()))
    assert base.program.wait() == 0
    assert base.results.episodes()[0].outcome == 'success'


def test_operator_that_waits_for_a_plan_withstands_what_others_report(
    start, join, new_domain, tmp_path
):
    base = Base(start, join, new_domain, tmp_path)
    feedback = SynthesizePolicies.Feedback(success_private=float('nan'))
    reported = []

    def plan(goal):
        for _ in range(100):
            goal.publish_feedback(feedback)
        reported.append(goal)
        goal.succeed()
        return SynthesizePolicies.Result(success_private=0.5)

    server = ActionServer(base.team, SynthesizePolicies, '/synthesize_policies', plan)
    change = Mutator(4)
    statuses = base.team.create_publisher(
        GoalStatusArray, '/synthesize_policies/_action/status', generous(qos.STATUS)
    )
    base.up()
    base.wait_for(lambda: statuses.get_subscription_count() > 0)
    sound = GoalStatusArray(status_list=[GoalStatus()])
    flood(statuses, (change.message(sound) for _ in range(EACH)))
    flood(statuses, (change.serialised(sound) for _ in range(EACH)))
    base.wait_for(lambda: reported)
    base.wait_for(lambda: base.episodes)
    assert 'success_private is not a probability' in base.program.errors()
    assert base.results.plan()['success_private'] == 0.5
    server.destroy()
