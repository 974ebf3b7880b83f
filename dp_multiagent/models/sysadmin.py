"""The system administration game: servers that must all be nominal at the same time.

Each server is an MDP over the states nominal, needs-repair, in-repair and offline with the
actions wait and repair. The team succeeds when all servers are nominal, and fails when more than
`most_in_repair` of them are in repair, or more than `most_offline` offline, at one time.
(Chen et al., section 7.2, with the states as the authors' code numbers them.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dp_multiagent.models.game import BoolArray, MarkovGame, Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.players import Players

STATES = ('nominal', 'needs-repair', 'in-repair', 'offline')
NOMINAL, NEEDS_REPAIR, IN_REPAIR, OFFLINE = range(4)
ACTIONS = ('wait', 'repair')

Transitions = Mapping[str, Mapping[Any, Mapping[Any, float]]]


def players(
    transitions: Transitions, initial: Sequence[str], most_in_repair: int, most_offline: int
) -> Players:
    """Return the servers from transitions[action][state][next state] and their first states."""
    rules = {'kind': 'sysadmin', 'in_repair': most_in_repair, 'offline': most_offline}
    servers = (Mdp.from_table(transitions, STATES, first) for first in initial)
    return Players(tuple(servers), Swaps.ALLOWED, rules)


def game(servers: Players) -> MarkovGame:
    """Build the game of such servers."""
    most_in_repair, most_offline = servers.rules['in_repair'], servers.rules['offline']

    def count(states: tuple[Any, ...], state: int) -> Any:
        return sum((s == state).astype(int) for s in states)

    def all_nominal(*states: Any) -> BoolArray:
        return np.asarray(count(states, NOMINAL) == len(states))

    return MarkovGame(
        servers.agents,
        target=all_nominal,
        avoid={
            'too many in repair': lambda *s: count(s, IN_REPAIR) > most_in_repair,
            'too many offline': lambda *s: count(s, OFFLINE) > most_offline,
        },
    )
