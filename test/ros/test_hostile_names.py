"""Two robots of one name in a team: nobody proves a name without SROS2, and nobody fails by it."""

import numpy as np
import pytest
from dp_multiagent.msg import PrivateState
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from test_diagnostics import Reports
from test_robot import LEFT, STAY, UP, Team, always

from dp_multiagent.models import plan as plans
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.nodes.diagnostics import Level
from dp_multiagent.privacy.ledger_check import read


class Twins(Team):
    """Two processes of robot 1, each with an own domain, a ledger and a place of its own."""

    def __init__(self, world, start, join, new_domain):
        super().__init__('robot1', world, start, join, new_domain)
        self.second_world, self._second_domain = world / 'second', new_domain()
        self.second_world.mkdir()
        self.second = join(self._second_domain)
        self._second_clock = self.second.advertise(Clock, '/clock', qos.PRIVATE_STATE)
        self.second_statuses = []
        self._listen(self.second, String, '/status', qos.STATUS, self.second_statuses)
        self.reports = [Reports(self.own), Reports(self.second)]

    def up(self):
        super().up()
        self.second_program = self._start(
            *('robot', self.second_world, '--scenario', 'crossing', '--robot', 'robot1'),
            *('--domain', self._second_domain, '--team-domain', self._domains[1]),
            *('--ledger', self.second_world / 'ledger', '--budget', 3, '--use-sim-time'),
        )
        self.wait_for(lambda: bool(self.second_statuses))
        self.wait_for(lambda: self._second_clock.get_subscription_count() > 0)
        return self

    def at(self, step, fraction=0.0):
        super().at(step, fraction)
        message = Clock()
        now = self.plan.start_ns + round((step + fraction) * 10**9)
        message.clock.sec, message.clock.nanosec = divmod(now, 10**9)
        self._second_clock.publish(message)

    def serve_until(self, happens, seconds):
        def both():
            self.second.executor.spin_once(timeout_sec=0.005)
            return happens()

        return super().serve_until(both, seconds)

    def take_steps(self, steps):
        for step in steps:
            for fraction in (0.0, 0.1, 0.2, 0.3, 0.4):
                self.at(step, fraction)
                self.serve_until(lambda: False, 0.1)


def charges(ledger):
    return sum(account.releases for account in read(ledger).books.accounts.values())


@pytest.fixture
def twins(start, join, new_domain, tmp_path):
    return Twins(tmp_path, start, join, new_domain).up()


def test_both_live_tell_pay_for_themselves_and_report_each_other(twins):
    twins.begin(always(twins.model, STAY))
    twins.wait_for(lambda: 'waiting for an episode' in twins.second_statuses[-1].data)
    twins.at(-5)
    for statuses in (twins.statuses, twins.second_statuses):
        twins.wait_for(lambda statuses=statuses: statuses[-1].data == 'episode 0')
    twins.take_steps(range(4))
    for report in twins.reports:
        twins.wait_for(lambda report=report: report.level('publishers') is Level.WARN)
        assert report.values('publishers') == {'/robot1/private_state': '2', '/robot1/budget': '2'}
    told = [sorted(m.state for m in twins.words if m.step == step) for step in range(4)]
    assert [len(states) for states in told] == [2, 2, 2, 2]
    assert charges(twins.ledger) == charges(twins.second_world / 'ledger') == 1
    for program in (twins.program, twins.second_program):
        assert program.is_running()
        assert 'Traceback' not in program.errors()


def test_teammate_takes_the_first_word_of_either(start, join, new_domain, tmp_path):
    team = Team('robot2', tmp_path, start, join, new_domain).up()
    first = team.model.game.initial[0] + 1
    policy = always(team.model, STAY, observed=(0,))
    policy.table[:, first], policy.table[:, first + 1] = np.eye(5)[UP], np.eye(5)[LEFT]
    team.begin(policy)
    team.step(0)
    impostor = team.team.advertise(PrivateState, '/robot1/private_state', qos.PRIVATE_STATE)
    team.wait_for(lambda: impostor.get_subscription_count() > 0)
    for publisher, state in ((team._mate, first), (impostor, first + 1)):
        word = plans.PrivateState(team.plan.plan_id, 0, 1, 0, state)
        publisher.publish(conversions.private_state_to_msg(word))
        team.serve_until(lambda: False, 0.3)
    team.step(1)
    assert team.cells()[-1] == (1, 4)
    assert team.program.is_running()
