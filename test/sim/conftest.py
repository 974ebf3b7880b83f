"""A world with robots in it."""

import pytest
from drives import Drive

from dp_multiagent.driving.floor import Floor
from dp_multiagent.models.gridmap import GridMap


@pytest.fixture
def drive():
    """Put robots on a map: `drive(['..', '#.'], (0, 0), (1, 1))`."""
    pytest.importorskip('mujoco', reason='the simulator needs mujoco: pip install mujoco')
    from dp_multiagent.sim.world import World

    def make(rows, *starts):
        floor = Floor(GridMap(tuple(rows), slip=0.0))
        robots = {f'robot{i + 1}': start for i, start in enumerate(starts)}
        return Drive(floor, World(floor, robots))

    return make
