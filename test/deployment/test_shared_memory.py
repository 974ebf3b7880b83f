"""What killed processes leave in shared memory is removed; what the living own is not."""

import fcntl
from contextlib import ExitStack

import pytest

from dp_multiagent.deployment.shared_memory import remove_abandoned

SEGMENT, OTHER = 'fastrtps_0123456789abcdef', 'fastrtps_fedcba9876543210'
PORT = 'fastrtps_port7411'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'shm').mkdir()
    return tmp_path / 'shm'


@pytest.fixture
def processes(tmp_path):
    (tmp_path / 'proc' / '17').mkdir(parents=True)
    (tmp_path / 'proc' / '17' / 'maps').write_text('7f00 rw-s 0 00:1a 3   /lib/libc.so.6\n')
    return tmp_path / 'proc'


@pytest.fixture
def hold():
    with ExitStack() as held:

        def hold_lock(path, kind=fcntl.LOCK_EX):
            fcntl.flock(held.enter_context(path.open('ab')), kind)

        yield hold_lock


def make(folder, *names):
    for name in names:
        (folder / name).touch()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_segment_whose_lock_nobody_holds_is_removed(folder, processes):
    make(folder, SEGMENT, f'{SEGMENT}_el')
    assert remove_abandoned(folder, processes) == [SEGMENT]
    assert names(folder) == []


def test_segment_whose_owner_lives_is_kept(folder, processes, hold):
    make(folder, SEGMENT, OTHER, f'{OTHER}_el')
    hold(folder / f'{SEGMENT}_el')
    assert remove_abandoned(folder, processes) == [OTHER]
    assert names(folder) == [SEGMENT, f'{SEGMENT}_el']


def test_lock_without_a_segment_is_kept_because_its_owner_may_be_starting(folder, processes):
    make(folder, f'{SEGMENT}_el')
    assert remove_abandoned(folder, processes) == []
    assert names(folder) == [f'{SEGMENT}_el']


@pytest.mark.parametrize('lock', ['el', 'sl'])
def test_abandoned_port_is_removed_with_all_that_is_its(folder, processes, lock):
    make(folder, PORT, f'{PORT}_{lock}', f'sem.{PORT}_mutex')
    assert remove_abandoned(folder, processes) == [PORT]
    assert names(folder) == []


def test_port_without_a_lock_is_removed_too(folder, processes):
    make(folder, PORT, f'sem.{PORT}_mutex')
    assert remove_abandoned(folder, processes) == [PORT]
    assert names(folder) == []


@pytest.mark.parametrize(('lock', 'kind'), [('el', fcntl.LOCK_EX), ('sl', fcntl.LOCK_SH)])
def test_port_at_which_somebody_listens_is_kept(folder, processes, hold, lock, kind):
    make(folder, PORT, f'sem.{PORT}_mutex')
    hold(folder / f'{PORT}_{lock}', kind)
    assert remove_abandoned(folder, processes) == []
    assert {PORT, f'sem.{PORT}_mutex', f'{PORT}_{lock}'} <= set(names(folder))


def test_port_that_somebody_writes_to_is_kept(folder, processes):
    make(folder, PORT, f'{PORT}_el', f'sem.{PORT}_mutex')
    line = f'7f2b50000000-7f2b5000d000 rw-s 00000000 00:1a 42    {folder}/{PORT}\n'
    (processes / '17' / 'maps').write_text(line)
    assert remove_abandoned(folder, processes) == []
    assert PORT in names(folder)


def test_what_is_not_of_fast_dds_is_kept(folder, processes):
    others = ['fastrtps_mine', 'fastrtps_portable', 'lttng-ust-wait-6', 'sem.x', 'iox1_0']
    make(folder, *others)
    assert remove_abandoned(folder, processes) == []
    assert names(folder) == sorted(others)


def test_machine_without_shared_memory_has_nothing_to_remove(tmp_path):
    assert remove_abandoned(tmp_path / 'none', tmp_path / 'proc') == []
