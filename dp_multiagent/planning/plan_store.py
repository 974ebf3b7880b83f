"""The plans of a planner on its disk: which one is in force, and which episode of it.

A folder holds every plan as `<identity>.npz` and `current.json`. The identity of a plan is the
start of its file's SHA-256. The number of an episode names what robots charge to their ledgers, so
it is written before the episode is announced and is never given twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models.plan import LocalPolicy, TeamPlan
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.plan_file import Plan

ID_BYTES = 16
MOST_STALE = 2**16 - 1
NEVER_NS = (2**31 - 1) * 10**9  # the last second that a ROS time can state


@dataclass(frozen=True)
class Pace:
    """How fast a team executes a plan: the fields of a TeamPlan of the same names."""

    period_ns: int
    deadline: float
    max_stale: int

    def __post_init__(self) -> None:
        if self.period_ns <= 0 or not 0 < self.deadline < 1:
            raise ModelError('the period must be positive, the deadline between 0 and 1')
        if not 0 <= self.max_stale <= MOST_STALE:
            raise ModelError(f'max_stale must be from 0 to {MOST_STALE}')


@dataclass(frozen=True, eq=False)
class Offer:
    """A plan that is in force; `start_ns` is None until its first episode is announced."""

    plan_id: bytes
    plan: Plan
    episode: int = 0
    start_ns: int | None = None

    @property
    def policies(self) -> tuple[LocalPolicy, ...]:
        """Return the policies; those with a table per step have one for every step."""
        horizon = self.plan.parsed().planning.horizon
        return tuple(_padded(policy, horizon) for policy in self.plan.policies)

    def team_plan(self, pace: Pace) -> TeamPlan:
        """Return what the team must know; an episode that was not announced never starts."""
        scenario = self.plan.parsed()
        return TeamPlan(
            plan_id=self.plan_id,
            game=scenario.players.fingerprint,
            episode=self.episode,
            start_ns=NEVER_NS if self.start_ns is None else self.start_ns,
            period_ns=pace.period_ns,
            deadline=pace.deadline,
            horizon=scenario.planning.horizon,
            max_stale=pace.max_stale,
            robots=tuple(member.name for member in scenario.members),
            graph=self.plan.graph,
            epsilon=self.plan.epsilon,
            adjacency=self.plan.adjacency,
        )


class PlanStore:
    """A folder of plans; it is made if it is not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._current = folder / 'current.json'
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DpMultiagentError(f'{folder}: cannot be made: {error.strerror}') from None

    def offer(self) -> Offer | None:
        """Return the plan in force, None if there never was one."""
        if not self._current.exists():
            return None
        state = self._read()
        plan_id = bytes.fromhex(state['plan'])
        plan = plan_file.load(self._file(plan_id))
        episode, start_ns = state['episodes'].get(plan_id.hex(), (0, None))
        return Offer(plan_id, plan, episode, start_ns)

    def keep(self, plan: Plan) -> Offer:
        """Write a plan and put it in force."""
        draft = self._folder / f'draft-{os.getpid()}.npz'
        plan_file.save(plan, draft)
        return self._put_in_force(draft, plan)

    def adopt(self, path: Path) -> Offer:
        """Put the plan of a file in force, and go on counting if it was in force before."""
        return self.keep(plan_file.load(path))

    def announce(self, offer: Offer, start_ns: int) -> Offer:
        """Give the next episode of a plan its number and start, on the disk."""
        state = self._read()
        episode, last_start_ns = state['episodes'].get(offer.plan_id.hex(), (0, None))
        if last_start_ns is not None:
            episode += 1
        state['episodes'][offer.plan_id.hex()] = [episode, start_ns]
        self._write(state)
        return replace(offer, episode=episode, start_ns=start_ns)

    def _put_in_force(self, draft: Path, plan: Plan) -> Offer:
        plan_id = hashlib.sha256(draft.read_bytes()).digest()[:ID_BYTES]
        _synchronise(draft)
        draft.replace(self._file(plan_id))
        state = self._read() if self._current.exists() else {'episodes': {}}
        state['plan'] = plan_id.hex()
        self._write(state)
        return Offer(plan_id, plan, *state['episodes'].get(plan_id.hex(), (0, None)))

    def _file(self, plan_id: bytes) -> Path:
        return self._folder / f'{plan_id.hex()}.npz'

    def _read(self) -> dict[str, Any]:
        try:
            state = json.loads(self._current.read_text(encoding='utf-8'))
            bytes.fromhex(state['plan'])
            for episode, start_ns in state['episodes'].values():
                _ = episode + (start_ns or 0)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ModelError(f'{self._current}: is damaged; remove it and plan again') from None
        return dict(state)

    def _write(self, state: dict[str, Any]) -> None:
        draft = self._current.with_suffix('.draft')
        try:
            draft.write_text(json.dumps(state), encoding='utf-8')
            _synchronise(draft)
            draft.replace(self._current)
            _synchronise(self._folder)
        except OSError as error:
            raise DpMultiagentError(f'{draft}: cannot be written: {error.strerror}') from None


def announcement(plan: TeamPlan) -> str:
    """Return how the planner names an episode to who asked for it."""
    seconds, rest = divmod(plan.start_ns, 10**9)
    return f'episode {plan.episode} starts at {seconds}.{rest:09d}'


def _padded(policy: LocalPolicy, horizon: int) -> LocalPolicy:
    missing = horizon - policy.steps if policy.by_step else 0
    rest = np.repeat(policy.table[-1:], missing, axis=0)
    return replace(policy, table=np.concatenate([policy.table, rest])) if missing else policy


def _synchronise(path: Path) -> None:
    """Return when a file, or the names in a folder, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
