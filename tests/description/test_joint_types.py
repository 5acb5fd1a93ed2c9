"""Types of joints say what can be; what cannot is refused when the row is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.joint_types import Coordinate, joint_types

TURN = joint_types()["revolute"]
WRONG = {
    "a number as name": {"name": 3},
    "a name of two words": {"name": "two words"},
    "a word of Python": {"name": "class"},
    "coordinates that are none": {"coordinates": 3},
    "coordinates that are units": {"coordinates": ("rad",)},
    "two coordinates of one name": {"coordinates": (Coordinate("m", "x"), Coordinate("rad", "x"))},
    "one of several without a name": {"coordinates": (Coordinate("m"), Coordinate("rad", "turn"))},
    "seven coordinates": {"coordinates": tuple(Coordinate("m", f"c{i}") for i in range(7))},
    "velocities beside coordinates": {"num_velocities": 3},
    "a quaternion of two velocities": {"coordinates": (), "num_velocities": 2, "ends": "none"},
    "seven velocities": {"coordinates": (), "num_velocities": 7, "ends": "none"},
    "no kernels": {"kernels": ""},
    "kernels that are no place": {"kernels": "turn"},
    "kernels of what stands still": {"coordinates": (), "ends": "none"},
    "an axis of no kind": {"axis": "z"},
    "ends of no kind": {"ends": "two"},
    "ends of what has no coordinates": {"coordinates": (), "num_velocities": 6},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_types_that_cannot_be_are_refused(values):
    with pytest.raises(hs.InputError, match="does not fit"):
        replace(TURN, **values)


@pytest.mark.parametrize(("unit", "suffix"), [("deg", ""), ("rad", "two words"), ("rad", 3), ("m", "a/b")])
def test_coordinates_that_cannot_be_are_refused(unit, suffix):
    with pytest.raises(hs.InputError, match=r"is no unit|cannot be a name"):
        Coordinate(unit, suffix)


def test_types_begin_where_the_child_is_in_the_joint():
    """A quaternion is one, not zero."""
    ball = replace(TURN, coordinates=(), num_velocities=3, ends="none")
    assert ball.start == (1.0, 0.0, 0.0, 0.0)
    assert joint_types()["floating"].start == (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert joint_types()["planar"].start == (0.0, 0.0, 0.0)
    assert joint_types()["fixed"].start == ()


def test_only_six_velocities_leave_all_freedom():
    """Only then do the shapes of two links that a joint holds together touch."""
    assert [name for name, row in joint_types().items() if row.is_free] == ["floating"]
