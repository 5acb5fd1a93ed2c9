"""Spoilt meshes, pressures and poses: an ``InputError`` on one line, or a geometry that works, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.poses import pose, random_rotation
from support.contact.random_meshes import recipes

FUZZ = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PARTNER = hs.geometry.sphere(0.1, resolution=0.1, modulus=1e5)
RIGID_PARTNER = hs.geometry.sphere(0.1, resolution=0.1)
#: Numbers that are not finite, not sensible, or at the ends of what a double holds.
NUMBERS = st.sampled_from(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 1e200, 1e100, 1e-100, 1e-200, 5e-324]
)
INDICES = st.sampled_from([-1, 0, 1, 10**6, 2**31, 2**62, -(2**63)])
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
    """One way to spoil positions, pressures or a pose."""
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


def spoil_indices(draw: st.DrawFn, array: np.ndarray) -> Any:
    """One way to spoil elements."""
    array = array.copy()
    row = draw(st.integers(0, len(array) - 1))
    match draw(
        st.sampled_from(["entry", "shuffle", "turn", "double", "drop", "random", "type", "cut", "other"])
    ):
        case "entry":
            array[row, draw(st.integers(0, array.shape[1] - 1))] = draw(INDICES)
        case "shuffle":
            array[row] = array[row][::-1]
        case "turn":
            array = array[:, ::-1]
        case "double":
            array = np.vstack([array, array[row]])
        case "drop":
            array = np.delete(array, row, axis=0)
        case "random":
            seed = draw(st.integers(0, 10**6))
            array = np.random.default_rng(seed).integers(0, array.max() + 1, array.shape)
        case "type":
            kinds = [float, np.uint8, np.int8, bool, object, str, complex, np.uint64]
            array = array.astype(draw(st.sampled_from(kinds)))
        case "cut":
            array = array[:, :-1]
        case "other":
            return draw(NONSENSE)
    return array


@st.composite
def spoilt_meshes(draw: st.DrawFn, rigid: bool) -> tuple[Any, Any, Any]:
    """Vertices, elements and pressure of which at least one is spoilt."""
    body = draw(recipes(rigid=rigid)).build()
    parts = [np.array(body.vertices), np.array(body.elements), np.array(body.pressure)]
    which = draw(st.sets(st.integers(0, 1 if rigid else 2), min_size=1))
    for i in which:
        parts[i] = spoil_indices(draw, parts[i]) if i == 1 else spoil_numbers(draw, parts[i])
    return tuple(parts)


def assert_one_clear_line(error: hs.InputError) -> None:
    """The error says where, what and how to mend it."""
    assert error.source
    assert error.problem
    assert error.mend
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


def assert_usable(geometry: Geometry) -> None:
    """All numbers are finite, and contact with a ball in and around the body is."""
    assert isinstance(geometry, Geometry)
    for values in (geometry.vertices, geometry.pressure, geometry.fields, geometry.tree_boxes):
        assert np.isfinite(values).all()
    assert np.isfinite(geometry.volume())
    rng = np.random.default_rng(0)
    for vertex in geometry.vertices[geometry.elements[:3, 0]]:
        X_WB = pose(vertex + rng.uniform(-0.1, 0.1, 3), random_rotation(rng))
        patch = hs.contact.compute_patch(geometry, np.eye(4), PARTNER, X_WB)
        assert np.isfinite(patch.force_on_b).all()
        assert np.isfinite(patch.moment_on_b(np.zeros(3))).all()
        assert np.isfinite(
            np.column_stack([patch.areas, patch.pressures, patch.centroids, patch.normals])
        ).all()
        assert patch.area >= 0.0


@pytest.mark.heavy
@FUZZ
@given(mesh=spoilt_meshes(rigid=False))
def test_compliant_mesh(mesh):
    try:
        geometry = hs.geometry.compliant_mesh(*mesh)
    except hs.InputError as error:
        assert_one_clear_line(error)
    else:
        assert_usable(geometry)


@pytest.mark.heavy
@FUZZ
@given(mesh=spoilt_meshes(rigid=True), open_surface=st.booleans())
def test_rigid_mesh(mesh, open_surface):
    vertices, triangles, _ = mesh
    try:
        geometry = hs.geometry.rigid_mesh(vertices, triangles, open_surface=open_surface)
    except hs.InputError as error:
        assert_one_clear_line(error)
    else:
        assert_usable(geometry)


@st.composite
def spoilt_poses(draw: st.DrawFn) -> Any:
    """A pose with something wrong, most of the time."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return spoil_numbers(draw, pose(rng.uniform(-0.1, 0.1, 3), random_rotation(rng)))


@pytest.mark.heavy
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


@pytest.mark.heavy
@FUZZ
@given(value=NUMBERS | NONSENSE, which=st.sampled_from(["modulus", "margin"]))
def test_modulus_and_margin(value, which):
    ball = PARTNER
    try:
        geometry = hs.geometry.compliant_mesh(ball.vertices, ball.elements, ball.pressure, **{which: value})
    except hs.InputError as error:
        assert_one_clear_line(error)
    else:
        assert np.isfinite([geometry.modulus, geometry.margin]).all()


@pytest.mark.parametrize(
    "make",
    [lambda: hs.geometry.rigid_mesh([], []), lambda: hs.geometry.compliant_mesh([], [], [])],
    ids=["rigid", "compliant"],
)
def test_no_arrays_at_all(make):
    """The smallest of all bad inputs."""
    with pytest.raises(hs.InputError) as raised:
        make()
    assert_one_clear_line(raised.value)
