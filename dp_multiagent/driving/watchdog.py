"""Stops the wheels when nobody steers any more, or when the pose cannot be trusted.

It stands between the navigator and the base. The navigator answers each pose with a velocity. The
wheels may turn only while each pose is answered within a control period P, the last pose is not
stale, no pose jumps farther than the limits allow, all lie in free cells of the map, and no value
is infinite or not a number. Otherwise the wheels are told to stand, and they stand until all this
has been so again for `resume_after`: who is off the map must be put back, or told a better pose.
Whatever is asked for, speeds stay within their limits, and so does what a robot gains in speed.

A stop is a command of zero at once, not a ramp: the base brakes as hard as it can. From a speed v
with a braking of b it stands after

    v tau + v^2 / (2 b) metres and tau + v / b seconds,

where the reaction time tau is at most the time between two poses plus P: an executor that dies
right after an answer is missed one P after the next pose. With 0.04 s each and the 4 m/s^2 of the
simulated base a robot at 0.35 m/s stands within 4.4 cm and 0.17 s; a ramp of 2 m/s^2 would need
5.9 cm and 0.26 s. From 1.2 m/s the best stop takes 28 cm. So who wants 5 cm and 0.2 s sets the
speed limit to 0.35 m/s, and that of turning to 3 rad/s, which the simulated base, braking with
30 rad/s^2, ends within 0.18 s.

An answer may overtake its pose on the way here: one that comes up to P / 2 before a pose answers
it. While nobody steers, each pose is followed by a zero at once. A simulation waits for an answer
to every pose, and its clock stands meanwhile: what comes at the same time as an answer that was
passed on already is not passed on, unless it stops the wheels. So time never runs ahead of who
steers.

Time is an argument, in nanoseconds. It should come from a clock that nobody sets: a step back by
more than P is one more reason to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from dp_multiagent.driving.floor import Floor, Pose, wrapped
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.pilot import STILL, Velocity
from dp_multiagent.errors import ModelError

FARTHEST = 1e6  # metres; no map is larger


class Cause(Enum):
    """Why the wheels stand."""

    START = 'nothing was heard yet'
    SILENCE = 'nobody answers the pose with a velocity'
    STALE = 'the pose is stale'
    JUMP = 'the pose jumps'
    OFF_MAP = 'the pose is off the map or in a wall'
    SENSELESS = 'a pose or a velocity is not finite'
    CLOCK = 'the clock went back'


@dataclass(frozen=True)
class Rules:
    """When the wheels must stand; in seconds, metres and radians."""

    period: float = 0.04
    stale_after: float = 0.08
    resume_after: float = 0.2
    slack: float = 0.05
    turn_slack: float = 0.2

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0):
                raise ModelError(f'{name} {value} is not above zero')
        if self.stale_after < self.period:
            raise ModelError(f'stale_after {self.stale_after} is less than the control period')


@dataclass(frozen=True)
class Stop:
    """How far and how long a robot still goes when it is told to stand."""

    distance: float
    seconds: float

    @classmethod
    def of(cls, speed: float, *, braking: float, reaction: float) -> Stop:
        """Return the stop from a speed.

        >>> Stop.of(0.5, braking=1.0, reaction=0.25)
        Stop(distance=0.25, seconds=0.75)
        """
        return cls(speed * reaction + speed**2 / (2 * braking), reaction + speed / braking)


class Watchdog:
    """Turns poses and wanted velocities into velocities that may be driven.

    `cause` says why the wheels stand, None while they may turn.
    """

    def __init__(self, floor: Floor, limits: Limits, rules: Rules | None = None) -> None:
        rules = Rules() if rules is None else rules
        self._floor, self._limits, self._rules = floor, limits, rules
        self._period_ns = round(rules.period * 1e9)
        self._stale_ns = round(rules.stale_after * 1e9)
        self._resume_ns = round(rules.resume_after * 1e9)
        self.cause: Cause | None = Cause.START
        self._now_ns: int | None = None
        self._is_silent = True
        self._sent, self._sent_ns = STILL, 0
        self._is_owed = False  # nothing was sent since the last pose
        self._pose: Pose | None = None
        self._is_placed = False
        self._seen_ns: int | None = None
        self._asked_ns: int | None = None  # the first pose without an answer
        self._early_ns: int | None = None  # an answer before its pose
        self._good_ns: int | None = None  # since when all has been well

    @property
    def is_waiting(self) -> bool:
        """Tell whether a pose waits for its answer."""
        return self._asked_ns is not None and not self._is_silent

    @property
    def due_ns(self) -> int:
        """Return when to call `tick` if nothing arrives before."""
        if self._asked_ns is not None and not self._is_silent:
            return self._asked_ns + self._period_ns
        if self.cause is None and self._seen_ns is not None:
            return self._seen_ns + self._stale_ns + 1
        return (self._now_ns or 0) + 2 * self._period_ns

    def see(self, pose: Pose | None, now_ns: int) -> Velocity | None:
        """Take in a pose, None if it makes no sense; return what to send now, None to wait."""
        now = self._pass_time(now_ns)
        self._is_owed = self._early_ns is None or now - self._early_ns > self._period_ns // 2
        self._early_ns = None
        if pose is None or not all(map(math.isfinite, pose)):
            self._stop(Cause.SENSELESS)
        else:
            self._judge(pose, now)
            self._pose, self._seen_ns = pose, now
            if self._asked_ns is None and self._is_owed:
                self._asked_ns = now
        must_say = self._is_silent or self._sent != STILL
        return self._send(STILL, now) if self.cause is not None and must_say else None

    def want(self, velocity: Velocity, now_ns: int) -> Velocity | None:
        """Take in a wanted velocity; return what to send now, None if there is no need to."""
        now = self._pass_time(now_ns)
        is_early = self._asked_ns is None and self._seen_ns is not None and now > self._seen_ns
        self._early_ns = now if is_early else None
        self._is_silent, self._asked_ns = False, None
        if not all(map(math.isfinite, velocity)):
            self._stop(Cause.SENSELESS)
        elif self.cause is not None:
            self._consider_resuming(now)
        allowed = self._cut(velocity, now) if self.cause is None else STILL
        stops = allowed == STILL != self._sent
        return self._send(allowed, now) if self._is_owed or is_early or stops else None

    def tick(self, now_ns: int) -> Velocity | None:
        """Look at the clock; return what to send now, None if all is well."""
        now = self._pass_time(now_ns)
        return self._send(STILL, now) if self.cause is not None else None

    def _pass_time(self, now: int) -> int:
        """Return the time, after noticing what should have arrived before it."""
        if self._now_ns is not None and now < self._now_ns - self._period_ns:
            self._stop(Cause.CLOCK)
            self._pose = self._seen_ns = self._asked_ns = self._early_ns = None
            self._is_placed = False
            self._now_ns = self._sent_ns = now
        self._now_ns = now = now if self._now_ns is None else max(now, self._now_ns)
        if self._asked_ns is not None and now - self._asked_ns >= self._period_ns:
            self._is_silent = True
            self._stop(Cause.SILENCE)
        if self._seen_ns is not None and now - self._seen_ns > self._stale_ns:
            self._stop(Cause.STALE)
        return now

    def _stop(self, cause: Cause) -> None:
        self.cause, self._good_ns = cause, None

    def _judge(self, pose: Pose, now: int) -> None:
        is_far = math.hypot(pose.x, pose.y) > FARTHEST
        self._is_placed = not is_far and self._floor.cell_at(pose.x, pose.y) is not None
        if not self._is_placed:
            self._stop(Cause.OFF_MAP)
        elif self._jumps(pose, now):
            self._stop(Cause.JUMP)

    def _jumps(self, pose: Pose, now: int) -> bool:
        last = self._pose
        if last is None or self._seen_ns is None:
            return False
        seconds = (now - self._seen_ns) / 1e9
        limits, rules = self._limits, self._rules
        moved = math.hypot(pose.x - last.x, pose.y - last.y)
        turned = abs(wrapped(wrapped(pose.heading) - wrapped(last.heading)))
        return (
            moved > limits.speed * seconds + rules.slack
            or turned > limits.turn_speed * seconds + rules.turn_slack
        )

    def _consider_resuming(self, now: int) -> None:
        if not self._is_placed:
            return
        if self._good_ns is None:
            self._good_ns = now
        elif now - self._good_ns >= self._resume_ns:
            self.cause = None

    def _cut(self, wanted: Velocity, now: int) -> Velocity:
        seconds = min(now - self._sent_ns, self._stale_ns) / 1e9
        limits, last = self._limits, self._sent
        return Velocity(
            _cut(wanted.forward, last.forward, limits.speed, limits.acceleration * seconds),
            _cut(wanted.turn, last.turn, limits.turn_speed, limits.turn_acceleration * seconds),
        )

    def _send(self, velocity: Velocity, now: int) -> Velocity:
        self._sent, self._sent_ns, self._is_owed = velocity, now, False
        return velocity


def _cut(wanted: float, last: float, largest: float, gain: float) -> float:
    """Cut a speed to its limit, and to what may be gained; who slows down may do so at once."""
    kept = abs(last) if wanted * last > 0 else 0.0
    bound = min(kept + gain, largest)
    return min(max(wanted, -bound), bound)
