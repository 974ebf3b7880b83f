"""The parameters of a navigator: what they mean, what is refused, and the file that lists them."""

import math
import re

import pytest
import yaml

from dp_multiagent.driving.parameter import described
from dp_multiagent.driving.settings import Settings
from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios

FILE = scenarios.share() / 'config' / 'nodes' / 'robot.yaml'
ENTRY = re.compile(r' {4}(\w+): \S+ +# (.+)')


def test_file_lists_every_parameter_with_its_default():
    content = yaml.safe_load(FILE.read_text())
    defaults = {name: about.default for name, about in described(Settings)}
    assert content == {'/**': {'ros__parameters': defaults}}


def test_file_says_of_every_parameter_what_it_means():
    comments = dict(ENTRY.findall(FILE.read_text()))
    assert list(comments) == [name for name, _ in described(Settings)]
    for name, about in described(Settings):
        if about.choices:
            assert about.description.partition(':')[0] in comments[name]
            assert all(choice in comments[name] for choice in about.choices)
        else:
            assert comments[name].startswith(about.description)


def test_file_says_how_far_a_number_may_go():
    comments = dict(ENTRY.findall(FILE.read_text()))
    said = {name: text for name, text in comments.items() if ' from ' in text}
    numbers = {name for name, about in described(Settings) if isinstance(about.default, float)}
    assert set(said) - {'pose'} == numbers - {'origin_x', 'origin_y'}
    for name, about in described(Settings):
        if name in said and name != 'pose':
            assert said[name].endswith(about.constraint)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('navigator', 'magic'),
        ('pose', ''),
        ('speed', 0.0),
        ('speed', 100.1),
        ('speed', math.nan),
        ('speed', 'fast'),
        ('speed', True),
        ('origin_x', math.inf),
        ('margin', -0.01),
        ('odom_topic', 'two words'),
        ('odom_topic', ''),
        ('scan_topic', 3),
        ('map_frame', '/map'),
        ('map_frame', ''),
        ('frame_prefix', '/turtle1/'),
    ],
)
def test_bad_value_is_refused_by_name_in_one_line(name, value):
    with pytest.raises(ModelError, match=name) as refusal:
        Settings(**{name: value})
    assert repr(value)[:-1] in str(refusal.value)
    assert '\n' not in str(refusal.value)


def test_end_of_a_range_is_in_it():
    for name, about in described(Settings):
        if math.isfinite(about.least):
            assert getattr(Settings(**{name: about.least}), name) == about.least
            assert getattr(Settings(**{name: about.most}), name) == about.most


def test_whole_number_is_a_number():
    about = dict(described(Settings))['speed']
    assert isinstance(about.read('speed', 2), float)


def test_prefix_stands_before_the_frame_of_the_robot_but_not_of_the_map():
    settings = Settings(frame_prefix='turtle1/', base_frame='base_footprint', map_frame='hall')
    assert settings.robot_frame == 'turtle1/base_footprint'
    assert settings.map_frame == 'hall'
