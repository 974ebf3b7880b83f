"""The deployment of one real robot: its process, and the watchdog between it and its wheels.

Everything here is in the robot's own domain, but for what the process tells the team by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dp_multiagent.deployment.description import Deployment, Option, Process, Value
from dp_multiagent.deployment.navigation import LAST_DOMAIN
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.navigation import Navigation

NAMESPACE = re.compile(r'(/?[A-Za-z_]\w*)(/[A-Za-z_]\w*)*/?', re.ASCII)
RULE = re.compile(r'([^\s:]+):=([^\s:]+)')


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """What a user chooses for a robot; None leaves it to the scenario or to the parameter file.

    The ledger is made if it is not there, which takes a budget: the epsilon of all episodes. One
    episode may cost `epsilon`; for `rest` seconds it is given up for no other plan.
    """

    robot: str
    ledger: Path
    scenario: str = 'navigation'
    team_domain: int = 42
    domain: int | None = None
    budget: str | None = None
    adjacency: int | None = None
    epsilon: float | None = None
    rest: float | None = None
    parameters: Path | None = None
    namespace: str = ''
    frame_prefix: str | None = None
    odom_topic: str | None = None
    velocity_topic: str | None = None
    scan_topic: str | None = None
    remappings: str = ''
    own_peers: str = ''
    watchdog: bool = True
    use_sim_time: bool = False

    def __post_init__(self) -> None:
        if self.namespace and not NAMESPACE.fullmatch(self.namespace):
            raise ModelError(f'--namespace: {self.namespace!r} is no namespace')
        for rule in self.remappings.split():
            if not RULE.fullmatch(rule):
                raise ModelError(f'--remappings: {rule!r} is not of the form from:=to')
        for name in ('epsilon', 'rest'):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ModelError(f'--{name}: {value} is not a number from 0')
        if self.budget is None and not self.ledger.exists():
            raise ModelError(f'--ledger: {self.ledger} is not there; with --budget it is made')

    @property
    def chosen_parameters(self) -> dict[str, Value]:
        """Return the parameters that go before those of the file."""
        names = ('frame_prefix', 'odom_topic', 'velocity_topic', 'scan_topic')
        chosen = {name: getattr(self, name) for name in names}
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def driving(self) -> Settings:
        """Return how the robot drives."""
        file = {} if self.parameters is None else vars(Settings.read(self.parameters))
        return Settings(**{**file, **self.chosen_parameters})


def robot(options: RobotOptions) -> Deployment:
    """Describe the processes on a robot."""
    path = scenarios.find(options.scenario)
    scenario = scenarios.load(path)
    if not isinstance(scenario, Navigation):
        raise ModelError(f'{path}: a scenario of kind {scenario.kind} has no robots that drive')
    names = [each.name for each in scenario.robots]
    if options.robot not in names:
        raise ModelError(f'--robot: {options.robot!r} is none of {", ".join(names)}')
    domain = options.domain
    if domain is None:
        domain = options.team_domain + 1 + names.index(options.robot)
    if domain == options.team_domain or not 0 <= domain <= LAST_DOMAIN:
        raise ModelError(f"--domain: {domain} is the team's, or not from 0 to {LAST_DOMAIN}")
    where = str(path.resolve())
    driving = options.driving
    if not options.watchdog or driving.navigator != 'own':
        return Deployment((_robot(options, where, domain, {}),), last=options.robot)
    wanted = f'{driving.velocity_topic}_wanted'
    processes = (
        _watchdog(options, where, domain, wanted),
        _robot(options, where, domain, {'velocity_topic': wanted}),
    )
    return Deployment(processes, last=options.robot)


def _robot(
    options: RobotOptions, scenario: str, domain: int, changes: Mapping[str, Value]
) -> Process:
    chosen: dict[str, Option] = {
        'ledger': str(options.ledger),
        'budget': options.budget,
        'adjacency': options.adjacency,
        'epsilon': options.epsilon,
        'rest': options.rest,
    }
    parameters = {**options.chosen_parameters, **changes}
    return _process(options, options.robot, 'robot', scenario, domain, chosen, parameters)


def _watchdog(options: RobotOptions, scenario: str, domain: int, wanted: str) -> Process:
    driving = options.driving
    parameters: dict[str, Value] = {
        'wanted_topic': wanted,
        'wheels_topic': driving.velocity_topic,
        'odom_topic': driving.odom_topic,
        'base_frame': driving.robot_frame,
    }
    return _process(options, 'watchdog', 'watchdog', scenario, domain, {}, parameters)


def _process(
    options: RobotOptions,
    name: str,
    program: str,
    scenario: str,
    domain: int,
    chosen: Mapping[str, Option],
    parameters: Mapping[str, Value],
) -> Process:
    common: dict[str, Option] = {
        'scenario': scenario,
        'robot': options.robot,
        'own-peers': tuple(options.own_peers.split()),
        'use-sim-time': options.use_sim_time,
    }
    rules = [rule.partition(':=') for rule in options.remappings.split()]
    return Process(
        name=name,
        program=program,
        domain=domain,
        team_domain=options.team_domain,
        options={**common, **chosen},
        parameters=parameters,
        parameter_file=None if options.parameters is None else str(options.parameters),
        namespace=options.namespace,
        remappings={old: new for old, _, new in rules},
    )
