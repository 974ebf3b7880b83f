"""What plans may take of a robot's privacy, and how fast."""

from dataclasses import replace

import pytest
from test_execution import plan

from dp_multiagent.errors import ModelError
from dp_multiagent.planning.allowance import Allowance

SECOND = 10**9
REST = 30
ONE = plan(epsilon=(5.0, 2.0))
OTHERS = [replace(ONE, plan_id=bytes([i] * 16)) for i in range(1, 4)]


def allowance(epsilon=2.0, rest=REST):
    return Allowance(1, epsilon=epsilon, rest=rest)


def test_plan_that_costs_what_the_robot_gives_is_not_refused():
    allowance().refuse_dear_plan(ONE)


@pytest.mark.parametrize('epsilon', [2.0000001, 1e308])
def test_dearer_plan_is_refused_with_both_numbers(epsilon):
    with pytest.raises(ModelError, match=r'costs epsilon .* gives at most 2 \(--epsilon\)'):
        allowance().refuse_dear_plan(replace(ONE, epsilon=(0.0, epsilon)))


@pytest.mark.parametrize(
    ('seconds', 'rests'), [(99, False), (100, True), (129.999, True), (130, False)]
)
def test_robot_rests_from_when_it_enters_an_episode(seconds, rests):
    allowed = allowance()
    assert not allowed.rests(100 * SECOND)
    allowed.enter(100 * SECOND)
    assert allowed.rests(round(seconds * SECOND)) is rests


def test_last_plan_waits_until_the_rest_is_over_and_is_given_once():
    allowed = allowance()
    allowed.enter(0)
    for other in OTHERS:
        allowed.keep(other)
        assert allowed.next_plan(REST * SECOND - 1) is None
    assert allowed.next_plan(REST * SECOND) == OTHERS[-1]
    assert allowed.next_plan(REST * SECOND) is None


def test_without_a_rest_no_plan_waits():
    allowed = allowance(rest=0)
    allowed.enter(7)
    assert not allowed.rests(7)


@pytest.mark.parametrize('given', [{'epsilon': -1.0}, {'epsilon': float('nan')}, {'rest': -1.0}])
def test_senseless_allowance_is_refused(given):
    with pytest.raises(ModelError, match=f'--{next(iter(given))}: '):
        allowance(**given)
