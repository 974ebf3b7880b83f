"""Propose who should see whom: the acyclic graph with the best private success.

All acyclic graphs of the team are tried (3, 25 and 543 for two, three and four robots). First
the minimum-dependency policies, computed once, are marginalised to each graph and judged by
their exact private success. The best few of them, and the graph without edges, then ascend
(`planning.ascent`), and the best private success decides. Among equals the graph with the fewest
edges wins: what is not told costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import FloatArray
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning import methods, minimum_dependency, starts
from dp_multiagent.planning.marginal import marginalise
from dp_multiagent.planning.methods import Report
from dp_multiagent.planning.task import Task

LARGEST_TEAM = 4
FINALISTS = 6
SAME = 1e-6


@dataclass(frozen=True)
class GraphSearch:
    """The finalists with their private success, best first, and how many graphs were tried."""

    ranking: tuple[tuple[Graph, float], ...]
    tried: int

    @property
    def best(self) -> Graph:
        """Return the proposed graph."""
        return self.ranking[0][0]


def search_graphs(task: Task, report: Report = lambda _: None) -> GraphSearch:
    """Judge every acyclic graph of a team of at most four."""
    n = task.game.n_agents
    if n > LARGEST_TEAM:
        raise ModelError(f'graphs are searched for teams of up to {LARGEST_TEAM}, not {n}')
    joint = starts.soft_reach(task.game)
    found = minimum_dependency.minimum_dependency(
        task.game, joint, delta=task.delta, beta=task.beta
    )
    scores = {
        graph: task.with_graph(graph)
        .private(marginalise(found.pairs, graph, task.unvisited))
        .success
        for graph in acyclic_graphs(n)
    }
    silent = Graph(((),) * n)
    finalists = dict.fromkeys([silent, *(graph for graph, _ in _ranked(scores))][:FINALISTS])
    ascended = {
        graph: _ascended(task.with_graph(graph), found.pairs, report) for graph in finalists
    }
    return GraphSearch(_ranked(ascended), len(scores))


def _ascended(task: Task, pairs: FloatArray, report: Report) -> float:
    """Return the private success after an ascent from marginalised and from random policies."""
    policies = marginalise(pairs, task.graph, task.unvisited)
    return max(
        methods.improved(task, 'marginalised', policies, report, None).success_private,
        methods.random_ascent(task, 'random', 0, report, None).success_private,
    )


def _ranked(scores: Mapping[Graph, float]) -> tuple[tuple[Graph, float], ...]:
    def worst_last(item: tuple[Graph, float]) -> tuple[int, int]:
        return -round(item[1] / SAME), len(item[0].edges)

    return tuple(sorted(scores.items(), key=worst_last))


def acyclic_graphs(n: int) -> Iterator[Graph]:
    """List the acyclic graphs of n robots: every pair has no edge, or one in either direction."""
    pairs = list(combinations(range(n), 2))
    for directions in product((None, False, True), repeat=len(pairs)):
        edges = [
            (j, i) if flip else (i, j)
            for (i, j), flip in zip(pairs, directions, strict=True)
            if flip is not None
        ]
        try:
            yield Graph.from_edges(n, edges)
        except ModelError:
            continue
