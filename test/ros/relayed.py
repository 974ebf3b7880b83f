"""A team whose robots hear each other through a relay that disturbs them, and what came of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import disturbance
from deployed import Deployed
from kills import charges
from stale_model import Pace, predict

from dp_multiagent.planning import plan_file
from dp_multiagent.planning.execution import SLOTS

RELAY = Path(__file__).parent / 'programs' / 'relay.py'
ROBOTS = ('robot1', 'robot2')
ALLOWED = {'/parameter_events', '/team_plan'} | {
    f'/{robot}/{topic}' for robot in ROBOTS for topic in ('policy', 'private_state', 'budget')
}
OPTIONS = {'scenario': 'crossing', 'period': 4.2, 'deadline': 0.2, 'max_stale': 2}


class Relayed(Deployed):
    """Two robots that execute a plan; the n-th episode suffers the n-th disturbance, and so on.

    The team's domain is T, those of the robots are T + 1 and T + 2; the body of the second, which
    looks at the first, is in T + 3. What the robots take for the team's are T + 4 and T + 5.
    """

    def __init__(self, folder, team_domain, plan, disturbances, *, episodes):
        super().__init__(folder, team_domain, episodes=episodes, **OPTIONS)
        self.plan, self.disturbances = plan, disturbances
        self._sides = {name: team_domain + 4 + i for i, name in enumerate(ROBOTS)}
        for name, side in self._sides.items():
            self.processes[name] = replace(self.processes[name], team_domain=side)

    def run(self, seconds):
        """Run all episodes; return what was found."""
        team, plan = self.options.team_domain, self.folder / 'plan.npz'
        plan_file.save(self.plan, plan)
        self.results.note_plan({'file': str(plan)})  # so the operator asks for none
        self._start_relay(team)
        self.start('planning_server', more=('--plan', plan))
        self.start('simulator', more=('--robot-domains', team + 1, team + 3))
        self.start(*ROBOTS, 'operator')
        self.wait_for(
            lambda: any(each.poll() is not None for each in self.running.values()), seconds
        )
        results = self.wait_for_end(0)
        self.close()
        return Findings(self, results)

    def _start_relay(self, team):
        sides = [f'{name}={side}' for name, side in self._sides.items()]
        told, faults = self.folder / 'told', disturbance.to_json(self.disturbances)
        command = [sys.executable, RELAY, team, team + 3, team + 2, told, faults, *sides]
        with (self.folder / 'relay.log').open('ab') as log:
            self.running['relay'] = subprocess.Popen(
                [str(word) for word in command], stdout=log, stderr=log
            )
        self.wait_for_line('relay', 'relaying')


class Findings:
    """What is to be seen after a run: in the logs, in the ledgers, in what was told and judged."""

    def __init__(self, team, results):
        self._team, self.results = team, results
        lines = (team.folder / 'told').read_text().splitlines()
        *self.told, self.seen = (json.loads(line) for line in lines)

    @cached_property
    def faults(self):
        """Return counts of what must not happen."""
        folder = self._team.folder
        paid = [charges(folder / f'{robot}.ledger') for robot in ROBOTS]
        words = {}
        for told in self.told:
            key = told['robot'], bytes.fromhex(told['plan']), told['episode'], told['step']
            words.setdefault(key, []).append(told['state'])
        return {
            'tracebacks': sum(
                self._team.log(name).count('Traceback') for name in self._team.running
            ),
            'processes_that_failed': sum(
                each.returncode != 0 for each in self._team.running.values()
            ),
            'topics_too_many': len(set(self.seen['topics']) - ALLOWED),
            'services': len(self.seen['services']),
            'told_without_charge': sum(key[1:3] not in paid[key[0]] for key in words),
            'told_twice': sum(len(states) > 1 for states in words.values()),
            'episodes_charged_twice': sum(len(each) - len(set(each)) for each in paid),
        }

    def of(self, name):
        """Return the results of the episodes that suffered a disturbance."""
        all_of_them = self._team.disturbances
        return [
            result
            for result in self.results
            if all_of_them[result.episode % len(all_of_them)].name == name
        ]

    def steps(self, robot, episode):
        """Return the steps that a robot told in an episode, in the order in which it did."""
        of = robot, episode
        return [told['step'] for told in self.told if (told['robot'], told['episode']) == of]

    def truth_excess(self):
        """Return by how many standard deviations robot 1 told more truth than its mechanism."""
        task, grid = self._team.plan.task(), self._team.plan.parsed().grid
        mu, excess, variance = task.mechanisms[0].mu, 0.0, 0.0
        cells = {result.episode: result.cells for result in self.results}
        last = {}
        for told in self.told:
            episode, step, state = (told[name] for name in ('episode', 'step', 'state'))
            if told['robot'] != 0:
                continue
            before, last[episode] = last.get(episode, task.game.initial[0]), state
            if 0 < step < len(cells[episode]):
                true = grid.index[tuple(cells[episode][step][0])]
                chance = mu[before, true, true]
                excess += (state == true) - chance
                variance += chance * (1 - chance)
        return float(excess / math.sqrt(variance))

    def success(self, of):
        """Return how often a team succeeded under a disturbance, beside what the model says."""
        outcomes = Counter(result.outcome for result in self.of(of.name))
        plan, n = self._team.plan, outcomes.total()
        predicted = predict(plan.task(), plan.policies, pace(self._team.options, plan), of)
        p = predicted['success']
        error = math.sqrt(p * (1 - p) / n)
        return {
            'episodes': n,
            'success': outcomes['success'] / n,
            'predicted': p,
            'standard_error': error,
            'standard_errors_off': (outcomes['success'] / n - p) / error,
            'outcomes': dict(outcomes),
            'outcomes_predicted': predicted,
            'messages': self.seen['fates'][of.name],
        }


def pace(options, plan):
    """Return what the model must know of a deployment."""
    act = options.deadline * options.period
    limits = options.driving.limits
    return Pace(
        period=options.period,
        tell=act / SLOTS,
        act=act,
        crossing=limits.half_turn_time + limits.drive_time(options.driving.cell_size) / 2,
        horizon=plan.task().horizon,
        max_stale=options.max_stale,
    )
