"""What is done to a team in an episode: to the messages between its robots, and to one clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """Faults of a network and of a clock; times are simulated seconds after an episode's start.

    A message takes `delay` seconds. With the probability `loss` it is lost, with `detours` it
    takes `detour` seconds more, so that later ones overtake it, and with `copies` it comes once
    more after that time. What is latched is sent again until it arrives, and always comes again
    if there are copies. Nothing passes from `cut[0]` to `cut[1]`; what is latched waits. From
    `jump[0]` on the clock of the robot that listens is ahead by `jump[1]`.
    """

    name: str
    loss: float = 0.0
    delay: float = 0.0
    copies: float = 0.0
    detours: float = 0.0
    detour: float = 0.0
    cut: tuple[float, float] = (0.0, 0.0)
    jump: tuple[float, float] = (0.0, 0.0)

    def is_cut(self, seconds: float) -> bool:
        """Tell whether nothing passes at a time."""
        return self.cut[0] <= seconds < self.cut[1]

    def ahead(self, seconds: float) -> float:
        """Return how far the clock is ahead at a time."""
        return self.jump[1] if seconds >= self.jump[0] else 0.0


# For steps of 4.2 s. A detour is longer than a step. The cut swallows what is told at steps 4, 5
# and 6; that of `LATE` the announcement, so that robots learn of the episode in its step 1. A
# clock jumps while its robot drives in step 1.
ROUGH = Disturbance(name='rough', loss=0.2, delay=0.2, copies=0.2, detours=0.2, detour=5.0)
DEAF = Disturbance(name='deaf', loss=0.8, delay=0.2)
CUT = Disturbance(name='cut', cut=(16.0, 26.0))
LATE = Disturbance(name='late', cut=(-2.5, 7.5))
AHEAD = Disturbance(name='ahead', jump=(6.2, 5.0))
BEHIND = Disturbance(name='behind', jump=(6.2, -5.0))
CALM = Disturbance(name='calm')


def to_json(disturbances: Sequence[Disturbance]) -> str:
    """Return the text that the relay is told."""
    return json.dumps([asdict(each) for each in disturbances])


def from_json(text: str) -> list[Disturbance]:
    """Read it."""
    return [Disturbance(**each) for each in json.loads(text)]
