"""Bags made by hand, as SQLite and as MCAP: which may leave, and why the others may not."""

import json
import sqlite3
import struct
from contextlib import closing

import pytest
import yaml

from dp_multiagent.cli.main import main
from dp_multiagent.models.recordable import OF_EACH_ROBOT, recordable
from dp_multiagent.models.team_domain import speaker

PUBLIC = {
    '/robot1/private_state': 'dp_multiagent/msg/PrivateState',
    '/robot2/budget': 'dp_multiagent/msg/PrivacyBudget',
    '/robot1/policy': 'dp_multiagent/msg/LocalPolicy',
    '/team_plan': 'dp_multiagent/msg/TeamPlan',
    '/clock': 'rosgraph_msgs/msg/Clock',
    '/synthesize_policies/_action/status': 'action_msgs/msg/GoalStatusArray',
}
ODOMETRY = {'/odom': 'nav_msgs/msg/Odometry'}
MAGIC = b'\x89MCAP0\r\n'


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def check(capsys, path):
    """Return the exit status and what is wrong with a bag."""
    status, out, _ = run(capsys, 'bag', 'check', path, '--json')
    data = json.loads(out)
    assert data['may_leave'] == (status == 0)
    named = [f'{topic["name"]} {topic["offence"]}' for topic in data['topics'] if topic['offence']]
    return status, named + data['others']


def sqlite_file(path, topics, more=()):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT,'
            ' serialization_format TEXT, offered_qos_profiles TEXT);'
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,'
            ' data BLOB);'
        )
        for name, kind in topics.items():
            connection.execute(
                'INSERT INTO topics(name, type, serialization_format) VALUES (?, ?, ?)',
                (name, kind, 'cdr'),
            )
        connection.execute('INSERT INTO messages VALUES (1, 1, 5, ?)', (bytes(100_000),))
        for statement in more:
            connection.execute(statement)
        connection.commit()
    return path


def metadata(folder, topics, files):
    listed = [
        {'topic_metadata': {'name': name, 'type': kind}, 'message_count': 1}
        for name, kind in topics.items()
    ]
    bag = {'version': 9, 'relative_file_paths': files, 'topics_with_message_count': listed}
    text = yaml.safe_dump({'rosbag2_bagfile_information': bag})
    (folder / 'metadata.yaml').write_text(text)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / 'bag'
    folder.mkdir()
    return folder


def sqlite_bag(folder, *, described, recorded, more=()):
    sqlite_file(folder / 'bag_0.db3', recorded, more)
    metadata(folder, described, ['bag_0.db3'])
    return folder


def text(string):
    return struct.pack('<I', len(string)) + string.encode()


def record(opcode, content):
    return struct.pack('<BQ', opcode, len(content)) + content


def channels(topics, first=1):
    """Return the records of schemas and channels."""
    records = b''
    for number, (name, kind) in enumerate(topics.items(), first):
        schema = struct.pack('<H', number) + text(kind) + text('ros2msg') + text('')
        channel = struct.pack('<HH', number, number) + text(name) + text('cdr') + bytes(4)
        records += record(3, schema) + record(4, channel)
    return records


def message(channel):
    return record(5, struct.pack('<HIQQ', channel, 0, 0, 0) + b'data')


def index(channel):
    return record(7, struct.pack('<HI', channel, 0))


def chunk(records, compression=''):
    head = struct.pack('<QQQI', 0, 0, len(records), 0) + text(compression)
    return record(6, head + struct.pack('<Q', len(records)) + records)


def mcap_file(path, data, summary=b''):
    end = record(15, bytes(4)) + summary + record(2, bytes(20))
    path.write_bytes(MAGIC + record(1, text('ros2') + text('')) + data + end + MAGIC)
    return path


def test_bag_of_the_team_may_leave(capsys, folder):
    bag = sqlite_bag(folder, described=PUBLIC, recorded=PUBLIC)
    assert check(capsys, bag) == (0, [])
    assert check(capsys, bag / 'bag_0.db3') == (0, [])
    status, out, _ = run(capsys, 'bag', 'check', bag)
    assert status == 0
    assert out.splitlines()[-1] == f'{bag}: may leave'


@pytest.mark.parametrize(
    ('topic', 'kind'),
    [
        ('/odom', 'nav_msgs/msg/Odometry'),
        ('/robot1/odom', 'nav_msgs/msg/Odometry'),
        ('/cmd_vel', 'geometry_msgs/msg/Twist'),
        ('/tf', 'tf2_msgs/msg/TFMessage'),
        ('/status', 'std_msgs/msg/String'),
        ('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray'),
        ('/true_markers', 'visualization_msgs/msg/MarkerArray'),
        ('/parameter_events', 'rcl_interfaces/msg/ParameterEvent'),
        ('/rosout', 'rcl_interfaces/msg/Log'),
        ('/a/robot1/private_state', 'dp_multiagent/msg/PrivateState'),
        ('/robot1/private_state/odom', 'dp_multiagent/msg/PrivateState'),
        ('private_state', 'dp_multiagent/msg/PrivateState'),
        ('', ''),
    ],
)
def test_topic_that_is_not_on_the_list_is_named(capsys, folder, topic, kind):
    bag = sqlite_bag(folder, described=PUBLIC, recorded=PUBLIC | {topic: kind})
    assert check(capsys, bag) == (1, [f'{topic} is not on the list'])


def test_topic_of_another_type_is_named(capsys, folder):
    disguised = {'/robot1/private_state': 'nav_msgs/msg/Odometry'}
    bag = sqlite_bag(folder, described=PUBLIC, recorded=disguised)
    status, offences = check(capsys, bag)
    assert status == 1
    assert 'is of type nav_msgs/msg/Odometry' in offences[0]


def test_topic_that_only_the_metadata_names_is_named(capsys, folder):
    bag = sqlite_bag(folder, described=PUBLIC | ODOMETRY, recorded=PUBLIC)
    assert check(capsys, bag) == (1, ['/odom is not on the list'])


def test_bag_without_metadata_is_judged_by_its_data(capsys, folder):
    sqlite_file(folder / 'bag_0.db3', ODOMETRY)
    assert check(capsys, folder) == (1, ['/odom is not on the list'])


def test_every_data_file_is_opened_whatever_the_metadata_lists(capsys, folder):
    bag = sqlite_bag(folder, described=PUBLIC, recorded=PUBLIC)
    mcap_file(bag / 'bag_1.mcap', channels(ODOMETRY))
    assert check(capsys, bag) == (1, ['/odom is not on the list'])


@pytest.mark.parametrize(
    ('statements', 'offence'),
    [
        (['INSERT INTO messages VALUES (2, 99, 5, NULL)'], '1 messages of topics without a name'),
        (['CREATE TABLE poses(x REAL)'], 'table poses'),
        (['DELETE FROM messages'], 'deleted messages may stand'),
    ],
)
def test_what_a_clumsy_deletion_or_addition_leaves_is_named(capsys, folder, statements, offence):
    bag = sqlite_bag(folder, described=PUBLIC, recorded=PUBLIC, more=statements)
    status, offences = check(capsys, bag)
    assert status == 1
    assert offence in offences[0]


def test_stray_file_is_named(capsys, folder):
    bag = sqlite_bag(folder, described=PUBLIC, recorded=PUBLIC)
    (bag / 'notes').mkdir()
    (bag / 'notes' / 'poses.csv').write_text('1,2')
    assert check(capsys, bag) == (1, ['notes/poses.csv: is not part of a bag'])


@pytest.mark.parametrize('is_chunked', [False, True])
@pytest.mark.parametrize(('topics', 'status'), [(PUBLIC, 0), (PUBLIC | ODOMETRY, 1)])
def test_channels_of_an_mcap_are_found_in_and_outside_of_chunks(
    capsys, tmp_path, is_chunked, topics, status
):
    data = channels(topics) + message(1)
    path = mcap_file(tmp_path / 'bag.mcap', chunk(data) + index(1) if is_chunked else data)
    assert check(capsys, path) == (status, ['/odom is not on the list'] * status)


def test_compressed_mcap_is_judged_by_its_summary(capsys, tmp_path):
    data = chunk(b'something compressed', 'zstd') + index(1)
    for topics, status in ((PUBLIC, 0), (ODOMETRY, 1)):
        path = mcap_file(tmp_path / f'{status}.mcap', data, channels(topics))
        assert check(capsys, path)[0] == status


def test_messages_of_a_channel_without_a_name_are_named(capsys, tmp_path):
    data = chunk(b'something compressed', 'zstd') + index(1) + index(77)
    path = mcap_file(tmp_path / 'bag.mcap', data, channels(PUBLIC))
    assert check(capsys, path) == (1, ['bag.mcap: channel 77 has messages and no name'])


def test_attachment_is_named(capsys, tmp_path):
    attachment = record(9, bytes(16) + text('map.png') + text('image/png') + bytes(12))
    path = mcap_file(tmp_path / 'bag.mcap', channels(PUBLIC) + attachment)
    assert check(capsys, path) == (1, ['bag.mcap: attachment map.png'])


def damaged_mcap(tmp_path):
    path = mcap_file(tmp_path / 'bag.mcap', channels(PUBLIC) + message(1))
    path.write_bytes(path.read_bytes()[:-30])
    return path


def two_schemas(tmp_path):
    return mcap_file(tmp_path / 'bag.mcap', channels(PUBLIC) + channels(ODOMETRY))


def blind_mcap(tmp_path):
    return mcap_file(tmp_path / 'bag.mcap', chunk(b'something compressed', 'lz4'))


def half_blind_mcap(tmp_path):
    data = chunk(channels(PUBLIC)) + chunk(b'something compressed', 'lz4')
    return mcap_file(tmp_path / 'bag.mcap', data)


def written(name, content):
    def write(tmp_path):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def bad_metadata(content):
    def write(tmp_path):
        sqlite_bag(tmp_path, described=PUBLIC, recorded=PUBLIC)
        (tmp_path / 'metadata.yaml').write_text(content)
        return tmp_path

    return write


def missing_file(tmp_path):
    sqlite_file(tmp_path / 'bag_0.db3', PUBLIC)
    metadata(tmp_path, PUBLIC, ['bag_0.db3', 'bag_1.db3'])
    return tmp_path


@pytest.mark.parametrize(
    ('make', 'line'),
    [
        (lambda tmp_path: tmp_path / 'nothing', 'is not there'),
        (lambda tmp_path: tmp_path, 'there is no .db3 or .mcap'),
        (written('bag.txt', b''), 'is no bag'),
        (written('metadata.yaml', b''), 'name its folder'),
        (written('bag.db3', b''), 'no such table'),
        (written('bag.db3', b'x' * 5000), 'is not a database'),
        (written('bag.db3.zstd', b''), 'is compressed'),
        (written('bag.mcap', b''), 'damaged'),
        (written('bag.mcap', MAGIC + MAGIC), 'damaged'),
        (damaged_mcap, 'damaged'),
        (two_schemas, 'damaged'),
        (blind_mcap, 'has no summary'),
        (half_blind_mcap, 'has no summary'),
        (bad_metadata('{'), 'metadata.yaml: cannot be read'),
        (bad_metadata('[' * 100_000), 'metadata.yaml: cannot be read'),
        (bad_metadata('rosbag2_bagfile_information: 3'), 'is missing'),
        (missing_file, 'bag_1.db3 is not there'),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(capsys, tmp_path, make, line):
    status, out, err = run(capsys, 'bag', 'check', make(tmp_path))
    assert (status, out) == (2, '')
    assert line in err
    assert err.count('\n') == 1


def test_no_cut_of_an_mcap_passes(capsys, tmp_path):
    path = mcap_file(tmp_path / 'bag.mcap', chunk(channels(PUBLIC) + message(1)) + index(1))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert run(capsys, 'bag', 'check', path)[0] == 2


def test_topics_are_one_per_line_to_be_recorded(capsys):
    status, out, _ = run(capsys, 'bag', 'topics', 'crossing')
    topics = out.split()
    assert status == 0
    assert {'/team_plan', '/robot1/private_state', '/robot2/policy', '/clock'} <= set(topics)
    _, out, _ = run(capsys, 'bag', 'topics', 'crossing', '--json')
    assert [topic['name'] for topic in json.loads(out)['topics']] == topics


def test_list_is_that_of_the_team_and_the_clock():
    topics = recordable(['robot1'])
    assert {topic for topic in topics if speaker(topic) is None} == {'/clock'}
    assert all(speaker(f'/robot1/{name}') for name in OF_EACH_ROBOT)
    assert len(topics) == 9
