"""The published schema against the reader, with jsonschema as the independent judge."""

import json

import jsonschema
import pytest
import yaml

from dp_multiagent.errors import ScenarioError
from dp_multiagent.models import scenarios

JUDGE = jsonschema.Draft202012Validator(scenarios.json_schema())


def test_published_schema_is_the_one_of_the_code():
    published = json.loads((scenarios.share() / 'config' / 'scenario.schema.json').read_text())
    assert published == scenarios.json_schema()
    jsonschema.Draft202012Validator.check_schema(published)


@pytest.mark.parametrize('name', scenarios.shipped())
def test_shipped_scenarios_load_build_and_fit_the_schema(name):
    path = scenarios.find(name)
    game = scenarios.load(path).game()
    assert game.active[game.initial]
    JUDGE.validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('version: 1', 'version: 2'),
        ('epsilon: 1.0', 'epsilon: 5000'),
        ('epsilon: 1.0', 'epsilon: "1.0"'),
        ('start: [4, 0]', 'start: [4, 0, 1]'),
        ('start: [4, 0]', 'start: [4, 0.5]'),
        ('swaps: allowed', 'swaps: never'),
        ('name: robot1', 'name: Robot 1'),
        ('horizon: 200', 'horizon: 200\n  extra: 1'),
        ('  horizon: 200\n', ''),
        ('robot2: [robot1]', 'robot2: robot1'),
    ],
)
def test_reader_and_schema_refuse_the_same_structure(tmp_path, old, new):
    text = scenarios.find('navigation').read_text().replace(old, new, 1)
    path = tmp_path / 'x.yaml'
    path.write_text(text)
    assert not JUDGE.is_valid(yaml.safe_load(text))
    with pytest.raises(ScenarioError):
        scenarios.load(path)
