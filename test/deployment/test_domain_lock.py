"""One team per domain: a lock that leaves nothing behind."""

import subprocess
import sys
import tempfile

import pytest

from dp_multiagent.deployment.domain_lock import alone_in
from dp_multiagent.errors import DpMultiagentError

RIVALS, TURNS = 4, 200
RIVAL = f"""
import os, sys
from dp_multiagent.deployment.domain_lock import alone_in
from dp_multiagent.errors import DpMultiagentError
held = 0
while held < {TURNS}:
    try:
        with alone_in(7):
            os.mkdir(sys.argv[1])  # fails if another one holds the domain too
            os.rmdir(sys.argv[1])
            held += 1
    except DpMultiagentError:
        pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    return tmp_path


def test_second_team_in_a_domain_is_refused_and_one_in_another_is_not():
    with alone_in(7), alone_in(8), pytest.raises(DpMultiagentError, match='domain 7'), alone_in(7):
        pass


def test_domain_is_free_again_and_no_file_is_left(folder):
    for _ in range(2):
        with alone_in(7):
            assert list(folder.iterdir())
    assert list(folder.iterdir()) == []


def test_refused_team_does_not_take_the_lock_of_the_other_away(folder):
    with alone_in(7):
        for _ in range(2):
            with pytest.raises(DpMultiagentError), alone_in(7):
                pass
    assert list(folder.iterdir()) == []


def test_file_of_a_killed_team_is_no_hindrance(folder):
    with alone_in(7):
        (path,) = folder.iterdir()
    path.touch()
    with alone_in(7):
        pass
    assert list(folder.iterdir()) == []


def test_rivals_never_hold_a_domain_together(tmp_path):
    place = tmp_path / 'held'
    rivals = [
        subprocess.Popen([sys.executable, '-c', RIVAL, str(place)], stderr=subprocess.PIPE)
        for _ in range(RIVALS)
    ]
    errors = [rival.communicate()[1].decode() for rival in rivals]
    assert errors == [''] * RIVALS
    assert list(tmp_path.iterdir()) == []
