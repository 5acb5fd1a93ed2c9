"""Spoilt poses: an ``InputError`` on one line, or a finite patch, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from poses import pose, random_rotation

import hydro_sim_core as hs

FUZZ = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PARTNER = hs.geometry.sphere(0.1, resolution=0.1, modulus=1e5)
RIGID_PARTNER = hs.geometry.sphere(0.1, resolution=0.1)
#: Numbers that are not finite, not sensible, or at the ends of what a double holds.
NUMBERS = st.sampled_from(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 1e200, 1e100, 1e-100, 1e-200, 5e-324]
)
#: What is not an array of numbers at all.
NONSENSE = st.sampled_from(
    [
        *(
            None,
            "mesh",
            b"",
            {},
            [],
            [[]],
            [[1.0, 2.0], [3.0]],
            object(),
            np.zeros(0),
            np.zeros((0, 3)),
            7,
            1j,
        ),
        *(np.zeros((2, 2, 2)), np.array([["a", "b", "c"]]), np.array([None, 1.0], dtype=object)),
        *([[1j, 2.0, 3.0]], np.datetime64("2026-01-01"), np.zeros((3, 3), dtype=bool)),
        np.ones((4, 4), dtype=np.uint64) * 2**63,
    ]
)


def spoil_numbers(draw: st.DrawFn, array: np.ndarray) -> Any:
    """One way to spoil a pose."""
    array = array.copy()
    row = draw(st.integers(0, len(array) - 1))
    match draw(st.sampled_from(["entry", "row", "all", "scale", "cut", "wider", "repeat", "type", "other"])):
        case "entry":
            array.reshape(len(array), -1)[row, 0] = draw(NUMBERS)
        case "row":
            array[row] = draw(NUMBERS)
        case "all":
            array[:] = draw(NUMBERS)
        case "scale":
            with np.errstate(over="ignore", under="ignore"):
                array = array * draw(st.sampled_from([1e300, 1e150, 1e80, 1e-80, 1e-160, 1e-310, -1.0]))
        case "cut":
            array = array[: draw(st.integers(0, len(array)))]
        case "wider":
            array = np.hstack([array.reshape(len(array), -1)] * 2)
        case "repeat":
            array[row] = array[0]
        case "type":
            array = draw(
                st.sampled_from([array.astype(object), array + 1j, array.astype(str), array.tolist()])
            )
        case "other":
            return draw(NONSENSE)
    return array


def assert_one_clear_line(error: hs.InputError) -> None:
    """The error says where, what and how to mend it."""
    assert error.source
    assert error.problem
    assert error.mend
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


@st.composite
def spoilt_poses(draw: st.DrawFn) -> Any:
    """A pose with something wrong, most of the time."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return spoil_numbers(draw, pose(rng.uniform(-0.1, 0.1, 3), random_rotation(rng)))


@FUZZ
@given(
    X_WA=spoilt_poses(),
    X_WB=spoilt_poses() | st.just(np.eye(4)),
    partner=st.sampled_from([PARTNER, RIGID_PARTNER]),
)
def test_compute_patch(X_WA, X_WB, partner):
    try:
        patch = hs.contact.compute_patch(PARTNER, X_WA, partner, X_WB)
    except hs.InputError as error:
        assert_one_clear_line(error)
    else:
        assert np.isfinite(patch.force_on_b).all()
        assert patch.area >= 0.0
