"""Parts weigh together what the whole weighs."""

import numpy as np

from dp_multiagent.sim.inertia import Inertia


def test_two_halves_of_a_cylinder_are_the_cylinder():
    upper = Inertia.of_cylinder(1.5, (1.0, 2.0, 0.5), 0.3, 1.0)
    lower = Inertia.of_cylinder(1.5, (1.0, 2.0, -0.5), 0.3, 1.0)
    whole = Inertia.of_cylinder(3.0, (1.0, 2.0, 0.0), 0.3, 2.0)
    both = upper + lower
    assert both.mass == whole.mass
    np.testing.assert_allclose(both.centre, whole.centre)
    np.testing.assert_allclose(both.tensor, whole.tensor)


def test_small_balls_are_point_masses():
    both = Inertia.of_sphere(1.0, (0, 0, 0), 0.0) + Inertia.of_sphere(3.0, (1, 1, 0), 0.0)
    np.testing.assert_allclose(both.centre, [0.75, 0.75, 0])
    np.testing.assert_allclose(both.tensor, [[0.75, -0.75, 0], [-0.75, 0.75, 0], [0, 0, 1.5]])


def test_a_ball_has_two_fifths_of_its_mass_times_its_radius_squared():
    np.testing.assert_allclose(Inertia.of_sphere(5.0, (0, 0, 0), 2.0).tensor, 8 * np.eye(3))
