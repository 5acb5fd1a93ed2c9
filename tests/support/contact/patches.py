"""What the contact tests measure on patches."""

from __future__ import annotations

from collections import Counter

import numpy as np

from hydro_sim_core.contact import ContactPatch


def moment_of_pressure(patch: ContactPatch, point: object) -> np.ndarray:
    """Moment (3,) on B about ``point``, N m, of the linear pressure on polygons that press, by a quadrature."""
    faces = patch.faces
    # Every polygon is a fan of triangles around its first vertex.
    second = np.arange(1, faces.vertices.shape[1] - 1)
    face, fan = np.nonzero(second + 1 < faces.num_vertices[:, None])
    triangles = np.column_stack([np.zeros_like(fan), second[fan], second[fan] + 1])
    corners = faces.vertices[face[:, None], triangles]
    offsets = corners - faces.centroids[face, None]
    values = faces.pressures[face, None] + np.einsum("tix,tx->ti", offsets, faces.field_gradients[face])
    normals = faces.normals[face]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    # Products of two linear functions are integrated exactly from the middles of the sides.
    arms = 0.5 * (corners + np.roll(corners, 1, axis=1)) - np.asarray(point, dtype=float)
    middles = 0.5 * (values + np.roll(values, 1, axis=1))
    moments = np.cross(np.einsum("ti,tix->tx", middles, arms), normals)
    return np.where(faces.pressures[face] > 0.0, areas / 3.0, 0.0) @ moments


def moment_at_centroids(patch: ContactPatch, point: object = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Moment (3,) on B about ``point``, N m, of the faces' forces at their centroids."""
    forces = patch.face_forces[:, None] * patch.normals
    return np.cross(patch.centroids - np.asarray(point, dtype=float), forces).sum(axis=0)


def open_edges(patch: ContactPatch, grid: float = 1e-9) -> int:
    """Number of polygon edges that are not shared by two faces; vertices on the same ``grid`` point, m, are one."""
    edges: Counter[frozenset[tuple[int, ...]]] = Counter()
    for vertices in patch.polygons:
        keys = [tuple(key) for key in np.round(vertices / grid).astype(int).tolist()]
        for first, second in zip(keys, keys[1:] + keys[:1], strict=True):
            if first != second:
                edges[frozenset((first, second))] += 1
    return sum(count != 2 for count in edges.values())
