"""Measures and topology of tetrahedra and triangles given as index arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Relative difference below which the vertex values of a tetrahedron are equal.
_EQUAL = 1e-13

#: Local vertices of the faces of a positively oriented tetrahedron, counter-clockwise seen from outside.
TETRAHEDRON_FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))


def tetrahedron_volumes(vertices: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Signed volumes (M,), m^3: positive when vertices 1, 2, 3 run counter-clockwise seen from outside."""
    a, b, c, d = (vertices[tetrahedra[:, i]] for i in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def triangle_areas(vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """Areas (M,), m^2."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def enclosed_volume(vertices: FloatArray, triangles: IntArray) -> float:
    """Volume inside a closed surface, m^3; negative for inward orientation."""
    return float(signed_volumes(vertices, triangles).sum())


def signed_volumes(vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """Volumes (M,) of the cones from the triangles to one point, m^3; for a closed surface their sum is its volume."""
    # An apex near the surface avoids cancellation for surfaces far from the origin.
    a, b, c = (vertices[triangles[:, i]] - vertices[triangles[0, 0]] for i in range(3))
    return np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0


def is_closed(triangles: IntArray) -> bool:
    """Whether every edge joins exactly two triangles."""
    _, _, counts = sorted_rows(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2))
    return bool((counts == 2).all())


def longest_edges(vertices: FloatArray, elements: IntArray) -> FloatArray:
    """Length of the longest edge of every element (M,), m."""
    corners = vertices[elements]
    width = elements.shape[1]
    edges = [corners[:, i] - corners[:, j] for i in range(width) for j in range(i)]
    return np.sqrt(np.max([np.einsum("ij,ij->i", edge, edge) for edge in edges], axis=0))


def sorted_rows(rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Group rows with equal entries in any order.

    Returns:
        ``order``, which sorts equal rows together, the first position in ``order`` of every group, and the size of
        every group.
    """
    keys = np.sort(rows, axis=1)
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
    return order, starts, np.diff(np.r_[starts, len(rows)])


def tetrahedron_faces(tetrahedra: IntArray) -> IntArray:
    """The four outward faces of every tetrahedron, (4 M, 3); face j of tetrahedron i is row 4 i + j."""
    return tetrahedra[:, np.array(TETRAHEDRON_FACES)].reshape(-1, 3)


def boundary_triangles(tetrahedra: IntArray) -> IntArray:
    """Faces (T, 3) that belong to a single tetrahedron, counter-clockwise seen from outside."""
    faces = tetrahedron_faces(tetrahedra)
    order, starts, counts = sorted_rows(faces)
    return faces[np.sort(order[starts[counts == 1]])]


def coordinate_functions(vertices: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Barycentric coordinates (M, 4, 4): that of vertex k at x is ``column[:3] . x + column[3]`` with column k."""
    functions = np.empty((len(tetrahedra), 4, 4))
    for corner, (i, j, k) in enumerate(TETRAHEDRON_FACES):
        a, b, c, d = (vertices[tetrahedra[:, m]] for m in (i, j, k, corner))
        across = np.cross(b - a, c - a)
        height = np.einsum("ij,ij->i", across, d - a)
        functions[:, :3, corner] = across / height[:, None]
        functions[:, 3, corner] = -np.einsum("ij,ij->i", functions[:, :3, corner], a)
    return functions


def linear_fields(vertices: FloatArray, tetrahedra: IntArray, values: FloatArray) -> FloatArray:
    """Coefficients (M, 4) ``[gx, gy, gz, c]`` of the linear ``g . x + c`` with these vertex values.

    For values that differ only by round-off the gradient is zero, as its direction would be arbitrary.
    """
    a, b, c, d = (vertices[tetrahedra[:, i]] for i in range(4))
    value_a, value_b, value_c, value_d = (values[tetrahedra[:, i]] for i in range(4))
    ab, ac, ad = b - a, c - a, d - a
    six_volume = np.einsum("ij,ij->i", np.cross(ab, ac), ad)
    gradient = (
        (value_b - value_a)[:, None] * np.cross(ac, ad)
        + (value_c - value_a)[:, None] * np.cross(ad, ab)
        + (value_d - value_a)[:, None] * np.cross(ab, ac)
    ) / six_volume[:, None]
    rise = np.linalg.norm(gradient, axis=1) * longest_edges(vertices, tetrahedra)
    gradient[rise <= _EQUAL * np.abs(values[tetrahedra]).max(axis=1)] = 0.0
    offset = value_a - np.einsum("ij,ij->i", gradient, a)
    return np.column_stack([gradient, offset])
