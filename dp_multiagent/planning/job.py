"""A synthesis that runs beside its caller: where it stands, how it ended, and a way to stop it."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from math import isfinite

from dp_multiagent.errors import DpMultiagentError, ModelError, ScenarioError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning.driven import driven_text
from dp_multiagent.planning.plan_file import Plan
from dp_multiagent.planning.request import SynthesisProgress, SynthesisReport, SynthesisRequest
from dp_multiagent.planning.synthesis import STARTS, Effort, Synthesis, synthesise
from dp_multiagent.planning.task import Task, task_of

PROGRESS_EVERY = 0.3  # seconds
NOTHING_YET = SynthesisProgress(
    iteration=0, objective=0.0, success_truthful=0.0, success_private=0.0, total_correlation=0.0
)


class Trouble(Enum):
    """Why there is no plan."""

    BAD_SCENARIO = 'the scenario cannot be read, or cannot be solved'
    BAD_REQUEST = 'a field of the request is out of range'
    CANCELLED = 'stopped on request'
    FAILED = 'anything else'


@dataclass(frozen=True)
class Failure:
    """How a synthesis failed, in one sentence; `details` are for the planner's own log."""

    trouble: Trouble
    sentence: str
    details: str = ''


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan, and how good it is."""

    plan: Plan
    report: SynthesisReport


class _CancelledError(Exception):
    """Raised inside the synthesis to leave it."""


class Job:
    """A synthesis in a thread of its own; `outcome` is None until it has ended."""

    def __init__(
        self, request: SynthesisRequest, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.progress = NOTHING_YET
        self._request = request
        self._clock = clock
        self._reported = clock()
        self._cancelled = threading.Event()
        self._outcome: Planned | Failure | None = None
        self.thread = threading.Thread(target=self._run, name='synthesis', daemon=True)

    def start(self) -> None:
        """Begin."""
        self.thread.start()

    def cancel(self) -> None:
        """End now as cancelled; the thread notices at its next iteration."""
        self._cancelled.set()

    @property
    def outcome(self) -> Planned | Failure | None:
        """Return how it ended, None while it runs."""
        if self._cancelled.is_set():
            return Failure(Trouble.CANCELLED, 'the synthesis was stopped on request')
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = plan_for(self._request, self._report, self._clock)
        except _CancelledError:
            return
        except _RefusedError as error:
            self._outcome = error.failure
        except DpMultiagentError as error:
            self._outcome = Failure(Trouble.FAILED, str(error))
        except Exception as error:  # nobody else would ever see it
            sentence = f'the planner failed: {type(error).__name__}'
            self._outcome = Failure(Trouble.FAILED, sentence, traceback.format_exc())

    def _report(self, compute: Callable[[], SynthesisProgress]) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        if self._clock() - self._reported >= PROGRESS_EVERY:
            self.progress = _finite(compute())
            self._reported = self._clock()


class _RefusedError(Exception):
    def __init__(self, trouble: Trouble, error: DpMultiagentError) -> None:
        self.failure = Failure(trouble, str(error))


def plan_for(
    request: SynthesisRequest,
    report: Callable[[Callable[[], SynthesisProgress]], None],
    clock: Callable[[], float],
) -> Planned:
    """Plan for a scenario as it is driven."""
    began = clock()
    name, text = _read(request.scenario)
    task = _task(text, name, request)
    try:
        found = synthesise(
            task,
            request.method,
            chosen=request.starts,
            effort=Effort(request.iterations, report=report),
        )
    except ModelError as error:
        raise _RefusedError(Trouble.BAD_SCENARIO, error) from None
    how_good = _judged(task, found, clock() - began)
    results = {'method': found.method, 'controls': found.controls, **asdict(how_good)}
    policies = found.best.policies
    graph = Graph(tuple(policy.observed for policy in policies))
    plan = Plan(name, text, graph, task.epsilon, task.adjacency, policies, results)
    return Planned(plan, how_good)


def _read(scenario: str) -> tuple[str, str]:
    """Return the name and the text of a scenario as it is driven."""
    try:
        path = scenarios.find(scenario)
        return path.stem, driven_text(scenarios.read(path), str(path))
    except DpMultiagentError as error:
        raise _RefusedError(Trouble.BAD_SCENARIO, error) from None


def _task(text: str, name: str, request: SynthesisRequest) -> Task:
    for start in request.starts:
        if start not in STARTS[request.method]:
            known = ', '.join(STARTS[request.method])
            error = ModelError(f'the starts of {request.method} are {known}, not {start!r}')
            raise _RefusedError(Trouble.BAD_REQUEST, error)
    trouble = Trouble.BAD_SCENARIO
    try:
        scenario = scenarios.parse(text, name)
        task_of(scenario)
        trouble = Trouble.BAD_REQUEST
        return task_of(scenario, epsilon=request.epsilon, adjacency=request.adjacency)
    except (ModelError, ScenarioError) as error:
        raise _RefusedError(trouble, error) from None


def _judged(task: Task, found: Synthesis, seconds: float) -> SynthesisReport:
    best = found.best
    return SynthesisReport(
        success_truthful=best.success_truthful,
        success_private=best.success_private,
        total_correlation=best.total_correlation or 0.0,
        objective=best.success_private if best.objective is None else best.objective,
        expected_length=task.truthful(best.policies).expected_length,
        iterations=best.iterations,
        gap=best.gap if isfinite(best.gap) else 0.0,
        seconds=seconds,
    )


def _finite(progress: SynthesisProgress) -> SynthesisProgress:
    """Replace what an ascent does not know by zero, because a message must be finite."""
    known = {name: value for name, value in asdict(progress).items() if isfinite(value)}
    return SynthesisProgress(**{**asdict(NOTHING_YET), **known})
