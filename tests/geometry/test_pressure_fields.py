"""Pressure fields of every constructor: shared invariants, and closed forms where a shape has one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from hydro_sim_core import geometry as hs
from support.geometry.fields import assert_valid_field, assert_watertight, pressure_at, sample_surface

MODULUS = 2e6
LENGTH = st.floats(1e-3, 1e2)
RATIO = st.one_of(st.just(1.0), st.floats(0.05, 20.0))

SHAPES = st.one_of(
    st.tuples(st.just(hs.sphere), st.tuples(LENGTH)),
    st.tuples(st.just(hs.ellipsoid), st.tuples(LENGTH, RATIO, RATIO)),
    st.tuples(st.just(hs.box), st.tuples(LENGTH, RATIO, RATIO)),
    st.tuples(st.just(hs.cylinder), st.tuples(LENGTH, st.one_of(st.just(2.0), RATIO))),
    st.tuples(st.just(hs.capsule), st.tuples(LENGTH, RATIO)),
)
PROPERTY = settings(max_examples=60, deadline=None)


def absolute(size):
    """The first length, then the others as ratios to it."""
    return (size[0], *(size[0] * ratio for ratio in size[1:]))


@PROPERTY
@given(shape=SHAPES, coarseness=st.floats(0.3, 3.0), relative_margin=st.floats(0.0, 0.3))
def test_every_field_is_valid(shape, coarseness, relative_margin):
    make, size = shape[0], absolute(shape[1])
    margin = relative_margin * min(size)
    geometry = make(*size, resolution=coarseness * max(size), modulus=MODULUS, margin=margin)
    assert_valid_field(geometry, MODULUS)
    assert geometry.margin == margin
    hull_volume = ConvexHull(geometry.vertices / max(size)).volume * max(size) ** 3
    np.testing.assert_allclose(geometry.volume(), hull_volume, rtol=1e-9)


@PROPERTY
@given(shape=SHAPES, coarseness=st.floats(0.5, 3.0))
def test_rigid_surface_is_that_of_the_compliant_mesh(shape, coarseness):
    make, size = shape[0], absolute(shape[1])
    resolution = coarseness * max(size)
    compliant = make(*size, resolution=resolution, modulus=MODULUS)
    rigid = make(*size, resolution=resolution, margin=0.1 * min(size))
    assert rigid.is_rigid
    assert rigid.margin == 0.0
    assert rigid.modulus == np.inf
    assert not rigid.pressure.any()
    assert_watertight(rigid.elements)
    np.testing.assert_allclose(rigid.volume(), compliant.volume(), rtol=1e-9)
    surface = compliant.vertices[compliant.surface_triangles()]
    np.testing.assert_array_equal(rigid.vertices[rigid.elements], surface)


@pytest.mark.parametrize(
    ("make", "size", "resolution"),
    [
        (hs.sphere, (0.1,), 0.05),
        (hs.box, (0.1, 0.2, 0.3), None),
        (hs.box, (0.2, 0.1, 0.1), None),
        (hs.cylinder, (0.1, 0.05), 0.11),
        (hs.cylinder, (0.1, 0.2), 0.11),
        (hs.cylinder, (0.1, 0.5), 0.11),
        (hs.capsule, (0.1, 0.2), 0.11),
    ],
)
def test_margin_leaves_the_zero_level_set_where_it_is(make, size, resolution):
    """The pressure with margin vanishes on the whole surface of the mesh without."""
    bare = make(*size, resolution=resolution, modulus=MODULUS)
    grown = make(*size, resolution=resolution, modulus=MODULUS, margin=1e-3)
    assert len(grown.elements) == len(bare.elements)
    assert grown.pressure[np.unique(grown.surface_triangles())].max() < 0.0
    points = sample_surface(bare, np.random.default_rng(0), 200)
    np.testing.assert_allclose(pressure_at(grown, points), 0.0, atol=1e-9 * MODULUS)
    np.testing.assert_allclose(pressure_at(bare, points), 0.0, atol=1e-9 * MODULUS)


def test_ellipsoid_margin_leaves_the_zero_level_set_on_the_ellipsoid():
    semi_axes = np.array([0.1, 0.2, 0.05])
    grown = hs.ellipsoid(semi_axes, resolution=0.05, modulus=MODULUS, margin=5e-3)
    directions = grown.vertices[np.unique(grown.surface_triangles())]
    points = directions / np.linalg.norm(directions / semi_axes, axis=1, keepdims=True)
    np.testing.assert_allclose(pressure_at(grown, points), 0.0, atol=1e-9 * MODULUS)


@PROPERTY
@given(seed=st.integers(0, 10**6), count=st.integers(5, 60), stretch=st.floats(0.1, 10.0))
def test_hull_with_margin_keeps_its_field(seed, count, stretch):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * [1.0, 1.0, stretch] + rng.normal(size=3)
    bare = hs.convex_mesh(points, modulus=MODULUS, medial=False)
    margin = 0.02
    grown = hs.convex_mesh(points, modulus=MODULUS, margin=margin, medial=False)
    for geometry in (bare, grown):
        assert_valid_field(geometry, MODULUS)
    np.testing.assert_allclose(bare.volume(), ConvexHull(points).volume, rtol=1e-9)
    np.testing.assert_allclose(grown.fields, bare.fields, rtol=1e-6, atol=1e-6 * np.abs(bare.fields).max())


def test_hull_margin_moves_every_face_out_by_at_least_the_margin():
    points = np.random.default_rng(5).normal(size=(40, 3))
    bare = hs.convex_mesh(points, modulus=MODULUS)
    grown = hs.convex_mesh(points, modulus=MODULUS, margin=0.01)
    surface = bare.surface_triangles()
    a, b, c = (bare.vertices[surface[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for corner in range(3):
        shift = grown.vertices[surface[:, corner]] - bare.vertices[surface[:, corner]]
        assert (np.einsum("ij,ij->i", shift, normals) >= 0.01 * (1.0 - 1e-9)).all()


def test_sphere_pressure_falls_linearly_from_the_centre():
    radius = 0.3
    geometry = hs.sphere(radius, resolution=0.1, modulus=MODULUS, margin=0.01)
    distance = np.linalg.norm(geometry.vertices, axis=1)
    np.testing.assert_allclose(geometry.pressure, MODULUS * (1.0 - distance / radius), atol=1e-9 * MODULUS)


@pytest.mark.parametrize("size", [(0.1, 0.1, 0.1), (0.1, 0.2, 0.3), (0.4, 0.4, 0.1), (0.3, 0.3, 0.8)])
def test_box_pressure_is_proportional_to_depth(size):
    geometry = hs.box(size, modulus=MODULUS)
    half = np.array(size) / 2.0
    points = np.random.default_rng(1).uniform(-half, half, (300, 3))
    depth = (half - np.abs(points)).min(axis=1)
    np.testing.assert_allclose(
        pressure_at(geometry, points), MODULUS * depth / half.min(), rtol=1e-9, atol=1e-3
    )


@pytest.mark.parametrize(("radius", "length"), [(0.1, 0.5), (0.1, 0.2), (0.1, 0.08)])
def test_cylinder_pressure_along_its_axis_is_proportional_to_depth(radius, length):
    geometry = hs.cylinder(radius, length, resolution=0.05, modulus=MODULUS)
    z = np.linspace(-length / 2.0, length / 2.0, 41)[1:-1]
    points = np.column_stack([np.zeros_like(z), np.zeros_like(z), z])
    depth = np.minimum(length / 2.0 - np.abs(z), radius)
    expected = MODULUS * depth / min(radius, length / 2.0)
    np.testing.assert_allclose(pressure_at(geometry, points), expected, rtol=1e-9)


def test_capsule_pressure_is_the_modulus_on_the_segment():
    geometry = hs.capsule(0.1, 0.4, resolution=0.05, modulus=MODULUS)
    z = np.linspace(-0.2, 0.2, 9)
    points = np.column_stack([np.zeros_like(z), np.zeros_like(z), z])
    np.testing.assert_allclose(pressure_at(geometry, points), MODULUS, rtol=1e-9)


def test_volume_converges_to_the_solid():
    for make, size, volume in [
        (hs.sphere, (0.2,), 4.0 / 3.0 * np.pi * 0.2**3),
        (hs.ellipsoid, (0.2, 0.1, 0.3), 4.0 / 3.0 * np.pi * 0.2 * 0.1 * 0.3),
        (hs.cylinder, (0.2, 0.5), np.pi * 0.2**2 * 0.5),
        (hs.capsule, (0.2, 0.5), np.pi * 0.2**2 * 0.5 + 4.0 / 3.0 * np.pi * 0.2**3),
    ]:
        errors = []
        for resolution in (0.08, 0.04, 0.02):
            meshed = make(*size, resolution=resolution, modulus=MODULUS).volume()
            assert meshed < volume
            errors.append(1.0 - meshed / volume)
        assert errors[2] < 0.01
        assert errors[0] / errors[2] > 8.0  # second order: 16, less what rounding of the counts takes


def test_half_spaces():
    soft = hs.half_space(modulus=MODULUS, slab_thickness=0.5, margin=1e-4)
    np.testing.assert_array_equal(soft.fields, [[0.0, 0.0, -MODULUS / 0.5, 0.0]])
    assert soft.kind == hs.GeometryKind.COMPLIANT_HALF_SPACE
    assert soft.is_half_space
    assert soft.margin == 1e-4
    hard = hs.half_space(margin=1e-4)
    assert hard.kind == hs.GeometryKind.RIGID_HALF_SPACE
    assert hard.is_rigid
    assert hard.fields.shape == (0, 4)
    for geometry in (soft, hard):
        assert geometry.volume() == np.inf
        assert geometry.surface_triangles().shape == (0, 3)
        assert geometry.tree_boxes.shape == (0, 6)
        assert geometry.tree_links.shape == (0, 2)


def test_arrays_are_read_only_and_the_callers_stay_writable():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    geometry = hs.compliant_mesh(vertices, [[0, 1, 2, 3]], [0.0, 0, 0, 7.0])
    vertices[0] = 9.0
    assert (geometry.vertices[0] == 0.0).all()
    for name in ("vertices", "elements", "pressure", "fields", "tree_boxes", "tree_links"):
        array = getattr(geometry, name)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert geometry.modulus == 7.0


def test_negative_tetrahedra_are_turned():
    vertices = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    geometry = hs.compliant_mesh(vertices, [[0, 2, 1, 3]], [1.0, 0, 0, 0])
    assert geometry.volume() == pytest.approx(1.0 / 6.0)
    np.testing.assert_allclose(geometry.fields, [[-1.0, -1.0, -1.0, 1.0]])
