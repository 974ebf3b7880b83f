"""Physics: robots get where their control law wants them, walls and robots are solid."""

import math
import sys

import numpy as np
import pytest
from drives import LIMITS, PERIOD

from dp_multiagent.driving.floor import Floor
from dp_multiagent.driving.pilot import Velocity
from dp_multiagent.errors import MissingPackageError
from dp_multiagent.models.gridmap import MOVES, GridMap
from dp_multiagent.sim.mjcf import RADIUS

NAVIGATION = ['!!#!.', '.....', '..#..', '.....', '..#..']
DECIDING = 0.4  # seconds of a step in which private states are still awaited


def steps(rows):
    grid = GridMap(tuple(rows), slip=0.0)
    for cell in grid.cells:
        for move in MOVES.values():
            goal = (cell[0] + move[0], cell[1] + move[1])
            if goal in grid.index and goal != cell:
                yield cell, goal


@pytest.mark.parametrize(('start', 'goal'), list(steps(NAVIGATION)), ids=str)
def test_robot_is_within_5_cm_of_any_neighbouring_cell_before_the_step_ends(drive, start, goal):
    robot = drive(NAVIGATION, start)
    robot.head_for(goal)
    robot.run(PERIOD - DECIDING)
    assert robot.pilots[0].arrived
    assert robot.error(0, goal) < 0.05


def test_tour_of_the_map_stays_within_5_cm_and_within_the_limits(drive):
    from dp_multiagent.sim.world import TICK

    tour = [(3, 2), (3, 3), (2, 3), (1, 3), (1, 2), (1, 1), (2, 1), (2, 0), (2, 1), (3, 1)]
    robot = drive(NAVIGATION, (3, 1))
    for cell in tour * 2:
        robot.head_for(cell)
        robot.run(PERIOD)
        assert robot.error(0, cell) < 0.05
    commands = np.array(robot.commands)[:, 0]
    speeds = np.array(robot.speeds)[:, 0]
    bounds = np.array([LIMITS.speed, LIMITS.turn_speed])
    changes = np.array([LIMITS.acceleration, LIMITS.turn_acceleration]) * TICK
    assert np.all(np.abs(commands).max(axis=0) <= bounds)
    assert np.all(np.abs(np.diff(commands, axis=0)).max(axis=0) <= changes * (1 + 1e-9))
    assert np.all(np.abs(speeds).max(axis=0) <= 1.02 * bounds)
    assert np.all(np.abs(speeds).max(axis=0) >= 0.7 * bounds)


@pytest.mark.parametrize(
    ('starts', 'goals'),
    [
        (((1, 0), (1, 1)), ((1, 1), (1, 2))),
        (((1, 0), (1, 1)), ((1, 1), (0, 1))),
        (((1, 0), (1, 1)), ((1, 1), (2, 1))),
        (((1, 2), (1, 1)), ((1, 1), (1, 0))),
        (((0, 1), (1, 1)), ((1, 1), (1, 0))),
        (((0, 0), (1, 1)), ((0, 1), (1, 0))),
    ],
    ids=str,
)
def test_robot_that_follows_another_does_not_touch_it(drive, starts, goals):
    team = drive(['...'] * 3, *starts)
    team.head_for(*goals)
    team.run(PERIOD)
    assert team.touched == set()
    assert max(team.error(i, goal) for i, goal in enumerate(goals)) < 0.05


def test_robots_that_head_for_the_same_cell_touch(drive):
    team = drive(['...'], (0, 0), (0, 2))
    team.head_for((0, 1), (0, 1))
    team.run(PERIOD)
    assert team.touched == {(0, 1)}
    one, other = team.poses
    assert math.hypot(one.x - other.x, one.y - other.y) >= 2 * RADIUS - 0.01


def test_robots_that_exchange_their_cells_touch(drive):
    team = drive(['..'], (0, 0), (0, 1))
    team.head_for((0, 1), (0, 0))
    team.run(PERIOD)
    assert team.touched == {(0, 1)}


def test_short_touch_between_two_measurements_is_noticed(drive):
    team = drive(['...'], (0, 0), (0, 2))
    contacts = []
    team.world.command(0, Velocity(3.0, 0.0))
    for _ in range(100):
        team.world.command(0, Velocity(3.0, 0.0))
        team.world.tick()
        contacts.append(team.world.touched)
    assert {(0, 1)} in contacts


def test_wall_stops_a_robot(drive):
    robot = drive(['.#'], (0, 0))
    for _ in range(100):
        robot.world.command(0, Velocity(1.0, 0.0))
        robot.world.tick()
    assert robot.poses[0].x <= 1 - RADIUS + 0.01
    assert robot.touched == set()


def test_robot_drives_over_a_deadly_cell_undisturbed(drive):
    robot, other = drive(['.!.'], (0, 0)), drive(['...'], (0, 0))
    for each in (robot, other):
        each.head_for((0, 2))
        each.run(PERIOD * 2)
    assert robot.poses == other.poses


def test_robot_that_is_told_to_turn_turns_as_fast(drive):
    robot = drive(['.'], (0, 0))
    for _ in range(25):
        robot.world.command(0, Velocity(0.0, 1.0))
        robot.world.tick()
    assert robot.world.velocity(0).turn == pytest.approx(1.0, rel=0.05)
    assert robot.poses[0].heading == pytest.approx(1.0, abs=0.08)


def test_wild_command_makes_neither_physics_nor_its_library_complain(drive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = drive(['#####', '#...#', '#####'], (1, 2))
    for velocity in (Velocity(1e308, 0.0), Velocity(-1e308, 1e308), Velocity(1e9, -1e9)):
        robot.world.command(0, velocity)
        for _ in range(20):
            robot.world.tick()
        assert all(map(math.isfinite, robot.world.pose(0)))
    assert list(tmp_path.iterdir()) == []


def test_base_stops_when_it_hears_nothing_for_half_a_second(drive):
    robot = drive(['.....'], (0, 0))
    robot.world.command(0, Velocity(1.0, 0.0))
    for _ in range(50):
        robot.world.tick()
    assert robot.world.velocity(0).forward == pytest.approx(0, abs=1e-3)
    assert 0.9 < robot.poses[0].x < 1.2


def trace(world):
    """Return all poses while two robots run into each other and into a wall."""
    poses = []
    for k in range(150):
        world.command(0, Velocity(1.0, 0.2 * math.sin(0.2 * k)))
        world.command(1, Velocity(-0.8, 0.05))
        world.tick()
        poses.append([world.pose(0), world.pose(1), world.touched])
    assert any(touched for *_, touched in poses)
    return poses


def test_physics_is_the_same_in_every_run(drive):
    one, other = (trace(drive(['...', '.#.'], (0, 0), (0, 2)).world) for _ in range(2))
    assert one == other


def test_episode_after_a_reset_is_the_same_as_the_first_but_later(drive):
    world = drive(['...', '.#.'], (0, 0), (0, 2)).world
    first, time = trace(world), world.time_ns
    world.reset()
    assert world.time_ns == time
    assert world.touched == frozenset()
    assert trace(world) == first


def test_missing_mujoco_is_said_in_one_line(monkeypatch):
    from dp_multiagent.sim.world import World

    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(MissingPackageError, match='pip install mujoco'):
        World(Floor(GridMap(('.',), slip=0.0)), {'robot1': (0, 0)})
