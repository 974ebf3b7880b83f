"""The step protocol in simulated time: who tells, acts and holds when; and that it succeeds."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import games
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.models.game import Swaps
from dp_multiagent.models.mdp import Mdp
from dp_multiagent.models.plan import Graph, LocalPolicy, PrivateState, TeamPlan
from dp_multiagent.planning.execution import AHEAD, BOARDING_NS, Move, Orders, Part, draw
from dp_multiagent.planning.rollouts import Rollouts
from dp_multiagent.planning.synthesis import synthesise
from dp_multiagent.planning.task import Task
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

START, PERIOD, ACT, SLOT = 1_000_000, 1000, 400, 100
HORIZON = 6
EPISODES = 300
CONFIDENCE = 0.999

# Any state follows any other; the action says which state the robot saw robot 1 in.
ANYWHERE = Mdp.from_tensor(np.full((3, 3, 3), 1 / 3), initial=0)
ECHO = np.broadcast_to(np.eye(3), (3, 3, 3))
DEAF = np.tile([0.0, 0.0, 1.0], (3, 1))


def plan(**changes):
    values = {
        'plan_id': bytes(16),
        'game': bytes(32),
        'episode': 4,
        'start_ns': START,
        'period_ns': PERIOD,
        'deadline': ACT / PERIOD,
        'horizon': HORIZON,
        'max_stale': 2,
        'robots': ('robot1', 'robot2'),
        'graph': Graph(((), (0,))),
        'epsilon': (1.0, 1.0),
        'adjacency': (1, 1),
    }
    return TeamPlan(**(values | changes))


class MemoryWord:
    """A word that is not written down."""

    def __init__(self, step=0, state=0):
        self.step, self.state = step, state

    def tell(self, step, draw_state):
        assert step >= self.step
        if step > self.step:
            self.step, self.state = step, draw_state(self.state)
        return self.state


def truthful():
    """Return a mechanism that practically always tells the truth."""
    return TrajectoryMechanism(ANYWHERE, epsilon=1000, adjacency=1)


def listener(*, word=None, mechanism=None, policy=None, **changes):
    return Part(
        plan(**changes),
        policy or LocalPolicy(1, (0,), ECHO, DEAF),
        mechanism or truthful(),
        word or MemoryWord(),
        initial=(0, 0),
        uniform=lambda: 0.5,
    )


def told(step, state):
    return PrivateState(bytes(16), 4, step, 0, state)


def at(step, offset=0):
    return START + step * PERIOD + offset


def take_step(part, step, state=1):
    """Go through the three moments of a step; return what was told and the action."""
    assert part.advance(at(step), state) == Orders()
    word = part.advance(at(step, SLOT), state).tell
    move = part.advance(at(step, ACT), state).move
    return word, move and move.action


def test_state_is_told_one_slot_after_it_is_sensed_and_the_action_follows_at_the_deadline():
    part = listener()
    assert part.due_ns(0) == at(0)
    assert part.advance(at(0) - 1, 1) == Orders()
    assert part.advance(at(0), 1) == Orders()
    assert part.due_ns(at(0)) == at(0, SLOT)
    assert part.advance(at(0, SLOT - 1), 1) == Orders()
    assert part.advance(at(0, SLOT), 1).tell == PrivateState(bytes(16), 4, 0, 1, 0)
    assert part.due_ns(at(0, SLOT)) == at(0, ACT)
    assert part.advance(at(0, ACT - 1), 1) == Orders()
    assert part.advance(at(0, ACT), 1) == Orders(move=Move(1, 0))
    assert part.due_ns(at(0, ACT)) == at(1)


def test_nothing_is_told_or_done_twice():
    part = listener()
    take_step(part, 0)
    for offset in (SLOT, ACT, PERIOD - 1):
        assert part.advance(at(0, offset), 1) == Orders()


def test_private_state_of_step_0_is_the_public_initial_one():
    word, _ = take_step(listener(word=MemoryWord(state=2)), 0, state=1)
    assert word.state == 2


def test_state_that_was_sensed_is_told_even_if_the_robot_has_moved_since():
    part = listener()
    part.advance(at(1), 1)
    assert part.advance(at(1, SLOT), 2).tell.state == 1


@given(late=st.integers(0, ACT - 1), calls=st.lists(st.integers(0, PERIOD - 1), max_size=5))
def test_time_of_telling_depends_only_on_when_sensing_began(late, calls):
    times = []
    for state in (0, 1, 2):
        part = listener()
        part.advance(at(1, late), state)
        times.append(part.due_ns(at(1, late)))
        told_at = [
            offset
            for offset in sorted(c for c in calls if c > late)
            if part.advance(at(1, offset), state).tell
        ]
        assert all(at(1, offset) >= times[-1] for offset in told_at)
    assert len(set(times)) == 1
    assert times[0] > at(1, late)
    assert (times[0] - at(1)) % SLOT == 0


def test_robot_that_senses_after_the_last_slot_acts_but_tells_nothing():
    part = listener()
    part.advance(at(1, 3 * SLOT), 1)
    orders = part.advance(at(1, ACT), 1)
    assert orders == Orders(move=Move(1, 0))


def test_robot_that_comes_after_the_deadline_waits_for_the_next_step():
    part = listener()
    assert part.advance(at(1, ACT), 1) == Orders()
    assert part.due_ns(at(1, ACT)) == at(2)
    assert part.advance(at(1, PERIOD - 1), 1) == Orders()
    assert take_step(part, 2)[0].step == 2


def test_robot_that_sleeps_over_a_deadline_neither_tells_nor_acts_late():
    part = listener()
    part.advance(at(1), 1)
    assert part.advance(at(2, ACT), 1) == Orders()
    assert take_step(part, 3)[0].step == 3


def test_episode_ends_at_the_horizon():
    part = listener()
    steps = [take_step(part, step)[0].step for step in range(HORIZON)]
    assert steps == list(range(HORIZON))
    assert part.due_ns(at(HORIZON - 1, ACT)) == part.times.end == at(HORIZON)
    assert part.advance(at(HORIZON), 1) == Orders()
    assert part.advance(at(HORIZON, ACT), 1) == Orders()


def test_action_follows_what_was_told_at_this_step():
    part = listener()
    take_step(part, 0)
    part.advance(at(1), 1)
    part.hear(told(1, 2))
    assert part.advance(at(1, ACT), 1).move.action == 2


def test_word_of_a_robot_that_is_ahead_waits_for_its_step():
    part = listener()
    part.hear(told(2, 2))
    part.hear(told(1, 1))
    assert [take_step(part, step)[1] for step in (0, 1, 2)] == [0, 1, 2]


def test_first_word_about_a_step_counts():
    part = listener()
    part.hear(told(0, 2))
    part.hear(told(1, 1))
    part.hear(told(1, 2))
    assert [take_step(part, step)[1] for step in (0, 1)] == [0, 1]


def test_word_about_a_step_that_is_far_ahead_is_not_kept():
    part = listener(horizon=100)
    for state in (1, 2):
        part.hear(told(1 + AHEAD, state))
    assert take_step(part, 1) == (PrivateState(bytes(16), 4, 1, 1, 1), 0)
    part.hear(told(1 + AHEAD, 2))
    assert take_step(part, 1 + AHEAD)[1] == 2


def test_endless_words_take_no_memory():
    part = listener(horizon=2**32 - 1)
    for step in (0, 1000, 2000):
        take_step(part, step)
        for other in range(5000):
            part.hear(told(other, 1))
    tracemalloc.start()
    for other in range(2000, 2**32 - 1, 10**6):
        part.hear(told(other, 1))
    assert tracemalloc.get_traced_memory()[0] < 10_000
    tracemalloc.stop()
    assert take_step(part, 2001)[1] == 1


def test_missing_word_is_replaced_by_the_last_one_until_it_is_too_old():
    part = listener(max_stale=2)
    part.hear(told(1, 1))
    assert [take_step(part, step)[1] for step in (1, 2, 3, 4)] == [1, 1, 1, 2]
    part.hear(told(5, 1))
    assert take_step(part, 5)[1] == 1


def test_initial_state_of_a_robot_that_never_starts_is_forgotten_too():
    part = listener(max_stale=1)
    assert [take_step(part, step)[1] for step in range(4)] == [0, 0, 2, 2]


def test_robots_that_are_not_observed_are_not_listened_to():
    part = listener()
    part.hear(PrivateState(bytes(16), 4, 0, 1, 2))
    assert take_step(part, 0)[1] == 0


def test_lost_robot_holds_and_goes_on_telling_where_it_last_was():
    part = listener()
    take_step(part, 1, state=2)
    word, action = take_step(part, 2, state=None)
    assert word.state == 2
    assert action is None
    assert take_step(part, 3, state=1) == (PrivateState(bytes(16), 4, 3, 1, 1), 2)


def test_robot_that_never_knew_its_state_repeats_the_last_private_one():
    word, action = take_step(listener(word=MemoryWord(step=1, state=2)), 2, state=None)
    assert (word.state, action) == (2, None)


def test_restarted_robot_repeats_the_word_of_the_step_and_goes_on():
    part = listener(word=MemoryWord(step=3, state=2))
    assert take_step(part, 3, state=1)[0].state == 2
    assert take_step(part, 4, state=1)[0].state == 1


def test_robot_whose_word_is_ahead_of_the_clock_is_quiet_until_then():
    part = listener(word=MemoryWord(step=3, state=2))
    assert take_step(part, 2) == (None, None)
    assert take_step(part, 3)[0].state == 2


def test_clock_that_goes_back_repeats_no_step():
    part = listener()
    take_step(part, 3)
    assert take_step(part, 2) == (None, None)
    assert part.due_ns(at(2)) == at(4)


def test_table_of_a_step_is_used_at_that_step_and_the_last_one_after_it():
    rows = np.eye(3)[[1, 2]]
    table = np.broadcast_to(rows[:, None, None, :], (2, 3, 3, 3))
    part = listener(policy=LocalPolicy(1, (0,), table, DEAF, by_step=True))
    assert [take_step(part, step)[1] for step in range(3)] == [1, 2, 2]


def test_policy_of_another_robot_is_refused():
    other = np.full((2, 3), 1 / 3)
    with pytest.raises(ModelError, match='another robot'):
        listener(policy=LocalPolicy(1, (), other, other))


@given(
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.01),
    uniform=st.floats(0, 1, exclude_max=True),
)
def test_draw_never_gives_what_has_no_probability(weights, uniform):
    probabilities = np.array(weights) / sum(weights)
    assert probabilities[draw(probabilities, uniform)] > 0


def test_draw_has_the_probabilities_it_should():
    probabilities = np.array([0.2, 0.0, 0.5, 0.3])
    uniforms = (np.arange(1000) + 0.5) / 1000
    counts = np.bincount([draw(probabilities, u) for u in uniforms], minlength=4)
    assert counts.tolist() == [200, 0, 500, 300]


class Team:
    """Parts that play in simulated time: what one tells, the others hear in the same step."""

    def __init__(self, task, policies, start, rng):
        self.task, self.rng = task, rng
        self.plan = plan(start_ns=start, horizon=task.horizon, graph=task.graph, episode=0)
        self.states = list(task.game.initial)
        self.parts = [
            Part(
                self.plan,
                policy,
                mechanism,
                MemoryWord(state=mechanism.mdp.initial),
                initial=task.game.initial,
                uniform=rng.random,
            )
            for policy, mechanism in zip(policies, task.mechanisms, strict=True)
        ]

    def succeeds(self):
        game, now = self.task.game, self.plan.start_ns
        while not game.target[tuple(self.states)]:
            if not game.active[tuple(self.states)] or now >= self.parts[0].times.end:
                return False
            before = tuple(self.states)
            now = min(part.due_ns(now) for part in self.parts)
            self._advance(now)
            if self._swapped(before):
                return False
        return True

    def _advance(self, now):
        orders = [part.advance(now, s) for part, s in zip(self.parts, self.states, strict=True)]
        for i, order in enumerate(orders):
            for part in self.parts if order.tell else ():
                part.hear(order.tell)
            if order.move:
                row = self.task.game.agents[i].tensor[order.move]
                self.states[i] = int(self.rng.choice(len(row), p=row))

    def _swapped(self, before):
        moved = before != tuple(self.states)
        swap = moved and before == tuple(reversed(self.states))
        return swap and self.task.game.swaps is Swaps.COLLISION


def frequency(task, policies, seed):
    rng = np.random.default_rng(seed)
    teams = (Team(task, policies, start, rng) for start in range(EPISODES))
    return Rollouts(sum(team.succeeds() for team in teams), EPISODES, CONFIDENCE)


def assert_agrees(task, policies, seed):
    low, high = frequency(task, policies, seed).interval
    assert low < task.private(policies).success < high


def navigation_task(swaps=Swaps.COLLISION):
    game = games.navigation_game(swaps)
    return Task(game, Graph(((), (0,))), (1.0, 1.0), (3, 3), 0.01, 0.4, 200)


@pytest.mark.parametrize('method', ['baseline', 'minimum-dependency'])
def test_success_of_the_protocol_is_the_exact_private_success_of_the_plan(method):
    task = navigation_task()
    assert_agrees(task, synthesise(task, method).best.policies, seed=1)


@pytest.mark.parametrize('seed', range(3))
def test_success_of_random_policies_by_step_is_their_exact_private_success(seed):
    game = games.random_game(seed)
    task = Task(game, Graph(((1,), ())), (2.0, 0.5), (1, 2), 0.0, 0.0, 8)
    rng = np.random.default_rng(seed)
    policies = games.random_policies(game, task.graph, rng, steps=5)
    assert 0.1 < task.private(policies).success < 0.9
    assert_agrees(task, policies, seed)


def test_robots_that_tell_the_truth_would_succeed_more_often_than_that():
    task = navigation_task()
    policies = synthesise(task, 'baseline').best.policies
    truthful_task = replace(task, epsilon=(30.0, 30.0), adjacency=(1, 1))
    low, _ = frequency(truthful_task, policies, seed=2).interval
    assert low > task.private(policies).success


@pytest.mark.parametrize(
    ('now', 'entry'),
    [
        (at(0) - BOARDING_NS - 1, at(0) - BOARDING_NS),
        (at(0) - 1, at(0) - 1),
        (at(0), at(0)),
        (at(2, ACT - 1), at(2, ACT - 1)),
        (at(2, ACT), at(3)),
        (at(HORIZON - 1, ACT), None),
        (at(HORIZON), None),
    ],
)
def test_robot_joins_a_step_before_its_deadline_or_the_next_one(now, entry):
    assert listener().times.entry(now) == entry


def test_times_of_all_moments_ascend():
    times = listener().times
    moments = [
        moment
        for step in range(3)
        for moment in (times.begin(step), times.tell(step, times.begin(step)), times.act(step))
    ]
    assert all(one < other for one, other in pairwise(moments))
