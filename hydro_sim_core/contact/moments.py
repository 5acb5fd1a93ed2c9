"""Moments of linear pressures on faces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.face_arrays import FaceArrays

Array = NDArray[np.float64]


def second_moments(faces: FaceArrays) -> Array:
    """Second moments of the areas of faces about their centroids, the integrals of ``x x^T``: (F, 3, 3), m^4."""
    counts, size = faces.num_vertices, faces.vertices.shape[1]
    corner = np.arange(size)
    used = corner < counts[:, None]
    # Corners that a face has not are taken as its first, which adds triangles without area.
    ends = np.where(used[:, :, None], faces.vertices, faces.vertices[:, :1]) - faces.centroids[:, None]
    following = np.take_along_axis(
        ends, np.where(corner + 1 < counts[:, None], corner + 1, 0)[:, :, None], axis=1
    )
    doubled = np.linalg.norm(np.cross(ends, following), axis=2)
    both = ends + following
    total = np.zeros((len(counts), 3, 3))
    for x in (ends, following, both):
        total += np.einsum("fv,fvi,fvj->fij", doubled, x, x)
    return total / 24.0


def moments_within(faces: FaceArrays) -> Array:
    """Moments of the pressures of faces about their centroids, with their normals, (F, 3), N m.

    With the pressure ``p_c + g . x`` it is ``(S g) x n``, where S is the second moment of the face's area.
    """
    firsts = np.einsum("fij,fj->fi", second_moments(faces), faces.field_gradients)
    return np.cross(firsts, faces.normals)
