"""Games for the tests: small random ones, and the two-agent navigation of Chen et al."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dp_multiagent.models.game import MarkovGame, Swaps
from dp_multiagent.models.gridmap import Cell, GridMap
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import Graph, LocalPolicy
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

NAVIGATION_MAP = GridMap(('!!#!.', '.....', '..#..', '.....', '..#..'), slip=0.05)


def random_mdp(
    rng: np.random.Generator, n_states: int, n_actions: int, n_successors: int, initial: int
) -> Mdp:
    """Draw up to `n_successors` successors per state and action with Dirichlet weights."""
    transitions = np.zeros((n_states, n_actions, n_states))
    for s in range(n_states):
        for a in range(n_actions):
            successors = rng.choice(n_states, size=min(n_successors, n_states), replace=False)
            transitions[s, a, successors] = rng.dirichlet(np.ones(len(successors)))
    return Mdp.from_tensor(transitions, initial)


def random_game(
    seed: int,
    n_agents: int = 2,
    n_states: int = 4,
    n_actions: int = 2,
    n_successors: int = 3,
    swaps: Swaps = Swaps.ALLOWED,
) -> MarkovGame:
    """Draw agents, a target that can be reached from the start, and states to avoid."""
    rng = np.random.default_rng(seed)
    starts = rng.choice(n_states, size=n_agents, replace=swaps is Swaps.ALLOWED)
    agents = [random_mdp(rng, n_states, n_actions, n_successors, int(s)) for s in starts]
    kind = rng.choice(3, size=(n_states,) * n_agents, p=(0.15, 0.2, 0.65))
    kind[tuple(starts)] = 2
    avoid = {'avoid': kind == 1}
    if swaps is Swaps.COLLISION:
        avoid['collision'] = _share_a_state(n_agents, n_states)
    target = (kind == 0) & ~np.logical_or.reduce(list(avoid.values()))
    if target.any():
        game = MarkovGame(agents, target, avoid, swaps)
        if _can_reach_target(game):
            return game
    return random_game(seed + 1_000_003, n_agents, n_states, n_actions, n_successors, swaps)


def navigation_game(swaps: Swaps = Swaps.ALLOWED) -> MarkovGame:
    """Return the two-agent navigation: targets (4, 3) and (4, 1), starts (4, 0) and (4, 4)."""
    return team_game(NAVIGATION_MAP, [(4, 0), (4, 4)], [(4, 3), (4, 1)], swaps)


def team_game(
    grid: GridMap, starts: Sequence[Cell], targets: Sequence[Cell], swaps: Swaps = Swaps.COLLISION
) -> MarkovGame:
    """Return the game of robots on a map that fail in a deadly cell or in the same cell."""
    deadly = np.array(grid.deadly)
    goals = [grid.index[cell] for cell in targets]
    return MarkovGame(
        [grid.mdp(start) for start in starts],
        target=lambda *s: np.logical_and.reduce(
            np.broadcast_arrays(*(cell == goal for cell, goal in zip(s, goals, strict=True)))
        ),
        avoid={
            'deadly cell': lambda *s: np.logical_or.reduce(
                np.broadcast_arrays(*(deadly[cell] for cell in s))
            ),
            'collision': _share_a_state(len(starts), len(grid.cells)),
        },
        swaps=swaps,
    )


def _share_a_state(n_agents: int, n_states: int) -> np.ndarray:
    states = np.indices((n_states,) * n_agents)
    shared = np.zeros((n_states,) * n_agents, dtype=bool)
    for one, other in combinations(states, 2):
        shared |= one == other
    return shared


def _can_reach_target(game: MarkovGame) -> bool:
    hopeful = game.target.copy()
    for _ in range(hopeful.size):
        actions = tuple(range(1, 2 * game.n_agents, 2))
        reaches = (game.expectation(hopeful.astype(float)) > 1e-12).any(axis=actions)
        hopeful |= game.active & reaches
    return bool(hopeful[game.initial])


def cell_game(seed: int, n_agents: int = 2, n_states: int = 3) -> MarkovGame:
    """Draw agents that share their cells, where meeting and swapping are collisions."""
    rng = np.random.default_rng(seed)
    agents = [random_mdp(rng, n_states, 2, 2, initial=i) for i in range(n_agents)]

    def meeting(*states):
        pairs = combinations(states, 2)
        return sum((s == t).astype(int) for s, t in pairs) > 0

    target = lambda *states: states[0] == n_states - 1  # noqa: E731
    return MarkovGame(agents, target, {'meeting': meeting}, Swaps.COLLISION)


def random_policies(
    game: MarkovGame, graph: Graph, rng: np.random.Generator, steps: int = 0
) -> tuple[LocalPolicy, ...]:
    """Draw a policy for each robot of a team, with a table per step if `steps` is given."""
    policies = []
    for i, seen in enumerate(graph.observed):
        uniform = np.ones(game.agents[i].n_actions)
        shape = ((steps,) if steps else ()) + tuple(game.shape[j] for j in (i, *seen))
        table = rng.dirichlet(uniform, size=shape)
        own_state = rng.dirichlet(uniform, size=game.shape[i])
        policies.append(LocalPolicy(i, seen, table, own_state, by_step=bool(steps)))
    return tuple(policies)


def mechanisms_of(game: MarkovGame, epsilon: float, adjacency: int) -> list[TrajectoryMechanism]:
    """Return the same privacy for every robot."""
    return [
        TrajectoryMechanism(agent, epsilon=epsilon, adjacency=adjacency) for agent in game.agents
    ]


def secret_game(stay: float = 1.0) -> MarkovGame:
    """Robot 1 goes left or right by chance and stays with a probability; robot 2 must follow.

    Robot 2 waits, goes left or goes right, once. It succeeds where robot 1 is and fails elsewhere.
    """
    wander = np.zeros((3, 1, 3))
    wander[0, 0, 1:] = 0.5
    wander[1, 0, 1:] = stay, 1 - stay
    wander[2, 0, 1:] = 1 - stay, stay
    follow = np.zeros((3, 3, 3))
    follow[0] = np.eye(3)
    follow[1, :, 1] = follow[2, :, 2] = 1
    return MarkovGame(
        [Mdp.from_tensor(wander, initial=0), Mdp.from_tensor(follow, initial=0)],
        target=lambda s, t: (s == t) & (s > 0),
        avoid={'wrong': lambda s, t: (s != t) & (t > 0)},
    )
