"""A robot in real time, and a stranger in its team: what it tells, pays and refuses meanwhile."""

import time

import numpy as np
from dp_multiagent.msg import LocalPolicy, TeamPlan
from hostile import Patient
from test_diagnostics import Reports

from dp_multiagent.models import plan as plans
from dp_multiagent.models import scenarios
from dp_multiagent.nodes import conversions, qos
from dp_multiagent.planning.robot_model import RobotModel
from dp_multiagent.privacy.ledger_check import read

SECOND = 10**9
PERIOD = 0.5  # seconds
LEAD = 3.0  # seconds
STAY = 4


class Outpost:
    """Robot 2 of the crossing; this process is its planner and looks at its reports."""

    def __init__(self, start, join, new_domain, folder):
        self._start, self._domains = start, (new_domain(), new_domain())
        self.own, self.team = map(join, self._domains)
        self._ledger = folder / 'ledger'
        self._world = folder
        self.model = RobotModel.of(scenarios.load(scenarios.find('crossing')), 'robot2')
        self.reports = Reports(self.own)
        self._plans = self.team.create_publisher(TeamPlan, '/team_plan', qos.TEAM_PLAN)
        self._policies = self.team.create_publisher(
            LocalPolicy, '/robot2/policy', qos.LOCAL_POLICY
        )

    def run(self, *, steps, rate, how='noise', rest=None):
        """Execute a plan while a stranger speaks; return what happened, in numbers."""
        self._up(rest)
        stranger = self._meet_stranger(rate, LEAD + steps * PERIOD - 1, how) if rate else None
        plan = self._plan(steps)
        self._offer(plan)
        if stranger is not None:
            self.own.wait_for(lambda: self._charges() == 1)
            stranger.tell('go')
        end = plan.start_ns + round((steps * PERIOD + 1.5) * SECOND)
        self.own.wait_for(lambda: time.time_ns() > end)
        return self._findings(stranger)

    def _up(self, rest):
        own, team = self._domains
        options = () if rest is None else ('--rest', rest)
        program = self._start(
            *('robot', self._world, '--scenario', 'crossing', '--robot', 'robot2'),
            *('--domain', own, '--team-domain', team),
            *('--ledger', self._ledger, '--budget', 10**6, *options),
        )
        self.own.wait_for(lambda: bool(self.reports.last))
        self.patient = Patient(program, self.own, 'robot2')

    def _meet_stranger(self, rate, seconds, how):
        self._offer(self._plan(1, start_ns=2**30 * SECOND))
        stranger = self._start('stranger', self._domains[1], rate, seconds, how)
        stranger.expect('ready')
        return stranger

    def _plan(self, steps, start_ns=None):
        return plans.TeamPlan(
            plan_id=bytes(range(16)),
            game=self.model.game.fingerprint,
            episode=0,
            start_ns=time.time_ns() + round(LEAD * SECOND) if start_ns is None else start_ns,
            period_ns=round(PERIOD * SECOND),
            deadline=0.4,
            horizon=max(steps, 12),
            max_stale=1,
            robots=('robot1', 'robot2'),
            graph=self.model.scenario.graph,
            epsilon=(3.0, 3.0),
            adjacency=(1, 1),
        )

    def _offer(self, plan):
        n = self.model.mdp.n_states
        table, own = np.zeros((n, n, 5)), np.zeros((n, 5))
        table[..., STAY] = own[:, STAY] = 1
        policy = plans.LocalPolicy(1, (0,), table, own)
        self._policies.publish(conversions.local_policy_to_msg(policy, plan=plan))
        self._plans.publish(conversions.team_plan_to_msg(plan))

    def _charges(self):
        return sum(account.releases for account in read(self._ledger).books.accounts.values())

    def _findings(self, stranger):
        steps, refused = self.reports.values('steps'), self.reports.values('messages')
        return {
            'sent': 0 if stranger is None else int(stranger._lines.get(timeout=10)),
            'refused': sum(map(int, refused.values())),
            'told': int(steps['told']),
            'missed': int(steps['missed']),
            'late_p50_ms': float(steps['late p50 ms']),
            'late_max_ms': float(steps['late max ms']),
            'charges': self._charges(),
            'memory_growth_mb': round(self.patient.growth() / 2**20, 1),
            'log_lines': len(self.patient.log()),
        }
