"""The control law on a robot that does what it is told, late and not quite."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_multiagent.driving.floor import Point, Pose
from dp_multiagent.driving.leg import Limits
from dp_multiagent.driving.pilot import ARRIVED, Pilot, Velocity

LIMITS = Limits()
TICK = 0.04
STEP = LIMITS.step_time(1.0)


class Unicycle:
    """A robot that follows each command one tick late and with a scale error of its wheels."""

    def __init__(self, pose, scale=1.0):
        self.pose, self.scale = pose, scale
        self.next = Velocity(0, 0)
        self.time = 0.0

    def run(self, pilot, seconds, clearance=lambda pose: math.inf):
        given_commands = []
        for _ in range(round(seconds / TICK)):
            command = pilot.command(self.pose, self.time, clearance(self.pose))
            self._move(self.next)
            self.next = command
            given_commands.append(command)
        return given_commands

    def _move(self, command):
        x, y, heading = self.pose
        middle = heading + command.turn * self.scale * TICK / 2
        step = command.forward * self.scale * TICK
        self.pose = Pose(
            x + step * math.cos(middle),
            y + step * math.sin(middle),
            heading + command.turn * self.scale * TICK,
        )
        self.time += TICK

    def distance_to(self, goal):
        return math.hypot(goal.x - self.pose.x, goal.y - self.pose.y)


def pilot_to(goal, pose):
    pilot = Pilot(LIMITS, cell_size=1.0)
    pilot.head_for(goal, pose)
    return pilot


headings = st.floats(-math.pi, math.pi)
offsets = st.floats(-0.05, 0.05)
neighbours = st.sampled_from([Point(1, 0), Point(-1, 0), Point(0, 1), Point(0, -1)])


@settings(max_examples=60, deadline=None)
@given(offsets, offsets, headings, neighbours, st.floats(0.93, 1.07))
def test_robot_is_in_the_neighbouring_cell_when_its_step_ends(dx, dy, heading, goal, scale):
    robot = Unicycle(Pose(dx, dy, heading), scale)
    pilot = pilot_to(goal, robot.pose)
    robot.run(pilot, STEP + 0.4)
    assert robot.distance_to(goal) < ARRIVED
    assert pilot.arrived


@settings(max_examples=60, deadline=None)
@given(st.floats(-2, 2), st.floats(-2, 2), headings, st.floats(0.5, 1.5))
def test_commands_never_exceed_speed_and_acceleration(x, y, heading, scale):
    robot = Unicycle(Pose(0, 0, heading), scale)
    pilot = pilot_to(Point(x, y), robot.pose)
    commands = robot.run(pilot, 1.5)
    pilot.head_for(Point(-x, y), robot.pose)
    commands += robot.run(pilot, 1.5)
    pilot.hold()
    forward, turn = np.array(commands + robot.run(pilot, 1.0)).T
    slack = 1 + 1e-9
    assert np.abs(forward).max() <= LIMITS.speed * slack
    assert np.abs(turn).max() <= LIMITS.turn_speed * slack
    assert np.abs(np.diff(forward)).max() <= LIMITS.acceleration * TICK * slack
    assert np.abs(np.diff(turn)).max() <= LIMITS.turn_acceleration * TICK * slack


def test_robot_rests_after_its_step():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(0, 1), robot.pose)
    last = robot.run(pilot, STEP + 2.0)[-1]
    assert last == pytest.approx((0, 0), abs=0.01)


def test_robot_that_is_there_already_does_not_move():
    robot = Unicycle(Pose(0.01, 0, 1.0))
    pilot = pilot_to(Point(0, 0), robot.pose)
    assert pilot.arrived
    assert set(robot.run(pilot, 1.0)) == {(0, 0)}


def test_robot_has_not_arrived_on_the_way():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(1, 0), robot.pose)
    robot.run(pilot, STEP / 2)
    assert not pilot.arrived


def test_robot_stops_before_an_obstacle_and_goes_on_when_it_is_gone():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(1, 0), robot.pose)
    before = robot.run(pilot, STEP + 1.0, clearance=lambda pose: 0.5 - pose.x)
    assert np.array(before[-10:]) == pytest.approx(np.zeros((10, 2)), abs=0.02)
    assert 0.48 < robot.pose.x < 0.5
    assert not pilot.arrived
    robot.run(pilot, STEP)
    assert robot.distance_to(Point(1, 0)) < ARRIVED
    assert pilot.arrived


def test_robot_does_not_touch_an_obstacle_that_appears_at_its_braking_distance():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(1, 0), robot.pose)
    robot.run(pilot, LIMITS.half_turn_time + LIMITS.drive_time(1.0) / 2)
    speed = robot.next.forward
    braking = speed**2 / (2 * 0.9 * LIMITS.acceleration) + 3 * speed * TICK
    wall = robot.pose.x + braking
    robot.run(pilot, 2.0, clearance=lambda pose: wall - pose.x)
    assert robot.pose.x < wall


def test_lost_robot_brakes_within_its_limits():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(1, 0), robot.pose)
    moving = robot.run(pilot, LIMITS.half_turn_time + LIMITS.drive_time(1.0) / 2)[-1].forward
    forward = [pilot.command(None, robot.time + k * TICK).forward for k in range(40)]
    assert moving > 0.8
    assert forward == sorted(forward, reverse=True)
    assert forward[-1] == 0


def test_robot_that_was_carried_away_holds():
    robot = Unicycle(Pose(0, 0, 0))
    pilot = pilot_to(Point(1, 0), robot.pose)
    robot.run(pilot, 1.0)
    robot.pose = Pose(3.0, 3.0, 0.0)
    robot.run(pilot, STEP)
    assert robot.distance_to(Point(3, 3)) < 0.3
    assert not pilot.arrived


def test_clock_that_jumps_causes_no_jerk():
    pilot = pilot_to(Point(1, 0), Pose(0, 0, 0))
    pilot.command(Pose(0, 0, 0), 1000.0)
    before = pilot.command(Pose(0, 0, 0), 1000.04)
    after = pilot.command(Pose(0, 0, 0), 3.0)
    assert after == before
