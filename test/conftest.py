"""What every test relies on."""

import importlib.util
import os

import pytest
from hypothesis import settings

settings.register_profile('default', deadline=None)
settings.register_profile('ci', deadline=None, derandomize=True, print_blob=True)
settings.load_profile('ci' if os.environ.get('CI') else 'default')

# Under `colcon test` the tests of the build would start colcon again.
collect_ignore = ['test_build.py'] if os.environ.get('DP_MULTIAGENT_COLCON_TEST') else []


def pytest_configure(config):
    config.addinivalue_line('markers', 'ros: needs rclpy and the built interfaces')


def pytest_collection_modifyitems(items):
    if importlib.util.find_spec('rclpy') is None:
        for item in items:
            if item.get_closest_marker('ros'):
                item.add_marker(pytest.mark.skip(reason='rclpy is missing: run `make test`'))
