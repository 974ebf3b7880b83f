"""Robots in a world that follow the control law."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dp_multiagent.driving.floor import Floor
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.pilot import Pilot

LIMITS = Limits()
PERIOD = 4.0  # simulated seconds from cell to cell


@dataclass
class Drive:
    """Robots in a world, each with a pilot; `commands` and `speeds` keep what happened."""

    floor: Floor
    world: object
    commands: list = field(default_factory=list)
    speeds: list = field(default_factory=list)
    touched: set = field(default_factory=set)

    def __post_init__(self):
        self.pilots = [Pilot(LIMITS, self.floor.cell_size) for _ in self.world.names]

    @property
    def poses(self):
        return [self.world.pose(i) for i in range(len(self.pilots))]

    def head_for(self, *cells):
        for pilot, cell, pose in zip(self.pilots, cells, self.poses, strict=True):
            pilot.head_for(self.floor.centre(cell), pose)

    def run(self, seconds, each_tick=lambda: None):
        from dp_multiagent.sim.world import TICK

        for _ in range(round(seconds / TICK)):
            now = self.world.time_ns / 1e9
            commands = [
                pilot.command(pose, now)
                for pilot, pose in zip(self.pilots, self.poses, strict=True)
            ]
            for i, command in enumerate(commands):
                self.world.command(i, command)
            self.world.tick()
            self.commands.append(commands)
            self.speeds.append([self.world.velocity(i) for i in range(len(commands))])
            self.touched |= self.world.touched
            each_tick()

    def error(self, robot, cell):
        pose, goal = self.poses[robot], self.floor.centre(cell)
        return math.hypot(pose.x - goal.x, pose.y - goal.y)
