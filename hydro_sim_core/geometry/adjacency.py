"""Adjacency of the elements of a mesh, and start elements for the search for a contact surface.

A contact surface is found by walking over it from element to neighbour. Walks start at (see
``docs/decisions/0007-walking-contact-surfaces.md``):

- the *shell* and the *rim*: a contact surface with a boundary ends on the boundary of one body (its rim: the boundary
  triangles), where the pressure of both is at most zero, hence in the other's shell: the parts of tetrahedra with
  pressure of at most zero, and all of a rigid surface. Without a margin both are the same. Chords are exceptions: faces
  inside on which the pressure is zero.
- *peaks*: a closed contact surface encloses a vertex at which the pressure of one of the bodies has an extremum, or
  exceeds that of all neighbours after subtraction of a linear function; a closed rigid surface inside a compliant body
  is found from any of its triangles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import product
from hydro_sim_core.geometry.simplices import coordinate_functions, sorted_rows, tetrahedron_faces
from hydro_sim_core.geometry.tree import build_tree, build_tree_of_boxes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Directions of rays from peaks: tilted axes, so that no ray runs along an edge of a body with edges along the axes.
RAYS = np.vstack([axes := np.array([[0.92, 0.29, 0.26], [-0.33, 0.93, 0.16], [-0.19, -0.24, 0.95]]), -axes])

#: Height of a vertex above the linear slope around it, as a fraction of the largest pressure, above which it is a peak.
_BUMP = 0.03
#: Number of relaxation steps for that slope, and factor of over-relaxation.
_RELAXATIONS = 50
_OVERSHOOT = 1.5


class _Boxes(NamedTuple):
    """Boxes of some elements: lower and upper corners (K, 3), m, and the elements (K,)."""

    lower: FloatArray
    upper: FloatArray
    members: IntArray


class _Tree(NamedTuple):
    """Boxes (K, 6) and links (K, 2) of a tree's nodes, as in ``Adjacency``."""

    boxes: FloatArray
    links: IntArray


NO_TREE = _Tree(np.zeros((0, 6)), np.zeros((0, 2), dtype=np.int64))


class Adjacency(NamedTuple):
    """Neighbours, shell and peaks of a mesh.

    Attributes:
        neighbors: (M, 4) element behind the face (of a triangle: the edge) opposite each vertex, -1 where there is
            none.
        shell_boxes: (K, 6) tree over the boxes of the shell's elements, lower corner then upper corner, m.
        shell_links: (K, 2) children of the tree's nodes; (-1, element) for a leaf.
        rim_boxes: (R, 6) tree over the boxes of the boundary triangles of a mesh with a margin layer and no chords,
            like ``shell_boxes``; empty for others, whose shell stands for it.
        rim_links: (R, 2) children of its nodes; (-1, element with the triangle) for a leaf.
        rim_pressure: Least and largest pressure on the boundary, Pa; -inf for a rigid surface, which ends no contact
            surface.
        sign: (M,) 1 for tetrahedra whose pressure is nowhere negative, -1 for those of a margin layer, in which it is
            nowhere positive, 0 for others and in meshes with chords.
        zero_face: (M,) face with pressure zero, between tetrahedra of both signs or on the boundary, by the vertex
            opposite; -1 without, and in meshes with chords.
        peak_elements: (P, 6) first element of each of the ``RAYS`` from a peak; for a surface the peak's triangle.
        peaks: (P, 3) position of the peak, m.
        anchors: (C, 3) a point of every connected component, m: that of highest pressure, or a point of the surface.
        boundary_is_low: Whether the pressure is nowhere positive on the boundary, so that the shell contains the
            boundary of every contact surface.
        has_valley: Whether the pressure has a local minimum inside. Two such fields can have closed contact surfaces
            that enclose no peak.
        has_chords: Whether a face inside has pressure zero at its three vertices, without a margin layer behind it.
            A contact surface may end or fold there, outside of every rim.
        is_closed: Whether a surface has an inside.
    """

    neighbors: IntArray
    shell_boxes: FloatArray
    shell_links: IntArray
    rim_boxes: FloatArray
    rim_links: IntArray
    rim_pressure: tuple[float, float]
    sign: IntArray
    zero_face: IntArray
    peak_elements: IntArray
    peaks: FloatArray
    anchors: FloatArray
    boundary_is_low: bool
    has_valley: bool
    has_chords: bool
    is_closed: bool


def volume_adjacency(vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray) -> Adjacency:
    """Adjacency of a compliant mesh.

    Args:
        vertices: (N, 3) m.
        tetrahedra: (M, 4) positively oriented; at most two share a face.
        pressure: (N,) Pa.
    """
    neighbors = neighbors_of(tetrahedron_faces(tetrahedra), 4)
    on_boundary = _boundary_vertices(tetrahedra, neighbors)
    shell = _shell(vertices, tetrahedra, pressure, neighbors)
    shell_boxes, shell_links = _tree_of(*shell)
    values = pressure[tetrahedra]
    sign, zero_face = _signs(values), _zero_faces(values)
    has_chords = _has_chords(values, neighbors, sign)
    if has_chords:
        sign, zero_face = np.zeros_like(sign), np.full_like(zero_face, -1)
    has_layer = bool((sign < 0).any())
    rim_boxes, rim_links = _tree_of(*_rim(vertices, tetrahedra, neighbors)) if has_layer else NO_TREE
    inner = np.ones(len(vertices), dtype=bool)
    inner[on_boundary] = False
    elements, points = _pressure_peaks(vertices, tetrahedra, pressure, inner)
    highest = np.argsort(-pressure[tetrahedra].max(axis=1), kind="stable")
    anchors = _first_of_each(components_of(neighbors), highest)
    corner = pressure[tetrahedra[anchors]].argmax(axis=1)
    return Adjacency(
        neighbors=neighbors,
        shell_boxes=shell_boxes,
        shell_links=shell_links,
        rim_boxes=rim_boxes,
        rim_links=rim_links,
        rim_pressure=(float(pressure[on_boundary].min()), float(pressure[on_boundary].max())),
        sign=sign,
        zero_face=zero_face,
        peak_elements=elements,
        peaks=points,
        anchors=vertices[tetrahedra[anchors, corner]],
        boundary_is_low=bool((pressure[on_boundary] <= 0.0).all()),
        has_valley=bool((_maxima(tetrahedra, -pressure) & inner).any()),
        has_chords=has_chords,
        is_closed=True,
    )


def surface_adjacency(vertices: FloatArray, triangles: IntArray) -> Adjacency:
    """Adjacency of a rigid surface: its shell is the whole surface, its peaks one triangle per component."""
    edges = triangles[:, [1, 2, 2, 0, 0, 1]].reshape(-1, 2)
    neighbors = np.full((len(triangles), 4), -1)
    neighbors[:, :3] = neighbors_of(edges, 3)
    boxes, links = build_tree(vertices, triangles)
    first = _first_of_each(components_of(neighbors), np.arange(len(triangles)))
    points = vertices[triangles[first]].mean(axis=1)
    is_closed = bool((neighbors[:, :3] >= 0).all())
    return Adjacency(
        neighbors=neighbors,
        shell_boxes=boxes,
        shell_links=links,
        rim_boxes=NO_TREE.boxes,
        rim_links=NO_TREE.links,
        rim_pressure=(-math.inf, -math.inf),
        sign=np.zeros(len(triangles), dtype=np.int64),
        zero_face=np.full(len(triangles), -1),
        peak_elements=np.repeat(first[:, None], len(RAYS), axis=1),
        peaks=points,
        anchors=points,
        boundary_is_low=True,
        has_valley=False,
        has_chords=False,
        is_closed=is_closed,
    )


def neighbors_of(faces: IntArray, per_element: int) -> IntArray:
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


def _tree_of(lower: FloatArray, upper: FloatArray, members: IntArray) -> _Tree:
    """Tree over boxes of elements; its leaves hold the elements."""
    boxes, links = build_tree_of_boxes(lower, upper)
    is_leaf = links[:, 0] < 0
    links[is_leaf, 1] = members[links[is_leaf, 1]]
    return _Tree(boxes, links)


def _signs(values: FloatArray) -> IntArray:
    """Sign of the pressure in tetrahedra with values (M, 4) at their vertices; 0 where it has both, or is zero."""
    return np.subtract((values > 0.0).any(axis=1), (values < 0.0).any(axis=1), dtype=np.int64)


def _zero_faces(values: FloatArray) -> IntArray:
    """Face of tetrahedra with values (M, 4) that are zero at its three vertices alone; -1 for none."""
    is_zero = values == 0.0
    return np.where(is_zero.sum(axis=1) == 3, is_zero.argmin(axis=1), -1)


def _has_chords(values: FloatArray, neighbors: IntArray, signs: IntArray) -> bool:
    """Whether a face inside with pressure zero at its vertices lies between tetrahedra of the same sign."""
    is_zero = values == 0.0
    of_face = np.stack([np.delete(is_zero, face, axis=1).all(axis=1) for face in range(4)], axis=1)
    element, face = np.nonzero(of_face & (neighbors >= 0))
    return bool((signs[element] * signs[neighbors[element, face]] >= 0).any())


def _rim(vertices: FloatArray, tetrahedra: IntArray, neighbors: IntArray) -> _Boxes:
    """Boxes of the boundary triangles, each with the tetrahedron that it belongs to."""
    members, face = np.nonzero(neighbors < 0)
    corners = vertices[tetrahedron_faces(tetrahedra).reshape(-1, 4, 3)[members, face]]
    return _Boxes(corners.min(axis=1), corners.max(axis=1), members)


def _shell(vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray, neighbors: IntArray) -> _Boxes:
    """Boxes of the parts of tetrahedra with pressure of at most zero that are more than a vertex or an edge."""
    values = pressure[tetrahedra]
    has_part = (values < 0.0).any(axis=1) | (np.count_nonzero(values <= 0.0, axis=1) >= 3)
    members = np.flatnonzero(has_part | (neighbors < 0).any(axis=1))
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
    return _Boxes(lower, upper, members)


def _pressure_peaks(
    vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray, inner: NDArray[np.bool_]
) -> tuple[IntArray, FloatArray]:
    """Peaks among the ``inner`` vertices, and the first element of each of six rays from every peak.

    Closed surfaces may enclose a peak. Several rays are needed because a hollow body or a ridge can have nested closed
    surfaces, which a ray to another side misses.
    """
    peaks = _maxima(tetrahedra, pressure) | _maxima(tetrahedra, -pressure)
    # An extremum is a peak and needs no further test.
    edges = _edges_from(inner & ~peaks, tetrahedra)
    for values in (pressure, -pressure):
        peaks |= _bumps(vertices, edges, values)
    elements, corner = np.nonzero((peaks & inner)[tetrahedra])
    vertex = tetrahedra[elements, corner]
    order = np.argsort(vertex, kind="stable")
    elements, corner, vertex = elements[order], corner[order], vertex[order]
    if not len(elements):
        return np.zeros((0, len(RAYS)), dtype=np.int64), np.zeros((0, 3))
    # A ray from a vertex starts inside a tetrahedron if no other barycentric coordinate decreases along it.
    rates = product(coordinate_functions(vertices, tetrahedra[elements])[:, :3].transpose(0, 2, 1), RAYS.T)
    rates[np.arange(len(elements)), corner] = np.inf
    starts = np.flatnonzero(np.r_[True, vertex[1:] != vertex[:-1]])
    first = np.column_stack(
        [starts + _largest_of_runs(rates[:, :, k].min(axis=1), starts) for k in range(len(RAYS))]
    )
    return elements[first], vertices[vertex[starts]]


def _maxima(tetrahedra: IntArray, pressure: FloatArray) -> NDArray[np.bool_]:
    """Vertices that no neighbour exceeds, including all of a plateau or ridge."""
    values = pressure[tetrahedra]
    exceeded = np.zeros(len(pressure), dtype=bool)
    exceeded[tetrahedra[values < values.max(axis=1, keepdims=True)]] = True
    return ~exceeded


def _edges_from(chosen: NDArray[np.bool_], tetrahedra: IntArray) -> IntArray:
    """Edges (E, 2) of the mesh from chosen vertices to all others, sorted."""
    starts, ends = np.array([(i, j) for i in range(4) for j in range(4) if i != j]).T
    starts, ends = tetrahedra[:, starts].ravel(), tetrahedra[:, ends].ravel()
    wanted = chosen[starts]
    # Sorting one number per edge is many times faster than sorting rows.
    edges = np.unique(starts[wanted] * len(chosen) + ends[wanted])
    return np.column_stack(np.divmod(edges, len(chosen)))


def _bumps(vertices: FloatArray, edges: IntArray, pressure: FloatArray) -> NDArray[np.bool_]:
    """Vertices whose pressure exceeds that of all neighbours after subtraction of some linear slope.

    The slope g of which ``p(u) - p(v) < g . (u - v)`` for all neighbours u of v is sought by relaxation (Agmon 1954,
    Motzkin and Schoenberg 1954) of the most violated inequality of every vertex.
    """
    bumps = np.zeros(len(vertices), dtype=bool)
    if not len(edges):
        return bumps
    at, starts = np.unique(edges[:, 0], return_index=True)
    lengths = np.diff(np.r_[starts, len(edges)])
    reach = vertices[edges[:, 1]] - vertices[edges[:, 0]]
    rise = pressure[edges[:, 1]] - pressure[edges[:, 0]]
    height = _BUMP * np.abs(pressure).max()
    slope = np.zeros((len(at), 3))
    stands_out = np.zeros(len(at), dtype=bool)
    for _ in range(_RELAXATIONS):
        excess = rise - np.einsum("ij,ij->i", reach, np.repeat(slope, lengths, axis=0)) + height
        edge = starts + _largest_of_runs(excess, starts)
        worst = excess[edge]
        stands_out |= worst <= 0.0
        step = np.where(stands_out, 0.0, _OVERSHOOT * worst / np.einsum("ij,ij->i", reach[edge], reach[edge]))
        slope += step[:, None] * reach[edge]
    bumps[at] = stands_out
    return bumps


def _largest_of_runs(values: FloatArray, starts: IntArray) -> IntArray:
    """Offset of the first largest value in every run."""
    lengths = np.diff(np.r_[starts, len(values)])
    positions = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, starts), lengths))
    return positions[np.searchsorted(positions, starts)] - starts


def components_of(neighbors: IntArray) -> IntArray:
    """Number of the connected component of every element."""
    element, face = np.nonzero(neighbors >= 0)
    other = neighbors[element, face]
    root = np.arange(len(neighbors))  # union-find: finally the first element of the component
    while True:
        one, two = root[element], root[other]
        if np.array_equal(one, two):
            return np.unique(root, return_inverse=True)[1]
        np.minimum.at(root, np.maximum(one, two), np.minimum(one, two))
        while not np.array_equal(root[root], root):
            root = root[root]


def _first_of_each(labels: IntArray, order: IntArray) -> IntArray:
    """The entry of every label that comes first in an order."""
    return order[np.unique(labels[order], return_index=True)[1]]
