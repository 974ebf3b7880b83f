"""The published figures of Chen et al. beside exact values, and what we claim beyond them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, spearmanr

from dp_multiagent.errors import DpMultiagentError
from dp_multiagent.models import scenarios
from dp_multiagent.planning import methods
from dp_multiagent.planning.marginal import Unvisited
from dp_multiagent.planning.rollouts import roll_out
from dp_multiagent.planning.studies import iterations, receiver, sweeps
from dp_multiagent.planning.studies.contest import (
    DEAF,
    PRIVATE,
    QUIET,
    WITH_STEP,
    Contest,
    Measured,
    refuse_a_loser,
)
from dp_multiagent.planning.studies.point import z_score
from dp_multiagent.planning.synthesis import Effort, synthesise
from dp_multiagent.planning.task import task_of

# |z| of a correct value exceeds this once in 2,000 times.
SIGMAS = 3.5


def silent(_):
    pass


def shipped(name):
    return scenarios.load(scenarios.find(name))


@pytest.fixture(scope='module')
def published_run():
    points = {point.name: point for point in iterations.points(quick=False)}
    return points['unvisited uniform'].compute(silent)


@pytest.fixture(scope='module')
def crossing():
    task = task_of(shipped('crossing'), epsilon=3.0)
    starts = ('minimum-dependency', 'no-communication')
    return synthesise(task, 'private-success', chosen=starts, effort=Effort(memory='step'))


def test_the_exact_baseline_explains_the_published_rollouts_at_every_epsilon():
    pytest.importorskip('cvxpy', reason='the interior baseline needs cvxpy')
    task = task_of(shipped('navigation'), unvisited=Unvisited.UNIFORM)
    policies = methods.baseline(task, 'interior').policies
    exact = [task.with_epsilon(e).private(policies).success for e in sweeps.EPSILONS]
    scores = [z_score(p, e) for p, e in zip(sweeps.PUBLISHED, exact, strict=True)]
    assert np.abs(scores).max() < SIGMAS
    assert chi2.sf(np.square(scores).sum(), len(scores)) > 0.001


def test_the_run_of_minimum_dependency_ends_where_the_paper_says(published_run):
    last = published_run[iterations.ITERATIONS]
    assert last.iteration == iterations.ITERATIONS
    assert abs(z_score(iterations.PUBLISHED, last.success_private)) < SIGMAS


def test_the_baseline_succeeds_truthfully_and_fails_privately_as_published():
    pytest.importorskip('cvxpy', reason='the interior baseline needs cvxpy')
    points = {point.name: point for point in iterations.points(quick=True)}
    uniform, _ = points['baseline'].compute(silent)
    published = iterations.PUBLISHED_BASELINE_TRUTHFUL, iterations.PUBLISHED_BASELINE
    assert abs(z_score(published[0], uniform.success_truthful)) < SIGMAS
    assert abs(z_score(published[1], uniform.success_private)) < SIGMAS


def test_private_success_rises_as_total_correlation_falls(published_run):
    correlation = [row.total_correlation for row in published_run]
    private = [row.success_private for row in published_run]
    assert spearmanr(correlation, private).statistic < -0.95


def test_on_crossing_telling_privately_beats_a_step_counter(crossing):
    contest = Contest(shipped('crossing'), 'crossing', Effort())
    quiet = contest.quiet(3.0, 'step').success_private
    assert quiet >= crossing.controls['no_communication'] - 1e-9
    assert crossing.best.success_private >= quiet + 0.05
    stationary = [c.success_private for c in crossing.candidates if not c.policies[0].by_step]
    assert max(stationary) > quiet


def test_on_crossing_the_gain_is_gone_at_epsilon_0(crossing):
    controls = crossing.controls
    assert controls['epsilon_0'] == pytest.approx(controls['no_communication'], abs=0.005)


def test_on_navigation_a_step_counter_does_without_telling():
    contest = Contest(shipped('navigation'), 'navigation', Effort())
    quiet = contest.quiet(1.0, 'step').success_private
    dependent = synthesise(task_of(shipped('navigation')), 'minimum-dependency').best
    assert quiet > dependent.success_private + 0.02


@pytest.mark.parametrize('start', sweeps.SYSADMIN_STARTS)
def test_sysadmin_policies_are_made_for_and_judged_from_their_own_start(start):
    scenario = sweeps.sysadmin_from(start, beta=0.01)
    task = task_of(scenario, epsilon=1.0)
    assert ''.join(map(str, task.game.initial)) == start
    found = synthesise(task, 'minimum-dependency', chosen=['soft-reach']).best
    rolled = roll_out(
        task.game,
        found.policies,
        task.mechanisms,
        n=4000,
        horizon=1000,
        rng=np.random.default_rng(1),
        confidence=0.9999,
    )
    assert rolled.interval[0] <= found.success_private <= rolled.interval[1]


def test_on_sysadmin_both_betas_beat_both_baselines_privately():
    pytest.importorskip('cvxpy', reason='the interior baseline needs cvxpy')
    contest = Contest(sweeps.sysadmin_from('1111', beta=0.01), '1111', Effort())
    better_baseline = max(row.success_private for row in contest.baselines(1.0))
    for beta in sweeps.SYSADMIN_BETAS:
        other = Contest(sweeps.sysadmin_from('1111', beta), '1111', Effort())
        assert all(row.success_private > better_baseline for row in other.dependent(1.0))


def test_the_filter_wins_back_some_of_what_the_baseline_loses():
    points = {point.name: point for point in receiver.points(quick=True)}
    (row,) = points['navigation, baseline, tie-broken'].compute(silent)
    assert row.raw_low <= row.exact <= row.raw_high
    assert row.filtered_low > row.raw_high


def rows(**success):
    blank = Measured('map', 1.0, '', 0.0, 0.0, 1.0, 'start')
    return [replace(blank, method=method, success_private=p) for method, p in success.items()]


def test_a_private_success_that_loses_is_refused():
    loses = rows(**{'baseline, interior': 0.5, PRIVATE: 0.4})
    with pytest.raises(DpMultiagentError, match=r'private success \(0\.4.*worse than baseline'):
        refuse_a_loser(loses)
    loses = rows(**{PRIVATE: 0.6, PRIVATE + WITH_STEP: 0.5})
    with pytest.raises(DpMultiagentError, match=r'step counter .* worse than private success'):
        refuse_a_loser(loses)


def test_what_has_more_memory_or_is_a_control_may_win():
    refuse_a_loser(rows(**{PRIVATE: 0.4, QUIET + WITH_STEP: 0.5, DEAF: 0.6}))
