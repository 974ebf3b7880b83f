"""`dp_multiagent explain SCENARIO`: say in plain words what is private, how well, at what error.

What is told is compared with the truth for two motions that need no plan: a robot that wanders,
each action equally likely, and one that stands at its start.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_multiagent.cli.answer import Answer
from dp_multiagent.cli.ledger import exactly
from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models import scenarios
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.models.scenarios.navigation import Navigation
from dp_multiagent.privacy import accountant
from dp_multiagent.privacy.ledger_books import plain
from dp_multiagent.privacy.told_error import distance_quantile, true_and_told
from dp_multiagent.privacy.trajectory import TrajectoryMechanism
from dp_multiagent.privacy.units import PrivacyLoss

SHARE = 0.95
LARGEST_EPSILON_WITH_MEANING = 20
MOST_EPISODES = 10**9


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    about = 'say what a scenario keeps private, how well, and at what error'
    parser = commands.add_parser('explain', help=about, description=about, parents=[shared])
    parser.set_defaults(run=_explain)
    parser.add_argument('scenario', help='a name from `scenario list`, or a file')
    parser.add_argument(
        '--episodes', type=int, default=10, help='compose so many episodes (default: 10)'
    )
    parser.add_argument(
        '--delta', default='0', help='delta that the composition may use (default: 0)'
    )


def _explain(arguments: argparse.Namespace) -> Answer:
    if not 1 <= arguments.episodes <= MOST_EPISODES:
        raise DpMultiagentError(f'--episodes must be from 1 to {MOST_EPISODES}')
    path = scenarios.find(arguments.scenario)
    scenario = scenarios.load(path)
    tellers = scenario.graph.tellers
    found = [
        _member(scenario, i, mdp, arguments.episodes, arguments.delta)
        for i, mdp in enumerate(scenario.players.agents)
        if i in tellers
    ]
    silent = [m.name for i, m in enumerate(scenario.members) if i not in tellers]
    parts = [scenario.title, *map(_words, found), *map(_silent_words, silent)]
    data = {'file': str(path), 'title': scenario.title, 'members': found, 'silent': silent}
    return Answer('\n\n'.join(parts), data)


def _member(scenario: Scenario, index: int, mdp: Mdp, episodes: int, delta: str) -> dict[str, Any]:
    member, default = scenario.members[index], scenario.privacy
    mechanism = TrajectoryMechanism(
        mdp,
        epsilon=default.epsilon if member.epsilon is None else member.epsilon,
        adjacency=default.adjacency if member.adjacency is None else member.adjacency,
    )
    episode = mechanism.planned()
    composed = accountant.cost([mechanism.planned(episodes)], delta=delta)
    seen_by = [scenario.members[i].name for i, j in scenario.graph.edges if j == index]
    return {
        'name': member.name,
        'seen_by': seen_by,
        'protected': str(episode.unit),
        'neighbours': episode.unit.neighbours.name,
        'bound': str(episode.unit.bound),
        'mechanism': episode.mechanism,
        'noise': _noise(mechanism),
        'states_told': scenario.planning.horizon,
        'episode': exactly(episode.loss),
        'episodes': {'count': episodes, **exactly(composed)},
        'error': _error(scenario, mechanism),
    }


def _noise(mechanism: TrajectoryMechanism) -> list[dict[str, float]]:
    """Return what is told with which probability, by the number of possible next states."""
    rho, tau = mechanism.mdp.out_degree, mechanism.true_transition
    return [
        {
            'possible': int(n),
            'true': float(tau[rho == n][0]),
            'each_other': float((1 - tau[rho == n][0]) / (n - 1)) if n > 1 else 0.0,
        }
        for n in np.unique(rho)
    ]


def _error(scenario: Scenario, mechanism: TrajectoryMechanism) -> dict[str, Any]:
    """Compare told and true states over an episode; distances are in cells."""
    mdp = mechanism.mdp
    motions = {'wandering': mdp.tensor.mean(axis=1), 'standing': np.eye(mdp.n_states)}
    blind = np.full((mdp.n_states, mdp.n_states), mdp.n_states**-2.0)
    joints = {
        name: true_and_told(mechanism, motion, scenario.planning.horizon)
        for name, motion in motions.items()
    }
    error: dict[str, Any] = {'share': SHARE}
    for name, joint in {**joints, 'blind': blind}.items():
        error[name] = {'true': float(np.trace(joint))}
        if isinstance(scenario, Navigation):
            distance = _distances(scenario.grid.cells)
            error[name]['cells'] = distance_quantile(joint, distance, SHARE)
    return error


def _distances(cells: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    places = np.array(cells, dtype=float)
    return np.asarray(np.linalg.norm(places[:, None] - places[None], axis=2))


def _words(member: dict[str, Any]) -> str:
    episodes, states = member['episodes'], member['states_told']
    lines = [
        ('protected', f'the trajectory of {member["name"]}'),
        ('neighbours', member['protected']),
        (
            'mechanism',
            f'online {member["mechanism"]} mechanism: a private state each step, {states} at most',
        ),
        *(('noise', _noise_words(level)) for level in member['noise']),
        ('one episode', f'{_loss_words(member["episode"])}, however long it is'),
        ('', _odds_words(float(Fraction(member['episode']['epsilon'])))),
        (f'{episodes["count"]} episodes', _loss_words(episodes)),
        *_error_words(member['error']),
    ]
    width = max(len(key) for key, _ in lines)
    described = (f'  {key.ljust(width)}  {text}' for key, text in lines)
    head = f'{member["name"]} tells its private state to {" and ".join(member["seen_by"])}'
    return '\n'.join([head, *described])


def _odds_words(epsilon: float) -> str:
    if epsilon > LARGEST_EPSILON_WITH_MEANING:
        return 'so large an epsilon protects nothing'
    factor = math.exp(epsilon)
    times = f'{factor:.3g} times'
    return f'all that is told is at most {times} as likely for one trajectory as for a neighbour'


def _noise_words(level: dict[str, float]) -> str:
    return (
        f'of {level["possible"]} possible next states the true one is told with probability '
        f'{level["true"]:.3g}, each other one with {level["each_other"]:.3g}'
    )


def _loss_words(loss: dict[str, str]) -> str:
    exact = PrivacyLoss(epsilon=loss['epsilon'], delta=loss['delta'])
    return f'epsilon {plain(exact.epsilon)}, delta {plain(exact.delta)}'


def _error_words(error: dict[str, Any]) -> list[tuple[str, str]]:
    wandering, standing, blind = error['wandering'], error['standing'], error['blind']
    words = [
        (
            'truth told',
            f'at {wandering["true"]:.1%} of the steps if it wanders, {standing["true"]:.1%} if it '
            f'stands at its start (a blind guess: {blind["true"]:.1%})',
        )
    ]
    if 'cells' in blind:
        text = (
            f'within {wandering["cells"]:.3g} cells at {error["share"]:.0%} of the steps if it '
            f'wanders, {standing["cells"]:.3g} if it stands (a blind guess: {blind["cells"]:.3g})'
        )
        words.append(('error', text))
    return words


def _silent_words(name: str) -> str:
    return f'{name} tells nothing: nobody depends on it'
