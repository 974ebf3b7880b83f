"""A team played out by brute force: a dictionary from (true states, private words) to weights.

It shares no code with the package: it reads the policies' tables and the agents' transitions
entry by entry, and computes the mechanism from its definition.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

from dp_multiagent.models.game import Swaps


def tell(mdp, epsilon, k, state, previous):
    """List (private state, probability) of the online mechanism, from its definition."""
    feasible = [y for y in range(mdp.n_states) if (mdp.tensor[previous, :, y] > 0).any()]
    weights = {y: 1.0 if y == state else math.exp(-epsilon / k) for y in feasible}
    if state not in feasible:
        weights = dict.fromkeys(feasible, 1.0)
    total = sum(weights.values())
    return [(y, weight / total) for y, weight in weights.items()]


def play(game, policies, privacy, horizon):
    """Return success, failures by cause, unfinished and mean length after at most `horizon` steps.

    `privacy` is None or one (epsilon, k) per robot.
    """
    ends = defaultdict(float)
    length = 0.0
    now = {(game.initial, game.initial): 1.0}
    for step in range(horizon + 1):
        running = {}
        for (s, p), weight in now.items():
            length += weight
            if game.avoid[s]:
                cause = next(name for name, mask in game.causes.items() if mask[s])
                ends[cause] += weight
            elif game.target[s]:
                ends['success'] += weight
            else:
                running[s, p] = weight
        if step == horizon:
            ends['unfinished'] = sum(running.values())
            break
        now = defaultdict(float)
        for (s, p), weight in running.items():
            for y, told, probability in successors(game, policies, privacy, s, p, step):
                if is_swap(game, s, y):
                    ends['swap'] += weight * probability
                    length += weight * probability
                else:
                    now[y, told] += weight * probability
    return dict(ends), length


def successors(game, policies, privacy, s, p, step):
    """List all (true states, private states, probability) after one step."""
    choices = []
    for i, (agent, policy) in enumerate(zip(game.agents, policies, strict=True)):
        seen = s if privacy is None else p
        observation = (s[i], *(seen[j] for j in policy.observed))
        table = policy.table[min(step, policy.steps - 1)] if policy.by_step else policy.table
        outcomes = defaultdict(float)
        for a in range(agent.n_actions):
            for y in range(agent.n_states):
                chance = table[observation][a] * agent.tensor[s[i], a, y]
                if chance > 0 and privacy is None:
                    outcomes[y, y] += chance
                elif chance > 0:
                    for told, odds in tell(agent, *privacy[i], y, p[i]):
                        outcomes[y, told] += chance * odds
        choices.append([(y, told, chance) for (y, told), chance in outcomes.items()])
    for combination in itertools.product(*choices):
        y = tuple(entry[0] for entry in combination)
        told = tuple(entry[1] for entry in combination)
        yield y, told, math.prod(entry[2] for entry in combination)


def is_swap(game, s, y):
    return game.swaps is Swaps.COLLISION and any(
        s[i] != s[j] and y[i] == s[j] and y[j] == s[i]
        for i, j in itertools.combinations(range(len(s)), 2)
    )
