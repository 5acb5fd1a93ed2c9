"""Primitives have the meshes and the pressures of Drake."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydrake.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, Sphere
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry as hs
from support.geometry.drake_meshes import assert_same_mesh, drake_mesh, drake_pressure_on_plane
from support.geometry.fields import pressure_at

MODULUS = 1e5
MAKERS = {
    "sphere": (hs.sphere, Sphere),
    "ellipsoid": (hs.ellipsoid, Ellipsoid),
    "box": (hs.box, Box),
    "cylinder": (hs.cylinder, Cylinder),
    "capsule": (hs.capsule, Capsule),
}
#: (shape, sizes, resolution): every medial case of the box and the cylinder, along every axis.
CASES = [
    ("sphere", (1.0,), 2.5),
    ("sphere", (0.1,), 0.02),
    ("ellipsoid", (0.05, 0.1, 0.03), 0.02),
    ("ellipsoid", (0.3, 0.1, 0.1), 1.0),
    *[("box", size, 1.0) for size in [(1, 1, 1), (2, 2, 6), (6, 2, 2), (2, 6, 2), (0.1, 0.1, 0.2)]],
    *[("box", size, 1.0) for size in [(2, 4, 4), (4, 2, 4), (4, 4, 2)]],
    *[("box", size, 1.0) for size in [(2, 4, 6), (2, 6, 4), (4, 2, 6), (6, 2, 4), (4, 6, 2), (6, 4, 2)]],
    *[("cylinder", size, 0.5) for size in [(1.0, 4.0), (1.0, 2.0), (1.0, 1.0), (0.1, 0.01)]],
    ("cylinder", (0.01, 0.1), 0.02),
    ("cylinder", (0.05, 0.1), 0.013),
    ("capsule", (1.0, 2.0), 1.57),
    ("capsule", (0.01, 0.2), 0.1),
    ("capsule", (0.1, 0.3), 0.02),
]


@pytest.mark.heavy(5)
@pytest.mark.parametrize("margin", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("modulus", [MODULUS, None], ids=["compliant", "rigid"])
@pytest.mark.parametrize(("kind", "size", "resolution"), CASES)
def test_mesh_equals_drakes(kind, size, resolution, modulus, margin):
    ours, theirs = MAKERS[kind]
    geometry = ours(*size, resolution=resolution, modulus=modulus, margin=margin)
    assert_same_mesh(geometry, *drake_mesh(theirs(*size), resolution, modulus, margin))


LENGTH = st.floats(0.01, 10.0)


@settings(max_examples=100, deadline=None)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    lengths=st.tuples(LENGTH, LENGTH, LENGTH),
    coarseness=st.floats(0.2, 3.0),
    relative_margin=st.one_of(st.just(0.0), st.floats(1e-4, 0.5)),
    compliant=st.booleans(),
)
def test_any_mesh_equals_drakes(kind, lengths, coarseness, relative_margin, compliant):
    ours, theirs = MAKERS[kind]
    size = lengths[: {"sphere": 1, "cylinder": 2, "capsule": 2}.get(kind, 3)]
    resolution, margin = (
        coarseness * (max(size) if kind == "ellipsoid" else size[0]),
        relative_margin * min(size),
    )
    modulus = MODULUS if compliant else None
    geometry = ours(*size, resolution=resolution, modulus=modulus, margin=margin)
    assert_same_mesh(geometry, *drake_mesh(theirs(*size), resolution, modulus, margin))


@pytest.mark.heavy(2)
@pytest.mark.parametrize("margin", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize(("kind", "size", "resolution"), CASES)
def test_pressure_equals_drakes(kind, size, resolution, margin):
    ours, theirs = MAKERS[kind]
    geometry = ours(*size, resolution=resolution, modulus=MODULUS, margin=margin)
    rng = np.random.default_rng(7)
    for _ in range(3):
        X_GP = np.eye(4)
        X_GP[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        X_GP[:3, 3] = 0.3 * min(size) * rng.uniform(-1.0, 1.0, 3)
        points, pressure = drake_pressure_on_plane(theirs(*size), resolution, MODULUS, margin, X_GP)
        np.testing.assert_allclose(pressure_at(geometry, points), pressure, atol=1e-8 * MODULUS)


@pytest.mark.parametrize("seed", range(5))
def test_convex_hull_equals_drakes(seed):
    points = np.random.default_rng(seed).normal(size=(60, 3)) * [1.0, 0.3, 2.0]
    geometry = hs.convex_mesh(points, modulus=MODULUS)
    theirs = Convex(points.T, "random points")
    assert_same_mesh(geometry, *drake_mesh(theirs, 1.0, MODULUS, 0.0))
    X_GP = np.eye(4)
    X_GP[:3, :3] = Rotation.random(random_state=seed).as_matrix()
    points, pressure = drake_pressure_on_plane(theirs, 1.0, MODULUS, 0.0, X_GP)
    np.testing.assert_allclose(pressure_at(geometry, points), pressure, atol=1e-8 * MODULUS)


def test_hull_with_coplanar_triangles_has_drakes_pressure():
    """Drake cuts the sides of a prism along other diagonals, which changes neither volume nor pressure."""
    angles = np.arange(7) * 2.0 * np.pi / 7.0
    points = np.array([[np.cos(a), np.sin(a), z] for a in angles for z in (-0.4, 0.9)])
    geometry = hs.convex_mesh(points, modulus=MODULUS)
    theirs = Convex(points.T, "prism")
    vertices, tetrahedra = drake_mesh(theirs, 1.0, MODULUS, 0.0)
    assert len(geometry.elements) == len(tetrahedra)
    np.testing.assert_allclose(np.sort(geometry.vertices, axis=0), np.sort(vertices, axis=0), atol=1e-12)
    X_GP = np.eye(4)
    X_GP[:3, :3] = Rotation.from_euler("xyz", [0.3, 0.5, 0.0]).as_matrix()
    points, pressure = drake_pressure_on_plane(theirs, 1.0, MODULUS, 0.0, X_GP)
    np.testing.assert_allclose(pressure_at(geometry, points), pressure, atol=1e-8 * MODULUS)
