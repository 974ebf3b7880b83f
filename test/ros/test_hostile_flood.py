"""A stranger who speaks on every team topic, fast, while a robot executes a plan in real time."""

import pytest
from siege import Outpost

RATE = 2_000
STEPS = 12
MOST_MISSED = STEPS // 2  # on a machine that does much else; it is none on an idle one


@pytest.fixture
def outpost(start, join, new_domain, tmp_path):
    return Outpost(start, join, new_domain, tmp_path)


def test_robot_tells_each_step_in_its_slot_in_a_flood_of_messages(outpost):
    found = outpost.run(steps=STEPS, rate=RATE)
    print(found)
    assert found['sent'] > RATE / 2
    assert found['refused'] > 100
    assert found['told'] + found['missed'] == STEPS
    assert found['missed'] <= MOST_MISSED
    assert found['charges'] == 1
    outpost.patient.assert_well(topics=8)


def test_forged_plans_neither_stop_an_episode_nor_drain_a_budget_within_the_rest(outpost):
    found = outpost.run(steps=STEPS, rate=RATE, how='forge')
    print(found)
    assert found['missed'] <= MOST_MISSED
    assert found['told'] + found['missed'] == STEPS
    assert found['charges'] == 1
    outpost.patient.assert_well(topics=8)
