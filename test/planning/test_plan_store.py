"""Plans on the planner's disk: identity, the plan in force, numbers of episodes."""

from dataclasses import replace

import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.planning import plan_file
from dp_multiagent.planning.driven import driven_text
from dp_multiagent.planning.plan_file import Plan
from dp_multiagent.planning.plan_store import NEVER_NS, Pace, PlanStore
from dp_multiagent.planning.synthesis import synthesise
from dp_multiagent.planning.task import task_of

PACE = Pace(period_ns=10**9, deadline=0.25, max_stale=3)


@pytest.fixture(scope='module')
def plan():
    text = scenarios.read(scenarios.find('crossing'))
    task = task_of(scenarios.parse(text, 'crossing'))
    policies = synthesise(task, 'baseline').best.policies
    return Plan('crossing', text, task.graph, task.epsilon, task.adjacency, policies, {})


def test_store_that_was_never_used_offers_nothing(tmp_path):
    assert PlanStore(tmp_path / 'new' / 'folder').offer() is None


def test_plan_is_offered_again_with_the_same_identity_after_a_restart(tmp_path, plan):
    kept = PlanStore(tmp_path).keep(plan)
    again = PlanStore(tmp_path).offer()
    assert again.plan_id == kept.plan_id
    assert again.team_plan(PACE) == kept.team_plan(PACE)
    for one, other in zip(again.plan.policies, plan.policies, strict=True):
        assert (one.table == other.table).all()


def test_plans_that_differ_have_different_identities(tmp_path, plan):
    store = PlanStore(tmp_path)
    ids = {store.keep(replace(plan, epsilon=(e, e))).plan_id for e in (1.0, 2.0, 1.0)}
    assert len(ids) == 2


def test_last_plan_is_in_force(tmp_path, plan):
    store = PlanStore(tmp_path)
    store.keep(plan)
    last = store.keep(replace(plan, epsilon=(0.5, 0.5)))
    assert store.offer().plan_id == last.plan_id


def test_plan_of_the_command_is_adopted(tmp_path, plan):
    plan_file.save(plan, tmp_path / 'plan.npz')
    store = PlanStore(tmp_path / 'store')
    assert store.adopt(tmp_path / 'plan.npz').plan_id == store.keep(plan).plan_id


def test_team_learns_all_that_the_plan_says(tmp_path, plan):
    told = PlanStore(tmp_path).keep(plan).team_plan(PACE)
    assert told.robots == ('robot1', 'robot2')
    assert told.horizon == 12
    assert (told.epsilon, told.adjacency, told.graph) == ((3.0, 3.0), (1, 1), plan.graph)
    assert (told.period_ns, told.deadline, told.max_stale) == (10**9, 0.25, 3)
    assert told.game == plan.parsed().players.fingerprint


def test_plan_without_an_announced_episode_never_starts(tmp_path, plan):
    assert PlanStore(tmp_path).keep(plan).team_plan(PACE).start_ns == NEVER_NS


def test_episodes_are_counted_from_0_across_restarts(tmp_path, plan):
    kept = PlanStore(tmp_path).keep(plan)
    announced = [PlanStore(tmp_path).announce(kept, start) for start in (50, 60, 70)]
    assert [(offer.episode, offer.start_ns) for offer in announced] == [(0, 50), (1, 60), (2, 70)]
    offer = PlanStore(tmp_path).offer()
    assert (offer.episode, offer.start_ns) == (2, 70)


def test_plan_that_comes_into_force_again_goes_on_counting(tmp_path, plan):
    store = PlanStore(tmp_path)
    store.announce(store.keep(plan), 50)
    store.announce(store.keep(replace(plan, epsilon=(0.5, 0.5))), 60)
    assert store.announce(store.keep(plan), 70).episode == 1


def test_last_of_too_few_tables_by_step_serves_all_later_steps(tmp_path, plan):
    by_step = tuple(
        replace(policy, table=np.stack([policy.table, policy.table[::-1]]), by_step=True)
        for policy in plan.policies
    )
    offered = PlanStore(tmp_path).keep(replace(plan, policies=by_step)).policies
    assert [policy.steps for policy in offered] == [12, 12]
    for policy, short in zip(offered, by_step, strict=True):
        assert (policy.table[:2] == short.table).all()
        assert (policy.table[2:] == short.table[1]).all()


@pytest.mark.parametrize('text', ['', '{', '[]', '{"plan": "zz", "episodes": {}}', '{"plan": ""}'])
def test_damaged_state_is_refused_by_name(tmp_path, plan, text):
    store = PlanStore(tmp_path)
    store.keep(plan)
    (tmp_path / 'current.json').write_text(text)
    with pytest.raises(ModelError, match=r'current\.json: is damaged'):
        store.offer()


def test_missing_plan_is_refused_by_name(tmp_path, plan):
    store = PlanStore(tmp_path)
    kept = store.keep(plan)
    (tmp_path / f'{kept.plan_id.hex()}.npz').unlink()
    with pytest.raises(ModelError, match=kept.plan_id.hex()):
        store.offer()


@pytest.mark.parametrize(
    'pace', [(0, 0.5, 1), (-1, 0.5, 1), (1, 0.0, 1), (1, 1.0, 1), (1, 0.5, -1), (1, 0.5, 65536)]
)
def test_pace_that_no_team_can_keep_is_refused(pace):
    with pytest.raises(ModelError):
        Pace(*pace)


def test_driven_scenario_counts_swaps_as_collisions():
    text = scenarios.read(scenarios.find('navigation'))
    changed = scenarios.parse(driven_text(text, 'navigation'), 'navigation')
    original = scenarios.parse(text, 'navigation')
    assert original.motion.swaps == 'allowed'
    assert changed.motion.swaps == 'collision'
    assert replace(changed, motion=original.motion) == original


@pytest.mark.parametrize('name', ['crossing', 'sysadmin'])
def test_scenario_without_allowed_swaps_is_driven_as_it_is(name):
    text = scenarios.read(scenarios.find(name))
    assert driven_text(text, name) == text


def test_scenario_whose_swaps_cannot_be_found_is_refused():
    text = scenarios.read(scenarios.find('navigation'))
    hidden = text.replace('swaps: allowed', 'swaps: "allow\\x65d"')
    with pytest.raises(ModelError, match='write `swaps: collision`'):
        driven_text(hidden, 'navigation')
