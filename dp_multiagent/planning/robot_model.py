"""What a robot knows of itself from its scenario: its place in the team, its cells, its moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.models.gridmap import MOVES, Cell, GridMap
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import LocalPolicy, TeamPlan
from dp_multiagent.models.players import Players
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.planning.driven import driven
from dp_multiagent.planning.execution import Move, draw
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

SHORTEST_DEADLINE_NS = 1_000_000


@dataclass(frozen=True, eq=False)
class RobotModel:
    """One robot of a driven scenario."""

    scenario: Navigation
    index: int

    @classmethod
    def of(cls, scenario: Scenario, name: str) -> RobotModel:
        """Return the model of a robot by its name; the scenario is taken as it is driven."""
        on_the_road = driven(scenario)
        if not isinstance(on_the_road, Navigation):
            raise ModelError(f'a scenario of kind {scenario.kind} has no robots that drive')
        names = [robot.name for robot in on_the_road.robots]
        if name not in names:
            raise ModelError(f'no robot is called {name!r}; there are {", ".join(names)}')
        return cls(on_the_road, names.index(name))

    @property
    def name(self) -> str:
        """Return the name of the robot."""
        return self.scenario.robots[self.index].name

    @property
    def epsilon(self) -> float:
        """Return what an episode costs by the scenario."""
        own = self.scenario.robots[self.index].epsilon
        return self.scenario.privacy.epsilon if own is None else own

    @property
    def adjacency(self) -> int:
        """Return the number of differing states that the scenario's epsilon covers."""
        own = self.scenario.robots[self.index].adjacency
        return self.scenario.privacy.adjacency if own is None else own

    @cached_property
    def grid(self) -> GridMap:
        """Return the map."""
        return self.scenario.grid

    @cached_property
    def game(self) -> Players:
        """Return who plays the game of the whole team."""
        return self.scenario.players

    @property
    def mdp(self) -> Mdp:
        """Return the MDP of this robot."""
        return self.game.agents[self.index]

    def state(self, cell: Cell | None) -> int | None:
        """Return the state of a cell, None if it is unknown, a wall or off the map."""
        return None if cell is None else self.grid.index.get(cell)

    def intended(self, move: Move) -> int:
        """Return the state that a move is meant to lead to; the own one before a wall."""
        row, column = self.grid.cells[move.state]
        down, right = MOVES[self.mdp.actions[move.action]]
        return self.grid.index.get((row + down, column + right), move.state)

    def slipped(self, move: Move, uniform: float) -> int:
        """Return the state that a move leads to in a simulation, drawn as the model says."""
        return draw(self.mdp.tensor[move], uniform)

    def mechanism(self, plan: TeamPlan) -> TrajectoryMechanism:
        """Return the mechanism with the privacy that a plan was made for."""
        return TrajectoryMechanism(
            self.mdp, epsilon=plan.epsilon[self.index], adjacency=plan.adjacency[self.index]
        )

    def refuse_foreign_plan(self, plan: TeamPlan) -> None:
        """Refuse a plan that was not made for this team in this scenario."""
        if plan.game != self.game.fingerprint:
            raise ModelError('the plan was made for another scenario')
        if plan.robots != tuple(robot.name for robot in self.scenario.robots):
            raise ModelError('the plan was made for other robots')
        if plan.period_ns * plan.deadline < SHORTEST_DEADLINE_NS:
            raise ModelError('the steps of the plan are too short')

    def refuse_foreign_policy(self, policy: LocalPolicy) -> None:
        """Refuse a policy that was not made for this robot."""
        axes = tuple(self.game.shape[j] for j in (self.index, *policy.observed))
        fits = policy.table.shape[int(policy.by_step) :] == (*axes, self.mdp.n_actions)
        if policy.robot != self.index or not fits:
            raise ModelError('the policy was made for another robot')


def slipping(seed: int, index: int) -> np.random.Generator:
    """Return the slips of one robot of a simulated team."""
    return np.random.default_rng([seed, index])
