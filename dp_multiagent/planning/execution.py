"""One robot's part in an episode of a plan: Algorithm 2 with the step protocol, without clocks.

Step k of an episode begins at t_k = start + k period. A step has three moments:

    t_k                       sense: note the own state s_k and draw the private state p_k
    t_k + slot                tell p_k
    t_k + deadline period     act: sample a_k from pi_i(. | s_k, private states of the observed)

with slot = deadline period / SLOTS. How long a draw takes depends on the state, so what was drawn
leaves at a time that was fixed before: the first multiple of the slot after the sensing began. A
robot that comes too late for the last slot tells nothing in this step, one that comes after the
deadline takes no part in it. The next step finds it again by the clock: that is also how one that
starts late or was restarted catches up. At step 0 the private state is the public initial one.

The private state of an observed robot is the newest that is not of a later step. It may be
`max_stale` steps old; then the robot acts by its own state alone. A robot that does not know its
state holds, and tells what it would tell if it had stayed where it last was, because silence would
tell that it is lost.

(Chen et al., algorithm 2; the step protocol is ours.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import FloatArray, LocalPolicy, PrivateState, TeamPlan
from dp_multiagent.planning.step_record import StepRecord
from dp_multiagent.privacy.trajectory import TrajectoryMechanism

SLOTS = 4
BOARDING_NS = 10 * 10**9
AHEAD = 8  # steps that another's clock may be ahead; farther words could be without end


class Word(Protocol):
    """A private word that is paid for, as a ledger keeps it."""

    @property
    def step(self) -> int: ...  # noqa: D102
    @property
    def state(self) -> int: ...  # noqa: D102

    def tell(self, step: int, draw: Callable[[int], int]) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Timetable:
    """When the moments of a plan's steps are, in nanoseconds."""

    plan: TeamPlan

    def begin(self, step: int) -> int:
        """Return t_k."""
        return self.plan.start_ns + step * self.plan.period_ns

    def act(self, step: int) -> int:
        """Return the deadline of a step, at which the robot acts."""
        return self.begin(step) + round(self.plan.deadline * self.plan.period_ns)

    def tell(self, step: int, sensed_ns: int) -> int:
        """Return the slot in which a robot tells that began to sense at a time of this step."""
        begin, length = self.begin(step), self.act(step) - self.begin(step)
        slot = (sensed_ns - begin) * SLOTS // length + 1
        return begin + slot * length // SLOTS

    @property
    def end(self) -> int:
        """Return the time at which the episode is over."""
        return self.begin(self.plan.horizon)

    def step(self, now_ns: int) -> int:
        """Return the step in which a time lies; it is negative before the start."""
        return (now_ns - self.plan.start_ns) // self.plan.period_ns

    def entry(self, now_ns: int) -> int | None:
        """Return the first time from now on at which a robot can join, None if it is too late.

        Paying for the episode takes time, so it joins before the first step begins.
        """
        step = max(self.step(now_ns), 0)
        if now_ns >= self.act(step):
            step += 1
        if step >= self.plan.horizon:
            return None
        return max(now_ns, self.begin(step) - (BOARDING_NS if step == 0 else 0))


class Move(NamedTuple):
    """An action, and the state in which it was chosen."""

    state: int
    action: int


@dataclass(frozen=True)
class Orders:
    """What a robot has to do now: tell a private state, make a move, or nothing."""

    tell: PrivateState | None = None
    move: Move | None = None


class Part:
    """The part of one robot in one episode, told the time, its state and what others tell.

    `initial` are the public initial states of all robots; `uniform` draws from [0, 1); `record`
    notes how the protocol was kept.
    """

    def __init__(
        self,
        plan: TeamPlan,
        policy: LocalPolicy,
        mechanism: TrajectoryMechanism,
        word: Word,
        *,
        initial: Sequence[int],
        uniform: Callable[[], float],
        record: StepRecord | None = None,
    ) -> None:
        mdp = mechanism.mdp
        if policy.own_state.shape != (mdp.n_states, mdp.n_actions):
            raise ModelError(f'policy of robot {policy.robot}: it is for another robot')
        self.plan, self.policy = plan, policy
        self.times = Timetable(plan)
        self._record = StepRecord() if record is None else record
        self._mechanism, self._word, self._uniform = mechanism, word, uniform
        self._heard = {j: {0: initial[j]} for j in policy.observed}
        self._step = -1
        self._state: int | None = None
        self._last_known: int | None = None
        self._tell_ns = 0
        self._untold: PrivateState | None = None
        self._undecided = False

    def hear(self, told: PrivateState) -> None:
        """Take in what another robot tells of a step about now; the first word on it counts."""
        heard = self._heard.get(told.robot)
        if heard is not None and min(heard) <= told.step <= max(self._step, 0) + AHEAD:
            heard.setdefault(told.step, told.state)

    def advance(self, now_ns: int, state: int | None) -> Orders:
        """Do what is due at a time; `state` is where the robot is, None if it does not know."""
        step = self.times.step(now_ns)
        is_new = max(self._step + 1, self._word.step) <= step < self.plan.horizon
        if is_new and now_ns < self.times.act(step):
            self._sense(step, now_ns, state)
        return Orders(self._due_word(now_ns), self._due_move(now_ns))

    def due_ns(self, now_ns: int) -> int:
        """Return when there is something to do next; the end of the episode if nothing is."""
        if self._untold is not None:
            return self._tell_ns
        if self._undecided:
            return self.times.act(self._step)
        following = max(self._step, self.times.step(now_ns), -1) + 1
        return self.times.begin(min(following, self.plan.horizon))

    def _sense(self, step: int, now_ns: int, state: int | None) -> None:
        if state is not None:
            self._last_known = state
        self._note_what_was_missed(step)
        true_state = self._word.state if self._last_known is None else self._last_known
        told = self._word.tell(step, lambda last: self._mechanism.release(true_state, last))
        self._step, self._state, self._undecided = step, state, True
        self._tell_ns = self.times.tell(step, now_ns)
        self._untold = PrivateState(
            self.plan.plan_id, self.plan.episode, step, self.policy.robot, told
        )

    def _note_what_was_missed(self, step: int) -> None:
        if self._step >= 0:
            self._record.miss(step - self._step - 1 + (self._untold is not None))
        if self._undecided:
            self._record.oversleep()

    def _due_word(self, now_ns: int) -> PrivateState | None:
        if self._untold is None or now_ns < self._tell_ns:
            return None
        told, self._untold = self._untold, None
        if now_ns >= self.times.act(self._step):
            self._record.miss(1)
            return None
        self._record.tell(now_ns - self._tell_ns)
        return told

    def _due_move(self, now_ns: int) -> Move | None:
        if not self._undecided or now_ns < self.times.act(self._step):
            return None
        self._undecided = False
        if self.times.step(now_ns) > self._step:
            self._record.oversleep()
            return None
        ages = self._ages(self._step)
        self._record.listen(ages.values(), max_stale=self.plan.max_stale)
        if self._state is None:
            return None
        row = self._row(self._step, self._state, ages)
        return Move(self._state, draw(row, self._uniform()))

    def _ages(self, step: int) -> dict[int, int]:
        """Return how old the newest states of the observed robots are, and forget older ones."""
        ages = {}
        for j in self.policy.observed:
            newest = max(k for k in self._heard[j] if k <= step)
            self._heard[j] = {k: told for k, told in self._heard[j].items() if k >= newest}
            ages[j] = step - newest
        return ages

    def _row(self, step: int, state: int, ages: Mapping[int, int]) -> FloatArray:
        """Return pi_i(. | o) for what the robot observes at a step."""
        if max(ages.values(), default=0) > self.plan.max_stale:
            return np.asarray(self.policy.own_state[state])
        observation = (state, *(self._heard[j][step - age] for j, age in ages.items()))
        table = self.policy.table
        if self.policy.by_step:
            table = table[min(step, self.policy.steps - 1)]
        return np.asarray(table[observation])


def draw(probabilities: FloatArray, uniform: float) -> int:
    """Map a uniform in [0, 1) to an index that has the given probabilities."""
    cumulative = np.cumsum(probabilities)
    index = int(np.searchsorted(cumulative, uniform * cumulative[-1], side='right'))
    return min(index, int(np.flatnonzero(probabilities)[-1]))
