"""The executor is killed on the way, in the simulator over real processes: the robot stands."""

import random

import pytest
from kill_rig import KillRig

pytest.importorskip('mujoco', reason='the simulator needs mujoco: pip install mujoco')

RATE = 5
STEPS = (0.45, 0.1, 0.55)  # after setting off: driving, turning, driving


def test_robot_stands_within_200_ms_and_5_cm_after_its_executor_was_killed(
    start, join, new_domain, tmp_path
):
    domains = new_domain(), new_domain(), new_domain()
    rig = KillRig(lambda *words: start('node', *words), join, domains, tmp_path, rate=RATE)
    rng = random.Random(6)
    halts = [rig.kill(steps=steps, fraction=rng.random()) for steps in STEPS]
    assert all(halt.distance_in_the_field <= 0.05 for halt in halts), halts
    assert all(halt.seconds_in_the_field <= 0.2 for halt in halts), halts
    assert max(halt.speed for halt in halts) > 0.2, halts
    assert max(abs(halt.turn_speed) for halt in halts) > 0.2, halts
