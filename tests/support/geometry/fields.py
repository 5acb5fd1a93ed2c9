"""What every pressure field must satisfy, whatever the shape."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.geometry import Geometry


def pressure_at(geometry: Geometry, points: np.ndarray) -> np.ndarray:
    """Pressure at points (P, 3) inside the mesh, by testing every tetrahedron."""
    corners = geometry.vertices[geometry.elements]
    to_barycentric = np.linalg.inv(np.concatenate([corners, np.ones((*corners.shape[:2], 1))], axis=2))
    homogeneous = np.column_stack([points, np.ones(len(points))])
    pressures = []
    for point in homogeneous:
        inside = (point @ to_barycentric).min(axis=1)
        assert inside.max() > -1e-9, f"{point[:3]} lies outside the mesh"
        pressures.append(geometry.fields[inside.argmax()] @ point)
    return np.array(pressures)


def sample_surface(geometry: Geometry, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random points (count, 3) on the triangles of the surface, all triangles equally likely."""
    triangles = geometry.surface_triangles()
    corners = geometry.vertices[rng.choice(triangles, count)]
    return np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), count), corners)


def assert_valid_field(geometry: Geometry, modulus: float) -> None:
    """The invariants of a compliant mesh that need no knowledge of the shape."""
    vertices, tetrahedra = geometry.vertices, geometry.elements
    a, b, c, d = (vertices[tetrahedra[:, i]] for i in range(4))
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    assert (volumes > 0.0).all()
    assert geometry.volume() == volumes.sum()

    assert geometry.modulus == modulus
    assert geometry.pressure.max() == modulus
    surface = geometry.surface_triangles()
    assert (geometry.pressure[np.unique(surface)] <= 0.0).all()

    at_corners = (
        np.einsum("mki,mi->mk", vertices[tetrahedra], geometry.fields[:, :3]) + geometry.fields[:, 3:]
    )
    steepest = np.linalg.norm(geometry.fields[:, :3], axis=1) * np.abs(vertices).max()
    assert (np.abs(at_corners - geometry.pressure[tetrahedra]) <= 1e-9 * (modulus + steepest[:, None])).all()

    assert_watertight(surface)
    p, q, r = (vertices[surface[:, i]] for i in range(3))
    np.testing.assert_allclose(np.einsum("ij,ij->", np.cross(p, q), r) / 6.0, volumes.sum(), rtol=1e-9)


def assert_watertight(triangles: np.ndarray) -> None:
    """Every edge is walked once in each direction."""
    edges = [tuple(edge) for edge in triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges)
