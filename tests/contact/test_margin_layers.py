"""Margin layers of filled meshes: the walk finds every face of their skirts, and tries no pair without one.

Strangers' meshes may have chords: faces inside with all vertices on the surface, where the pressure is zero too.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from scipy.spatial import Delaunay

import hydro_sim_core as hs
from hydro_sim_core.assets import folder
from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.faces import make_face_buffer
from hydro_sim_core.contact.pressure_field.query import make_query_scratch
from hydro_sim_core.contact.pressure_field.walk import walk_surface
from hydro_sim_core.geometry.simplices import boundary_triangles, tetrahedron_volumes
from hydro_sim_core.geometry.solids import pressurised
from hydro_sim_core.geometry.tetrahedral import tetrahedral_mesh
from support.contact.all_pairs import contact_by_all_pairs
from support.contact.poses import pose, random_rotation

PEPPER = folder("urdf") / "meshes" / "pepper.vtk"
MARGIN = 1e-3
POSES = 12
FACES = 4096
#: Bodies by name: (modulus, margin) of a mesh, or a rigid one.
BODIES = {
    "soft": tetrahedral_mesh(PEPPER, modulus=5e4, margin=MARGIN),
    "stiff": tetrahedral_mesh(PEPPER, modulus=3e5, margin=MARGIN),
    "thick": tetrahedral_mesh(PEPPER, modulus=5e4, margin=2.5 * MARGIN),
    "bare": tetrahedral_mesh(PEPPER, modulus=5e4),
    "rigid": hs.geometry.box(0.06, 0.05, 0.04),
    "box": hs.geometry.box(0.06, 0.05, 0.04, modulus=1e5, margin=MARGIN),
    "ground": hs.geometry.half_space(),
    "soft ground": hs.geometry.half_space(modulus=1e5, slab_thickness=0.05, margin=MARGIN),
}
PAIRS = [
    ("soft", "soft"),
    ("soft", "stiff"),
    ("soft", "thick"),
    ("soft", "bare"),
    ("bare", "soft"),
    ("soft", "rigid"),
    ("soft", "box"),
    ("soft", "ground"),
    ("soft", "soft ground"),
]


def poses(other: str) -> list[np.ndarray]:
    """Poses of a pepper that just touches the other body, or is seen by it, or is pressed into it."""
    rng = np.random.default_rng(7)
    reach = 0.034 if "ground" in other else 0.066 if other in ("soft", "stiff", "thick", "bare") else 0.05
    found = []
    for _ in range(POSES):
        direction = rng.normal(size=3)
        direction = np.array([0.0, 0.0, 1.0]) if "ground" in other else direction / np.linalg.norm(direction)
        found.append(pose(rng.uniform(0.85, 1.02) * reach * direction, random_rotation(rng)))
    return found


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_contact_is_that_of_all_pairs(name, other):
    a, b = BODIES[name], BODIES[other]
    seen, skirts = 0, 0
    for X_WA in poses(other):
        expected = contact_by_all_pairs(a, X_WA, b, np.eye(4))
        patch = hs.contact.compute_patch(a, X_WA, b, np.eye(4), every_polygon=False)
        atol = 1e-9 * max(expected.load, 1.0)
        np.testing.assert_allclose(patch.force_on_b, expected.force, rtol=0.0, atol=atol)
        assert patch.area == pytest.approx(expected.area, rel=1e-9, abs=1e-15)
        pressed = np.abs(patch.pressures) > 1e-9 * np.abs(patch.pressures).max(initial=0.0)
        sizeable = patch.areas > 1e-12 * patch.areas.sum()
        assert np.count_nonzero(pressed & sizeable) == expected.num_faces
        seen += expected.num_faces > 0
        skirts += bool((patch.pressures < 0.0).any())
    assert seen >= 0.5 * POSES
    assert (skirts > 0) == ((other != "bare" and name != "bare") or other == "ground")


@pytest.mark.parametrize(("name", "other"), [("soft", "soft"), ("soft", "stiff"), ("soft", "thick")])
def test_every_pair_that_a_walk_visits_has_a_polygon(name, other):
    """Also where the surface passes from pressure into both margins through a face of either body at once."""
    geometries = make_geometry_set([BODIES[name], BODIES[other]])
    scratch, faces = make_query_scratch(geometries, FACES), make_face_buffer(FACES)
    found = 0
    for X_WA in poses(other):
        R, p = np.ascontiguousarray(X_WA[:3, :3]), np.ascontiguousarray(X_WA[:3, 3])
        count = walk_surface(geometries, 0, 1, R, p, True, scratch, faces, 0)
        assert scratch.num_visited[0] == count
        found += count
    assert found > 1000


# --- chords


def random_body(rng: np.random.Generator) -> hs.geometry.Geometry:
    """Tetrahedra between jittered points of a lattice: solid, hollow, a ring, in two parts, or with holes."""
    axis = np.linspace(-1.0, 1.0, 6)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    points += rng.uniform(-0.12, 0.12, points.shape)
    tetrahedra = Delaunay(points).simplices.astype(np.int64)
    x, y, z = points[tetrahedra].mean(axis=1).T
    radius = np.sqrt(x * x + y * y + z * z)
    kept = (
        radius < 1.1,
        (radius > 0.35) & (radius < 1.25),
        (np.hypot(x, y) > 0.4) & (radius < 1.2),
        np.abs(x) > 0.15,
        rng.uniform(size=len(x)) < 0.95,
    )
    tetrahedra = tetrahedra[kept[rng.integers(len(kept))]]
    volumes = tetrahedron_volumes(points, tetrahedra)
    tetrahedra = np.where((volumes < 0.0)[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)
    tetrahedra = tetrahedra[np.abs(volumes) > 2e-5]
    for _ in range(7):  # a tetrahedron without a vertex inside would have no pressure
        outside = np.unique(boundary_triangles(tetrahedra))
        tetrahedra = tetrahedra[~np.isin(tetrahedra, outside).all(axis=1)]
    used, tetrahedra = np.unique(tetrahedra, return_inverse=True)
    margin, modulus = rng.choice([0.0, 5e-4, 4e-3]), rng.choice([1e4, 3e5])
    vertices, elements = 0.05 * points[used], tetrahedra.reshape(-1, 4)
    return pressurised(vertices, elements, modulus=modulus, field="distance", margin=margin)


@pytest.mark.heavy(8)
@pytest.mark.parametrize("seed", range(40))
def test_no_face_is_missed_at_a_chord(seed):
    rng = np.random.default_rng(seed)
    bodies = []
    while len(bodies) < 2:
        with contextlib.suppress(hs.InputError):  # a margin that folds, or a body that touches itself
            bodies.append(random_body(rng))
    assert any(body.adjacency.has_chords for body in bodies)
    for reach in (0.02, 0.06, 0.085, 0.1):
        direction = rng.normal(size=3)
        X_WA = pose(reach * direction / np.linalg.norm(direction), random_rotation(rng))
        X_WB = pose(np.zeros(3), random_rotation(rng))
        expected = contact_by_all_pairs(bodies[0], X_WA, bodies[1], X_WB)
        patch = hs.contact.compute_patch(bodies[0], X_WA, bodies[1], X_WB, every_polygon=False)
        np.testing.assert_allclose(
            patch.force_on_b, expected.force, rtol=0.0, atol=1e-9 * max(expected.load, 1e-6)
        )
        assert patch.area == pytest.approx(expected.area, rel=1e-9, abs=1e-15)
