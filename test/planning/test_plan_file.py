import contextlib
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from dp_multiagent.errors import DpMultiagentError, ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.planning import methods, plan_file
from dp_multiagent.planning.task import task_of


@pytest.fixture
def plan():
    text = scenarios.read(scenarios.find('navigation'))
    task = task_of(scenarios.parse(text, 'navigation'))
    policies = methods.random_policies(task, np.random.default_rng(0))
    results = {'method': 'random', 'success_private': task.private(policies).success}
    return plan_file.Plan(
        'navigation', text, task.graph, task.epsilon, task.adjacency, policies, results
    )


def rewritten(plan, path, change=None, drop=(), **arrays):
    """Save a plan, then damage its header or arrays."""
    plan_file.save(plan, path)
    with np.load(path) as stored:
        members = {name: stored[name] for name in stored.files if name not in drop}
    header = json.loads(bytes(members['header']))
    header.update(change or {})
    members['header'] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **(members | arrays))
    return path


def test_a_plan_survives_the_disk(plan, tmp_path):
    path = tmp_path / 'x.plan'
    plan_file.save(plan, path)
    again = plan_file.load(path)
    assert (again.graph, again.epsilon, again.results) == (plan.graph, plan.epsilon, plan.results)
    for old, new in zip(plan.policies, again.policies, strict=True):
        np.testing.assert_array_equal(old.table, new.table)
        np.testing.assert_array_equal(old.own_state, new.own_state)
    assert again.task().private(again.policies).success == plan.results['success_private']
    assert list(tmp_path.iterdir()) == [path]


def test_a_plan_by_step_survives_the_disk(plan, tmp_path):
    policies = tuple(
        replace(policy, table=np.stack([policy.table] * 3), by_step=True)
        for policy in plan.policies
    )
    plan_file.save(replace(plan, policies=policies), tmp_path / 'x.plan')
    assert plan_file.load(tmp_path / 'x.plan').policies[1].steps == 3


@pytest.mark.parametrize(
    ('damage', 'problem'),
    [
        ({'change': {'format': 1}}, 'its format is not 2: plan again'),
        ({'change': {'extra': 1}}, 'missing or unknown'),
        ({'change': {'game': '00' * 32}}, 'for another game than its scenario'),
        ({'change': {'graph': [[1], [0]]}}, 'the dependency graph has the cycle'),
        ({'change': {'graph': [[], []]}}, 'axes expected'),
        ({'change': {'epsilon': [1.0, -1.0]}}, 'negative or not finite'),
        ({'change': {'epsilon': [1.0]}}, 'must be given for 2 robots'),
        ({'change': {'adjacency': [0, 1]}}, 'less than 1'),
        ({'change': {'scenario_text': 'kind: x'}}, 'kind: must be navigation or sysadmin'),
        ({'drop': ['table_1']}, 'table_1'),
        ({'table_0': np.full((22, 5), 0.3)}, 'must sum to 1'),
        ({'table_0': np.full((21, 5), 0.2), 'own_state_0': np.full((21, 5), 0.2)}, 'another game'),
        ({'table_0': np.array(['x'])}, 'is no plan'),
    ],
)
def test_refuses_what_does_not_fit_together(plan, tmp_path, damage, problem):
    path = rewritten(plan, tmp_path / 'bad.npz', **damage)
    with pytest.raises(ModelError, match=problem) as caught:
        plan_file.load(path)
    assert str(caught.value).startswith(str(path))
    assert '\n' not in str(caught.value)


def test_refuses_pickles_compressed_and_damaged_files(plan, tmp_path):
    path = tmp_path / 'bad.npz'
    rewritten(plan, path, table_0=np.array([{}], dtype=object))
    with pytest.raises(ModelError, match='is no plan'):
        plan_file.load(path)
    np.savez_compressed(path, header=np.zeros(10**6))
    with pytest.raises(ModelError, match='it is compressed'):
        plan_file.load(path)
    plan_file.save(plan, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match='is damaged'):
        plan_file.load(path)
    path.write_text('hello')
    with pytest.raises(ModelError, match='is damaged'):
        plan_file.load(path)


def test_every_flipped_byte_is_refused_or_harmless(plan, tmp_path):
    path = tmp_path / 'x.npz'
    plan_file.save(plan, path)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.choice(len(data), size=200, replace=False):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        with contextlib.suppress(DpMultiagentError):
            plan_file.load(path)


def test_says_where_it_cannot_write(plan, tmp_path):
    with pytest.raises(DpMultiagentError, match='cannot be written: No such file'):
        plan_file.save(plan, tmp_path / 'missing' / 'x.plan')


def test_members_are_stored_uncompressed_without_pickle(plan, tmp_path):
    plan_file.save(plan, tmp_path / 'x.plan')
    with zipfile.ZipFile(tmp_path / 'x.plan') as archive:
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
