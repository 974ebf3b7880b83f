"""Methods, starts and controls on shipped scenarios, in small."""

from dataclasses import replace

import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.plan import Graph
from dp_multiagent.planning import methods
from dp_multiagent.planning.evaluation import evaluate
from dp_multiagent.planning.graph_search import acyclic_graphs, search_graphs
from dp_multiagent.planning.live_steps import LiveSteps
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.occupancy import PolicyChain, occupancy
from dp_multiagent.planning.synthesis import STARTS, Effort, synthesise
from dp_multiagent.planning.task import task_of

QUICK = Effort(iterations=8)


def task(name='navigation', **changes):
    return task_of(scenarios.load(scenarios.find(name)), **changes)


def test_baseline_fails_under_privacy_as_in_the_paper():
    found = synthesise(task(epsilon=1.0, adjacency=3), 'baseline')
    assert found.best.success_truthful == pytest.approx(0.98, abs=0.01)
    assert found.best.success_private == pytest.approx(0.10, abs=0.03)


def test_minimum_dependency_of_the_authors_gives_the_papers_094():
    # 1,000 rollouts of 0.94 have a standard error of 0.0075.
    authors = task(epsilon=1.0, adjacency=3, unvisited=Unvisited.UNIFORM)
    found = synthesise(
        authors,
        'minimum-dependency',
        chosen=['maximum-entropy'],
        effort=Effort(iterations=80),
    )
    assert found.best.success_private == pytest.approx(0.94, abs=3 * 0.0075)
    assert found.best.iterations == 80


def test_the_start_with_the_best_private_success_wins_and_all_are_kept():
    found = synthesise(task(), 'minimum-dependency', effort=QUICK)
    assert [candidate.start for candidate in found.candidates] == list(
        STARTS['minimum-dependency']
    )
    privates = [candidate.success_private for candidate in found.candidates]
    assert found.best.success_private == max(privates)


def test_private_success_is_never_worse_than_the_other_methods():
    problem = task('crossing')
    others = [
        synthesise(problem, method, effort=QUICK).best.success_private
        for method in ('baseline', 'minimum-dependency', 'no-communication')
    ]
    found = synthesise(problem, 'private-success', effort=QUICK)
    assert found.best.success_private >= max(others) - 1e-12
    assert found.controls.keys() == {'no_communication', 'epsilon_0'}


def test_crossing_is_worth_telling():
    """Private telling at epsilon 3 beats the best silence with a step counter."""
    problem = task('crossing')
    assert max(problem.epsilon) <= 3
    silent = synthesise(problem, 'no-communication', effort=Effort(memory='step'))
    telling = synthesise(
        problem, 'private-success', chosen=['random-1'], effort=Effort(memory='step')
    )
    assert telling.best.success_private > silent.best.success_private + 0.05
    assert telling.controls['epsilon_0'] < silent.best.success_private + 0.005


def test_with_a_step_counter_policies_have_a_table_per_step_and_do_better():
    problem = task('crossing')
    without = synthesise(problem, 'no-communication', chosen=['random-0'])
    counting = synthesise(
        problem, 'no-communication', chosen=['random-0'], effort=Effort(memory='step')
    )
    assert counting.best.policies[0].steps == problem.horizon
    assert counting.best.success_private > without.best.success_private + 0.1


def test_own_state_policies_are_what_the_robot_mostly_does():
    problem = task('crossing')
    best = synthesise(problem, 'private-success', chosen=['random-0'], effort=QUICK).best
    visits = problem.private(best.policies).visits
    for policy, visited in zip(best.policies, visits, strict=True):
        often = visited.sum(axis=1) > 1e-3
        expected = visited[often] / visited[often].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(policy.own_state[often], expected, atol=1e-9)


def test_joint_policy_of_local_ones_has_their_truthful_success():
    problem = task()
    policies = methods.random_policies(problem, np.random.default_rng(0))
    steps = LiveSteps(problem.game)
    joint = methods.joint_of(problem, policies)
    visited = occupancy(PolicyChain(steps, steps.policy_rows(joint)))
    exact = evaluate(problem.game, policies)
    assert visited.success == pytest.approx(exact.success, abs=1e-9)
    assert visited.expected_length == pytest.approx(exact.expected_length, abs=1e-6)


def test_seeing_without_minding_changes_nothing():
    problem = task()
    silent = problem.with_graph(Graph(((), ())))
    policies = methods.random_policies(silent, np.random.default_rng(0))
    assert problem.private(methods.seeing(policies, problem)).success == pytest.approx(
        silent.private(policies).success, abs=1e-12
    )


@pytest.mark.parametrize(
    ('method', 'arguments', 'problem'),
    [
        ('magic', {}, 'the method is one of'),
        ('baseline', {'chosen': ['soft-reach']}, 'the starts of baseline are'),
        ('baseline', {'effort': Effort(memory='step')}, 'policies without memory'),
        ('no-communication', {'effort': Effort(memory='all')}, 'memory is none or step'),
        ('minimum-dependency', {'effort': Effort(iterations=-1)}, 'not possible'),
    ],
)
def test_refuses_what_no_method_can_do(method, arguments, problem):
    with pytest.raises(ModelError, match=problem):
        synthesise(task(), method, **arguments)


def test_refuses_tasks_that_do_not_fit():
    with pytest.raises(ModelError, match='must be given for 2 robots'):
        replace(task(), epsilon=(1.0,))


def test_acyclic_graphs_are_counted_as_robinson_did():
    assert [len(set(acyclic_graphs(n))) for n in (1, 2, 3, 4)] == [1, 3, 25, 543]


def test_graph_search_proposes_telling_where_it_helps():
    search = search_graphs(task('crossing'))
    assert search.tried == 3
    assert search.best.edges
    successes = [success for _, success in search.ranking]
    assert successes == sorted(successes, reverse=True)
    assert successes[0] > successes[-1] + 0.1
