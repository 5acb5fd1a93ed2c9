"""Point contact against the Minkowski difference, the definition of depth, and the formula of its force."""

import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.point import PointContact, point_contact
from support.contact_models.convex import needs_coal
from support.contact_models.rigid_poses import pose, poses

FLOOR = geometry.half_space()
CUBE = geometry.box(0.2, 0.2, 0.2)
UP = np.array([0.0, 0.0, 1.0])


def placed(mesh, X_WG):
    return mesh.vertices @ X_WG[:3, :3].T + X_WG[:3, 3]


def polyhedron(seed, count):
    points = np.random.default_rng(seed).uniform(-0.1, 0.1, (count, 3))
    assume(ConvexHull(points).volume > 1e-4)
    return geometry.convex_mesh(points)


def height_over(points, p):
    """How far a point stands out of the hull of others; not positive inside."""
    equations = ConvexHull(points).equations
    return (equations[:, :3] @ p + equations[:, 3]).max()


@needs_coal
@settings(max_examples=100, deadline=None)
@given(
    seeds=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    X_WA=poses(3.0),
    X_AB=poses(0.12),
)
def test_depth_of_convex_meshes_is_that_of_their_minkowski_difference(seeds, X_WA, X_AB):
    """Apart, a gap along the normal as wide as the distance of two points of the meshes proves both extreme."""
    (a, b), X_WB = (polyhedron(seed, 10) for seed in seeds), X_WA @ X_AB
    contact = point_contact(a, X_WA, b, X_WB)
    points_a, points_b = placed(a, X_WA), placed(b, X_WB)

    np.testing.assert_allclose(np.linalg.norm(contact.normal), 1.0, rtol=1e-12)
    overlap = (points_a @ contact.normal).max() - (points_b @ contact.normal).min()
    np.testing.assert_allclose(overlap, contact.depth, atol=1e-8)
    assert height_over(points_a, contact.p_WC + 0.5 * contact.depth * contact.normal) <= 1e-8
    assert height_over(points_b, contact.p_WC - 0.5 * contact.depth * contact.normal) <= 1e-8

    differences = ConvexHull((points_a[:, None] - points_b).reshape(-1, 3))
    depth_of_faces = -differences.equations[:, 3]
    assert (depth_of_faces.min() > 0.0) == (contact.depth > 0.0)
    if contact.depth > 0.0:
        np.testing.assert_allclose(contact.depth, depth_of_faces.min(), atol=1e-8)


@needs_coal
@pytest.mark.parametrize("gap", [-0.03, -1e-6, 1e-6, 0.03])
def test_cubes_face_to_face_meet_between_their_faces(gap):
    contact = point_contact(CUBE, pose(), CUBE, pose((0.0, 0.0, 0.2 + gap)))
    np.testing.assert_allclose(contact.normal, UP, atol=1e-12)
    np.testing.assert_allclose(contact.depth, -gap, atol=1e-12)
    np.testing.assert_allclose(contact.p_WC[2], 0.1 + 0.5 * gap, atol=1e-12)
    assert np.abs(contact.p_WC[:2]).max() <= 0.1


@given(X_WA=poses(3.0), X_AB=poses(0.3))
def test_a_half_space_is_pressed_by_the_deepest_vertex(X_WA, X_AB):
    X_WB = X_WA @ X_AB
    contact = point_contact(FLOOR, X_WA, CUBE, X_WB)
    heights = (placed(CUBE, X_WB) - X_WA[:3, 3]) @ X_WA[:3, 2]
    np.testing.assert_allclose(contact.normal, X_WA[:3, 2], atol=1e-15)
    np.testing.assert_allclose(contact.depth, -heights.min(), atol=1e-14)
    np.testing.assert_allclose((contact.p_WC - X_WA[:3, 3]) @ contact.normal, 0.5 * heights.min(), atol=1e-14)
    assert height_over(placed(CUBE, X_WB), contact.p_WC + 0.5 * heights.min() * contact.normal) <= 1e-9


def test_a_cube_that_lies_flat_presses_at_the_middle_of_its_face():
    contact = point_contact(FLOOR, pose(), CUBE, pose((0.3, -0.2, 0.09), (0.0, 0.0, 0.7)))
    np.testing.assert_allclose(contact.p_WC, [0.3, -0.2, -0.005], atol=1e-15)
    np.testing.assert_allclose(contact.depth, 0.01, atol=1e-15)


@needs_coal
@settings(max_examples=50, deadline=None)
@given(X_WA=poses(3.0), X_AB=poses(0.2), with_floor=st.booleans())
def test_exchanging_the_bodies_only_turns_the_normal(X_WA, X_AB, with_floor):
    a, b, X_WB = FLOOR if with_floor else polyhedron(5, 10), polyhedron(6, 10), X_WA @ X_AB
    contact, exchanged = point_contact(a, X_WA, b, X_WB), point_contact(b, X_WB, a, X_WA)
    np.testing.assert_allclose(exchanged.depth, contact.depth, atol=1e-9)
    np.testing.assert_allclose(exchanged.normal, -contact.normal, atol=1e-5)
    np.testing.assert_allclose(exchanged.p_WC, contact.p_WC, atol=1e-6)


@pytest.mark.parametrize(
    ("depth", "v_n", "force"),
    [(0.002, 0.0, 20.0), (0.002, -0.1, 30.0), (0.002, 0.1, 10.0), (0.002, 0.3, 0.0), (-0.002, -0.1, 0.0)],
)
def test_force_is_that_of_hunt_and_crossley(depth, v_n, force):
    contact = PointContact(np.zeros(3), UP, depth)
    np.testing.assert_allclose(contact.force(1e4, 5.0, v_n), force, rtol=1e-12)


def l_shape():
    lying, standing = geometry.box(0.3, 0.1, 0.1), geometry.box(0.1, 0.1, 0.3)
    vertices = np.vstack([lying.vertices, standing.vertices + np.array([0.1, 0.0, 0.2])])
    triangles = [lying.surface_triangles(), standing.surface_triangles() + len(lying.vertices)]
    return geometry.rigid_mesh(vertices, np.vstack(triangles))


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda: point_contact(geometry.sphere(0.1, modulus=1e5), pose(), CUBE, pose()), "a"),
        (lambda: point_contact(CUBE, pose(), geometry.half_space(1e5), pose()), "b"),
        (lambda: point_contact(FLOOR, pose(), FLOOR, pose()), "b"),
        (lambda: point_contact(FLOOR, np.eye(3), CUBE, pose()), "X_WA"),
        (lambda: point_contact(FLOOR, pose(), CUBE, np.full((4, 4), np.nan)), "X_WB"),
        pytest.param(lambda: point_contact(CUBE, pose(), l_shape(), pose()), "b", marks=needs_coal),
        (lambda: PointContact(np.zeros(3), UP, 0.1).force(-1.0, 1.0, 0.0), "stiffness"),
        (lambda: PointContact(np.zeros(3), UP, 0.1).force(1.0, np.inf, 0.0), "dissipation"),
        (lambda: PointContact(np.zeros(3), UP, 0.1).force(1.0, 1.0, np.nan), "v_n"),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.element == element


def test_without_coal_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    assert point_contact(FLOOR, pose(), CUBE, pose()).depth == pytest.approx(0.1)
    with pytest.raises(InputError, match=r"pip install 'hydro-sim-core\[point\]'"):
        point_contact(CUBE, pose(), CUBE, pose())
