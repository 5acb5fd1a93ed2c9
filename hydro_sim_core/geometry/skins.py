"""The margin of a tetrahedral mesh: a skin outside its surface in which the pressure falls on below zero."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.prisms import split_prisms
from hydro_sim_core.geometry.simplices import sorted_rows, tetrahedron_volumes

#: Where the skin would fold it is made thinner, down to this fraction of the margin.
THINNEST = 1.0 / 16.0


def add_skin(
    source: str, vertices: FloatArray, tetrahedra: IntArray, surface: IntArray, margin: float
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Add a layer of prisms, three tetrahedra each, on the surface; the mesh inside stays as it is.

    Every vertex of the surface moves out until the faces around it stand off by the margin. Where faces are smaller
    than the margin and the surface is hollow, prisms would fold; there the skin is made thinner, vertex by vertex.

    Args:
        source: Named by errors.
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) positively oriented.
        surface: (T, 3) boundary triangles, counter-clockwise seen from outside.
        margin: Thickness, m.

    Returns:
        Vertices, the old ones first, tetrahedra, the old ones first, and the thickness of the skin at each of the
        new vertices, m.

    Raises:
        InputError: The skin would fold however thin it is made, or the solid touches itself along an edge.
    """
    _check_edges(source, vertices, surface)
    inner, corners = np.unique(surface, return_inverse=True)
    outward = _outward(vertices[inner], corners.reshape(-1, 3))
    thickness = np.full(len(inner), margin)

    # Neighbouring prisms agree on the diagonal of their common wall because each cuts it by vertex number.
    order = np.argsort(surface, axis=1)
    low = np.take_along_axis(surface, order, axis=1)
    outer = np.zeros(len(vertices), dtype=np.int64)
    outer[inner] = len(vertices) + np.arange(len(inner))
    skin = split_prisms(tuple(outer[low].T), tuple(low.T))
    sign = np.repeat(np.where((order[:, 0] + 1) % 3 != order[:, 1], -1.0, 1.0), 3)

    while True:
        grown = np.vstack([vertices, vertices[inner] + thickness[:, None] * outward])
        folded = np.flatnonzero(sign * tetrahedron_volumes(grown, skin) <= 0.0)
        if not folded.size:
            return grown, np.vstack([tetrahedra, skin]), thickness
        moved = np.unique(skin[folded][skin[folded] >= len(vertices)]) - len(vertices)
        thickness[moved] *= 0.5
        if thickness.min() < THINNEST * margin:
            corner = np.round(vertices[inner[thickness.argmin()]], 6).tolist()
            problem = f"of {margin:g} m folds the skin near {corner}"
            raise InputError(source, "margin", problem, "smooth the surface there or give a smaller margin")


def _check_edges(source: str, vertices: FloatArray, surface: IntArray) -> None:
    edges = surface[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    order, starts, counts = sorted_rows(edges)
    crowded = edges[order[starts[counts > 2]]]
    if len(crowded):
        where = np.round(vertices[crowded[0, 0]], 6).tolist()
        problem = f"has no place where the solid touches itself along an edge, near {where}"
        raise InputError(
            source, "margin", problem, "separate or join the parts there, or leave the margin out"
        )


def _outward(vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Displacement (N, 3) of every surface vertex that moves the faces around it out by one.

    The least-squares solution of ``n . w = 1`` over the normals n of the faces at a vertex, regularised so
    that nearly parallel normals do not send it sideways.
    """
    a, b, c = (vertices[surface[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    matrix = np.zeros((len(vertices), 3, 3))
    total = np.zeros((len(vertices), 3))
    np.add.at(matrix, surface, (normals[:, :, None] * normals[:, None, :])[:, None])
    np.add.at(total, surface, normals[:, None])
    faces = np.trace(matrix, axis1=1, axis2=2)  # their number: normals have length one
    regular = matrix + (1e-6 * faces)[:, None, None] * np.eye(3)
    return np.linalg.solve(regular, total[:, :, None])[:, :, 0]
