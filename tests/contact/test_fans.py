"""Polygons as fans of triangles: the same force, a moment closer to that of the pressure, in the same memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.pressure_field.faces import (
    AHEAD,
    AREA,
    CENTROID,
    PRESSURE,
    FaceBuffer,
    make_face_buffer,
)
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.geometry import Geometry
from support.contact.patches import moment_at_centroids
from support.contact.poses import pose

MODULUS = 1e5
MARGIN = 2e-3
GROUND = hs.geometry.half_space()
TABLE = hs.geometry.box(0.2, 0.2, 0.1)
SOFT_TABLE = hs.geometry.box(0.2, 0.2, 0.1, modulus=2e5, margin=MARGIN)
BOX = hs.geometry.box(0.1, 0.1, 0.1, modulus=MODULUS, margin=MARGIN)
#: Turned about the vertical, and tilted by little: its sides are upright, and the line of zero pressure crosses them.
TILTED = pose((0.0, 0.0, 0.049), Rotation.from_rotvec([1e-3, 7e-4, 0.3]).as_matrix())
UNDER = pose((0.0, 0.0, -0.05))


def ball(resolution: float, margin: float = 0.0) -> Geometry:
    return hs.geometry.sphere(0.1, resolution=resolution, modulus=MODULUS, margin=margin)


BALL_AT = pose((0.03, 0.02, 0.09), Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix())
PAIRS = {
    "ball on rigid ground": (GROUND, np.eye(4), ball(0.02), BALL_AT),
    "ball with margin": (GROUND, np.eye(4), ball(0.02, MARGIN), BALL_AT),
    "box on rigid ground": (GROUND, np.eye(4), BOX, TILTED),
    "box on rigid table": (TABLE, UNDER, BOX, TILTED),
    "box on soft table": (SOFT_TABLE, UNDER, BOX, TILTED),
}


def both(name: str) -> tuple[ContactPatch, ContactPatch]:
    """A patch in polygons, and in triangles."""
    polygons = hs.contact.compute_patch(*PAIRS[name])
    return polygons, hs.contact.compute_patch(*PAIRS[name], representation="triangle")


@pytest.mark.parametrize("name", PAIRS)
def test_triangles_press_with_the_force_of_their_polygons(name: str) -> None:
    polygons, triangles = both(name)
    load = polygons.face_forces.sum()
    assert load > 1.0
    assert np.abs(triangles.force_on_b - polygons.force_on_b).max() <= 1e-12 * load
    assert triangles.face_forces.sum() == pytest.approx(load, rel=1e-12)
    assert triangles.areas.sum() == pytest.approx(polygons.areas.sum(), rel=1e-12)
    assert triangles.area == pytest.approx(polygons.area, rel=1e-12)
    assert triangles.dropped_force == polygons.dropped_force
    assert triangles.num_faces > 2.0 * polygons.num_faces


def test_every_polygon_is_one_triangle_an_edge() -> None:
    """Also upright ones that the line of zero pressure crosses: it has parted them."""
    polygons, triangles = both("box on rigid ground")
    assert np.all(triangles.faces.num_vertices == 3)
    assert triangles.num_faces == polygons.faces.num_vertices.sum()


def test_moments_at_centroids_come_closer_to_that_of_the_pressure() -> None:
    """At second order in the size of elements both, triangles with little more than half of the error of polygons."""
    errors = []
    for resolution in (0.04, 0.02, 0.01):
        pair = GROUND, np.eye(4), ball(resolution), BALL_AT
        polygons = hs.contact.compute_patch(*pair)
        triangles = hs.contact.compute_patch(*pair, representation="triangle")
        exact = moment_of_pressure(polygons)
        for one in (polygons, triangles):
            assert np.linalg.norm(one.moment_on_b(np.zeros(3)) - exact) <= 1e-12 * np.linalg.norm(exact)
        error = [np.linalg.norm(moment_at_centroids(one) - exact) for one in (polygons, triangles)]
        errors.append(np.array(error) / np.linalg.norm(exact))
    assert errors[0] == pytest.approx([0.0198, 0.0116], rel=0.01)
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx([4.4, 4.5], abs=0.2)


def moment_of_pressure(patch: ContactPatch) -> np.ndarray:
    """Moment of the faces' linear pressures about the world's origin, without a rule for where they act, N m."""
    moment = np.zeros(3)
    for x, p, normal, pressure in zip(
        patch.polygons, patch.vertex_pressures, patch.normals, patch.pressures, strict=True
    ):
        for i in range(1, len(x) - 1 if pressure > 0.0 else 0):
            corners, values = x[[0, i, i + 1]], p[[0, i, i + 1]]
            area = 0.5 * np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
            arm = area / 12.0 * (values.sum() * corners.sum(axis=0) + values @ corners)
            moment += np.cross(arm, normal)
    return moment


def squares(count: int, room: int) -> FaceBuffer:
    """Unit squares side by side along x, with a pressure that rises along y, in a buffer with some more room."""
    faces = make_face_buffer(count + room)
    for f in range(count):
        faces.polygons[f, :4] = [(f, 0, 0), (f + 1, 0, 0), (f + 1, 1, 0), (f, 1, 0)]
        faces.num_vertices[f] = 4
        faces.data[:AHEAD, f] = [f + 0.5, 0.5, 0, 0, 0, 1, 1, 10 * f + 2, 3, 5, 0, 3, 0]
    return faces


def test_faces_are_split_where_they_are() -> None:
    """From one column on to the last of the buffer; those before stay."""
    faces, before = squares(3, 6), squares(3, 6)
    assert split_into_fans(faces, 1, 3) == 9
    assert np.array_equal(faces.data[:, 0], before.data[:, 0])
    assert np.array_equal(faces.polygons[0], before.polygons[0])
    assert faces.num_vertices.tolist() == [4] + 8 * [3]
    for f, triangles in ((1, slice(1, 5)), (2, slice(5, 9))):
        assert faces.data[AREA, triangles].tolist() == [0.25] * 4
        x, y = f + 0.5, 0.5
        third = 1.0 / 3.0
        expected = np.array([(x, y - third), (x + third, y), (x, y + third), (x - third, y)])
        centroids = faces.data[CENTROID : CENTROID + 2, triangles].T
        assert centroids == pytest.approx(expected, rel=1e-15)
        pressures = 10 * f + 2 + 3 * (expected[:, 1] - y)
        assert faces.data[PRESSURE, triangles] == pytest.approx(pressures, rel=1e-15)
        first = faces.polygons[triangles.start, :3]
        assert first == pytest.approx(np.array([(x, y, 0), (f, 0, 0), (f + 1, 0, 0)]), abs=0.0)


def test_without_room_the_faces_stay_as_they_were() -> None:
    faces, before = squares(3, 5), squares(3, 5)
    assert split_into_fans(faces, 1, 3) == 9
    for mine, theirs in zip(faces, before, strict=True):
        assert np.array_equal(mine, theirs)


def test_a_turned_face_gives_its_triangles_shares_of_its_area() -> None:
    """At sharp edges a face counts with less than its polygon."""
    faces = squares(1, 3)
    faces.data[AREA, 0] = 0.3
    assert split_into_fans(faces, 0, 1) == 4
    assert faces.data[AREA, :4] == pytest.approx(4 * [0.075], rel=1e-15)
