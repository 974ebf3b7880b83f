import hashlib
import json
import sqlite3

import pytest

from dp_multiagent.cli.main import main
from dp_multiagent.privacy.ledger import Ledger
from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, PureEvent, Release, Unit

UNIT = Unit(neighbours=Neighbours.DIFFERING_STATES, bound=3)
THIRD = Release(
    unit=UNIT,
    mechanism='trajectory',
    loss=PrivacyLoss(epsilon='1/3', delta=0),
    event=PureEvent(epsilon='1/3'),
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'robot.ledger'
    budgets = {UNIT: PrivacyLoss(epsilon=2, delta=0)}
    with Ledger.create(path, budgets=budgets, clock=lambda: 5) as ledger:
        ledger.charge(THIRD)
        ledger.word(THIRD, plan_id=bytes(16), episode=4, initial=0)
    return path


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_show_gives_a_table(capsys, path):
    status, out, _ = run(capsys, 'ledger', 'show', path)
    header, row = out.splitlines()
    assert status == 0
    assert header.split()[:2] == ['protected', 'releases']
    assert row.startswith('trajectories that differ in at most 3 states ')
    assert row.split()[8:] == ['2', '2', '0.6667', '1.333', '0', '0', '0']


def test_show_is_exact_as_json(capsys, path):
    _, out, _ = run(capsys, 'ledger', 'show', path, '--json')
    (account,) = json.loads(out)['accounts']
    assert account['spent'] == {'epsilon': '2/3', 'delta': '0'}
    assert account['remaining'] == {'epsilon': '4/3', 'delta': '0'}
    assert (account['neighbours'], account['bound']) == ('DIFFERING_STATES', '3')


def test_show_works_while_a_robot_holds_the_ledger(capsys, path):
    with Ledger.open(path, clock=lambda: 6) as ledger:
        ledger.charge(THIRD)
        _, out, _ = run(capsys, 'ledger', 'show', path, '--json')
        assert json.loads(out)['accounts'][0]['releases'] == 3


def test_verify_says_how_much_it_checked(capsys, path):
    assert run(capsys, 'ledger', 'verify', path) == (0, f'{path}: 3 entries, no fault\n', '')


def test_verify_names_every_fault_on_a_line_of_its_own_with_status_2(capsys, path):
    with sqlite3.connect(path) as connection:
        (trigger,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'no_update'"
        ).fetchone()
        connection.execute('DROP TRIGGER no_update')
        connection.execute("UPDATE entry SET record = replace(record, '1/3', '1/4')")
        connection.execute(trigger)
    status, out, err = run(capsys, 'ledger', 'verify', path)
    assert (status, out) == (2, '')
    assert err.splitlines() == [
        f'{path}: entry {n}: does not follow from the one before' for n in (2, 3)
    ]


def test_a_faulty_ledger_is_neither_shown_nor_exported(capsys, path):
    path.with_name('robot.ledger.mark').write_bytes(b'')
    for action in ('show', 'export'):
        status, out, err = run(capsys, 'ledger', action, path)
        assert (status, out, err.count('\n')) == (2, '', 1)


@pytest.mark.parametrize('action', ['show', 'verify', 'export'])
def test_a_missing_ledger_gives_one_line_and_makes_none(capsys, tmp_path, action):
    status, _, err = run(capsys, 'ledger', action, tmp_path / 'none')
    assert (status, err) == (2, f'{tmp_path}/none.mark: No such file or directory\n')
    assert list(tmp_path.iterdir()) == []


def test_export_is_enough_to_check_the_chain_elsewhere(capsys, path):
    _, out, _ = run(capsys, 'ledger', 'export', path)
    entries = [json.loads(line) for line in out.splitlines()]
    previous = '0' * 64
    for number, entry in enumerate(entries, 1):
        record = json.dumps(entry['record'], sort_keys=True, separators=(',', ':'))
        text = f'{previous}\n{number}\n{entry["time_ns"]}\n{record}'
        assert entry['hash'] == hashlib.sha256(text.encode()).hexdigest()
        previous = entry['hash']
    assert [entry['record']['kind'] for entry in entries] == ['budget', 'charge', 'charge']
    assert (entries[2]['record']['episode'], entries[2]['record']['plan']) == (4, '00' * 16)


def test_export_as_json_is_one_object(capsys, path):
    _, out, _ = run(capsys, 'ledger', 'export', path, '--json')
    assert len(json.loads(out)['entries']) == 3
