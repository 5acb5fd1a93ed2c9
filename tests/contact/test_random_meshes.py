"""Random meshes, good and barely good, in random poses: always a finite patch, the same however it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hydro_sim_core.contact import FaceArrays
from hydro_sim_core.geometry import Geometry
from support.contact.all_pairs import Contact, contact_by_all_pairs
from support.contact.pair import Pair, by_tree, by_walk, transmitted
from support.contact.poses import pose, random_rotation
from support.contact.random_scenes import Scene, scenes

#: Round-off of a contact, as a fraction of the bodies' largest pressure times the square of the smaller one's size, for
#: bodies near the origins of their frames. Flat tetrahedra amplify what is 1e-14 for good ones.
ROUND_OFF = 1e-10
#: Relations in which nothing is aligned, so that the contact of all pairs is right.
GENERIC = ("overlapping", "nested", "apart")


def tolerance(scene: Scene, bodies: tuple[Geometry, Geometry]) -> float:
    """What round-off may change a force by, N."""
    size = min(1.0, scene.ratio) * scene.a.size
    pressure = max(np.abs(body.pressure).max() for body in bodies)
    away = 1.0 + scene.far + scene.a.away + scene.b.away * scene.ratio
    return ROUND_OFF * away * pressure * size**2


def assert_same(found: Contact, expected: Contact, allowed: float, size: float) -> None:
    """Forces agree to ``allowed``, moments to that times ``size``."""
    np.testing.assert_allclose(found.force, expected.force, rtol=0.0, atol=allowed)
    np.testing.assert_allclose(found.moment, expected.moment, rtol=0.0, atol=allowed * size)


def largest_misfit(faces: FaceArrays, body: Geometry, X_WG: np.ndarray) -> float:
    """Largest difference between a face's pressure and the body's field at its centroid, by testing every element."""
    points = (faces.centroids - X_WG[:3, 3]) @ X_WG[:3, :3]
    corners = body.vertices[body.elements]
    edges = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    shares = np.einsum("mij,fmj->fmi", edges, points[:, None] - corners[None, :, 0])
    inside = np.minimum(shares.min(axis=2), 1.0 - shares.sum(axis=2))
    home = body.elements[inside.argmax(axis=1)]
    share = np.take_along_axis(shares, inside.argmax(axis=1)[:, None, None], axis=1)[:, 0]
    assert inside.max(axis=1).min() > -1e-6
    pressure = body.pressure[home]
    expected = pressure[:, 0] + np.einsum("fi,fi->f", share, pressure[:, 1:] - pressure[:, :1])
    return float(np.abs(faces.pressures - expected).max())


@pytest.mark.heavy(20)
@settings(max_examples=1200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scene=scenes)
def test_any_two_meshes(scene):
    a, b = scene.bodies()
    X_WA, X_WB = scene.poses()
    faces = Pair(a, b).faces(X_WA, X_WB)
    for values in (faces.centroids, faces.normals, faces.areas, faces.pressures, faces.field_gradients):
        assert np.isfinite(values).all()
    assert (faces.areas > 0.0).all()
    assert not np.isnan(faces.gradients).any()
    allowed, size = tolerance(scene, (a, b)), scene.a.size * (1.0 + scene.ratio)
    away = 1.0 + scene.far + scene.a.away + scene.b.away * scene.ratio
    if len(faces.areas):
        for body, X in ((a, X_WA), (b, X_WB)):
            if not body.is_rigid:
                steepest = np.linalg.norm(body.fields[:, :3], axis=1).max() * size
                assert largest_misfit(faces, body, X) <= 1e-12 * away * (steepest + body.pressure.max())

    found = transmitted(faces, X_WB[:3, 3] + X_WB[:3, :3] @ scene.centers()[1])
    if scene.relation != "same pose":  # there all faces are round-off
        for search in (by_walk, by_tree):
            other = transmitted(Pair(a, b).faces(X_WA, X_WB, search), X_WB[:3, 3])
            assert_same(transmitted(faces, X_WB[:3, 3]), other, allowed, (1.0 + scene.b.away) * size)
    if scene.relation not in GENERIC:
        return
    expected = contact_by_all_pairs(a, X_WA, b, X_WB)
    assert_same(transmitted(faces, X_WB[:3, 3]), expected, allowed, (1.0 + scene.b.away) * size)
    assert found.num_faces == expected.num_faces

    backward = transmitted(Pair(b, a).faces(X_WB, X_WA), X_WB[:3, 3] + X_WB[:3, :3] @ scene.centers()[1])
    assert_same(replace(backward, force=-backward.force, moment=-backward.moment), found, allowed, size)

    rng = np.random.default_rng(scene.seed + 1)
    X_VW = pose(size * rng.uniform(-3.0, 3.0, 3), random_rotation(rng))
    center = (X_VW @ X_WB)[:3, 3] + (X_VW @ X_WB)[:3, :3] @ scene.centers()[1]
    moved = transmitted(Pair(a, b).faces(X_VW @ X_WA, X_VW @ X_WB), center)
    turned = replace(found, force=X_VW[:3, :3] @ found.force, moment=X_VW[:3, :3] @ found.moment)
    assert_same(moved, turned, allowed, size)
