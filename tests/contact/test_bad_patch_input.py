"""Bad input to ``compute_patch`` raises ``InputError`` that names what is wrong and how to mend it."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

SOFT = hs.geometry.sphere(0.1, resolution=0.2, modulus=1e5)
RIGID = hs.geometry.sphere(0.1, resolution=0.2)
GROUND = hs.geometry.half_space()
SOFT_GROUND = hs.geometry.half_space(1e5)
GOOD = np.eye(4)


def changed(row: int, column: int, value: float) -> np.ndarray:
    """The identity with one entry replaced."""
    X = np.eye(4)
    X[row, column] = value
    return X


BAD_POSES = {
    "NaN position": changed(0, 3, np.nan),
    "NaN rotation": changed(1, 1, np.nan),
    "infinite position": changed(2, 3, np.inf),
    "stretched": changed(0, 0, 1.5),
    "sheared": changed(0, 1, 1e-3),
    "mirrored": changed(2, 2, -1.0),
    "last row": changed(3, 0, 0.1),
    "not homogeneous": changed(3, 3, 2.0),
    "3x3": np.eye(3),
    "stack": np.zeros((2, 4, 4)),
    "flat": np.zeros(16),
    "zero": np.zeros((4, 4)),
    "text": "a pose",
    "none": None,
    "ragged": [[1.0, 2.0], [3.0]],
    "complex": np.eye(4) * (1.0 + 0.5j),
}


def assert_clear(error: hs.InputError, element: str) -> None:
    """The error names this function, what is wrong with ``element`` and how to mend it, on one line."""
    assert error.source == "compute_patch"
    assert element in error.element
    assert error.problem
    assert error.mend
    assert "\n" not in str(error)


@pytest.mark.parametrize("bad", BAD_POSES)
@pytest.mark.parametrize("which", ["X_WA", "X_WB"])
def test_pose_that_is_not_rigid(bad, which):
    poses = {"X_WA": GOOD, "X_WB": GOOD, which: BAD_POSES[bad]}
    with pytest.raises(hs.InputError) as raised:
        hs.contact.compute_patch(SOFT, poses["X_WA"], RIGID, poses["X_WB"])
    assert_clear(raised.value, which)


@pytest.mark.parametrize(
    ("a", "b"), [(RIGID, RIGID), (RIGID, GROUND), (GROUND, RIGID), (GROUND, SOFT_GROUND), (SOFT_GROUND,) * 2]
)
def test_pairs_without_a_pressure_field(a, b):
    with pytest.raises(hs.InputError) as raised:
        hs.contact.compute_patch(a, GOOD, b, GOOD)
    assert_clear(raised.value, a.kind.name)


@pytest.mark.parametrize("bad", [None, "sphere", np.zeros((3, 3)), SOFT.vertices])
@pytest.mark.parametrize("which", ["a", "b"])
def test_what_is_not_a_geometry(bad, which):
    a, b = (bad, SOFT) if which == "a" else (SOFT, bad)
    with pytest.raises(hs.InputError) as raised:
        hs.contact.compute_patch(a, GOOD, b, GOOD)
    assert_clear(raised.value, which)


@pytest.mark.parametrize("bad", ["Polygon", "", None, 3, ["polygon"]])
def test_unknown_representation(bad):
    with pytest.raises(hs.InputError) as raised:
        hs.contact.compute_patch(SOFT, GOOD, RIGID, GOOD, representation=bad)
    assert_clear(raised.value, "representation")


@pytest.mark.parametrize("bad", [None, "origin", [1.0, 2.0], np.eye(3), [0.0, np.nan, 0.0]])
def test_point_of_a_moment(bad):
    patch = hs.contact.compute_patch(SOFT, GOOD, GROUND, GOOD)
    with pytest.raises(hs.InputError) as raised:
        patch.moment_on_b(bad)
    assert raised.value.element == "point"


def test_poses_are_read_not_kept():
    """Lists serve as well as arrays, and nobody's array is changed."""
    X_WA, X_WB = np.eye(4), changed(2, 3, 0.15)
    before = X_WA.copy(), X_WB.copy()
    patch = hs.contact.compute_patch(SOFT, X_WA, SOFT, X_WB)
    same = hs.contact.compute_patch(SOFT, X_WA.tolist(), SOFT, X_WB.tolist())
    assert patch.num_faces > 0
    np.testing.assert_array_equal(same.force_on_b, patch.force_on_b)
    np.testing.assert_array_equal(X_WA, before[0])
    np.testing.assert_array_equal(X_WB, before[1])
    X_WB[2, 3] = 5.0
    np.testing.assert_array_equal(patch.moment_on_b(np.zeros(3)), same.moment_on_b(np.zeros(3)))
