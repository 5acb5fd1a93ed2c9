"""How well the faces of a patch resolve it: the error of its force, estimated from the faces alone.

The faces are those of a faceted body with a field that is linear in each element. Where they stand for a smooth body,
gradients and normals jump from one element to the next, and a jump tells how far the smooth field bulges beyond the
linear one in between. ``docs/contact_models.md`` has the derivation and what it was checked against.
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

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A patch whose estimated relative force error is larger counts as under-resolved.
MAX_FORCE_ERROR = 0.1
#: A patch that lost a larger share of its force to dropped faces counts as deep.
DEEP_SHARE = 0.01
#: Pressure missing on both sides of an edge, in units of its length, the distances from it to the centroids of its two
#: cells, and the jump. Quadratic fields give 3/4 for columns of equilateral triangles and 1/3 for long strips; about
#: 2.5 was measured where tetrahedra are cut at random. This is within a factor of 3 of all.
EDGE_FACTOR = 0.9
#: Sharper turns than this are edges that the body really has (a box, a prism, the medial surface of either), where the
#: faces are exact; the facets of an octahedron for a sphere turn by 70.5 degrees.
CREASE_COSINE = math.cos(math.radians(80.0))
#: Jumps below this part of the gradient are round-off: both faces belong to one cell.
SAME_GRADIENT = 1e-6
#: Copies of a vertex in different faces agree within this part of the patch's extent.
SAME_POINT = 1e-7
#: Any direction along which edges of symmetric patches do not coincide by chance.
_GENERIC_DIRECTION = np.array([0.5428731, 0.3761948, 0.7508467])


@dataclass(frozen=True)
class PatchQuality:
    """How far the force of a patch can be trusted.

    Attributes:
        num_faces: Faces that press.
        face_size_ratio: Size of a face over that of the patch: the root of their areas' ratio, where the face's area
            is the mean weighted by area. 1 for a single face, ``1 / sqrt(n)`` for n equal ones, 0 without faces.
        force_error: Estimated relative error of the force against a smooth body that the mesh stands for; from 0 to 1.
            1 where nothing can be estimated: a single face, or bodies that overlap without any.
        lost_force_share: Part of the force that was dropped because a field falls the wrong way there.
        overlaps_without_faces: The bodies overlap, but no face between them was found: nothing holds them apart.
    """

    num_faces: int
    face_size_ratio: float
    force_error: float
    lost_force_share: float
    overlaps_without_faces: bool

    @property
    def is_resolved(self) -> bool:
        """Whether the estimated error is at most ``MAX_FORCE_ERROR``."""
        return self.force_error <= MAX_FORCE_ERROR

    @property
    def is_deep(self) -> bool:
        """Whether more than ``DEEP_SHARE`` of the force was dropped: a body is pushed past its medial surface."""
        return self.lost_force_share > DEEP_SHARE


class _Edges(NamedTuple):
    """Edges that two faces share, one row each.

    Attributes:
        first: (E,) one face.
        second: (E,) the other.
        middle: (E, 3) m.
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
        faces: Its faces.
        dropped_force: Sum of pressure times area over the faces that were dropped because a field falls the wrong way
            there, N.
        overlaps_without_faces: The bodies overlap, and there is no face.
    """
    pressed = faces.pressures > 0.0
    areas = faces.areas[pressed]
    force = float(areas @ faces.pressures[pressed])
    return PatchQuality(
        num_faces=len(areas),
        face_size_ratio=float(np.linalg.norm(areas) / areas.sum()) if force > 0.0 else 0.0,
        force_error=1.0 if overlaps_without_faces else _force_error(faces, pressed, force),
        lost_force_share=dropped_force / (dropped_force + force) if dropped_force > 0.0 else 0.0,
        overlaps_without_faces=overlaps_without_faces,
    )


def _force_error(faces: FaceArrays, pressed: NDArray[np.bool_], force: float) -> float:
    if force <= 0.0:
        return 0.0
    edges = _shared_edges(faces)
    # Half of what is missing at an edge belongs to either face, and the margin's skirt carries none of it.
    belongs = 0.5 * (pressed[edges.first].astype(float) + pressed[edges.second])
    if not belongs.any():
        return 1.0
    missing = sum(float(belongs @ pressure) for pressure in _missing_at_edges(faces, edges))
    return missing / (missing + force)


def _missing_at_edges(faces: FaceArrays, edges: _Edges) -> Iterator[Array]:
    """Force (E,) in N that the facets of either body take from the patch, by the edges that tell of it."""
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
    """What jumps at the facets of A and of B: vectors (F, 3), and weights (F,) that turn them into pressure gradients.

    An error e of the field of A moves the equilibrium so that the pressure changes by ``e g_B / (g_A + g_B)``. A rigid
    side has no field; there the surface turns, by its normals, within the gradient of the other side.
    """
    slope_a, slope_b = faces.gradients.T
    if np.isinf(faces.gradients).any():
        yield faces.normals, np.linalg.norm(faces.field_gradients, axis=1)
        yield faces.field_gradients, np.ones(len(faces.areas))
        return
    # The given gradient is that of one side; tangentially both agree, along the normal they differ by the slopes.
    rise = np.einsum("ij,ij->i", faces.field_gradients, faces.normals)
    is_a = np.abs(rise + slope_a) < np.abs(rise - slope_b)
    difference = (slope_a + slope_b)[:, None] * faces.normals
    share = np.clip(slope_b / (slope_a + slope_b), 0.0, 1.0)
    yield np.where(is_a[:, None], faces.field_gradients, faces.field_gradients - difference), share
    yield np.where(is_a[:, None], faces.field_gradients + difference, faces.field_gradients), 1.0 - share


def _distances_to_cells(faces: FaceArrays, edges: _Edges, same: NDArray[np.bool_]) -> Array:
    """Product (E,) of the distances from an edge to the centroids of the cells beside it, m^2.

    A cell is what one element, or several with the same gradient, contributes to the patch: the elements of the other
    body, and a fan of triangles, cut it into several faces.
    """
    count = len(faces.areas)
    weights = np.maximum(faces.areas, np.finfo(float).eps ** 10)  # a cell of no area still has a place
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
    """Match the edges of the polygons by their middles, as the faces keep no adjacency."""
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
    # The directions of edges as short as the tolerance mean nothing.
    shared &= lengths > 10.0 * tolerance
    one, other, lengths = one[shared], other[shared], lengths[shared]
    return _Edges(owner[one], owner[other], middles[one], sides[shared] / lengths[:, None], lengths)
