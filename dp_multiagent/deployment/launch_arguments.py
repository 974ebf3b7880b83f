"""The arguments of the launch files, and how the options of a deployment are read from them.

An argument is a text. An empty one leaves an option to the scenario, to a parameter file or to us;
one without a default must be given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from dp_multiagent.deployment.navigation import SIMULATORS
from dp_multiagent.errors import DpMultiagentError, ModelError

TRUTHS = {'true': True, 'false': False}

T = TypeVar('T')


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...] = ()

    @property
    def keywords(self) -> dict[str, Any]:
        """Return the keywords of the action that declares it."""
        keywords: dict[str, Any] = {'name': self.name, 'description': self.description}
        if self.default is not None:
            keywords['default_value'] = self.default
        return {**keywords, 'choices': list(self.choices)} if self.choices else keywords


SCENARIO = Argument('scenario', 'navigation', 'name of a shipped scenario, or a scenario file')
TEAM_DOMAIN = Argument('team_domain', '42', 'DDS domain of the team; that of robot i is + 1 + i')
PARAMETERS = Argument('parameters', '', 'file like config/nodes/robot.yaml: how robots drive')
RESPAWN = Argument('respawn', 'false', 'start again what dies', tuple(TRUTHS))

PLANNING = (
    Argument('method', 'minimum-dependency', 'how the plan is made, see `dp_multiagent plan`'),
    Argument('epsilon', '', "privacy of an episode; empty: the scenario's"),
    Argument('adjacency', '', "states that epsilon covers; empty: the scenario's"),
    Argument('episodes', '1', 'how many episodes are run'),
    Argument('period', '4.0', 'of a step, in seconds'),
    Argument('deadline', '0.1', 'until when in a step messages are waited for, as a part of it'),
    Argument('max_stale', '2', 'steps for which an old message stands in for a missing one'),
    Argument('lead', '2.0', 'seconds from the announcement of an episode to its start'),
    Argument('patience', '30.0', 'seconds to wait for all robots before the first episode'),
)

NAVIGATION = (
    SCENARIO,
    Argument('simulator', 'embedded', 'none: robots that are driven elsewhere', SIMULATORS),
    Argument('window', 'false', 'with the window of Gazebo', tuple(TRUTHS)),
    *PLANNING,
    TEAM_DOMAIN,
    Argument('budget', '', 'epsilon of every robot for all episodes; empty: just enough'),
    Argument('rate', '1.0', 'simulated by real time; 0: as fast as possible'),
    Argument('slips', 'true', 'simulated robots slip as the scenario says', tuple(TRUTHS)),
    Argument('seed', '0', 'of the slips'),
    Argument('record', '', 'folder for a picture and a film of every episode; empty: none'),
    Argument('folder', '', 'plans, ledgers and results; empty: a new temporary folder'),
    PARAMETERS,
    RESPAWN,
)

BASE = (
    SCENARIO,
    *PLANNING,
    TEAM_DOMAIN,
    Argument('folder', None, 'plans and results; what is there is gone on with'),
    PARAMETERS,
    RESPAWN,
)

ROBOT = (
    Argument('robot', None, 'name of the robot in the scenario'),
    Argument('ledger', None, 'file in which privacy is counted; on a disk that lasts'),
    SCENARIO,
    TEAM_DOMAIN,
    Argument('domain', '', "DDS domain of the robot; empty: the team's + 1 + i"),
    Argument('budget', '', 'epsilon for all episodes, for a ledger that is not there yet'),
    Argument('adjacency', '', "states that the budget covers; empty: the scenario's"),
    Argument('epsilon', '', "the most an episode may cost; empty: the scenario's"),
    Argument('rest', '', 'seconds in which an episode is given up for no other plan; empty: 30'),
    PARAMETERS,
    Argument('namespace', '', 'of the robot in its own domain, for example turtle1'),
    Argument('frame_prefix', '', "before the robot's frame, for example turtle1/"),
    Argument('odom_topic', '', 'odometry in; empty: odom, or as the file says'),
    Argument('velocity_topic', '', 'what the base obeys; empty: cmd_vel, or as the file says'),
    Argument('scan_topic', '', 'laser scans in; empty: scan, or as the file says'),
    Argument('remappings', '', 'more of them, such as: /tf:=tf /tf_static:=tf_static'),
    Argument('own_peers', '', 'other computers of this robot; its own domain reaches them'),
    Argument('watchdog', 'true', 'between the robot and its wheels', tuple(TRUTHS)),
    Argument('use_sim_time', 'false', 'take the time from /clock', tuple(TRUTHS)),
    RESPAWN,
)


def options_from_text(kind: type[T], values: Mapping[str, str]) -> T:
    """Read the options of a deployment from launch arguments.

    >>> from dp_multiagent.deployment.navigation import Options
    >>> options_from_text(Options, {'scenario': 'crossing', 'folder': 'a', 'seed': '7'}).seed
    7
    """
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    chosen: dict[str, Any] = {}
    for name, text in values.items():
        if text != '':
            chosen[name] = read(name, text, str(known[name].type))
        elif known[name].default is MISSING:
            raise ModelError(f'--{name}: must not be empty')
    return kind(**chosen)


def read(name: str, text: str, kind: str) -> Any:
    """Read one argument; `kind` is the type of its option, as it is written there."""
    try:
        if 'Path' in kind:
            return Path(text).expanduser().resolve()
        if 'bool' in kind:
            return TRUTHS[text.lower()]
        if 'float' in kind:
            number = float(text)
            if math.isnan(number):
                raise ValueError
            return number
        if 'int' in kind:
            return int(text)
    except KeyError:
        raise ModelError(f'--{name}: {text!r} is not true or false') from None
    except ValueError:
        raise ModelError(f'--{name}: {text!r} is not a number') from None
    return text


def in_launch_words(error: DpMultiagentError, arguments: Mapping[str, str]) -> DpMultiagentError:
    """Return an error that names options as launch arguments: --team-domain as team_domain:=.

    >>> str(in_launch_words(ModelError('--max-stale: -1 is bad'), {'max_stale': '-1'}))
    'max_stale:= -1 is bad'
    """
    text = str(error)
    for name in arguments:
        for option in (name, name.replace('_', '-')):
            text = text.replace(f'--{option}:', f'{name}:=')
    return DpMultiagentError(text)
