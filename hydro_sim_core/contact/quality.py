"""Resolution of a contact patch: the error of its force, estimated from its faces alone.

The faces belong to a faceted body with a field that is linear in each element. If it approximates a smooth body,
gradients and normals jump between elements, and the size of the jump gives the deviation of the smooth field from the
linear one. ``docs/contact_models.md`` has the derivation and its validation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from hydro_sim_core.contact.face_arrays import FaceArrays
from hydro_sim_core.contact.moments import second_moments

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Estimated relative force error above which a patch counts as under-resolved.
MAX_FORCE_ERROR = 0.1
#: Share by which a patch may resist a tilt too little before it counts as of too few faces for its moment.
MAX_MOMENT_ERROR = 0.1
#: Share of the force lost to rejected faces above which a patch counts as deep.
DEEP_SHARE = 0.01
#: Missing force on both sides of an edge, as a multiple of its length, its distances to the centroids of its two cells,
#: and the jump of the gradient. Quadratic fields give 3/4 for columns of equilateral triangles and 1/3 for long strips;
#: about 2.5 was measured for randomly cut tetrahedra. This value is within a factor of 3 of all of these.
EDGE_FACTOR = 0.9
#: Sharper angles are true edges of the body (of a box, a prism, or the medial surface of either), where the faces are
#: exact. Facets of an octahedron that approximates a sphere meet at 70.5 degrees.
CREASE_COSINE = math.cos(math.radians(80.0))
#: Relative jump of the gradient below which it is round-off, and both faces belong to one cell.
SAME_GRADIENT = 1e-6
#: Distance, relative to the patch's extent, within which vertices of different faces are the same.
SAME_POINT = 1e-7
#: A generic direction, along which the edges of symmetric patches have different coordinates.
_GENERIC_DIRECTION = np.array([0.5428731, 0.3761948, 0.7508467])


@dataclass(frozen=True)
class PatchQuality:
    """Resolution of a patch and estimated error of its force.

    Attributes:
        num_faces: Number of faces with positive pressure.
        face_size_ratio: Size of a face over that of the patch: the root of their areas' ratio, where the face's area
            is the mean weighted by area. 1 for a single face, ``1 / sqrt(n)`` for n equal ones, 0 without faces.
        force_error: Estimated relative error of the force, compared with the smooth body that the mesh approximates; 0
            to 1. 1 if no estimate is possible: a single face, or overlapping bodies without faces.
        moment_error: By how much too little the patch resists a tilt, relative, if each face acts at its centroid: the
            share of the second moment of its area that lies within faces, for the tilt for which that is most. 0 for
            patches with the moments of pressures within faces, as from ``compute_patch``, or of meshes so coarse that
            faces press at three points.
        lost_force_share: Share of the force on polygons rejected because a pressure gradient points against the normal.
        overlaps_without_faces: Whether the bodies overlap without any face, so that no contact force acts.
    """

    num_faces: int
    face_size_ratio: float
    force_error: float
    moment_error: float
    lost_force_share: float
    overlaps_without_faces: bool

    @property
    def is_resolved(self) -> bool:
        """Whether the estimated error is at most ``MAX_FORCE_ERROR``."""
        return self.force_error <= MAX_FORCE_ERROR

    @property
    def resists_tilts(self) -> bool:
        """Whether the error of its moment is at most ``MAX_MOMENT_ERROR``."""
        return self.moment_error <= MAX_MOMENT_ERROR

    @property
    def is_deep(self) -> bool:
        """Whether more than ``DEEP_SHARE`` of the force was lost: a body penetrates beyond its medial surface."""
        return self.lost_force_share > DEEP_SHARE


class _Edges(NamedTuple):
    """Edges shared by two faces, one row each.

    Attributes:
        first: (E,) index of one face.
        second: (E,) index of the other face.
        middle: (E, 3) midpoint, m.
        direction: (E, 3) unit vector.
        length: (E,) m.
    """

    first: IntArray
    second: IntArray
    middle: Array
    direction: Array
    length: Array


def patch_quality(
    faces: FaceArrays, dropped_force: float = 0.0, overlaps_without_faces: bool = False
) -> PatchQuality:
    """Quality of a patch.

    Args:
        faces: Faces of the patch.
        dropped_force: Sum of pressure times area over polygons across which a pressure falls, N.
        overlaps_without_faces: Whether the bodies overlap without any face.
    """
    pressed = faces.pressures > 0.0
    areas, forces = faces.areas[pressed], (faces.areas * faces.pressures)[pressed]
    force, rising = float(forces.sum()), float(forces[faces.gradients[pressed].min(axis=1) > 0.0].sum())
    return PatchQuality(
        num_faces=len(areas),
        face_size_ratio=float(np.linalg.norm(areas) / areas.sum()) if force > 0.0 else 0.0,
        force_error=1.0 if overlaps_without_faces else _force_error(faces, pressed, force),
        moment_error=_moment_error(faces, pressed),
        # Faces across which a pressure falls may be among those of the patch.
        lost_force_share=dropped_force / max(dropped_force + rising, force) if dropped_force > 0.0 else 0.0,
        overlaps_without_faces=overlaps_without_faces,
    )


def _force_error(faces: FaceArrays, pressed: NDArray[np.bool_], force: float) -> float:
    if force <= 0.0:
        return 0.0
    edges = _shared_edges(faces)
    # Half of the force missing at an edge belongs to each of its faces; faces of the margin skirt carry none.
    belongs = 0.5 * (pressed[edges.first].astype(float) + pressed[edges.second])
    if not belongs.any():
        return 1.0
    missing = sum(float(belongs @ pressure) for pressure in _missing_at_edges(faces, edges))
    return missing / (missing + force)


def _moment_error(faces: FaceArrays, pressed: NDArray[np.bool_]) -> float:
    areas, centroids = faces.areas[pressed], faces.centroids[pressed]
    if not areas.sum() > 0.0:
        return 0.0
    arms = centroids - areas @ centroids / areas.sum()
    within = second_moments(faces)[pressed].sum(axis=0)
    whole = within + np.einsum("f,fi,fj->ij", areas, arms, arms)
    # Of directions along the patch: across it there is next to nothing.
    along = np.linalg.svd((areas @ faces.normals[pressed])[None])[2][1:]
    within, whole = along @ within @ along.T, along @ whole @ along.T
    if not np.linalg.det(whole) > 0.0:
        return 1.0
    return min(1.0, float(scipy.linalg.eigh(within, whole, eigvals_only=True)[-1]))


def _missing_at_edges(faces: FaceArrays, edges: _Edges) -> Iterator[Array]:
    """Force (E,), N, missing at each edge because of the facets of one body; one array per body."""
    for vectors, weights in _sides(faces):
        jumps = vectors[edges.second] - vectors[edges.first]
        sizes = np.linalg.norm(vectors, axis=1)
        product = sizes[edges.first] * sizes[edges.second]
        along = np.einsum("ij,ij->i", vectors[edges.first], vectors[edges.second])
        jump = np.linalg.norm(jumps, axis=1)
        same = jump <= SAME_GRADIENT * np.sqrt(product)
        smooth = ~same & (along > CREASE_COSINE * product)
        distances = _distances_to_cells(faces, edges, same)
        weight = 0.5 * (weights[edges.first] + weights[edges.second])
        yield np.where(smooth, EDGE_FACTOR * edges.length * distances * weight * jump, 0.0)


def _sides(faces: FaceArrays) -> Iterator[tuple[Array, Array]]:
    """Vectors (F, 3) that jump at the facets of A and of B, with weights (F,) that turn them into pressure gradients.

    An error e of the field of A shifts the equilibrium so that the pressure changes by ``e g_B / (g_A + g_B)``. A rigid
    side has no field; there the jump is that of the surface normals, weighted by the gradient of the other side.
    """
    slope_a, slope_b = faces.gradients.T
    if np.isinf(faces.gradients).any():
        yield faces.normals, np.linalg.norm(faces.field_gradients, axis=1)
        yield faces.field_gradients, np.ones(len(faces.areas))
        return
    # The stored gradient is that of one side. Both gradients have the same tangential part; their normal parts differ
    # by the slopes.
    rise = np.einsum("ij,ij->i", faces.field_gradients, faces.normals)
    is_a = np.abs(rise + slope_a) < np.abs(rise - slope_b)
    difference = (slope_a + slope_b)[:, None] * faces.normals
    share = np.clip(slope_b / (slope_a + slope_b), 0.0, 1.0)
    yield np.where(is_a[:, None], faces.field_gradients, faces.field_gradients - difference), share
    yield np.where(is_a[:, None], faces.field_gradients + difference, faces.field_gradients), 1.0 - share


def _distances_to_cells(faces: FaceArrays, edges: _Edges, same: NDArray[np.bool_]) -> Array:
    """Product (E,) of the distances from an edge to the centroids of the cells beside it, m^2.

    A cell is the part of the patch in one element, or in several with the same gradient. The elements of the other
    body, or a fan of triangles, divide it into several faces.
    """
    count = len(faces.areas)
    weights = np.maximum(faces.areas, np.finfo(float).eps ** 10)  # a cell of zero area needs a centroid, too
    joined = scipy.sparse.coo_array(
        (np.ones(same.sum()), (edges.first[same], edges.second[same])), shape=(count, count)
    )
    num_cells, cell = scipy.sparse.csgraph.connected_components(joined, directed=False)
    moments = [np.bincount(cell, weights * x, num_cells) for x in faces.centroids.T]
    centroids = (np.array(moments) / np.bincount(cell, weights, num_cells)).T
    product = np.ones(len(edges.length))
    for face in (edges.first, edges.second):
        arm = centroids[cell[face]] - edges.middle
        product *= np.linalg.norm(np.cross(arm, edges.direction), axis=1)
    return product


def _shared_edges(faces: FaceArrays) -> _Edges:
    """Match the edges of the polygons by their midpoints, as faces have no adjacency information."""
    counts = faces.num_vertices
    starts = faces.vertices[np.arange(faces.vertices.shape[1]) < counts[:, None]]
    owner = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    successor = np.arange(1, len(starts) + 1)
    successor[first + counts - 1] = first
    ends = starts[successor]
    middles = 0.5 * (starts + ends)
    tolerance = SAME_POINT * float(np.ptp(starts, axis=0).max())

    order = np.argsort(middles @ _GENERIC_DIRECTION)
    one, other = order[:-1], order[1:]
    shared = np.abs(middles[one] - middles[other]).max(axis=1) <= tolerance
    shared &= owner[one] != owner[other]
    sides = ends[one] - starts[one]
    lengths = np.linalg.norm(sides, axis=1)
    # Edges as short as the tolerance have no meaningful direction.
    shared &= lengths > 10.0 * tolerance
    one, other, lengths = one[shared], other[shared], lengths[shared]
    return _Edges(owner[one], owner[other], middles[one], sides[shared] / lengths[:, None], lengths)
