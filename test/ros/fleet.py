"""Many robots on one machine, in real time: how punctual they tell, and what they cost.

Every robot has a row of two cells to itself and goes to either by a fair coin; its policy is for
what the robot before it tells, so each hears one other. The plan is made by hand: nobody could
plan for so many. How late a state was told is the time at which it was sent, as the middleware
stamped it, less the slot of the step protocol.

A sleeper wakes up amid the steps, when no robot has anything to do, and looks how long the
processors were idle since it woke up last. So it is known in which steps the machine was busy with
other things.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from deployed import LAST_SAFE_DOMAIN, is_locked

from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.execution import Timetable
from dp_multiagent.planning.plan_store import NEVER_NS

PROGRAMS = Path(__file__).parent / 'programs'
PERIOD, DEADLINE = 0.5, 0.4  # seconds, part of a period
LEAD = 5.0  # seconds in which all pay for the episode
CELL_SIZE = 0.1  # metres
DRIVING = {  # so that a robot gets there in a step
    'cell_size': CELL_SIZE,
    'speed': 10.0,
    'acceleration': 100.0,
    'turn_speed': 100.0,
    'turn_acceleration': 1000.0,
}
OTHERS = 0.1  # part of the processors that others may take in a step that counts as idle
FIRST_DOMAIN = 71
PATIENCE = 120.0  # seconds
TICKS = os.sysconf('SC_CLK_TCK')
SLEEPER = """
import json, sys, time
first, period, count = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
rows = []
for k in range(count):
    due = first + k * period
    time.sleep(max(due - time.time(), 0))
    late = time.time() - due
    with open('/proc/stat') as stat:
        counts = [int(count) for count in stat.readline().split()[1:9]]
    rows.append((late, counts[3] + counts[4], sum(counts)))
print(json.dumps(rows))
"""


def scenario_of(robots, steps):
    """Return the text of a scenario with so many robots, each on a row of its own."""
    members = ''.join(
        f'  - {{name: robot{i}, start: [{i}, 0], target: [{i}, 1]}}\n' for i in range(robots)
    )
    return (
        'version: 1\nkind: navigation\ntitle: Many robots on two cells each\n'
        f'map:\n  cells: {[".."] * robots}\n'
        'motion: {intended: 1.0, slip: 0.0, swaps: collision}\n'
        f'robots:\n{members}'
        'privacy: {epsilon: 1.0, adjacency: 3}\n'
        f'planning: {{delta: 0.01, beta: 0.1, horizon: {steps}}}\n'
    )


def plan_of(text, robots):
    """Return a plan by which every robot stays or goes to its other cell."""
    scenario = scenarios.parse(text, 'fleet')
    actions = scenario.players.agents[0].actions
    own = np.zeros((2 * robots, len(actions)))
    for state, (_, column) in enumerate(scenario.grid.cells):
        for name in ('stay', 'left' if column else 'right'):
            own[state, actions.index(name)] = 0.5
    policies = []
    for i in range(robots):
        seen = () if i == 0 else (i - 1,)
        table = np.repeat(own[:, None], 2 * robots, axis=1) if seen else own
        policies.append(LocalPolicy(robot=i, observed=seen, table=table, own_state=own))
    graph = plan_file.Graph(tuple(policy.observed for policy in policies))
    privacy = (1.0,) * robots, (3,) * robots
    return plan_file.Plan('fleet', text, graph, *privacy, tuple(policies), {})


class Ear:
    """Hears what the team tells, in this process, and has the planner start an episode."""

    def __init__(self, team_domain, operator_domain, robots):
        from dp_multiagent.msg import PrivateState, TeamPlan
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from std_srvs.srv import Trigger

        from dp_multiagent.nodes import conversions, qos
        from dp_multiagent.nodes.domains import TeamNode

        self.told, self.plan, self._trigger = {}, None, Trigger
        self._contexts = [Context(), Context()]
        for context, domain in zip(self._contexts, (team_domain, operator_domain), strict=True):
            context.init(domain_id=domain)
        self.team, self._own = (TeamNode('ear', context=each) for each in self._contexts)
        for i in range(robots):
            topic = f'/robot{i}/private_state'
            self.team.create_subscription(PrivateState, topic, self._hear, qos.PRIVATE_STATE)
        self.team.create_subscription(
            TeamPlan,
            '/team_plan',
            lambda message: setattr(self, 'plan', conversions.team_plan_from_msg(message)),
            qos.TEAM_PLAN,
        )
        self._client = self._own.create_client(Trigger, '/planning_server/start_episode')
        # The EventsExecutor cannot hand out when a message was sent.
        self._executor = SingleThreadedExecutor(context=self._contexts[0])
        for node in (self.team, self._own):
            self._executor.add_node(node)

    def _hear(self, message, info):
        self.told[message.robot, message.step] = info['source_timestamp']

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f'{what} did not happen')
            self._executor.spin_once(timeout_sec=0.1)

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)

    def follow(self, times, steps):
        """Take in what was told when all have acted: to listen must not make the robots late."""
        for step in range(steps):
            time.sleep(max(amidst(times, step) / 1e9 - time.time(), 0))
            self.listen(0.1 * PERIOD)

    def start_episode(self):
        self.wait_for(self._client.service_is_ready, 'the planner')
        self.listen(1.0)  # the planner may not know yet where its answer goes
        future = self._client.call_async(self._trigger.Request())
        self.wait_for(future.done, 'the start of the episode')
        self.wait_for(lambda: self.plan.start_ns != NEVER_NS, 'the announcement')

    def close(self):
        self._executor.shutdown()
        for node, context in zip((self.team, self._own), self._contexts, strict=True):
            node.destroy_node()
            context.try_shutdown()


class Fleet:
    """A planner and its robots in processes of their own; they end with `held`."""

    def __init__(self, folder, robots, steps, executor, wheels, held):
        self.folder, self.robots, self.held = folder, robots, held
        text = scenario_of(robots, steps)
        self.scenario, plan = folder / 'fleet.yaml', folder / 'fleet.npz'
        self.scenario.write_text(text)
        plan_file.save(plan_of(text, robots), plan)
        self.team_domain, self.operator_domain, *self.own = reserve(robots + 2, held)
        others = [self.start('bases', *map(self._base, range(robots)))] if wheels else []
        planner = self.start(
            'planning_server',
            *('--domain', self.operator_domain, '--team-domain', self.team_domain),
            *('--plan', plan, '--plans', folder / 'plans', '--lead', LEAD),
            *('--period', PERIOD, '--deadline', DEADLINE),
        )
        motion = 'wheels' if wheels else 'none'
        self.processes = [self._robot(i, executor, motion) for i in range(robots)]
        self._ids = [each.pid for each in (*self.processes, planner, *others)]

    def _base(self, i):
        x, y = 0.5 * CELL_SIZE, (self.robots - i - 0.5) * CELL_SIZE
        return f'{self.own[i]},{x},{y}'

    def _robot(self, i, executor, wheels):
        return self.start(
            'fleet_robot',
            *(executor, wheels, '--scenario', self.scenario, '--robot', f'robot{i}'),
            *('--domain', self.own[i], '--team-domain', self.team_domain),
            *('--ledger', self.folder / f'robot{i}.ledger', '--budget', 1),
            '--ros-args',
            *(word for name, value in DRIVING.items() for word in ('-p', f'{name}:={value}')),
        )

    def start(self, program, *arguments):
        """Start a program; what it says goes to a file."""
        command = [sys.executable, PROGRAMS / f'{program}.py', *arguments]
        with (self.folder / 'log').open('ab') as log:
            process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log)
        self.held.callback(self._end, process)
        return process

    def _end(self, process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def sleeper(self, times, steps):
        """Start the sleeper."""
        when = (amidst(times, 0) / 1e9, PERIOD, steps)
        command = [sys.executable, '-c', SLEEPER, *map(str, when)]
        sleeper = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.held.callback(sleeper.kill)
        return sleeper

    def cpu_seconds(self):
        """Return how long each process has computed, the robots first, this one last."""
        return np.array([*map(cpu_seconds, self._ids), cpu_seconds('self')])

    def wait_for_all(self, ear):
        """Wait until every robot has taken in the plan and asks for its policy."""
        try:
            ear.wait_for(lambda: not self.absent(ear), 'the team')
        except RuntimeError as error:
            raise RuntimeError(f'{error}; missing: {self.absent(ear)}\n{self.log}') from None

    def absent(self, ear):
        """List who has not taken in the plan, or does not ask for its policy."""
        names = [f'robot{i}' for i in range(self.robots)]
        silent = [name for name in names if not ear.team.count_subscribers(f'/{name}/policy')]
        return silent if ear.plan is not None else ['planner', *silent]

    @property
    def log(self):
        """Return what the processes said."""
        return (self.folder / 'log').read_text(errors='replace')


def reserve(count, held):
    """Reserve DDS domains that no test on this machine is using."""
    every = [*range(FIRST_DOMAIN, LAST_SAFE_DOMAIN + 1), *range(1, FIRST_DOMAIN)]
    free = []
    for domain in every:
        if len(free) < count and is_locked(domain, held):
            free.append(domain)
    if len(free) < count:
        raise RuntimeError('too few DDS domains are free')
    return free


def run(folder, *, robots, steps, executor='events', wheels=False):
    """Run one episode; return how late states were told and what each robot cost."""
    load = os.getloadavg()[0]
    with ExitStack() as held:
        begin = time.monotonic()
        fleet = Fleet(folder, robots, steps, executor, wheels, held)
        ear = Ear(fleet.team_domain, fleet.operator_domain, robots)
        held.callback(ear.close)
        fleet.wait_for_all(ear)
        up = time.monotonic() - begin
        ear.start_episode()
        times = Timetable(ear.plan)
        sleeper = fleet.sleeper(times, steps)
        time.sleep(max(times.begin(0) / 1e9 - time.time(), 0))
        before = fleet.cpu_seconds()
        ear.follow(times, steps)
        spent = fleet.cpu_seconds() - before
        memory = [megabytes(each.pid) for each in fleet.processes]
        slept = np.array(json.loads(sleeper.communicate()[0]))
    late = {key: (sent - slot(times, key[1])) / 1e6 for key, sent in ear.told.items()}
    idle = idle_steps(slept, spent.sum() / (steps * PERIOD * os.cpu_count()))
    return {
        'executor': executor,
        'wheels': wheels,
        'bring_up_seconds': round(up, 1),
        'missing': robots * steps - len(late),
        'late_ms': quantiles(late.values()),
        'idle_steps': len(idle),
        'late_ms_when_idle': quantiles(ms for (_, step), ms in late.items() if step in idle),
        'sleeper_late_ms': quantiles(1e3 * slept[:, 0]),
        'cpu_percent_per_robot': round(100 * spent[:robots].mean() / (steps * PERIOD), 2),
        'rss_mb_per_robot': round(float(np.mean([m['Rss'] for m in memory])), 1),
        'pss_mb_per_robot': round(float(np.mean([m['Pss'] for m in memory])), 1),
        'tracebacks': fleet.log.count('Traceback'),
        'load_average': [round(load, 2), round(os.getloadavg()[0], 2)],
    }


def slot(times, step):
    """Return when a robot should tell that sensed on time."""
    return times.tell(step, times.begin(step))


def amidst(times, step):
    """Return the middle of the part of a step in which all have acted."""
    return (times.act(step) + times.begin(step + 1)) // 2


def idle_steps(slept, ours):
    """Return the steps in which others took little of the processors; `ours` is our share."""
    idle, total = np.diff(slept[:, 1]), np.diff(slept[:, 2])
    return set(1 + np.flatnonzero(1 - idle / np.maximum(total, 1) <= ours + OTHERS))


def quantiles(values):
    """Return median, 99th percentile and maximum, None if there are no values."""
    found = sorted(values)
    ends = np.quantile(found, (0.5, 0.99, 1.0)) if found else (None,) * 3
    return {
        name: None if end is None else round(float(end), 3)
        for name, end in zip(('p50', 'p99', 'max'), ends, strict=True)
    }


def cpu_seconds(pid):
    """Return the time that a process has computed."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(pid):
    """Return what a process holds: Rss counts what it shares in full, Pss in part."""
    lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()[1:]
    return {key: int(rest.split()[0]) / 1024 for key, _, rest in (x.partition(':') for x in lines)}
