"""Drawn part of a contact patch: the faces that carry pressure, with the pressure at their vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import FaceArrays


@dataclass(frozen=True, eq=False)
class PatchFaces:
    """Convex polygons that carry pressure, with concatenated vertices.

    Attributes:
        vertices: (V, 3) in the world, m.
        pressures: (V,) pressures at the vertices, Pa; negative where a face reaches into the margin.
        counts: (F,) vertices of each polygon, in order.
    """

    vertices: NDArray[np.float64]
    pressures: NDArray[np.float64]
    counts: NDArray[np.int64]

    @cached_property
    def triangles(self) -> NDArray[np.int64]:
        """(T, 3) rows of ``vertices``: every polygon as a fan around its first vertex."""
        triangle_counts = self.counts - 2
        apex = np.repeat(self._first, triangle_counts)
        fan_start = np.repeat(np.cumsum(triangle_counts) - triangle_counts, triangle_counts)
        second = apex + 1 + np.arange(len(apex)) - fan_start
        return np.stack([apex, second, second + 1], axis=1)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """(V, 2) rows of ``vertices``: the edges of every polygon."""
        following = np.arange(1, len(self.vertices) + 1)
        following[self._first + self.counts - 1] = self._first
        return np.stack([np.arange(len(following)), following], axis=1)

    @property
    def _first(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts) - self.counts


def patch_faces(faces: FaceArrays) -> PatchFaces:
    """The faces of a patch that carry pressure.

    Faces with negative pressure, which the margin adds around a patch, transmit no force and are left out.
    """
    kept = np.flatnonzero(faces.pressures > 0.0)
    counts = faces.num_vertices[kept]
    used = np.arange(faces.vertices.shape[1]) < counts[:, None]
    vertices = faces.vertices[kept][used]
    owner = np.repeat(kept, counts)
    rise = np.einsum("ij,ij->i", faces.field_gradients[owner], vertices - faces.centroids[owner])
    return PatchFaces(vertices, faces.pressures[owner] + rise, counts)


def join_faces(parts: Sequence[PatchFaces]) -> PatchFaces:
    """Concatenate the faces of one or more patches."""
    return PatchFaces(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.pressures for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )
