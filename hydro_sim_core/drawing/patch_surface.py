"""Drawn part of a contact patch: the faces that transmit force, with the pressure at their vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, FaceArrays

#: Vertices of a line.
_OF_LINE = 2


@dataclass(frozen=True, eq=False)
class PatchFaces:
    """Convex polygons that transmit force, with concatenated vertices.

    Those of contact at an equivalent point may be a line of two vertices or a point of one, without pressure.

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
        triangle_counts = np.maximum(self.counts - 2, 0)
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

    @cached_property
    def outline(self) -> NDArray[np.int64]:
        """(E, 2) rows of ``vertices``: the edges that belong to one polygon alone, and lines once."""
        ends = np.sort(
            np.unique(self.vertices, axis=0, return_inverse=True)[1].reshape(-1)[self.edges], axis=1
        )
        is_edge = ends[:, 0] < ends[:, 1]
        _, first, count = np.unique(ends, axis=0, return_index=True, return_counts=True)
        is_line = np.repeat(self.counts == _OF_LINE, self.counts)
        kept = first[(count == 1) | is_line[first]]
        return self.edges[kept[is_edge[kept]]]

    @property
    def _first(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts) - self.counts


def drawn_faces(patch: ContactPatch) -> PatchFaces:
    """The faces of a patch that transmit force."""
    return patch_faces(patch.faces, patch.pressing)


def patch_faces(faces: FaceArrays, pressing: NDArray[np.bool_] | None = None) -> PatchFaces:
    """Faces of a patch: those that are ``pressing`` (F,), or that carry pressure.

    Faces with negative pressure, which the margin adds around a patch, transmit no force and are left out.
    """
    kept = np.flatnonzero(faces.pressures > 0.0 if pressing is None else pressing)
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
