"""Arithmetic with the same last bits everywhere, beside that of the libraries which it replaces."""

from __future__ import annotations

import importlib
import math
import pkgutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hydro_sim_core
from hydro_sim_core import arithmetic
from hydro_sim_core.arithmetic import (
    LARGEST_ANGLE,
    cross,
    dot,
    logarithm,
    norm,
    product,
    sine_cosine,
    sines_cosines,
)
from hydro_sim_core.compilation.dependencies import dependencies
from hydro_sim_core.compilation.kernels import Entry
from hydro_sim_core.description.poses import pose
from hydro_sim_core.dynamics.bodies import _turn_of_z

ANGLES = st.floats(-LARGEST_ANGLE, LARGEST_ANGLE) | st.floats(-10.0, 10.0) | st.floats(-1e-3, 1e-3)
#: Digits of sine and cosine of angles that are hard to reduce: next to multiples of pi / 2, from 60 digits of pi.
HARD = {
    math.pi: (1.2246467991473532e-16, -1.0),
    math.pi / 2.0: (1.0, 6.123233995736766e-17),
    -math.pi / 2.0: (-1.0, 6.123233995736766e-17),
    2.0 * math.pi: (-2.4492935982947064e-16, 1.0),
    0.0: (0.0, 1.0),
}


@given(ANGLES)
def test_sine_and_cosine_are_within_one_unit_in_the_last_place(angle):
    """The C library's are too, and may be off to the other side."""
    for ours, theirs in zip(sine_cosine.function(angle), (math.sin(angle), math.cos(angle)), strict=True):
        assert abs(ours - theirs) <= 2.0 * math.ulp(theirs)


@pytest.mark.parametrize("angle", HARD)
def test_angles_next_to_a_quarter_turn_are_reduced_exactly(angle):
    assert sine_cosine.function(angle) == pytest.approx(HARD[angle], rel=3e-16, abs=0.0)


@pytest.mark.parametrize("angle", [math.nextafter(LARGEST_ANGLE, math.inf), -1e9, 1e300])
def test_huge_angles_have_a_sine_too(angle):
    assert sine_cosine.function(angle) == (math.sin(angle), math.cos(angle))


@pytest.mark.parametrize("angle", [math.inf, -math.inf, math.nan])
def test_an_angle_that_is_none_has_no_sine(angle):
    """In Python as in compiled code, which raises nothing."""
    assert np.isnan(sines_cosines([angle, 1.0])).tolist() == [[True, False], [True, False]]
    assert np.isnan(sine_cosine(angle)).all()


@given(st.floats(1e-300, 1e300) | st.floats(0.5, 2.0) | st.floats(1.0, 1.0 + 1e-6))
def test_a_logarithm_is_within_three_units_in_the_last_place(x):
    assert abs(logarithm.function(x) - math.log(x)) <= 3.0 * math.ulp(math.log(x))
    assert logarithm(x) == logarithm.function(x)


@pytest.mark.parametrize("x", [0.0, -1.0, math.inf, math.nan])
def test_what_has_no_logarithm_gives_nan(x):
    assert math.isnan(logarithm(x))


def test_compiled_and_interpreted_agree_to_the_last_bit():
    """Kernels use one and Python the other."""
    rng = np.random.default_rng(7)
    angles = np.r_[
        rng.uniform(-8.0, 8.0, 2000),
        rng.uniform(-1.0, 1.0, 500) * LARGEST_ANGLE,
        np.arange(-40, 40) * math.pi / 4,
    ]
    compiled = np.array([sine_cosine(float(angle)) for angle in angles])
    np.testing.assert_array_equal(np.column_stack(sines_cosines(angles)), compiled)


def test_cross_products_are_those_of_vectors():
    a, b = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=0.0, atol=1e-15)
    assert cross(a[0, 0], b).shape == (4, 5, 3)


def test_products_are_those_of_matrices():
    """Of stacks and with vectors."""
    rng = np.random.default_rng(8)
    a, b, c, v = (rng.standard_normal(shape) for shape in ((6, 3, 4), (4, 5), (6, 5, 2), 4))
    np.testing.assert_allclose(product(a, b, c), a @ b @ c, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(product(a, v), a @ v, rtol=0.0, atol=1e-14)
    assert product(np.eye(3), np.eye(3)).shape == (3, 3)
    assert dot(v, v) == pytest.approx(v @ v)
    assert norm(v) == pytest.approx(np.linalg.norm(v))


def test_a_product_rounds_every_term():
    """One that multiplies and adds in a single rounding gives 2^-60 here."""
    small = 2.0**-30
    assert product([[1.0 + small, -1.0]], [1.0 + small, 1.0 + 2.0 * small])[0] == 0.0


@given(st.tuples(*3 * [st.floats(-7.0, 7.0)]))
def test_poses_turn_about_fixed_axes(rpy):
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    np.testing.assert_allclose(pose(rpy=rpy)[:3, :3], expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    "axis",
    [
        (0, 0, 1),
        (0, 0, -1),
        (1, 0, 0),
        (0, -1, 0),
        (1e-7, 1e-8, -1),
        (1e-9, 0, 1),
        (2, -3, 0.5),
        (2, -3, -0.5),
    ],
)
def test_the_turn_of_a_plane_is_the_smallest(axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    R = _turn_of_z(axis)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    assert np.linalg.det(R) > 0.0
    assert np.trace(R) == pytest.approx(1.0 + 2.0 * axis[2])  # the cosine of the smallest angle


def test_parts_of_a_quarter_turn_leave_room_for_the_turns():
    """20 bits of turns times 33 bits of pi / 2 are exact."""
    assert LARGEST_ANGLE * arithmetic._QUARTER_TURNS < 2**20
    for part in (arithmetic._PART_1, arithmetic._PART_2):
        mantissa, _ = math.frexp(part)
        assert (mantissa * 2**33).is_integer()


def test_kernels_call_nothing_of_the_c_library_that_differs():
    """Square roots are exact; sines beyond the largest angle are the one exception."""
    for module in pkgutil.walk_packages(hydro_sim_core.__path__, "hydro_sim_core."):
        if module.name.split(".")[1] in ("contact", "dynamics", "simulation", "solvers"):
            importlib.import_module(module.name)
    differing = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "expm1"}
    differing |= {"log", "log1p", "log2", "log10", "pow", "hypot", "cbrt", "arctan2", "power"}
    entries = [entry for symbol, entry in Entry.registry.items() if symbol.startswith("hydro_sim_core.")]
    kernels = {kernel for entry in entries for kernel in dependencies(entry).kernels}
    assert sine_cosine in kernels
    assert {
        repr(kernel): names
        for kernel in kernels
        if (names := differing & set(kernel.function.__code__.co_names)) and kernel is not sine_cosine
    } == {}
