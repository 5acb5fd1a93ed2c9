# mypy: allow-untyped-defs
"""Contact polygon of two elements, with one function per kind of pair.

All inputs are in the frame of geometry B. Each function writes the polygon, its normal from A into B, the slopes and
the field that gives the pressure to ``work`` and returns the number of vertices, 0 if there is no polygon. A polygon
with a pressure gradient against the normal is part of the equilibrium surface, over which the walk continues, but it is
not a contact face; a flag in ``work.cycle`` distinguishes the two.

If the plane coincides with the face between two tetrahedra of B, as for aligned bodies, the polygon must be found in
exactly one of them in spite of round-off. Both therefore decide from the same numbers: the distances of the plane from
the three common vertices, which are bit-identical in both. Distances within ``tie_distance`` are ties.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D, kernel
from hydro_sim_core.contact.pressure_field.polygon import (
    MAX_POINTS,
    NEARLY_IN_FACE,
    OUTSIDE,
    TRIANGLE_EDGE_FACES,
    TRIANGLE_ROWS,
    clip_by_tetrahedron,
    clip_polygon,
    evaluate_coordinates,
    slice_tetrahedron,
)

#: Polygons are contact faces if the angle between pressure gradient and normal is below 5 pi / 8 on each compliant
#: side; beyond that the equal-pressure plane is an artefact of the coarse field. Drake uses the same angle. A zero
#: gradient has no direction and passes the test.
MIN_COSINE = math.cos(5.0 * math.pi / 8.0)

#: Relative difference below which gradients are equal. Fields with equal gradients agree in a volume or nowhere, and
#: the plane that round-off would give has no meaning.
_PARALLEL = 4e-15

#: Distance of the fourth vertex from the plane, in tie distances, below which a tetrahedron is flat against the plane
#: and has no tied face.
_CLEAR = 1e3

#: Entries of ``Workspace.cycle``: the two parts of the cycle (see ``polygon``), and whether it is a contact face.
ROWS = 0
EDGE_FACES = 1
IS_FACE = 2

#: Results of ``_tied_face``: the plane lies in no face; in a face, but belongs to the neighbour behind it.
_NO_FACE = -1
_OF_NEIGHBOR = -2


class Workspace(NamedTuple):
    """Small buffers of one query, or of one thread on a GPU.

    Attributes:
        x: (4, 3) vertices of A's element in B's frame.
        f: (4,) pressure difference p_A - p_B at A's vertices.
        difference: (4,) values at B's vertices, positive on the side of the plane to which a tied face belongs.
        field_a: (4,) pressure field of A's element in B's frame.
        points: (MAX_POINTS, 3) vertices of the polygon and vertices removed by clipping.
        values: (MAX_POINTS, 4) scratch of the clipping.
        cycle: (3,) rows of ``points`` that form the polygon, element faces of its edges, whether it is a contact face.
        normal: (3,) unit normal from A into B.
        slopes: (2,) slopes of the fields of A and B along the normal.
        field: (4,) pressure field on the face.
        centroid: (3,) scratch.
    """

    x: Float2D
    f: Float1D
    difference: Float1D
    field_a: Float1D
    points: Float2D
    values: Float2D
    cycle: Int1D
    normal: Float1D
    slopes: Float1D
    field: Float1D
    centroid: Float1D


def make_workspace() -> Workspace:
    """Allocate the buffers of one query."""
    return Workspace(
        x=np.zeros((4, 3)),
        f=np.zeros(4),
        difference=np.zeros(4),
        field_a=np.zeros(4),
        points=np.zeros((MAX_POINTS, 3)),
        values=np.zeros((MAX_POINTS, 4)),
        cycle=np.zeros(3, dtype=np.int64),
        normal=np.zeros(3),
        slopes=np.zeros(2),
        field=np.zeros(4),
        centroid=np.zeros(3),
    )


@kernel(inline=True)
def evaluate(field, x, y, z):
    """Value at a point of a linear function (4,) with coefficients (g, c)."""
    return field[0] * x + field[1] * y + field[2] * z + field[3]


@kernel(inline=True)
def orient_by_gradients(field_a, size_a, field_b, size_b, work):
    """Compute normal of the equal-pressure plane, slopes and pressure field.

    Args:
        field_a: (4,) pressure field of A's element.
        size_a: Norm of its gradient.
        field_b: (4,) pressure field of B's element.
        size_b: Norm of its gradient.
        work: ``Workspace`` for the results.

    Returns:
        Norm of the gradient of p_A - p_B; 0 if the gradients are equal and there is no plane.
    """
    dx, dy, dz = field_b[0] - field_a[0], field_b[1] - field_a[1], field_b[2] - field_a[2]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= _PARALLEL * (size_a + size_b):
        return 0.0
    nx, ny, nz = dx / length, dy / length, dz / length
    slope_a = -(field_a[0] * nx + field_a[1] * ny + field_a[2] * nz)
    slope_b = field_b[0] * nx + field_b[1] * ny + field_b[2] * nz
    rises = slope_a >= MIN_COSINE * size_a and slope_b >= MIN_COSINE * size_b
    # The field with the smaller gradient has less round-off when evaluated.
    softer = field_a if size_a < size_b else field_b
    _set_plane(work, nx, ny, nz, slope_a, slope_b, softer, rises)
    return length


@kernel(inline=True)
def _set_plane(work, nx, ny, nz, slope_a, slope_b, field, is_face):
    """Store the equal-pressure plane: its normal, both slopes (Pa/m), and the field on it.

    Writes work: cycle, field, normal, slopes.
    """
    work.normal[0], work.normal[1], work.normal[2] = nx, ny, nz
    work.slopes[0], work.slopes[1] = slope_a, slope_b
    for i in range(4):
        work.field[i] = field[i]
    work.cycle[IS_FACE] = 1 if is_face else 0


@kernel(inline=True)
def _set_cycle(work, n, rows, edge_faces):
    """Store the cycle of a polygon of ``n`` vertices; returns ``n``.

    Writes work: cycle.
    """
    work.cycle[ROWS], work.cycle[EDGE_FACES] = rows, edge_faces
    return n


@kernel(inline=True)
def _tied_face(difference, tolerance):
    """Find the face of a tetrahedron that lies in the zero plane of a linear function.

    Args:
        difference: (4,) values of the function at the vertices.
        tolerance: Values this close to zero are ties.

    Returns:
        ``_NO_FACE``; or the face (the index of the vertex opposite), if the plane belongs to this tetrahedron; or
        ``_OF_NEIGHBOR``, if it belongs to that across the face.
    """
    num_tied = 0
    apart = 0
    for k in range(4):
        if abs(difference[k]) <= tolerance:
            num_tied += 1
        else:
            apart = k
    if num_tied != 3 or abs(difference[apart]) <= _CLEAR * tolerance:
        return _NO_FACE
    return apart if difference[apart] > 0.0 else _OF_NEIGHBOR


@kernel(inline=True)
def tetrahedron_tetrahedron(vertices_b, pressure_b, tet_b, coordinates_b, tie, work):
    """Equal-pressure polygon of two tetrahedra (Elandt 2019, section VI-B).

    ``work`` must hold A's vertices, p_A - p_B there, A's field and the orientation of the plane.

    Reads work: difference, f, field_a, points, values, x.
    Writes work: difference, points, values.
    """
    field_a = work.field_a
    n, rows, edge_faces = slice_tetrahedron(work.x, work.f, work.points)
    where = evaluate_coordinates(work.points, n, coordinates_b, work.values)
    tied_face = _NO_FACE
    if where == NEARLY_IN_FACE:
        for k in range(4):
            v = tet_b[k]
            # Same convention as in ``slice_tetrahedron``: a tied face belongs to the side of positive difference.
            work.difference[k] = (
                evaluate(field_a, vertices_b[v, 0], vertices_b[v, 1], vertices_b[v, 2]) - pressure_b[v]
            )
        steepness = abs(field_a[0]) + abs(field_a[1]) + abs(field_a[2])
        tied_face = _tied_face(work.difference, tie * steepness)
    if where == OUTSIDE or tied_face == _OF_NEIGHBOR:
        return 0
    n, rows, edge_faces = clip_by_tetrahedron(work.points, work.values, n, rows, edge_faces, tied_face)
    return _set_cycle(work, n, rows, edge_faces)


@kernel(inline=True)
def _load_triangle(work):
    """Copy A's triangle, the first three rows of ``work.x``, to the polygon to be clipped.

    Reads work: x.
    Writes work: points.
    """
    for i in range(3):
        for axis in range(3):
            work.points[i, axis] = work.x[i, axis]


@kernel(inline=True)
def _set_plane_of_triangle(normal, field_b, size_b, work):
    slope = field_b[0] * normal[0] + field_b[1] * normal[1] + field_b[2] * normal[2]
    is_face = slope >= MIN_COSINE * size_b
    _set_plane(work, normal[0], normal[1], normal[2], math.inf, slope, field_b, is_face)


@kernel(inline=True)
def triangle_tetrahedron(vertices_b, tet_b, normal, field_b, size_b, coordinates_b, tie, work):
    """Part of a rigid triangle with unit normal ``normal``, inside a compliant tetrahedron.

    Reads work: difference, points, values, x.
    Writes work: difference, points, values.
    """
    _load_triangle(work)
    where = evaluate_coordinates(work.points, 3, coordinates_b, work.values)
    tied_face = _NO_FACE
    if where == NEARLY_IN_FACE:
        for k in range(4):
            v = tet_b[k]
            # A tied face belongs to the tetrahedron on the triangle's outer side, where the compliant body is.
            work.difference[k] = (
                (vertices_b[v, 0] - work.x[0, 0]) * normal[0]
                + (vertices_b[v, 1] - work.x[0, 1]) * normal[1]
                + (vertices_b[v, 2] - work.x[0, 2]) * normal[2]
            )
        tied_face = _tied_face(work.difference, tie)
    if where == OUTSIDE or tied_face == _OF_NEIGHBOR:
        return 0
    n, rows, edge_faces = clip_by_tetrahedron(
        work.points, work.values, 3, TRIANGLE_ROWS, TRIANGLE_EDGE_FACES, tied_face
    )
    if n == 0:
        return 0
    _set_plane_of_triangle(normal, field_b, size_b, work)
    return _set_cycle(work, n, rows, edge_faces)


@kernel(inline=True)
def tetrahedron_rigid_half_space(tie, work):
    """Section of a compliant tetrahedron by the plane z = 0 of a rigid half space.

    Reads work: f, field_a, x.
    Writes work: f, points.
    """
    for i in range(4):
        work.f[i] = -work.x[i, 2] if abs(work.x[i, 2]) > tie else 0.0
    n, rows, edge_faces = slice_tetrahedron(work.x, work.f, work.points)
    _set_plane(work, 0.0, 0.0, -1.0, work.field_a[2], math.inf, work.field_a, True)
    return _set_cycle(work, n, rows, edge_faces)


@kernel(inline=True)
def _clip_by_slab(n, rows, edge_faces, margin, work):
    """Clip the polygon to z <= margin, the upper limit of a half space's field.

    Reads work: points, values.
    Writes work: points, values.
    """
    for row in range(n):
        work.values[row, 0] = margin - work.points[row, 2]
    n, rows, edge_faces, _ = clip_polygon(work.points, work.values, 0, n, rows, edge_faces, n)
    return _set_cycle(work, n, rows, edge_faces)


@kernel(inline=True)
def tetrahedron_compliant_half_space(margin_b, work):
    """Equal-pressure polygon of a tetrahedron and the field of a compliant half space; ``work`` as for two.

    Reads work: f, x.
    Writes work: points.
    """
    n, rows, edge_faces = slice_tetrahedron(work.x, work.f, work.points)
    return _clip_by_slab(n, rows, edge_faces, margin_b, work) if n else 0


@kernel(inline=True)
def triangle_compliant_half_space(normal, field_b, size_b, margin_b, work):
    """Part of a rigid triangle inside a compliant half space."""
    _load_triangle(work)
    _set_plane_of_triangle(normal, field_b, size_b, work)
    return _clip_by_slab(3, TRIANGLE_ROWS, TRIANGLE_EDGE_FACES, margin_b, work)
