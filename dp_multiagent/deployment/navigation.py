"""The deployment of a team that drives: planner, operator, one process per robot, a simulator.

The team's domain is T, robot i's own one T + 1 + i, the operator's T + 50. A folder holds the
plans, a ledger per robot and what the operator wrote down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from dp_multiagent.deployment.description import Deployment, Process, Value
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.navigation import Navigation

OPERATOR_OFFSET = 50
LAST_DOMAIN = 232
SIMULATORS = ('embedded', 'gazebo', 'none')
LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}  # a simulation stays on its machine

Chosen = dict[str, Value | None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user chooses; None takes the scenario's value, and a budget for these episodes."""

    scenario: str
    folder: Path
    simulator: str = 'embedded'
    method: str = 'minimum-dependency'
    epsilon: float | None = None
    adjacency: int | None = None
    team_domain: int = 42
    record: Path | None = None
    episodes: int = 1
    budget: float | None = None
    rate: float = 1.0
    period: float = 4.0
    deadline: float = 0.1
    slips: bool = True
    seed: int = 0
    max_stale: int = 2
    lead: float = 2.0
    patience: float = 30.0
    parameters: Path | None = None
    window: bool = False

    def __post_init__(self) -> None:
        if self.simulator not in SIMULATORS:
            raise ModelError(f'--simulator: {self.simulator!r} is none of {", ".join(SIMULATORS)}')
        if self.simulator == 'gazebo' and (self.episodes != 1 or self.rate != 1):
            raise ModelError('--simulator: Gazebo runs one episode, in real time')
        if self.record is not None and self.simulator != 'embedded':
            raise ModelError('--record: only the embedded simulator makes pictures')
        if self.episodes < 1:
            raise ModelError(f'--episodes: {self.episodes} is not at least 1')
        for name in ('epsilon', 'budget'):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ModelError(f'--{name}: {value} is not a number from 0')
        if self.adjacency is not None and self.adjacency < 1:
            raise ModelError(f'--adjacency: {self.adjacency} is not at least 1')
        for name in ('rate', 'lead', 'patience', 'max_stale'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ModelError(f'--{name.replace("_", "-")}: {value} is not a number from 0')
        if not 0 < self.deadline < 1:
            raise ModelError(f'--deadline: {self.deadline} is not between 0 and 1')
        needed = self.driving.limits.step_time(self.driving.cell_size) / (1 - self.deadline)
        if not (math.isfinite(self.period) and self.period >= needed):
            raise ModelError(
                f'--period: {self.period:g} s is too short, a robot needs {needed:.2f} s to the '
                'next cell'
            )

    @cached_property
    def driving(self) -> Settings:
        """Return how the robots drive, as their parameter file says."""
        return Settings() if self.parameters is None else Settings.read(self.parameters)

    @property
    def is_simulated(self) -> bool:
        """Tell whether time and physics are simulated."""
        return self.simulator != 'none'

    @property
    def operator_domain(self) -> int:
        """Return the operator's own domain."""
        return self.team_domain + OPERATOR_OFFSET

    @property
    def results(self) -> Path:
        """Return the file in which the operator notes how episodes went."""
        return self.folder / 'episodes.jsonl'


def navigation(options: Options) -> Deployment:
    """Describe the processes of a team that drives."""
    path = scenarios.find(options.scenario)
    scenario = scenarios.load(path)
    if not isinstance(scenario, Navigation):
        raise ModelError(f'{path}: a scenario of kind {scenario.kind} has no robots that drive')
    count = len(scenario.robots)
    if count >= OPERATOR_OFFSET or not 0 <= options.team_domain <= LAST_DOMAIN - OPERATOR_OFFSET:
        raise ModelError(
            f'--team-domain: {options.team_domain} is not from 0 to '
            f'{LAST_DOMAIN - OPERATOR_OFFSET}, with fewer than {OPERATOR_OFFSET} robots'
        )
    where = str(path.resolve())
    robots = [_robot(options, where, scenario, i) for i in range(count)]
    simulator = [_simulator(options, where)] if options.is_simulated else []
    processes = (_planner(options), *simulator, *robots, _operator(options, where))
    return Deployment(processes, environment=LOCAL if options.is_simulated else {})


def base(options: Options) -> Deployment:
    """Describe what of that runs on a base station: the robots are elsewhere."""
    team = navigation(options)
    kept = [each for each in team.processes if each.program in ('planning_server', 'operator')]
    return Deployment(tuple(kept))


def refuse_folder_in_use(options: Options) -> None:
    """Refuse to simulate into a folder with results: a real team goes on there, but not time."""
    if options.is_simulated and options.results.exists():
        raise DpMultiagentError(
            f'--folder: {options.folder} is of an earlier simulation, choose a new one'
        )


def _planner(options: Options) -> Process:
    return _of_operator(
        options,
        'planning_server',
        'planning_server',
        {
            'plans': str(options.folder / 'plans'),
            'period': options.period,
            'deadline': options.deadline,
            'max-stale': options.max_stale,
            'lead': options.lead,
            'use-sim-time': options.is_simulated,
        },
    )


def _simulator(options: Options, scenario: str) -> Process:
    if options.simulator == 'gazebo':
        files = str(options.folder / 'gazebo')
        size, window = options.driving.cell_size, options.window
        wanted: Chosen = {'scenario': scenario, 'folder': files, 'cell-size': size}
        return _of_operator(options, 'simulator', 'gazebo', {**wanted, 'window': window})
    record = None if options.record is None else str(options.record)
    chosen: Chosen = {
        'scenario': scenario,
        'rate': options.rate,
        'cell-size': options.driving.cell_size,
        'record': record,
    }
    return _of_operator(options, 'simulator', 'simulator', chosen)


def _operator(options: Options, scenario: str) -> Process:
    return _of_operator(
        options,
        'operator',
        'operator',
        {
            'scenario': scenario,
            'method': options.method,
            'epsilon': options.epsilon,
            'adjacency': options.adjacency,
            'episodes': options.episodes,
            'results': str(options.results),
            'patience': options.patience,
            'use-sim-time': options.is_simulated,
        },
    )


def _of_operator(options: Options, name: str, program: str, chosen: Chosen) -> Process:
    return Process(
        name=name,
        program=program,
        domain=options.operator_domain,
        team_domain=options.team_domain,
        options=chosen,
    )


def _robot(options: Options, path: str, scenario: Navigation, index: int) -> Process:
    name = scenario.robots[index].name
    slips = options.is_simulated and options.slips
    chosen: Chosen = {
        'scenario': path,
        'robot': name,
        'ledger': str(options.folder / f'{name}.ledger'),
        'budget': _budget(options, scenario, index),
        'adjacency': options.adjacency,
        'epsilon': options.epsilon,
        'use-sim-time': options.is_simulated,
        'slips': 'model' if slips else None,
        'seed': options.seed if slips else None,
    }
    return Process(
        name=name,
        program='robot',
        domain=options.team_domain + 1 + index,
        team_domain=options.team_domain,
        options=chosen,
        parameter_file=None if options.parameters is None else str(options.parameters),
    )


def _budget(options: Options, scenario: Navigation, index: int) -> str:
    if options.budget is not None:
        return repr(options.budget)
    given = (options.epsilon, scenario.robots[index].epsilon, scenario.privacy.epsilon)
    epsilon = next(value for value in given if value is not None)
    return str(Fraction(repr(epsilon)) * options.episodes)
