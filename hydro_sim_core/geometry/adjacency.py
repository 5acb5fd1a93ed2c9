"""How the elements of a mesh hang together, and where the search for a contact surface begins.

A contact surface is found by walking over it from element to neighbour. Three things start a walk (see
``docs/decisions/0007-walking-contact-surfaces.md``):

- the *shell*: the parts of tetrahedra in which the pressure is not positive, and all of a rigid surface. A contact
  surface that ends somewhere ends on the boundary of one body, where the pressure of both is at most zero, hence in
  both shells.
- *peaks*: a closed contact surface encloses a vertex at which the pressure of one of the bodies has a maximum or stands
  out of a slope; a closed rigid surface inside a compliant body is found by any of its triangles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry.simplices import sorted_rows, tetrahedron_faces
from hydro_sim_core.geometry.tree import build_tree, build_tree_of_boxes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Weights of the vertices opposite a peak in the point that a ray from the peak goes through: uneven, so that the rays
#: of symmetric bodies pass no edge.
_RAY_WEIGHTS = np.array([0.41, 0.33, 0.26])


#: Height over the slope around it, as a fraction of the largest pressure, from which a vertex is a peak.
_BUMP = 0.01
#: Steps of the relaxation that looks for that slope, and how far each goes beyond the violated bound.
_RELAXATIONS = 50
_OVERSHOOT = 1.5


class Adjacency(NamedTuple):
    """Neighbours, shell and peaks of a mesh.

    Attributes:
        neighbors: (M, 4) element behind the face (of a triangle: the edge) opposite each vertex, -1 where there is
            none.
        shell_boxes: (K, 6) tree over the boxes of the shell's elements, lower corner then upper corner, m.
        shell_links: (K, 2) children of the tree's nodes; (-1, element) for a leaf.
        peak_elements: (P,) an element at each peak.
        peaks: (P, 3) position, m.
        peak_rays: (P, 3) direction from the peak into the element; zero for triangles.
        boundary_is_low: Whether the pressure is nowhere positive on the boundary, so that the shell holds the ends of
            every contact surface.
    """

    neighbors: IntArray
    shell_boxes: FloatArray
    shell_links: IntArray
    peak_elements: IntArray
    peaks: FloatArray
    peak_rays: FloatArray
    boundary_is_low: bool


def volume_adjacency(vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray) -> Adjacency:
    """Adjacency of a compliant mesh.

    Args:
        vertices: (N, 3) m.
        tetrahedra: (M, 4) positively oriented, a face shared by two at most.
        pressure: (N,) Pa.
    """
    neighbors = _neighbors(tetrahedron_faces(tetrahedra), 4)
    on_boundary = _boundary_vertices(tetrahedra, neighbors)
    boxes_lower, boxes_upper, members = _shell(vertices, tetrahedra, pressure, neighbors)
    boxes, links = build_tree_of_boxes(boxes_lower, boxes_upper)
    is_leaf = links[:, 0] < 0
    links[is_leaf, 1] = members[links[is_leaf, 1]]
    elements, points, rays = _pressure_peaks(vertices, tetrahedra, pressure)
    return Adjacency(
        neighbors, boxes, links, elements, points, rays, bool((pressure[on_boundary] <= 0.0).all())
    )


def surface_adjacency(vertices: FloatArray, triangles: IntArray) -> Adjacency:
    """Adjacency of a rigid surface: its shell is all of it, its peaks are one triangle a connected component."""
    edges = triangles[:, [1, 2, 2, 0, 0, 1]].reshape(-1, 2)
    neighbors = np.full((len(triangles), 4), -1)
    neighbors[:, :3] = _neighbors(edges, 3)
    boxes, links = build_tree(vertices, triangles)
    first = _first_of_components(neighbors[:, :3])
    points = vertices[triangles[first]].mean(axis=1)
    return Adjacency(neighbors, boxes, links, first, points, np.zeros_like(points), True)


def _neighbors(faces: IntArray, per_element: int) -> IntArray:
    """Element behind each face, -1 for none; face j of element i is row ``per_element i + j``."""
    order, starts, counts = sorted_rows(faces)
    behind = np.full(len(faces), -1)
    first = starts[counts == 2]
    one, other = order[first], order[first + 1]
    behind[one], behind[other] = other // per_element, one // per_element
    return behind.reshape(-1, per_element)


def _boundary_vertices(tetrahedra: IntArray, neighbors: IntArray) -> IntArray:
    faces = tetrahedron_faces(tetrahedra).reshape(-1, 4, 3)
    return np.unique(faces[neighbors < 0])


def _shell(
    vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray, neighbors: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Boxes of the parts of tetrahedra with a boundary face or a negative pressure in which none is positive."""
    members = np.flatnonzero((neighbors < 0).any(axis=1) | (pressure[tetrahedra] < 0.0).any(axis=1))
    corners, values = vertices[tetrahedra[members]], pressure[tetrahedra[members]]
    lower, upper = np.full((len(members), 3), np.inf), np.full((len(members), 3), -np.inf)

    def include(points: FloatArray, where: NDArray[np.bool_]) -> None:
        np.minimum(lower, np.where(where[:, None], points, np.inf), out=lower)
        np.maximum(upper, np.where(where[:, None], points, -np.inf), out=upper)

    on_boundary = np.zeros((len(members), 4), dtype=bool)
    for face in range(4):
        on_boundary |= (neighbors[members, face] < 0)[:, None] & (np.arange(4) != face)
    for i in range(4):
        include(corners[:, i], on_boundary[:, i] | (values[:, i] <= 0.0))
        for j in range(4):
            crosses = (values[:, i] < 0.0) & (values[:, j] > 0.0)
            t = np.where(crosses, values[:, i] / np.where(crosses, values[:, i] - values[:, j], 1.0), 0.0)
            include(corners[:, i] + t[:, None] * (corners[:, j] - corners[:, i]), crosses)
    return lower, upper, members


def _pressure_peaks(
    vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Vertices with positive pressure at which a closed surface may be; each with a tetrahedron and a way into it."""
    used, first = np.unique(tetrahedra, return_index=True)
    peaks = _maxima(tetrahedra, pressure) | _bumps(vertices, tetrahedra, pressure)
    is_peak = peaks[used] & (pressure[used] > 0.0)
    elements, corner = first[is_peak] // 4, first[is_peak] % 4
    points = vertices[used[is_peak]]
    others = np.array([[k for k in range(4) if k != c] for c in range(4)])[corner]
    opposite = vertices[tetrahedra[elements[:, None], others]]
    return elements, points, np.einsum("k,nki->ni", _RAY_WEIGHTS, opposite) - points


def _maxima(tetrahedra: IntArray, pressure: FloatArray) -> NDArray[np.bool_]:
    """Vertices that no neighbour exceeds: single ones and all of a plateau or ridge."""
    values = pressure[tetrahedra]
    exceeded = np.zeros(len(pressure), dtype=bool)
    exceeded[tetrahedra[values < values.max(axis=1, keepdims=True)]] = True
    return ~exceeded


def _bumps(vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray) -> NDArray[np.bool_]:
    """Vertices that stick out of a slope through their neighbours, so that a parallel slope cuts them off.

    The slope g of which ``p(u) - p(v) < g . (u - v)`` for all neighbours u of v is sought by relaxation (Agmon 1954,
    Motzkin and Schoenberg 1954) of the most violated inequality of every vertex.
    """
    pairs = np.array([(i, j) for i in range(4) for j in range(4) if i != j])
    edges = np.unique(tetrahedra[:, pairs].reshape(-1, 2), axis=0)
    at, starts = np.unique(edges[:, 0], return_index=True)
    lengths = np.diff(np.r_[starts, len(edges)])
    reach = vertices[edges[:, 1]] - vertices[edges[:, 0]]
    rise = pressure[edges[:, 1]] - pressure[edges[:, 0]]
    height = _BUMP * pressure.max()
    slope = np.zeros((len(at), 3))
    stands_out = np.zeros(len(at), dtype=bool)
    for _ in range(_RELAXATIONS):
        excess = rise - np.einsum("ij,ij->i", reach, np.repeat(slope, lengths, axis=0)) + height
        worst = np.maximum.reduceat(excess, starts)
        stands_out |= worst <= 0.0
        edge = starts + _first_of_runs(excess == np.repeat(worst, lengths), starts)
        step = np.where(stands_out, 0.0, _OVERSHOOT * worst / np.einsum("ij,ij->i", reach[edge], reach[edge]))
        slope += step[:, None] * reach[edge]
    bumps = np.zeros(len(vertices), dtype=bool)
    bumps[at] = stands_out
    return bumps


def _first_of_runs(marked: NDArray[np.bool_], starts: IntArray) -> IntArray:
    """Offset of the first marked entry of every run; each has one."""
    positions = np.flatnonzero(marked)
    return positions[np.searchsorted(positions, starts)] - starts


def _first_of_components(neighbors: IntArray) -> IntArray:
    """One element of every connected component."""
    first = []
    seen = np.zeros(len(neighbors), dtype=bool)
    for element in range(len(neighbors)):
        if seen[element]:
            continue
        first.append(element)
        front = np.array([element])
        while front.size:
            seen[front] = True
            front = np.unique(neighbors[front])
            front = front[(front >= 0) & ~seen[front]]
    return np.array(first, dtype=np.int64)
