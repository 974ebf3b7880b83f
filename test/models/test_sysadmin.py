import itertools

import numpy as np

from dp_multiagent.models import scenarios
from dp_multiagent.models.sysadmin import ACTIONS, IN_REPAIR, NOMINAL, OFFLINE


def game():
    return scenarios.load(scenarios.find('sysadmin')).game()


def test_shipped_dynamics_are_those_of_the_authors_code():
    wait, repair = (game().agents[0].tensor[:, a] for a in range(len(ACTIONS)))
    np.testing.assert_array_equal(
        wait, [[0.9, 0.1, 0, 0], [0, 0.9, 0, 0.1], [0.9, 0, 0.1, 0], [0, 0, 0, 1]]
    )
    np.testing.assert_array_equal(repair, [[0, 0, 1, 0]] * 4)


def test_target_and_failures_by_counting_every_joint_state():
    sysadmin = game()
    for state in itertools.product(range(4), repeat=4):
        failed = state.count(IN_REPAIR) > 2 or state.count(OFFLINE) > 2
        assert sysadmin.avoid[state] == failed
        assert sysadmin.target[state] == (state.count(NOMINAL) == 4)
