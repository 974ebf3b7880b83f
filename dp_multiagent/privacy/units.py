"""What is protected, at which loss, and the release that an accountant counts.

A guarantee needs four things, and none of them is implied: what is protected and which inputs
are neighbours (`Unit`), how well (`PrivacyLoss`), and what was done (`Release`, with the `Event`
that says all that a tighter composition may use).

Losses are exact rationals. A float means the shortest decimal that names it, which is what its
writer wrote: 0.1 is 1/10, so that ten releases at 0.1 fit a budget of 1. For its binary value
pass Fraction(0.1). A number that was computed must be rounded up by whoever computed it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from dp_multiagent.errors import ModelError

Rational = Fraction | float | int | str


class Neighbours(Enum):
    """Which two inputs are neighbours, given the bound of the unit."""

    DIFFERING_STATES = 'trajectories that differ in at most {} states'
    ONE_REWARD_ENTRY = 'reward tables that differ in one entry, by at most {}'
    MESSAGE_INPUTS = 'any inputs, whose messages have a norm of at most {}'
    ONE_ROBOT_TYPE = 'teams in which {} robot is of another type'
    STATES_WITHIN_L1 = 'state trajectories whose l1 distance is at most {}'


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What a guarantee protects: any input is hard to tell from its neighbours.

    >>> print(Unit(neighbours=Neighbours.DIFFERING_STATES, bound=3))
    trajectories that differ in at most 3 states
    """

    neighbours: Neighbours
    bound: Fraction

    def __init__(self, *, neighbours: Neighbours, bound: Rational) -> None:
        if not isinstance(neighbours, Neighbours):
            raise ModelError(f'{neighbours!r} is not a relation of neighbours')
        exact_bound = exact('bound', bound)
        if exact_bound <= 0:
            raise ModelError(f'bound must be positive, not {bound}')
        if neighbours is Neighbours.DIFFERING_STATES and exact_bound.denominator != 1:
            raise ModelError(f'the number of differing states must be an integer, not {bound}')
        if neighbours is Neighbours.ONE_ROBOT_TYPE and exact_bound != 1:
            raise ModelError(f'one robot changes its type, not {bound}')
        object.__setattr__(self, 'neighbours', neighbours)
        object.__setattr__(self, 'bound', exact_bound)

    def __str__(self) -> str:
        return self.neighbours.value.format(self.bound)


@dataclass(frozen=True, kw_only=True)
class PrivacyLoss:
    """Outputs on neighbours differ by a factor of at most exp(epsilon), save for delta.

    >>> PrivacyLoss(epsilon=0.1, delta='1e-5')
    PrivacyLoss(epsilon=Fraction(1, 10), delta=Fraction(1, 100000))
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Rational, delta: Rational) -> None:
        object.__setattr__(self, 'epsilon', exact('epsilon', epsilon))
        object.__setattr__(self, 'delta', exact('delta', delta))
        if self.epsilon < 0:
            raise ModelError(f'epsilon must not be negative, but is {epsilon}')
        if not 0 <= self.delta < 1:
            raise ModelError(f'delta must be at least 0 and less than 1, not {delta}')


@dataclass(frozen=True, kw_only=True)
class Event:
    """What one release did, for accountants; they refuse the kinds that they do not know."""

    kind: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class PureEvent(Event):
    """A release whose outputs differ by a factor of at most exp(epsilon), always."""

    kind = 'pure'
    epsilon: Fraction

    def __init__(self, *, epsilon: Rational) -> None:
        object.__setattr__(self, 'epsilon', exact('epsilon', epsilon))
        if self.epsilon < 0:
            raise ModelError(f'epsilon must not be negative, but is {epsilon}')


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """A release with Gaussian noise, discrete or not, that is rho-zCDP.

    `distance` bounds the total variation between one input's output and what the continuous
    Gaussian mechanism with the same rho would release; only bounds that are derived for the
    continuous one need it.
    """

    kind = 'gaussian'
    rho: Fraction
    distance: Fraction

    def __init__(self, *, rho: Rational, distance: Rational) -> None:
        object.__setattr__(self, 'rho', exact('rho', rho))
        object.__setattr__(self, 'distance', exact('distance', distance))
        if self.rho < 0:
            raise ModelError(f'rho must not be negative, but is {rho}')
        if not 0 <= self.distance <= 1:
            raise ModelError(f'distance must be at least 0 and at most 1, not {distance}')


EVENTS: dict[str, type[Event]] = {kind.kind: kind for kind in (PureEvent, GaussianEvent)}


@dataclass(frozen=True, kw_only=True)
class Release:
    """`count` releases of one mechanism: each costs `loss` on its own."""

    unit: Unit
    mechanism: str
    loss: PrivacyLoss
    event: Event
    count: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str) or not self.mechanism:
            raise ModelError('a release must name its mechanism')
        for name, kind in (('unit', Unit), ('loss', PrivacyLoss), ('event', Event)):
            if not isinstance(getattr(self, name), kind):
                raise ModelError(f'{name} must be of the type {kind.__name__}')
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise ModelError(f'count must be a positive integer, not {self.count!r}')
        if isinstance(self.event, PureEvent) and self.event.epsilon > self.loss.epsilon:
            raise ModelError(f'the loss states less than the event, {self.event.epsilon}')

    def to_json(self) -> str:
        """Write the release as canonical JSON: the same release gives the same text."""
        document = {
            'unit': {'neighbours': self.unit.neighbours.name, 'bound': str(self.unit.bound)},
            'mechanism': self.mechanism,
            'loss': _texts(self.loss),
            'event': {'kind': self.event.kind, **_texts(self.event)},
            'count': self.count,
        }
        return json.dumps(document, sort_keys=True, separators=(',', ':'))

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release; anything but what `to_json` wrote is refused."""
        try:
            document = json.loads(text)
            unit = document['unit']
            parameters = dict(document['event'])
            release = cls(
                unit=Unit(neighbours=Neighbours[unit['neighbours']], bound=unit['bound']),
                mechanism=document['mechanism'],
                loss=PrivacyLoss(**document['loss']),
                event=EVENTS[parameters.pop('kind')](**parameters),
                count=document['count'],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f'not a release: {error}') from error
        if release.to_json() != text:
            raise ModelError('not a release: the text is not what to_json writes')
        return release


def exact(name: str, value: Rational) -> Fraction:
    """Return the rational that a number or its text means; see the module on floats."""
    if isinstance(value, bool) or not isinstance(value, Fraction | float | int | str):
        raise ModelError(f'{name} must be a number, not {value!r}')
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ModelError(f'{name} must be finite, not {value}')
        return Fraction(repr(float(value)))
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        raise ModelError(f'{name}: {value!r} is not a number') from error


def _texts(record: Any) -> dict[str, str]:
    """Return the rational fields of a record as texts."""
    return {field.name: str(getattr(record, field.name)) for field in fields(record)}
