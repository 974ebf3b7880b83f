"""All methods on one scenario, at any epsilon, with the controls that say what telling is worth.

The controls are the best policies that see nobody, which do not depend on epsilon, and private
success at epsilon = 0, where what is told has nothing to do with what is true. All ascents are
settled (`synthesis`), and what one search has found is a start of the others: of private success,
its control and what it finds at the epsilon LOUDEST, where telling is worth most; of the control,
private success, LOUDEST and the policies that see nobody. Private success takes up whatever
another method has found, so that it is at least as good as each; `refuse_a_loser` makes sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.planning import methods
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.methods import Candidate
from dp_multiagent.planning.synthesis import (
    STARTS,
    Effort,
    best_of,
    private_success,
    settled,
    synthesise,
)
from dp_multiagent.planning.task import Task, task_of

PUBLISHED_ITERATIONS = 80
LOUDEST = 10.0
ROUNDING = 1e-9
WITH_STEP = ', step counter'
BASELINE_INTERIOR, BASELINE_TIE_BROKEN = 'baseline, interior', 'baseline, tie-broken'
DEPENDENT_AS_PUBLISHED = 'minimum dependency, as published'
DEPENDENT, QUIET, PRIVATE = 'minimum dependency', 'no communication', 'private success'
DEAF = 'private success at epsilon 0'


@dataclass(frozen=True)
class Measured:
    """Exact success of the best policies of one method; a case is what is varied beside epsilon.

    `start` is where they come from; with a star they are another method's, unchanged.
    """

    case: str
    epsilon: float
    method: str
    success_truthful: float
    success_private: float
    length_truthful: float
    start: str


class Contest:
    """Computes what the methods find on a scenario; what does not depend on epsilon only once."""

    def __init__(self, scenario: Scenario, case: str, effort: Effort) -> None:
        self.scenario, self.case, self.effort = scenario, case, effort
        self._quiet: dict[str, Candidate] = {}
        self._loud: dict[str, Candidate] = {}

    def baselines(self, epsilon: float) -> list[Measured]:
        """Measure the authors' baseline and the tie-broken one."""
        published = self._task(epsilon, Unvisited.UNIFORM)
        task = self._task(epsilon)
        return [
            self._measured(published, BASELINE_INTERIOR, methods.baseline(published, 'interior')),
            self._measured(task, BASELINE_TIE_BROKEN, methods.baseline(task, 'tie-broken')),
        ]

    def dependent(self, epsilon: float, name: str = DEPENDENT) -> list[Measured]:
        """Measure minimum dependency, the authors' run and the best of all starts."""
        published, report = self._task(epsilon, Unvisited.UNIFORM), self.effort.report
        iterations = self.effort.iterations or PUBLISHED_ITERATIONS
        theirs = methods.minimum_dependency(published, 'maximum-entropy', report, iterations)
        task = self._task(epsilon)
        ours = synthesise(task, 'minimum-dependency', effort=self.effort).best
        return [
            self._measured(published, name.replace(DEPENDENT, DEPENDENT_AS_PUBLISHED), theirs),
            self._measured(task, name, ours),
        ]

    def quiet(self, epsilon: float, memory: str = 'none') -> Measured:
        """Measure the best policies that see nobody."""
        found = self._find_quiet(memory)
        return self._measured(self._task(epsilon), _named(QUIET, memory), found)

    def private(self, epsilon: float, memories: Sequence[str] = ('none',)) -> list[Measured]:
        """Measure private success and its control at epsilon 0; more memory takes up less."""
        task, rows, best = self._task(epsilon), [], list[Candidate]()
        deaf_task = task.with_epsilon(0.0)
        for memory in memories:
            quiet, loud = self._find_quiet(memory), self._find_loud(memory)
            heard = replace(quiet, policies=methods.seeing(quiet.policies, task), start='quiet*')
            found = loud if epsilon == LOUDEST else self._find_private(task, memory)
            deaf = best_of([self._ascended(deaf_task, start) for start in (heard, found, loud)])
            ours = [self._ascended(task, start) for start in (deaf, loud)]
            best = [best_of([*best, heard, found, *ours])]
            rows.append(self._measured(task, _named(PRIVATE, memory), best[0]))
            rows.append(self._measured(deaf_task, _named(DEAF, memory), deaf))
        return [replace(row, epsilon=epsilon) for row in rows]

    def _find_quiet(self, memory: str) -> Candidate:
        if memory not in self._quiet:
            effort = replace(self.effort, memory=memory)
            found = synthesise(self._task(0.0), 'no-communication', effort=effort)
            self._quiet[memory] = found.best
        return self._quiet[memory]

    def _find_loud(self, memory: str) -> Candidate:
        if memory not in self._loud:
            self._loud[memory] = self._find_private(self._task(LOUDEST), memory)
        return self._loud[memory]

    def _find_private(self, task: Task, memory: str) -> Candidate:
        effort = replace(self.effort, memory=memory)
        dependent = synthesise(task, 'minimum-dependency', effort=self.effort).best
        quiet, starts = self._find_quiet(memory), STARTS['private-success']
        return best_of(private_success(task, starts, effort, quiet, dependent)[0])

    def _ascended(self, task: Task, start: Candidate) -> Candidate:
        report, iterations = self.effort.report, self.effort.iterations
        name = start.start.removesuffix('*').removesuffix(', settled')
        found = methods.improved(task, name, start.policies, report, iterations)
        return settled(task, found, self.effort) if iterations is None else found

    def _task(self, epsilon: float, unvisited: Unvisited = Unvisited.OWN_STATE) -> Task:
        return task_of(self.scenario, epsilon=epsilon, unvisited=unvisited)

    def _measured(self, task: Task, method: str, found: Candidate) -> Measured:
        return Measured(
            self.case,
            task.epsilon[0],
            method,
            found.success_truthful,
            found.success_private,
            task.truthful(found.policies).expected_length,
            found.start,
        )


def refuse_a_loser(rows: Sequence[Measured]) -> None:
    """Raise an error if private success is worse than a method that has no more memory."""
    success = {row.method: row.success_private for row in rows}
    for private in (PRIVATE, PRIVATE + WITH_STEP):
        for method, value in success.items():
            comparable = not method.startswith(DEAF) and (
                WITH_STEP in private or WITH_STEP not in method
            )
            if comparable and private in success and success[private] < value - ROUNDING:
                raise DpMultiagentError(
                    f'{private} ({success[private]:.6f}) is worse than {method} ({value:.6f})'
                )


def _named(method: str, memory: str) -> str:
    return method if memory == 'none' else method + WITH_STEP
