"""What is drawn of a patch is the contact surface: its area, its pressure, its edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core import contact, geometry
from hydro_sim_core.drawing.patch_surface import join_faces, patch_faces

BALL = geometry.sphere(0.05, resolution=0.02, modulus=1e5, margin=0.002)


def _patch(depth):
    """A compliant sphere pressed ``depth`` (m) into the ground, with a skirt of faces that transmit nothing."""
    X_WB = np.eye(4)
    X_WB[2, 3] = 0.05 - depth
    return contact.compute_patch(BALL, X_WB, geometry.half_space(), np.eye(4))


@given(depth=st.floats(0.5e-3, 8e-3))
def test_triangles_cover_the_patch_and_carry_its_force(depth):
    """Their areas add up to the patch's, and their mean pressures times areas to its normal force."""
    patch = _patch(depth)
    faces = patch_faces(patch.faces)
    a, b, c = faces.vertices[faces.triangles].transpose(1, 0, 2)
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    assert areas.sum() == pytest.approx(patch.area, rel=1e-9)
    force = areas @ faces.pressures[faces.triangles].mean(axis=1)
    assert force == pytest.approx(np.linalg.norm(patch.force_on_b), rel=1e-6)


def test_faces_are_the_polygons_that_press():
    patch = _patch(0.004)
    faces = patch_faces(patch.faces)
    pressing = np.flatnonzero(patch.pressures > 0.0)
    assert 0 < len(pressing) < patch.num_faces
    assert np.array_equal(faces.counts, [len(patch.polygons[i]) for i in pressing])
    assert np.array_equal(faces.vertices, np.concatenate([patch.polygons[i] for i in pressing]))
    expected = np.concatenate([patch.vertex_pressures[i] for i in pressing])
    assert faces.pressures == pytest.approx(expected, abs=1e-6)


def test_edges_outline_every_face_once():
    patch = _patch(0.004)
    faces = patch_faces(patch.faces)
    sides = [
        np.stack([p, np.roll(p, -1, axis=0)], axis=1)
        for p in np.split(faces.vertices, np.cumsum(faces.counts)[:-1])
    ]
    assert np.array_equal(faces.vertices[faces.edges], np.concatenate(sides))


def test_joined_faces_stay_what_they_are():
    """Triangles and edges of the second patch refer to its own vertices."""
    first, second = patch_faces(_patch(0.004).faces), patch_faces(_patch(0.002).faces)
    joined = join_faces([first, second])
    for name in ("triangles", "edges"):
        apart = [faces.vertices[getattr(faces, name)] for faces in (first, second)]
        assert np.array_equal(joined.vertices[getattr(joined, name)], np.concatenate(apart))


def test_nothing_that_presses_is_nothing_drawn():
    faces = patch_faces(_patch(-0.01).faces)
    assert faces.triangles.shape == (0, 3)
    assert faces.edges.shape == (0, 2)
    assert len(faces.vertices) == len(faces.pressures) == len(faces.counts) == 0
