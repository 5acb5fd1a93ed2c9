"""Splits of tetrahedra after which each has a vertex inside the body.

If all four vertices of a tetrahedron lie on the surface, the pressure is zero at all of them: it has no gradient and
makes no contact. Thin walls consist of such tetrahedra, and corners have some. The surface is not changed: inner edges
and faces with all vertices on the surface are split at their midpoints, so that every path into the body meets a
positive pressure.
"""

from __future__ import annotations

import numpy as np

from hydro_sim_core.geometry.simplices import (
    TETRAHEDRON_FACES,
    FloatArray,
    IntArray,
    boundary_triangles,
    sorted_rows,
)

_EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
_FACES = np.array(TETRAHEDRON_FACES)

#: Incidences of simplices and tetrahedra, as three arrays of equal length: index of the simplex, index of the
#: tetrahedron, and number of the simplex among the tetrahedron's edges or faces.
Users = tuple[IntArray, IntArray, IntArray]


def give_every_tetrahedron_depth(vertices: FloatArray, tetrahedra: IntArray) -> tuple[FloatArray, IntArray]:
    """Split until no edge, face or tetrahedron inside the body has all its vertices on the surface.

    Args:
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) positively oriented.

    Returns:
        Vertices, the old ones first, and tetrahedra, positively oriented.
    """
    surface = boundary_triangles(tetrahedra)
    for parts, of_surface in ((_EDGES, _edges_of_triangles(surface)), (_FACES, surface)):
        while True:
            simplices, users = _inner_simplices(len(vertices), tetrahedra, surface, parts, of_surface)
            if not len(simplices):
                break
            chosen = _independent(vertices, simplices, users, len(tetrahedra))
            vertices, tetrahedra = _split(vertices, tetrahedra, simplices, users, chosen, parts)
    alone = np.flatnonzero(_on_surface(len(vertices), surface)[tetrahedra].all(axis=1))
    return split_in_the_middle(vertices, tetrahedra, alone)


def split_in_the_middle(
    vertices: FloatArray, tetrahedra: IntArray, rows: IntArray
) -> tuple[FloatArray, IntArray]:
    """Add a vertex at the centroid of some tetrahedra, each of which is split into four."""
    users = (np.arange(rows.size), rows, np.zeros(rows.size, dtype=np.int64))
    every = np.ones(rows.size, dtype=bool)
    return _split(vertices, tetrahedra, tetrahedra[rows], users, every, np.arange(4)[None])


def _edges_of_triangles(triangles: IntArray) -> IntArray:
    return triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def _on_surface(num_vertices: int, surface: IntArray) -> np.ndarray:
    mask = np.zeros(num_vertices, dtype=bool)
    mask[surface] = True
    return mask


def _inner_simplices(
    num_vertices: int, tetrahedra: IntArray, surface: IntArray, parts: IntArray, of_surface: IntArray
) -> tuple[IntArray, Users]:
    """Inner edges or faces with all vertices on the surface, and the tetrahedra around each."""
    all_parts = tetrahedra[:, parts].reshape(-1, parts.shape[1])
    candidates = np.flatnonzero(_on_surface(num_vertices, surface)[all_parts].all(axis=1))
    rows = np.vstack([all_parts[candidates], of_surface])
    order, starts, counts = sorted_rows(rows)
    group = np.empty(len(rows), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(starts)), counts)
    inner = np.ones(len(starts), dtype=bool)
    inner[group[len(candidates) :]] = False
    number = np.cumsum(inner) - 1
    used = inner[group[: len(candidates)]]
    simplices = np.sort(rows[order[starts]], axis=1)[inner]
    where = candidates[used]
    return simplices, (number[group[: len(candidates)][used]], where // len(parts), where % len(parts))


def _independent(vertices: FloatArray, simplices: IntArray, users: Users, num_tetrahedra: int) -> np.ndarray:
    """Mask of simplices no two of which share a tetrahedron: the largest in each neighbourhood."""
    simplex, tetrahedron, _ = users
    corners = vertices[simplices]
    size = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2).max(axis=1)
    rank = np.empty(len(simplices), dtype=np.int64)
    rank[np.lexsort((np.arange(len(simplices)), size))] = np.arange(len(simplices))
    highest = np.full(num_tetrahedra, -1)
    np.maximum.at(highest, tetrahedron, rank[simplex])
    chosen = np.ones(len(simplices), dtype=bool)
    chosen[simplex[rank[simplex] < highest[tetrahedron]]] = False
    return chosen


def _split(
    vertices: FloatArray,
    tetrahedra: IntArray,
    simplices: IntArray,
    users: Users,
    chosen: np.ndarray,
    parts: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Add a vertex at the centroid of each chosen simplex; each child has it in place of one vertex of the simplex."""
    simplex, tetrahedron, part = (values[chosen[users[0]]] for values in users)
    new_vertex = len(vertices) + np.cumsum(chosen) - 1
    children = [np.delete(tetrahedra, tetrahedron, axis=0)]
    for corner in range(parts.shape[1]):
        child = tetrahedra[tetrahedron].copy()
        child[np.arange(len(child)), parts[part, corner]] = new_vertex[simplex]
        children.append(child)
    middles = vertices[simplices[chosen]].mean(axis=1)
    return np.vstack([vertices, middles]), np.vstack(children)
