"""What a round tool feels is told apart."""

import math

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import contact_state

RADIUS = 4e-3


def wrench_of(*contacts):
    """Force and moment about the middle of the tip, of forces at points."""
    forces = np.array([force for force, _ in contacts], dtype=float)
    moments = [np.cross(point, force) for force, point in contacts]
    return forces.sum(axis=0), np.sum(moments, axis=0)


@pytest.mark.parametrize(
    ("contacts", "depth", "kind"),
    [
        ([((0, 0, -0.3), (0, 0, 0))], 0.0, "free"),
        ([((0, 0, -5), (1e-3, -1e-3, 0))], 0.0, "face"),
        ([((0.5, 0, -5), (3e-3, 2e-3, 0))], 0.0, "edge"),
        ([((3, 1, -0.5), (-4e-3, 0, -5e-3))], 0.01, "wall"),
        ([((3, 0, 0), (-4e-3, 0, -0.01)), ((-2.9, 0, 0), (4e-3, 0, 0))], 0.01, "wedged"),
        (
            [((0, 2, 0), (4e-3, 0, -0.01)), ((0, -2, 0), (-4e-3, 0, -0.01))],
            0.02,
            "wedged",
        ),  # turned about its axis
        ([((0, 2, -1), (4e-3, 0, 0)), ((0, -2, -1), (-4e-3, 0, 0))], 0.0, "wedged"),
        ([((0.5, 0.4, -5), (1e-3, -1e-3, 0))], 0.0, "face"),  # friction turns it as well
        ([((3, 0, 0), (-4e-3, 0, -0.02))], -0.001, "wedged"),  # nothing is there so high above the tip
    ],
)
def test_contacts_are_told_apart(contacts, depth, kind):
    touch = contact_state(*wrench_of(*contacts), RADIUS, depth)
    assert (touch.kind, touch.depth) == (kind, depth)
    if kind in ("face", "edge"):
        np.testing.assert_allclose(touch.point, contacts[0][1][:2], atol=1e-12)
        assert touch.push == 5.0


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"force": [0.0, math.nan, -3.0]}, "contact_state: force: holds NaN or infinity"),
        ({"moment": [0.0, 0.0, math.inf]}, "contact_state: moment: holds NaN or infinity"),
        ({"force": [0.0, -3.0]}, r"contact_state: force: has shape \(2,\)"),
        ({"radius": 0.0}, "contact_state: radius: is 0.0; give a number above 0, m"),
        ({"radius": math.nan}, "contact_state: radius: is nan"),
        ({"depth": math.nan}, "contact_state: depth: is nan"),
        ({"depth": "deep"}, "contact_state: depth: is 'deep'; give a number, m"),
    ],
)
def test_a_broken_sensor_is_no_touch(changed, told):
    given = {"force": np.zeros(3), "moment": np.zeros(3), "radius": RADIUS, "depth": 0.0}
    with pytest.raises(InputError, match=told):
        contact_state(**{**given, **changed})
