"""Units, losses and releases: what they refuse, what they mean, and their way through JSON."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_multiagent.errors import ModelError
from dp_multiagent.privacy.units import (
    Event,
    GaussianEvent,
    Neighbours,
    PrivacyLoss,
    PureEvent,
    Release,
    Unit,
)

positive = st.fractions(min_value=0).filter(bool)
units = st.one_of(
    st.builds(Unit, neighbours=st.just(Neighbours.DIFFERING_STATES), bound=st.integers(1)),
    st.builds(Unit, neighbours=st.just(Neighbours.ONE_ROBOT_TYPE), bound=st.just(1)),
    st.builds(
        Unit,
        neighbours=st.sampled_from(
            [
                Neighbours.ONE_REWARD_ENTRY,
                Neighbours.MESSAGE_INPUTS,
                Neighbours.STATES_WITHIN_L1,
            ]
        ),
        bound=positive,
    ),
)
deltas = st.fractions(0, 1).filter(lambda delta: delta < 1)
gaussian_events = st.builds(
    GaussianEvent, rho=st.fractions(min_value=0), distance=st.fractions(0, 1)
)


@st.composite
def releases(draw):
    loss = draw(st.builds(PrivacyLoss, epsilon=st.fractions(min_value=0), delta=deltas))
    pure = st.builds(PureEvent, epsilon=st.fractions(0, loss.epsilon))
    return Release(
        unit=draw(units),
        mechanism=draw(st.text(min_size=1)),
        loss=loss,
        event=draw(st.one_of(pure, gaussian_events)),
        count=draw(st.integers(1)),
    )


def example(**changes):
    parts = {
        'unit': Unit(neighbours=Neighbours.ONE_REWARD_ENTRY, bound='1/2'),
        'mechanism': 'laplace',
        'loss': PrivacyLoss(epsilon='0.1', delta=0),
        'event': PureEvent(epsilon='0.1'),
        'count': 7,
    }
    return Release(**{**parts, **changes})


@given(releases())
def test_a_release_comes_back_from_json(release):
    assert Release.from_json(release.to_json()) == release


def test_json_of_a_release_is_fixed_because_ledgers_hash_it():
    assert example().to_json() == (
        '{"count":7,"event":{"epsilon":"1/10","kind":"pure"},'
        '"loss":{"delta":"0","epsilon":"1/10"},"mechanism":"laplace",'
        '"unit":{"bound":"1/2","neighbours":"ONE_REWARD_ENTRY"}}'
    )


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        (('event', 'kind'), 'novel'),
        (('event', 'kind'), 'gaussian'),
        (('event', 'rho'), '1'),
        (('extra',), 1),
        (('count',), '7'),
        (('count',), 0),
        (('count',), True),
        (('count',), 7.0),
        (('loss', 'epsilon'), 0.1),
        (('loss', 'epsilon'), '2/20'),
        (('loss', 'epsilon'), '1/0'),
        (('loss', 'epsilon'), 'inf'),
        (('loss', 'delta'), '1'),
        (('unit',), None),
        (('unit', 'neighbours'), 'ANYONE'),
        (('unit', 'bound'), '-1'),
        (('mechanism',), ''),
    ],
)
def test_json_that_to_json_would_not_write_is_refused(path, value):
    document = json.loads(example().to_json())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    text = json.dumps(document, sort_keys=True, separators=(',', ':'))
    with pytest.raises(ModelError):
        Release.from_json(text)


@pytest.mark.parametrize('text', ['', '[]', 'null', '{}', '{"count":7,"count":7}'])
def test_text_that_is_no_release_is_refused(text):
    with pytest.raises(ModelError, match='not a release'):
        Release.from_json(text)


def test_the_same_json_with_other_spaces_is_refused():
    with pytest.raises(ModelError, match='not what to_json writes'):
        Release.from_json(example().to_json() + ' ')


def test_a_float_means_the_decimal_that_its_writer_wrote():
    assert PrivacyLoss(epsilon=0.1, delta=1e-5) == PrivacyLoss(epsilon='1/10', delta='1/100000')
    assert PrivacyLoss(epsilon=np.float64(0.1), delta=0).epsilon == Fraction(1, 10)
    assert 10 * PrivacyLoss(epsilon=0.1, delta=0).epsilon == 1


def test_a_fraction_means_itself():
    assert PrivacyLoss(epsilon=Fraction(0.1), delta=0).epsilon == Fraction(0.1) != Fraction(1, 10)


@pytest.mark.parametrize(
    ('epsilon', 'delta', 'match'),
    [
        (-1, 0, 'epsilon must not be negative'),
        (float('inf'), 0, 'epsilon must be finite'),
        (float('nan'), 0, 'epsilon must be finite'),
        ('one', 0, "'one' is not a number"),
        ('1/0', 0, "'1/0' is not a number"),
        (None, 0, 'epsilon must be a number'),
        (True, 0, 'epsilon must be a number'),
        (1, -1e-9, 'delta must be at least 0'),
        (1, 1, 'less than 1'),
    ],
)
def test_a_loss_that_is_none_is_refused(epsilon, delta, match):
    with pytest.raises(ModelError, match=match):
        PrivacyLoss(epsilon=epsilon, delta=delta)


def test_a_loss_has_no_nameless_numbers():
    with pytest.raises(TypeError):
        PrivacyLoss(1, 0)


@pytest.mark.parametrize(
    ('neighbours', 'bound', 'match'),
    [
        (Neighbours.DIFFERING_STATES, 0, 'bound must be positive'),
        (Neighbours.DIFFERING_STATES, 1.5, 'must be an integer'),
        (Neighbours.ONE_REWARD_ENTRY, -1, 'bound must be positive'),
        (Neighbours.MESSAGE_INPUTS, float('inf'), 'bound must be finite'),
        (Neighbours.ONE_ROBOT_TYPE, 2, 'one robot changes its type'),
        ('DIFFERING_STATES', 1, 'is not a relation of neighbours'),
    ],
)
def test_a_unit_that_is_none_is_refused(neighbours, bound, match):
    with pytest.raises(ModelError, match=match):
        Unit(neighbours=neighbours, bound=bound)


@pytest.mark.parametrize(
    ('neighbours', 'bound', 'text'),
    [
        (Neighbours.DIFFERING_STATES, 3, 'trajectories that differ in at most 3 states'),
        (
            Neighbours.ONE_REWARD_ENTRY,
            0.5,
            'reward tables that differ in one entry, by at most 1/2',
        ),
        (Neighbours.MESSAGE_INPUTS, 2, 'any inputs, whose messages have a norm of at most 2'),
        (Neighbours.ONE_ROBOT_TYPE, 1, 'teams in which 1 robot is of another type'),
        (Neighbours.STATES_WITHIN_L1, 3, 'state trajectories whose l1 distance is at most 3'),
    ],
)
def test_a_unit_says_what_it_protects(neighbours, bound, text):
    assert str(Unit(neighbours=neighbours, bound=bound)) == text


@pytest.mark.parametrize(
    ('change', 'match'),
    [
        ({'mechanism': ''}, 'must name its mechanism'),
        ({'unit': 'trajectory'}, 'unit must be of the type Unit'),
        ({'loss': 0.1}, 'loss must be of the type PrivacyLoss'),
        ({'event': 'pure'}, 'event must be of the type Event'),
        ({'count': 0}, 'count must be a positive integer'),
        ({'count': True}, 'count must be a positive integer'),
        ({'event': PureEvent(epsilon=1)}, 'the loss states less than the event'),
    ],
)
def test_a_release_that_is_none_is_refused(change, match):
    with pytest.raises(ModelError, match=match):
        example(**change)


@pytest.mark.parametrize(
    ('event', 'parameters', 'match'),
    [
        (PureEvent, {'epsilon': -1}, 'epsilon must not be negative'),
        (GaussianEvent, {'rho': -1, 'distance': 0}, 'rho must not be negative'),
        (GaussianEvent, {'rho': 1, 'distance': 2}, 'distance must be'),
    ],
)
def test_an_event_that_is_none_is_refused(event, parameters, match):
    with pytest.raises(ModelError, match=match):
        event(**parameters)


def test_an_event_of_an_unknown_kind_does_not_come_back():
    class Novel(Event):
        kind = 'novel'

    text = example(event=Novel()).to_json()
    with pytest.raises(ModelError, match='novel'):
        Release.from_json(text)
