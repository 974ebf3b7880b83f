"""Robots on a floor with physics: velocities in, true poses, speeds and contacts out.

Time is counted in ticks and never goes back. A base that hears no command for a while stops, as
real ones do. Given the commands, the physics is the same in every run on the same machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.errors import MissingPackageError
from dp_multiagent.models.gridmap import Cell
from dp_multiagent.sim.mjcf import RADIUS, TIMESTEP, TRACK, WHEEL_RADIUS, world_as_xml

STEPS_PER_TICK = 8
TICK = STEPS_PER_TICK * TIMESTEP  # seconds between two measurements
TICK_NS = round(TICK * 1e9)
STEPS_TO_SETTLE = 200
COMMAND_LASTS = 0.5  # seconds
FASTEST = 1000.0  # radians a second of a wheel, whatever is asked for
NEAR = 2 * RADIUS + 0.25  # metres; farther apart, two robots cannot touch within a tick

Pair = tuple[int, int]


class World:
    """A simulated floor with robots, the i-th of which is addressed as i."""

    def __init__(self, floor: Floor, robots: Mapping[str, Cell]) -> None:
        self._mujoco = _import_mujoco()
        self.model = self._mujoco.MjModel.from_xml_string(world_as_xml(floor, robots))
        self._data = self._mujoco.MjData(self.model)
        self.names = tuple(robots)
        self._joints = [self._data.joint(name) for name in self.names]
        self._wheels = [
            (self._data.actuator(f'{name}_left'), self._data.actuator(f'{name}_right'))
            for name in self.names
        ]
        self._robot_of_geom = {self.model.geom(name).id: i for i, name in enumerate(self.names)}
        self._ticks = 0
        self.touched: frozenset[Pair] = frozenset()
        self.reset()

    @property
    def time_ns(self) -> int:
        """Return the simulated time; it goes on over resets."""
        return self._ticks * TICK_NS

    def reset(self) -> None:
        """Put all robots back to where they started, at rest."""
        self._mujoco.mj_resetData(self.model, self._data)
        self._mujoco.mj_step(self.model, self._data, STEPS_TO_SETTLE)
        self._expiry = [0] * len(self.names)
        self.touched = frozenset()

    def command(self, robot: int, velocity: Velocity) -> None:
        """Tell a base how fast to drive, until it hears otherwise or for a while."""
        across = velocity.turn * TRACK / 2
        left, right = self._wheels[robot]
        left.ctrl[0] = _possible((velocity.forward - across) / WHEEL_RADIUS)
        right.ctrl[0] = _possible((velocity.forward + across) / WHEEL_RADIUS)
        self._expiry[robot] = self._ticks + round(COMMAND_LASTS / TICK)

    def tick(self) -> None:
        """Go on for one tick; `touched` then has the pairs of robots that met in it."""
        for i, expiry in enumerate(self._expiry):
            if self._ticks == expiry:
                self.command(i, STILL)
        self._ticks += 1
        if self._any_near():
            met: set[Pair] = set()
            for _ in range(STEPS_PER_TICK):
                self._mujoco.mj_step(self.model, self._data)
                met |= self._meetings()
            self.touched = frozenset(met)
        else:
            self._mujoco.mj_step(self.model, self._data, STEPS_PER_TICK)
            self.touched = frozenset()

    def pose(self, robot: int) -> Pose:
        """Return where a robot truly is."""
        x, y, _, w, i, j, k = self._joints[robot].qpos.tolist()
        return Pose(x, y, math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k)))

    def velocity(self, robot: int) -> Velocity:
        """Return how fast a robot truly goes, along its heading and around itself."""
        vx, vy, *_, turn = self._joints[robot].qvel.tolist()
        heading = self.pose(robot).heading
        return Velocity(vx * math.cos(heading) + vy * math.sin(heading), turn)

    def _any_near(self) -> bool:
        places = [joint.qpos for joint in self._joints]
        return any(math.hypot(p[0] - q[0], p[1] - q[1]) < NEAR for p, q in combinations(places, 2))

    def _meetings(self) -> set[Pair]:
        met = set()
        for one, other in self._data.contact.geom.tolist():
            if one in self._robot_of_geom and other in self._robot_of_geom:
                first, second = sorted((self._robot_of_geom[one], self._robot_of_geom[other]))
                met.add((first, second))
        return met


def _possible(speed: float) -> float:
    return min(max(speed, -FASTEST), FASTEST)


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        message = 'the embedded simulator needs MuJoCo: pip install mujoco'
        raise MissingPackageError(message) from None
    return mujoco
