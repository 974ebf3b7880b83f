"""A releasing process that is killed at random moments never tells what is not paid for."""

import random
import subprocess
import time
from collections import defaultdict

import pytest
from ledgers import TRAJECTORY, new_ledger, releasing

from dp_multiagent.privacy.ledger_check import read

KILLS = 200
FEWER_KILLS = 50
KILLS_PER_LEDGER = 10
LONGEST_LIFE_SECONDS = 0.03


class Robot:
    """A ledger, what was told, and a process that is started and killed again and again."""

    def __init__(self, directory, mode):
        directory.mkdir()
        self.mode = mode
        self.path = directory / 'robot.ledger'
        self.file = directory / 'told'
        self.file.touch()
        new_ledger(self.path, epsilon=1000).close()

    def live_for(self, seconds):
        program = releasing(self.mode, self.path, self.file)
        with subprocess.Popen(**program, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == 'ready\n'
            time.sleep(seconds)
            assert process.poll() is None, 'it was to be killed, but ended on its own'
            process.kill()

    @property
    def told(self):
        return self.file.read_text().splitlines()

    @property
    def paid(self):
        """Return how many releases are paid for; a ledger with a fault is refused."""
        return read(self.path).books.accounts[TRAJECTORY].releases


def lives_of(mode, kills, directory, seed):
    """Start and kill; yield each time the robot and how often it was killed."""
    moments = random.Random(seed)
    for life in range(kills):
        if life % KILLS_PER_LEDGER == 0:
            robot = Robot(directory / str(life), mode)
        robot.live_for(moments.uniform(0, LONGEST_LIFE_SECONDS))
        yield robot, life % KILLS_PER_LEDGER + 1


@pytest.mark.parametrize(
    ('mode', 'kills', 'block'), [('one_by_one', KILLS, 1), ('in_blocks', FEWER_KILLS, 7)]
)
def test_no_kill_leaves_a_release_without_its_charge(tmp_path, mode, kills, block):
    lives_with_a_release = told = 0
    for robot, killed in lives_of(mode, kills, tmp_path, seed=1):
        before, told = told if killed > 1 else 0, len(robot.told)
        assert told <= robot.paid <= told + killed * block
        lives_with_a_release += told > before
    assert lives_with_a_release > kills / 4, 'killed too early to show anything'


def test_a_robot_that_tells_before_it_pays_is_noticed(tmp_path):
    lives = lives_of('told_before_it_is_paid', KILLS, tmp_path, seed=2)
    assert any(len(robot.told) > robot.paid for robot, _ in lives)


def test_a_killed_robot_goes_on_with_the_same_word_at_no_further_cost(tmp_path):
    states, price, longest = {}, 0, 0
    for robot, killed in lives_of('as_words', FEWER_KILLS, tmp_path, seed=3):
        if killed == 1 or not states:
            price = robot.paid
        assert robot.paid == price <= killed
        states = defaultdict(set)
        for line in robot.told:
            step, state = line.split()
            states[int(step)].add(state)
        assert all(len(told) == 1 for told in states.values())
        assert sorted(states) == list(range(len(states)))
        longest = max(longest, len(states))
    assert longest > KILLS_PER_LEDGER
