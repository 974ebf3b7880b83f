"""Ten thousand damaged scenario files: each is loaded or refused by name, in under a second."""

import dataclasses
import json
import random
import time

import jsonschema
import pytest

from dp_multiagent.errors import ModelError, ScenarioError
from dp_multiagent.models import scenarios

SEED = 20230731
FILES = 10_000
SECONDS_EACH = 1.0
TOKENS = (
    '&a', '*a', '!!int', '.nan', '.inf', '-1', '1e999', '9' * 400, '[', ']', '{', '}', ': ', '- ',
    '|', '>', "'", '"', '\t', '\x00', '\ufffe', 'null', '~', 'true', '<<: *a', '---', '...', '#',
    '%',
    '[[[[', '? ', '0x1F', '1_000', '12:30:45', '2001-01-01', '\u2028', '\U0001f600', 'version: 1',
)  # fmt: skip


def mutate(rng, text):
    """Damage a text in one to five places."""
    for _ in range(rng.randint(1, 5)):
        lines = text.split('\n')
        row = rng.randrange(len(lines))
        place = rng.randrange(len(text) + 1)
        damage = rng.randrange(8)
        if damage == 0:
            text = text[:place] + rng.choice(TOKENS) + text[place:]
        elif damage == 1:
            text = text[:place] + text[place + rng.randint(1, 20) :]
        elif damage == 2:
            lines.insert(rng.randrange(len(lines)), lines[row])
            text = '\n'.join(lines)
        elif damage == 3:
            del lines[row]
            text = '\n'.join(lines)
        elif damage == 4:
            key, colon, _ = lines[row].partition(':')
            lines[row] = f'{key}{colon} {rng.choice(TOKENS)}'
            text = '\n'.join(lines)
        elif damage == 5:
            lines[row] = ' ' * rng.randint(1, 3) + lines[row]
            text = '\n'.join(lines)
        elif damage == 6:
            digits = [i for i, sign in enumerate(text) if sign.isdigit()]
            if digits:
                i = rng.choice(digits)
                text = text[:i] + rng.choice('0123456789.-e') + text[i + 1 :]
        else:
            text = text[:place] + text[place:] * rng.randint(1, 3)
    return text or ' '


def attempt(path):
    try:
        scenario = scenarios.load(path)
    except ScenarioError as error:
        return None, error.faults
    try:
        scenario.game()
    except ModelError as error:
        if 'too many to plan for' not in str(error):
            raise
    return scenario, ()


def as_json(scenario):
    return json.loads(json.dumps(dataclasses.asdict(scenario)))


def test_no_damaged_file_gives_a_traceback_or_hangs(tmp_path):
    rng = random.Random(SEED)
    originals = [path.read_text() for path in scenarios.shipped().values()]
    judge = jsonschema.Draft202012Validator(scenarios.json_schema())
    path = tmp_path / 'damaged.yaml'
    loaded = refused = 0
    for _ in range(FILES):
        text = mutate(rng, rng.choice(originals))
        path.write_bytes(text.encode('utf-8', errors='replace'))
        start = time.perf_counter()
        scenario, faults = attempt(path)
        assert time.perf_counter() - start < SECONDS_EACH, text
        assert all(fault.line >= 1 and '\n' not in str(fault) for fault in faults)
        if faults:
            refused += 1
        else:
            loaded += 1
            judge.validate(as_json(scenario))
    assert loaded > FILES // 100
    assert refused > FILES // 2


@pytest.mark.parametrize(
    'text',
    [
        'kind: navigation\n' + 'a: [\n' * 12,
        'kind: navigation\n' + '- ' * 60_000,
        'kind: navigation\nmap: {cells: [' + '"....",' * 15_000 + ']}',
        'kind: navigation\n' + ''.join(f'k{i}: 1\n' for i in range(12_000)),
        'kind: navigation\ntitle: "' + '\\n' * 60_000 + '"',
        'kind: navigation\nrobots: [' + '{},' * 30_000 + ']',
    ],
    ids=lambda text: text[17:30],
)
def test_the_largest_files_are_refused_within_a_second(tmp_path, text):
    path = tmp_path / 'large.yaml'
    path.write_text(text)
    start = time.perf_counter()
    with pytest.raises(ScenarioError):
        scenarios.load(path)
    assert time.perf_counter() - start < SECONDS_EACH
