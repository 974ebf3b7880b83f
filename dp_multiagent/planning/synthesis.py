"""Compute policies for a task with a method, from several starts, with controls beside them.

Private success takes up the results of all other methods as candidates, so that it is at least
as good as each of them. Its controls say what telling is worth: the best policies that see
nobody, and the same method at epsilon = 0, where what is seen says nothing.

An ascent ends at a local optimum. Mixing its policies with some uniform and ascending again often
finds a better one, so the best ascent is settled: repeated until that gains nothing. The controls
are settled too, because a control that is searched less well makes telling look useful where it
is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dp_multiagent.errors import ModelError
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning import methods, starts
from dp_multiagent.planning.methods import Candidate, Report
from dp_multiagent.planning.request import METHODS
from dp_multiagent.planning.task import Task

BASELINES = ('tie-broken', 'interior')
ASCENTS = ('random-0', 'random-1', 'impatient')
MEMORIES = ('none', 'step')
MOST_REPEATS, WORTHWHILE = 8, 1e-5
STARTS: dict[str, tuple[str, ...]] = {
    'baseline': BASELINES,
    'minimum-dependency': tuple(starts.STARTS),
    'no-communication': ('minimum-dependency', *ASCENTS),
    'private-success': ('minimum-dependency', 'no-communication', *ASCENTS, 'continuation'),
}


@dataclass(frozen=True, eq=False)
class Synthesis:
    """The best candidate of a method, all its candidates, and its controls.

    `controls` maps the name of a control to its exact private success.
    """

    method: str
    best: Candidate
    candidates: tuple[Candidate, ...]
    controls: dict[str, float]


@dataclass(frozen=True)
class Effort:
    """How to search: a fixed number of iterations or the method's rule, memory, whom to tell."""

    iterations: int | None = None
    memory: str = 'none'
    report: Report = lambda _: None


def synthesise(
    task: Task, method: str, *, chosen: Sequence[str] = (), effort: Effort = Effort()
) -> Synthesis:
    """Compute policies with a method from the chosen starts, by default from all its own."""
    _refuse_unknown(method, chosen, effort)
    names = tuple(chosen) or (STARTS[method] if method != 'baseline' else BASELINES[:1])
    if method == 'private-success':
        candidates, controls = private_success(task, names, effort)
    else:
        search = {
            'baseline': baseline,
            'minimum-dependency': minimum_dependency,
            'no-communication': no_communication,
        }[method]
        candidates, controls = search(task, names, effort), {}
    return Synthesis(method, best_of(candidates), tuple(candidates), controls)


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate with the best private success, the first of equals."""
    return max(candidates, key=lambda candidate: candidate.success_private)


def baseline(task: Task, names: Sequence[str], effort: Effort) -> list[Candidate]:
    """Maximise the success under truthful communication."""
    return [methods.baseline(task, name) for name in names]


def minimum_dependency(task: Task, names: Sequence[str], effort: Effort) -> list[Candidate]:
    """Run the convex-concave procedure from each start."""
    return [
        methods.minimum_dependency(task, name, effort.report, effort.iterations) for name in names
    ]


def no_communication(task: Task, names: Sequence[str], effort: Effort) -> list[Candidate]:
    """Ascend without seeing anybody."""
    alone = task.with_graph(Graph(((),) * task.game.n_agents))
    found = {}
    if 'minimum-dependency' in names:
        found['minimum-dependency'] = best_of(
            minimum_dependency(alone, tuple(starts.STARTS), effort)
        )
    return _ascents(alone, names, found, effort)


def private_success(
    task: Task,
    names: Sequence[str],
    effort: Effort,
    quiet: Candidate | None = None,
    dependent: Candidate | None = None,
) -> tuple[list[Candidate], dict[str, float]]:
    """Ascend from each start; return all candidates, those of the other methods too, and controls.

    `quiet` and `dependent` are the best without communication and of minimum dependency, if they
    are known. The other methods' policies are candidates as they are: marked with a star.
    """
    if quiet is None:
        quiet = best_of(no_communication(task, STARTS['no-communication'], effort))
    if dependent is None:
        dependent = best_of(minimum_dependency(task, STARTS['minimum-dependency'], effort))
    heard = replace(quiet, policies=methods.seeing(quiet.policies, task))
    found = {'minimum-dependency': dependent, 'no-communication': heard}
    candidates = _ascents(task, names, found, effort)
    others = (*baseline(task, BASELINES[:1], effort), dependent, heard)
    candidates += [replace(other, start=f'{other.start}*') for other in others]
    deaf = _ascents(task.with_epsilon(0.0), ('no-communication', 'impatient'), found, effort)
    controls = {
        'no_communication': quiet.success_private,
        'epsilon_0': best_of(deaf).success_private,
    }
    return candidates, controls


def settled(task: Task, candidate: Candidate, effort: Effort) -> Candidate:
    """Ascend again and again, each time from policies mixed with some uniform."""
    name = f'{candidate.start}, settled'
    for _ in range(MOST_REPEATS):
        again = methods.improved(task, name, candidate.policies, effort.report, None)
        gain = again.success_private - candidate.success_private
        candidate = best_of([candidate, again])
        if gain < WORTHWHILE:
            break
    return candidate


def _ascents(
    task: Task, names: Sequence[str], found: Mapping[str, Candidate], effort: Effort
) -> list[Candidate]:
    """Ascend from each start, with memory go on with a table per step, and settle the best."""
    candidates = [_ascent(task, name, found, effort) for name in names]
    if effort.memory == 'step':
        candidates += [
            methods.stepwise(task, candidate, effort.report, effort.iterations)
            for candidate in candidates
            if not candidate.policies[0].by_step
        ]
    best = best_of(candidates)
    final = settled(task, best, effort) if effort.iterations is None else best
    return candidates if final is best else [*candidates, final]


def _ascent(task: Task, name: str, found: Mapping[str, Candidate], effort: Effort) -> Candidate:
    report, iterations = effort.report, effort.iterations
    if name in found:
        return methods.improved(task, name, found[name].policies, report, iterations)
    if name == 'continuation':
        return methods.continued_ascent(task, report, iterations)
    if name == 'impatient':
        discount = methods.IMPATIENT_DISCOUNT
        return methods.random_ascent(task, name, 0, report, iterations, discount)
    seed = int(name.removeprefix('random-'))
    return methods.random_ascent(task, name, seed, report, iterations)


def _refuse_unknown(method: str, chosen: Sequence[str], effort: Effort) -> None:
    if method not in METHODS:
        raise ModelError(f'the method is one of {", ".join(METHODS)}, not {method!r}')
    for name in chosen:
        if name not in STARTS[method]:
            known = ', '.join(STARTS[method])
            raise ModelError(f'the starts of {method} are {known}, not {name!r}')
    if effort.memory not in MEMORIES:
        raise ModelError(f'the memory is none or step, not {effort.memory!r}')
    if effort.memory == 'step' and method in ('baseline', 'minimum-dependency'):
        raise ModelError(f'{method} makes policies without memory')
    if effort.iterations is not None and effort.iterations < 0:
        raise ModelError(f'{effort.iterations} iterations are not possible')
