"""What a robot notes of its steps: lateness, misses and stale news, and nothing of its state."""

from hypothesis import given
from hypothesis import strategies as st
from test_execution import (
    ACT,
    DEAF,
    ECHO,
    PERIOD,
    SLOT,
    MemoryWord,
    at,
    plan,
    take_step,
    told,
    truthful,
)

from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.execution import Part
from dp_multiagent.planning.step_record import REMEMBERED, StepRecord


def recorded(record, uniform=0.5, **changes):
    return Part(
        plan(**changes),
        LocalPolicy(1, (0,), ECHO, DEAF),
        truthful(),
        MemoryWord(),
        initial=(0, 0),
        uniform=lambda: uniform,
        record=record,
    )


def counts(record):
    return (record.told, record.missed, record.overslept, record.stale, record.alone)


def test_new_record_is_empty():
    record = StepRecord()
    assert counts(record) == (0, 0, 0, 0, 0)
    assert (record.median_late_ns, record.max_late_ns) == (0, 0)


def test_lateness_is_the_time_after_the_slot():
    record = StepRecord()
    part = recorded(record)
    for step, late in enumerate((0, 7, 50)):
        part.advance(at(step), 1)
        part.advance(at(step, SLOT + late), 1)
    assert (record.told, record.median_late_ns, record.max_late_ns) == (3, 7, 50)


def test_lateness_of_old_steps_is_forgotten():
    record = StepRecord()
    for late in (10**6, *range(REMEMBERED)):
        record.tell(late)
    assert record.told == REMEMBERED + 1
    assert record.max_late_ns == REMEMBERED - 1


def test_robot_that_is_on_time_and_hears_all_has_nothing_to_report():
    record = StepRecord()
    part = recorded(record)
    for step in range(4):
        part.hear(told(step, 1))
        take_step(part, step)
    assert counts(record) == (4, 0, 0, 0, 0)


def test_state_that_was_sensed_too_late_to_be_told_is_missed():
    record = StepRecord()
    part = recorded(record)
    part.advance(at(0, 3 * SLOT), 1)
    part.advance(at(0, ACT), 1)
    assert counts(record) == (0, 1, 0, 0, 0)


def test_steps_that_the_robot_slept_through_are_missed():
    record = StepRecord()
    part = recorded(record, max_stale=9)
    take_step(part, 0)
    take_step(part, 4)
    assert counts(record) == (2, 3, 0, 1, 0)


def test_steps_before_a_robot_joined_are_not_missed():
    record = StepRecord()
    take_step(recorded(record, max_stale=9), 3)
    assert counts(record) == (1, 0, 0, 1, 0)


def test_robot_that_wakes_up_in_the_next_step_missed_and_overslept_one():
    record = StepRecord()
    part = recorded(record)
    part.advance(at(1), 1)
    part.advance(at(2), 1)
    assert counts(record) == (0, 1, 1, 0, 0)


def test_robot_that_told_and_then_slept_over_the_step_overslept_it():
    record = StepRecord()
    part = recorded(record)
    part.advance(at(1), 1)
    part.advance(at(1, SLOT), 1)
    part.advance(at(2, ACT), 1)
    assert counts(record) == (1, 0, 1, 0, 0)


def test_steps_with_old_news_and_those_with_too_old_news_are_counted():
    record = StepRecord()
    part = recorded(record, max_stale=2)
    part.hear(told(1, 1))
    for step in (1, 2, 3, 4):
        take_step(part, step)
    assert (record.stale, record.alone) == (3, 1)


def test_oldest_of_several_teammates_counts():
    record = StepRecord()
    record.listen([0, 3, 1], max_stale=2)
    record.listen([0, 2], max_stale=2)
    record.listen([], max_stale=2)
    assert (record.stale, record.alone) == (2, 1)


STATES = st.lists(st.none() | st.integers(0, 2), min_size=6, max_size=6)


@given(
    one=STATES,
    other=STATES,
    uniforms=st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)),
    calls=st.lists(st.integers(0, 5 * PERIOD), max_size=20),
    heard=st.sets(st.integers(0, 5)),
)
def test_record_depends_neither_on_where_the_robot_is_nor_on_what_it_does(
    one, other, uniforms, calls, heard
):
    records = []
    for states, uniform in zip((one, other), uniforms, strict=True):
        record = StepRecord()
        part = recorded(record, uniform, max_stale=1)
        for call in sorted(calls):
            for step in heard:
                if step * PERIOD <= call:
                    part.hear(told(step, 1))
            part.advance(at(0, call), states[call // PERIOD])
        records.append((counts(record), record.median_late_ns, record.max_late_ns))
    assert records[0] == records[1]
