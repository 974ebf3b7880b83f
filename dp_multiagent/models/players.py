"""Who plays a game and by which rules, without any set of joint states.

It is all that a robot must know of its team, and all that a robot and its planner must agree on:
it grows with the number of robots, where a set of joint states grows with the power of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import Swaps
from dp_multiagent.models.mdp import Mdp


@dataclass(frozen=True, eq=False)
class Players:
    """Independent agents, and the numbers that define what they must reach and avoid.

    `rules` is plain data, as JSON knows it.

    >>> walk = Mdp.from_tensor([[[0.5, 0.5]], [[0.0, 1.0]]], initial=0)
    >>> Players((walk,) * 20, Swaps.ALLOWED, {'targets': [1] * 20}).shape[:3]
    (2, 2, 2)
    """

    agents: tuple[Mdp, ...]
    swaps: Swaps
    rules: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not self.agents:
            raise ModelError('a game needs at least one agent')

    @property
    def n_agents(self) -> int:
        """Return N."""
        return len(self.agents)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (|S_1|, ..., |S_N|)."""
        return tuple(agent.n_states for agent in self.agents)

    @property
    def initial(self) -> tuple[int, ...]:
        """Return the joint initial state s_I."""
        return tuple(agent.initial for agent in self.agents)

    @cached_property
    def fingerprint(self) -> bytes:
        """Return a SHA-256 digest that is equal just for equal agents, swaps and rules."""
        rules = json.dumps([self.swaps.value, dict(self.rules)], sort_keys=True)
        digest = hashlib.sha256(hashlib.sha256(rules.encode()).digest())
        for agent in self.agents:
            digest.update(agent.fingerprint)
        return digest.digest()
