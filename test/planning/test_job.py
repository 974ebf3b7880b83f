"""A synthesis in a thread: its plan, its troubles, its progress and its end on request."""

import itertools
import math
import threading

import pytest

from dp_multiagent.models import scenarios
from dp_multiagent.planning import job as job_module
from dp_multiagent.planning.job import Failure, Job, Trouble
from dp_multiagent.planning.request import SynthesisRequest

PATIENCE = 60


def request(**changes):
    return SynthesisRequest(**({'scenario': 'crossing', 'method': 'baseline'} | changes))


def outcome(asked):
    job = Job(asked)
    job.start()
    job.thread.join(PATIENCE)
    return job.outcome


def test_plan_is_for_the_scenario_as_it_is_driven():
    planned = outcome(request(scenario='navigation', epsilon=2.0, adjacency=4))
    task = planned.plan.task()
    assert task.game.swaps.value == 'collision'
    assert (task.epsilon, task.adjacency) == ((2.0, 2.0), (4, 4))
    assert planned.report.success_private == pytest.approx(
        task.private(planned.plan.policies).success
    )


def test_plan_without_communication_has_no_dependencies():
    asked = request(method='no-communication', starts=('random-0',), iterations=1)
    assert outcome(asked).plan.graph.edges == ()


@pytest.mark.parametrize(
    ('changes', 'trouble', 'sentence'),
    [
        ({'scenario': 'crosing'}, Trouble.BAD_SCENARIO, 'did you mean crossing'),
        ({'scenario': '/no/such.yaml'}, Trouble.BAD_SCENARIO, 'such.yaml'),
        ({'starts': ('nowhere',)}, Trouble.BAD_REQUEST, 'tie-broken'),
        ({'epsilon': -1.0}, Trouble.BAD_REQUEST, 'epsilon'),
        ({'adjacency': -1}, Trouble.BAD_REQUEST, 'adjacency'),
    ],
)
def test_trouble_is_named_in_a_sentence(changes, trouble, sentence):
    failure = outcome(request(**changes))
    assert failure.trouble is trouble
    assert sentence in failure.sentence


def test_scenario_whose_target_cannot_be_reached_is_bad(tmp_path):
    text = scenarios.read(scenarios.find('crossing'))
    tight = text.replace("'..#..'\n    - '.....'\n    - '..#..'", "'.#'\n    - '.#'\n    - '..'")
    path = tmp_path / 'tight.yaml'
    path.write_text(tight.replace('[2, 4]', '[2, 0]'))
    failure = outcome(request(scenario=str(path)))
    assert failure.trouble is Trouble.BAD_SCENARIO


def test_fault_of_the_planner_itself_is_told_without_its_traceback(monkeypatch):
    def broken(*_args, **_kwargs):
        raise ZeroDivisionError('secret of the planner')

    monkeypatch.setattr(job_module, 'synthesise', broken)
    failure = outcome(request())
    assert failure.trouble is Trouble.FAILED
    assert 'secret' not in failure.sentence
    assert 'secret' in failure.details


def test_progress_of_an_ascent_is_finite():
    ticks = itertools.count()
    asked = request(method='private-success', starts=('random-0',), iterations=2)
    job = Job(asked, clock=lambda: float(next(ticks)))
    job.start()
    job.thread.join(PATIENCE)
    assert job.progress.iteration > 0
    assert all(math.isfinite(value) for value in vars(job.progress).values())


def test_cancelled_synthesis_ends_its_thread_at_the_next_iteration(monkeypatch):
    reached, go_on = threading.Event(), threading.Event()

    def endless(_task, _method, *, effort, **_):
        reached.set()
        go_on.wait(PATIENCE)
        while True:
            effort.report(lambda: job_module.NOTHING_YET)

    monkeypatch.setattr(job_module, 'synthesise', endless)
    job = Job(request())
    job.start()
    assert reached.wait(PATIENCE)
    assert job.outcome is None
    job.cancel()
    assert isinstance(job.outcome, Failure)
    assert job.outcome.trouble is Trouble.CANCELLED
    go_on.set()
    job.thread.join(PATIENCE)
    assert not job.thread.is_alive()
