"""Somebody in the team's domain who listens to all there is, over twenty episodes."""

import itertools
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from attack import most_likely, play, what_is_told_next, what_was_told
from deployed import Deployed, reserve_team
from scipy import stats

from dp_multiagent.models import scenarios
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.driven import driven
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

ROBOTS = ('robot1', 'robot2')
ACTION = '/synthesize_policies/_action'
LISTED = {
    '/parameter_events',
    '/team_plan',
    f'{ACTION}/feedback',
    f'{ACTION}/status',
    *(f'/{name}/{topic}' for name in ROBOTS for topic in ('policy', 'private_state', 'budget')),
}
LISTED_SERVICES = {f'{ACTION}/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')}
EPISODES = 20
LEAST_STEPS = 80
ALPHA = 1e-6
PLAYED = 2000  # episodes in the model
HORIZON = 200


class Recorded:
    """What was heard, and what was true."""

    def __init__(self, lines, team):
        contents = [json.loads(line) for line in lines]
        self.names = contents[-1]
        self.messages = [content for content in contents if 'topic' in content]
        self.answered = {content['service'] for content in contents if 'service' in content}
        self.episodes = team.results.episodes()
        (path,) = (team.folder / 'plans').glob('*.npz')
        plan = plan_file.load(path)
        self.policies = plan.policies
        self.game = driven(scenarios.load(scenarios.find('navigation'))).game()
        self.index = driven(scenarios.load(scenarios.find('navigation'))).grid.index
        self.mechanisms = [
            TrajectoryMechanism(agent, epsilon=epsilon, adjacency=adjacency)
            for agent, epsilon, adjacency in zip(
                self.game.agents, plan.epsilon, plan.adjacency, strict=True
            )
        ]

    def words(self, episode):
        """Return the private states that each robot told in an episode, up to the first missed."""
        told = [{0: agent.initial} for agent in self.game.agents]
        for message in self.messages:
            if 'private_state' in message['topic'] and message['episode'] == episode:
                told[message['robot']][message['step']] = message['state']
        length = next(t for t in itertools.count() if any(t not in states for states in told))
        return [[states[t] for t in range(length)] for states in told]

    def heard(self):
        """Return the true states and the words of all episodes, as far as none was missed."""
        episodes = []
        for result in self.episodes:
            true, words = self.states(result), self.words(result.episode)
            length = min(len(true[0]), len(words[0]))
            if length > 1:
                episodes.append(([s[:length] for s in true], [w[:length] for w in words]))
        assert sum(len(true[0]) for true, _ in episodes) > LEAST_STEPS
        return episodes

    def states(self, result):
        """Return the true states of each robot in an episode."""
        return [[self.index[tuple(cells[i])] for cells in result.cells] for i in range(2)]


@pytest.fixture(scope='module')
def recorded(domain_cycle, tmp_path_factory):
    """Run the episodes while an eavesdropper is there."""
    folder = tmp_path_factory.mktemp('team')
    with ExitStack() as held:
        domain = reserve_team(domain_cycle, held)
        heard = folder / 'heard'
        program = Path(__file__).parent / 'programs' / 'eavesdropper.py'
        eavesdropper = subprocess.Popen([sys.executable, program, str(domain), heard])
        held.callback(eavesdropper.kill)
        team = Deployed(folder, domain, episodes=EPISODES)
        held.callback(team.close)
        team.start().wait_for_end(seconds=180)
        eavesdropper.terminate()
        assert eavesdropper.wait(timeout=30) == 0
        return Recorded(heard.read_text().splitlines(), team)


def test_nothing_stands_in_the_team_but_what_the_design_lists(recorded):
    assert set(recorded.names['topics']) == LISTED
    assert set(recorded.names['services']) == LISTED_SERVICES
    assert set(recorded.names['nodes']) == {'eavesdropper', 'planner', 'operator', *ROBOTS}


def test_services_could_be_called(recorded):
    assert f'{ACTION}/send_goal' in recorded.answered
    assert recorded.answered <= LISTED_SERVICES


def test_eavesdropper_heard_all_episodes(recorded):
    assert len(recorded.episodes) == EPISODES
    heard = {m['episode'] for m in recorded.messages if 'private_state' in m['topic']}
    assert heard == set(range(EPISODES))


def test_all_messages_of_a_topic_have_one_size(recorded):
    for topic in (f'/{name}/{kind}' for name in ROBOTS for kind in ('private_state', 'budget')):
        assert len({m['size'] for m in recorded.messages if m['topic'] == topic}) == 1


def hits(team, guess, robot, true, told):
    """Return at how many steps a guess is right, and of how many."""
    found = guess(team.game, team.policies, team.mechanisms, told, robot)
    return int(np.sum(found == np.array(true[robot][1:]))), len(found)


@pytest.fixture(scope='module')
def played(recorded):
    """Play episodes in the model."""
    rng = np.random.default_rng(1)
    team = recorded.game, recorded.policies, recorded.mechanisms
    return [play(*team, rng, HORIZON) for _ in range(PLAYED)]


@pytest.mark.parametrize('guess', [most_likely, what_was_told, what_is_told_next])
@pytest.mark.parametrize('robot', range(2))
def test_guess_is_no_better_than_the_mechanism_allows(recorded, played, robot, guess):
    """Compare an onlooker's hits with those of the same onlooker in the model."""
    allowed = [hits(recorded, guess, robot, *episode) for episode in played]
    rate = np.sum(allowed, axis=0)[0] / np.sum(allowed, axis=0)[1]
    spread = np.std([right - rate * steps for right, steps in allowed])
    heard = recorded.heard()
    right, steps = np.sum([hits(recorded, guess, robot, *episode) for episode in heard], axis=0)
    print(f'\nrobot {robot + 1}, {guess.__name__}: {right / steps:.3f} of {steps} steps are')
    print(f'guessed, in the model {rate:.3f}')
    limit = steps * rate + stats.norm.isf(ALPHA) * spread * np.sqrt(len(heard))
    assert right <= limit
    if guess is what_was_told:
        assert limit < steps / 2, 'who tells the truth would not be noticed'
