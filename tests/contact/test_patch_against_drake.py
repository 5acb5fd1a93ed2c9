"""Contact patches equal Drake's on identical meshes."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import meshio
import numpy as np
import pytest
from pydrake.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, Mesh, Sphere

import hydro_sim_core as hs
from support.contact.drake_contact import Body, compare
from support.contact.poses import pose, random_direction, random_rotation

KINDS = ["sphere", "box", "cylinder", "capsule", "ellipsoid", "convex", "tetrahedra"]
MODULI = {"a": 1e5, "b": 3e6}
#: Of a ball that fits inside each body: bodies closer than the sum of two overlap.
INNER_RADIUS = 0.04
POINTS = np.random.default_rng(3).normal(size=(40, 3)) * [0.025, 0.03, 0.035]


@pytest.fixture(scope="module")
def volume_file(tmp_path_factory):
    """A VTK file of a lopsided ball: a few hundred tetrahedra in two layers around a centre."""
    ball = hs.geometry.sphere(0.06, resolution=0.05, modulus=1.0)
    centre, surface = ball.vertices[:1], ball.vertices[1:] * [1.0, 1.2, 0.9]
    vertices = np.vstack([centre, 0.5 * surface + [0.004, 0.0, 0.002], surface])
    tetrahedra = [np.asarray(ball.elements)]
    for triangle in ball.surface_triangles():
        low, high = np.sort(triangle), np.sort(triangle) + len(surface)
        tetrahedra.append([[*low[: i + 1], *high[i:]] for i in range(3)])
    tetrahedra = np.vstack(tetrahedra)
    a, b, c, d = (vertices[tetrahedra[:, i]] for i in range(4))
    turned = np.linalg.det(np.stack([b - a, c - a, d - a], axis=1)) < 0.0
    tetrahedra[turned] = tetrahedra[turned][:, [0, 1, 3, 2]]
    path = tmp_path_factory.mktemp("meshes") / "ball.vtk"
    meshio.write_points_cells(path, vertices, [("tetra", tetrahedra)], file_format="vtk42", binary=False)
    return path


def make_body(kind: str, modulus: float | None, volume_file, margin: float = 0.0) -> Body:
    """One of the shapes, about 0.1 m across."""
    g, resolution = hs.geometry, 0.04
    options = {"modulus": modulus, "margin": margin}
    meshed = {**options, "resolution": resolution}
    ours, theirs = {
        "sphere": lambda: (g.sphere(0.05, **meshed), Sphere(0.05)),
        "box": lambda: (g.box(0.08, 0.1, 0.12, **options), Box(0.08, 0.1, 0.12)),
        "cylinder": lambda: (g.cylinder(0.05, 0.14, **meshed), Cylinder(0.05, 0.14)),
        "capsule": lambda: (g.capsule(0.05, 0.08, **meshed), Capsule(0.05, 0.08)),
        "ellipsoid": lambda: (g.ellipsoid(0.05, 0.06, 0.08, **meshed), Ellipsoid(0.05, 0.06, 0.08)),
        "convex": lambda: (g.convex_mesh(POINTS, **options), Convex(POINTS.T, "points")),
        "tetrahedra": lambda: (g.tetrahedral_mesh(volume_file, **options), Mesh(str(volume_file))),
    }[kind]()
    return Body(ours, theirs, modulus, resolution, margin)


def anywhere(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two turned bodies, centres so close that they overlap."""
    position = rng.uniform(-0.1, 0.1, 3)
    gap = rng.uniform(1.0, 2.0) * INNER_RADIUS * random_direction(rng)
    return pose(position, random_rotation(rng)), pose(position + gap, random_rotation(rng))


def above_ground(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A turned body A whose centre is a little above the surface of a turned half space B."""
    X_WB = pose(rng.uniform(-0.1, 0.1, 3), random_rotation(rng))
    X_BA = pose([*rng.uniform(-0.1, 0.1, 2), rng.uniform(0.0, 0.9) * INNER_RADIUS], random_rotation(rng))
    return X_WB @ X_BA, X_WB


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("kind_a", "kind_b"), list(combinations_with_replacement(KINDS, 2)))
def test_two_compliant_bodies(kind_a, kind_b, volume_file):
    a, b = make_body(kind_a, MODULI["a"], volume_file), make_body(kind_b, MODULI["b"], volume_file)
    compare(a, b, 1, anywhere)


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("kind_a", "kind_b"), list(product(KINDS, KINDS)))
def test_rigid_and_compliant_body(kind_a, kind_b, volume_file):
    a, b = make_body(kind_a, None, volume_file), make_body(kind_b, MODULI["b"], volume_file)
    compare(a, b, 2, anywhere)


@pytest.mark.parametrize("kind", KINDS)
def test_compliant_body_on_rigid_half_space(kind, volume_file):
    ground = Body(hs.geometry.half_space(), HalfSpace(), None)
    compare(make_body(kind, MODULI["a"], volume_file), ground, 3, above_ground)


@pytest.mark.parametrize("kind", KINDS)
def test_rigid_body_on_compliant_half_space(kind, volume_file):
    soft = hs.geometry.half_space(MODULI["a"], slab_thickness=0.3)
    ground = Body(soft, HalfSpace(), MODULI["a"], slab_thickness=0.3)
    compare(make_body(kind, None, volume_file), ground, 4, above_ground)


@pytest.mark.parametrize(
    ("kind_a", "kind_b"), [("sphere", "box"), ("cylinder", "capsule"), ("box", "ellipsoid")]
)
@pytest.mark.parametrize("rigid", [False, True])
def test_margin_skirt(kind_a, kind_b, rigid, volume_file):
    """Margin as thick as a tenth of the body: many faces have negative pressure and carry nothing."""
    a = make_body(kind_a, None if rigid else MODULI["a"], volume_file, margin=0.0 if rigid else 5e-3)
    b = make_body(kind_b, MODULI["b"], volume_file, margin=5e-3)
    compare(a, b, 5, anywhere)


@pytest.mark.parametrize(("kind_a", "kind_b"), [("sphere", "box"), ("cylinder", "capsule")])
@pytest.mark.parametrize("rigid", [False, True])
def test_triangles(kind_a, kind_b, rigid, volume_file):
    """Both programs split a polygon into triangles around its centroid, but Drake leaves some that are triangles whole.

    That moves the points where the forces act, so only their sums are the same.
    """
    a = make_body(kind_a, None if rigid else MODULI["a"], volume_file)
    b = make_body(kind_b, MODULI["b"], volume_file)
    compare(a, b, 6, anywhere, "triangle")
