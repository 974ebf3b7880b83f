"""What is to be planned: a game, who may see whom, how private each robot is, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import MarkovGame
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.planning.evaluation import Evaluation, evaluate
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.reachability import require_reachable
from dp_multiagent.privacy.trajectory import TrajectoryMechanism


@dataclass(frozen=True, eq=False)
class Task:
    """A planning problem; `horizon` None means that runs may take any number of steps."""

    game: MarkovGame
    graph: Graph
    epsilon: tuple[float, ...]
    adjacency: tuple[int, ...]
    delta: float
    beta: float
    horizon: int | None
    unvisited: Unvisited = Unvisited.OWN_STATE

    def __post_init__(self) -> None:
        n = self.game.n_agents
        if not len(self.graph.observed) == len(self.epsilon) == len(self.adjacency) == n:
            raise ModelError(f'graph, epsilon and adjacency must be given for {n} robots')
        _ = self.mechanisms  # refuses a bad epsilon or adjacency before any work is done

    @cached_property
    def mechanisms(self) -> tuple[TrajectoryMechanism, ...]:
        """Return the mechanism of each robot."""
        return tuple(
            TrajectoryMechanism(agent, epsilon=epsilon, adjacency=k)
            for agent, epsilon, k in zip(
                self.game.agents, self.epsilon, self.adjacency, strict=True
            )
        )

    def with_epsilon(self, epsilon: float) -> Task:
        """Return the same task with one epsilon for every robot."""
        return replace(self, epsilon=(epsilon,) * self.game.n_agents)

    def with_graph(self, graph: Graph) -> Task:
        """Return the same task with another dependency graph."""
        return replace(self, graph=graph)

    def truthful(self, policies: Sequence[LocalPolicy]) -> Evaluation:
        """Evaluate policies exactly as if robots told their true states."""
        return evaluate(self.game, policies, None, self.horizon)

    def private(self, policies: Sequence[LocalPolicy]) -> Evaluation:
        """Evaluate policies exactly with private states."""
        return evaluate(self.game, policies, self.mechanisms, self.horizon)


def task_of(
    scenario: Scenario,
    *,
    epsilon: float | None = None,
    adjacency: int | None = None,
    graph: Graph | None = None,
    unvisited: Unvisited = Unvisited.OWN_STATE,
) -> Task:
    """Make the task of a scenario; what is given here takes the place of what the file says."""
    members, privacy = scenario.members, scenario.privacy
    game = scenario.game()
    require_reachable(game)
    return Task(
        game,
        scenario.graph if graph is None else graph,
        tuple(_first(epsilon, member.epsilon, privacy.epsilon) for member in members),
        tuple(int(_first(adjacency, member.adjacency, privacy.adjacency)) for member in members),
        scenario.planning.delta,
        scenario.planning.beta,
        scenario.planning.horizon,
        unvisited,
    )


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
