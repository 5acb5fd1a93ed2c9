"""Margin of a tetrahedral mesh: a layer outside its surface in which the pressure is negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hydro_sim_core.arithmetic import norm
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.mesh import FLATNESS
from hydro_sim_core.geometry.prisms import split_prisms
from hydro_sim_core.geometry.simplices import longest_edges, sorted_rows, tetrahedron_volumes

#: Least thickness of the layer, relative to the margin, where it would fold; below it the layer is left out.
THINNEST = 1.0 / 16.0

#: A vertex whose displacement moves one of its faces by less than the first fraction of the margin gets another
#: displacement, with the second multiple of the margin as length.
LEAST_PROGRESS, LONGEST_STEP = 0.25, 2.0

#: Largest fraction of the surface's vertices at which the layer may be thinner than the margin.
LARGEST_THINNER = 0.25


@dataclass(frozen=True, eq=False)
class MarginLayer:
    """A mesh with a margin layer.

    Attributes:
        vertices: (N + S, 3) positions, m: those of the mesh, then those of the layer.
        tetrahedra: Those of the mesh, then those of the layer.
        owners: (S,) vertex of the mesh below each vertex of the layer.
        thickness: (S,) thickness of the layer there, m.
    """

    vertices: FloatArray
    tetrahedra: IntArray
    owners: IntArray
    thickness: FloatArray


def add_margin_layer(
    source: str,
    vertices: FloatArray,
    tetrahedra: IntArray,
    surface: IntArray,
    margin: ArrayLike,
    *,
    may_be_thin: bool = False,
) -> MarginLayer:
    """Add a layer of prisms, three tetrahedra each, on the surface; the mesh inside does not change.

    Every vertex of the surface is displaced outwards such that its faces move by the margin. Where the surface is
    concave with faces smaller than the margin, prisms would fold; there the layer is made thinner, vertex by vertex,
    and finally left out. It is also left out where the solid touches itself along an edge, which leaves no room.

    Args:
        source: Name used in error messages.
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) positively oriented.
        surface: (T, 3) boundary triangles, counter-clockwise seen from outside.
        margin: Thickness, m: one number, or one for every vertex (N,).
        may_be_thin: Whether the layer may be thinner in many places.

    Raises:
        InputError: The layer would fold in so many places that the margin must be too large.
    """
    inner, corners = np.unique(surface, return_inverse=True)
    outward = outward_directions(vertices[inner], corners.reshape(-1, 3))
    wanted = np.broadcast_to(np.asarray(margin, dtype=float), len(vertices))[inner]
    thickness = wanted.copy()
    thickness[np.isin(inner, _crowded_edges(surface))] = 0.0

    # Neighbouring prisms have the same diagonal in their common face because each splits it by vertex number.
    order = np.argsort(surface, axis=1)
    low = np.take_along_axis(surface, order, axis=1)
    mirrored = np.repeat((order[:, 0] + 1) % 3 != order[:, 1], 3)
    number = np.empty(len(vertices), dtype=np.int64)
    number[inner] = np.arange(len(inner))
    while True:
        kept = thickness > 0.0
        outer = np.where(kept, len(vertices) + np.cumsum(kept) - 1, inner)
        grown = np.vstack([vertices, vertices[inner[kept]] + thickness[kept, None] * outward[kept]])
        layer = split_prisms(tuple(outer[number[low]].T), tuple(low.T))
        ordered = np.sort(layer, axis=1)
        solid = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)  # not flat for lack of a layer vertex
        volumes = np.where(mirrored, -1.0, 1.0) * tetrahedron_volumes(grown, layer)
        folded = layer[solid & (volumes <= FLATNESS * longest_edges(grown, layer) ** 3)]
        if not len(folded):
            layer = np.where(mirrored[:, None], layer[:, [0, 1, 3, 2]], layer)[solid]
            return MarginLayer(grown, np.vstack([tetrahedra, layer]), inner[kept], thickness[kept])
        moved = np.isin(outer, folded[folded >= len(vertices)])
        thickness[moved] *= np.where(thickness[moved] > THINNEST * wanted[moved], 0.5, 0.0)
        if not may_be_thin and np.count_nonzero(thickness < wanted) > LARGEST_THINNER * len(inner):
            corner = np.round(vertices[inner[thickness.argmin()]], 6).tolist()
            problem = (
                f"of {wanted.max():g} m folds the margin layer in many places, such as {corner}, "
                "or is lost in round-off"
            )
            raise InputError(source, "margin", problem, "smooth the surface there or give another margin")


def _crowded_edges(surface: IntArray) -> IntArray:
    """Vertices of edges that belong to more than two triangles."""
    edges = surface[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    order, starts, counts = sorted_rows(edges)
    return np.unique(edges[order[starts[counts > 2]]])


def outward_directions(vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Displacement (N, 3) of every vertex of a surface that moves the faces around it outwards by about one.

    The least-squares solution of ``n . w = 1`` over the normals n of the faces at a vertex, regularised to avoid large
    tangential components for nearly parallel normals. If it moves a face too little, the direction with the largest
    least product with the normals is taken.
    """
    a, b, c = (vertices[surface[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    matrix = np.zeros((len(vertices), 3, 3))
    total = np.zeros((len(vertices), 3))
    np.add.at(matrix, surface, (normals[:, :, None] * normals[:, None, :])[:, None])
    np.add.at(total, surface, normals[:, None])
    faces = np.trace(matrix, axis1=1, axis2=2)  # number of faces, as normals have length one
    regular = matrix + (1e-6 * faces)[:, None, None] * np.eye(3)
    outward = _solve(regular, total)

    progress = np.einsum("tij,tj->ti", outward[surface], normals)
    for vertex in np.unique(surface[progress < LEAST_PROGRESS]):
        around = normals[(surface == vertex).any(axis=1)]
        outward[vertex] = _farthest_direction(around) * LONGEST_STEP
    return outward


def _solve(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions (N, 3) of symmetric positive definite systems, by Cholesky factorisation."""
    a = matrices
    l00 = np.sqrt(a[:, 0, 0])
    l10, l20 = a[:, 1, 0] / l00, a[:, 2, 0] / l00
    l11 = np.sqrt(a[:, 1, 1] - l10 * l10)
    l21 = (a[:, 2, 1] - l20 * l10) / l11
    l22 = np.sqrt(a[:, 2, 2] - l20 * l20 - l21 * l21)
    y0 = right[:, 0] / l00
    y1 = (right[:, 1] - l10 * y0) / l11
    y2 = (right[:, 2] - l20 * y0 - l21 * y1) / l22
    x2 = y2 / l22
    x1 = (y1 - l21 * x2) / l11
    x0 = (y0 - l10 * x1 - l20 * x2) / l00
    return np.column_stack([x0, x1, x2])


def _farthest_direction(normals: FloatArray) -> FloatArray:
    """Unit vector with the largest least product with the normals; zero if no vector points out of all faces."""
    rows = np.column_stack([-normals, np.ones(len(normals))])
    box = [(-1.0, 1.0)] * 3
    found = scipy.optimize.linprog(
        [0.0, 0.0, 0.0, -1.0], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=[*box, (None, 1.0)]
    )
    if not (found.success and found.x[3] > 1e-6):
        return np.zeros(3)
    return found.x[:3] / norm(found.x[:3])
