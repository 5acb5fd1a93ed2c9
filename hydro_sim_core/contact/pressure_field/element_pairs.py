"""The contact face of two elements: one function a kind of pair.

All inputs are in the frame of geometry B. Each function leaves the polygon, its normal from A into B, the slopes and
the field that gives the pressure in ``work`` and returns the number of vertices, 0 if there is no face.

A plane that lies in the face shared by two tetrahedra of B (aligned bodies do this) must be found in exactly one of
them, although round-off tilts it. Both therefore decide from the same numbers: its distances from the three vertices
they share, which they compute alike to the last bit. Distances within ``tie_distance`` are ties.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.contact.pressure_field.faces import MIN_COSINE
from hydro_sim_core.contact.pressure_field.polygon import (
    MAX_VERTICES,
    clip_by_tetrahedron,
    clip_polygon,
    slice_tetrahedron,
)
from hydro_sim_core.jit import kernel

#: Distances between planes and vertices below this fraction of the bodies' coordinates are ties: about a thousand times
#: their round-off.
_TIE = 1e-12

#: A tetrahedron whose fourth vertex is not this many ties away from the plane has no face in it: it is flat against it.
_CLEAR = 1e3

#: How a plane lies to a tetrahedron when it lies in none of its faces.
_MISSES = -2
_CROSSES = -1


class Workspace(NamedTuple):
    """Small buffers of one query (on a GPU: of one thread).

    Attributes:
        x: (4, 3) vertices of A's element in B's frame.
        f: (4,) pressure difference p_A - p_B at A's vertices.
        difference: (4,) positive where B's vertices lie on the side of the plane that keeps a tied face.
        field_a: (4,) pressure field of A's element in B's frame.
        polygon: (MAX_VERTICES, 3) the face.
        buffer: (MAX_VERTICES, 3) scratch.
        value: (MAX_VERTICES,) scratch.
        normal: (3,) unit normal from A into B.
        slopes: (2,) of A and B along the normal.
        field: (4,) pressure field on the face.
        centroid: (3,) scratch.
    """

    x: np.ndarray
    f: np.ndarray
    difference: np.ndarray
    field_a: np.ndarray
    polygon: np.ndarray
    buffer: np.ndarray
    value: np.ndarray
    normal: np.ndarray
    slopes: np.ndarray
    field: np.ndarray
    centroid: np.ndarray


def make_workspace() -> Workspace:
    """Allocate the buffers of one query."""
    return Workspace(
        x=np.zeros((4, 3)),
        f=np.zeros(4),
        difference=np.zeros(4),
        field_a=np.zeros(4),
        polygon=np.zeros((MAX_VERTICES, 3)),
        buffer=np.zeros((MAX_VERTICES, 3)),
        value=np.zeros(MAX_VERTICES),
        normal=np.zeros(3),
        slopes=np.zeros(2),
        field=np.zeros(4),
        centroid=np.zeros(3),
    )


@kernel(forceinline=True)
def _evaluate(field, x, y, z):
    return field[0] * x + field[1] * y + field[2] * z + field[3]


@kernel(forceinline=True)
def _orient_by_gradients(field_a, field_b, work):
    """Normal of the equal-pressure plane, slopes on both sides; False where a field falls off the wrong way."""
    dx, dy, dz = field_b[0] - field_a[0], field_b[1] - field_a[1], field_b[2] - field_a[2]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length == 0.0:
        return False
    nx, ny, nz = dx / length, dy / length, dz / length
    slope_a = -(field_a[0] * nx + field_a[1] * ny + field_a[2] * nz)
    slope_b = field_b[0] * nx + field_b[1] * ny + field_b[2] * nz
    size_a = math.sqrt(field_a[0] ** 2 + field_a[1] ** 2 + field_a[2] ** 2)
    size_b = math.sqrt(field_b[0] ** 2 + field_b[1] ** 2 + field_b[2] ** 2)
    if slope_a <= MIN_COSINE * size_a or slope_b <= MIN_COSINE * size_b:
        return False
    work.normal[0], work.normal[1], work.normal[2] = nx, ny, nz
    work.slopes[0], work.slopes[1] = slope_a, slope_b
    # The flatter field loses fewer digits when evaluated.
    softer = field_a if size_a < size_b else field_b
    for i in range(4):
        work.field[i] = softer[i]
    return True


@kernel(forceinline=True)
def tie_distance(box_a, p_BA, box_b):
    """Distance below which a plane and a vertex of two bodies count as touching, m.

    Args:
        box_a: (6,) bounds of A in its own frame, m.
        p_BA: (3,) origin of A in B, m.
        box_b: (6,) bounds of B, m.
    """
    size = 0.0
    for i in range(6):
        size = max(size, abs(box_a[i]), abs(box_b[i]))
    return _TIE * (size + abs(p_BA[0]) + abs(p_BA[1]) + abs(p_BA[2]))


@kernel(forceinline=True)
def _classify(difference, tolerance):
    """How the plane on which a linear function vanishes lies to a tetrahedron.

    Args:
        difference: (4,) the function at the vertices.
        tolerance: Values this close to zero are ties.

    Returns:
        ``_MISSES``, ``_CROSSES``, or the face (the index of the vertex opposite) that the plane lies in and that
        belongs to this tetrahedron; the neighbour across that face misses the plane.
    """
    num_positive = 0
    num_tied = 0
    apart = 0
    for k in range(4):
        if difference[k] > 0.0:
            num_positive += 1
        if abs(difference[k]) <= tolerance:
            num_tied += 1
        else:
            apart = k
    if num_tied == 3 and abs(difference[apart]) > _CLEAR * tolerance:
        return apart if difference[apart] > 0.0 else _MISSES
    return _MISSES if num_positive == 0 or num_positive == 4 else _CROSSES


@kernel(forceinline=True)
def tetrahedron_tetrahedron(vertices_b, pressure_b, tet_b, field_b, barycentric_b, tie, work):
    """Equal-pressure polygon of two tetrahedra (Elandt 2019, section VI-B); ``work.f`` must hold p_A - p_B at A."""
    field_a = work.field_a
    if not _orient_by_gradients(field_a, field_b, work):
        return 0
    for k in range(4):
        v = tet_b[k]
        # Same convention as in the slice: a tied face belongs where the difference is positive.
        work.difference[k] = (
            _evaluate(field_a, vertices_b[v, 0], vertices_b[v, 1], vertices_b[v, 2]) - pressure_b[v]
        )
    steepness = abs(field_a[0]) + abs(field_a[1]) + abs(field_a[2])
    plane = _classify(work.difference, tie * steepness)
    if plane == _MISSES:
        return 0
    n = slice_tetrahedron(work.x, work.f, work.polygon)
    if n == 0:
        return 0
    return clip_by_tetrahedron(work.polygon, n, barycentric_b, plane, work.buffer, work.value)


@kernel(forceinline=True)
def triangle_tetrahedron(vertices_b, tet_b, field_b, barycentric_b, tie, work):
    """Part of a rigid triangle, the first three rows of ``work.x``, inside a compliant tetrahedron."""
    ax, ay, az = work.x[0, 0], work.x[0, 1], work.x[0, 2]
    ux, uy, uz = work.x[1, 0] - ax, work.x[1, 1] - ay, work.x[1, 2] - az
    wx, wy, wz = work.x[2, 0] - ax, work.x[2, 1] - ay, work.x[2, 2] - az
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / length, ny / length, nz / length
    slope = field_b[0] * nx + field_b[1] * ny + field_b[2] * nz
    size = math.sqrt(field_b[0] ** 2 + field_b[1] ** 2 + field_b[2] ** 2)
    if slope <= MIN_COSINE * size:
        return 0
    for k in range(4):
        v = tet_b[k]
        # A tied face belongs to the tetrahedron on the triangle's outer side: that is where the compliant body is.
        work.difference[k] = (
            (vertices_b[v, 0] - ax) * nx + (vertices_b[v, 1] - ay) * ny + (vertices_b[v, 2] - az) * nz
        )
    plane = _classify(work.difference, tie)
    if plane == _MISSES:
        return 0
    for i in range(3):
        for axis in range(3):
            work.polygon[i, axis] = work.x[i, axis]
    work.normal[0], work.normal[1], work.normal[2] = nx, ny, nz
    work.slopes[0], work.slopes[1] = math.inf, slope
    for i in range(4):
        work.field[i] = field_b[i]
    return clip_by_tetrahedron(work.polygon, 3, barycentric_b, plane, work.buffer, work.value)


@kernel(forceinline=True)
def tetrahedron_rigid_half_space(work):
    """Section of a compliant tetrahedron by the plane z = 0 of a rigid half space."""
    for i in range(4):
        work.f[i] = -work.x[i, 2]
    n = slice_tetrahedron(work.x, work.f, work.polygon)
    work.normal[0], work.normal[1], work.normal[2] = 0.0, 0.0, -1.0
    work.slopes[0], work.slopes[1] = work.field_a[2], math.inf
    for i in range(4):
        work.field[i] = work.field_a[i]
    return n


@kernel(forceinline=True)
def _clip_by_slab(n, margin, work):
    """Clip ``work.polygon`` to z <= margin, the extent of a half space's field."""
    for i in range(n):
        work.value[i] = margin - work.polygon[i, 2]
    n = clip_polygon(work.polygon, n, work.value, work.buffer)
    for i in range(n):
        for axis in range(3):
            work.polygon[i, axis] = work.buffer[i, axis]
    return n


@kernel(forceinline=True)
def tetrahedron_compliant_half_space(field_b, margin_b, work):
    """Equal-pressure polygon of a tetrahedron and the field of a compliant half space."""
    if not _orient_by_gradients(work.field_a, field_b, work):
        return 0
    n = slice_tetrahedron(work.x, work.f, work.polygon)
    return _clip_by_slab(n, margin_b, work) if n else 0


@kernel(forceinline=True)
def triangle_compliant_half_space(field_b, margin_b, work):
    """Part of a rigid triangle inside a compliant half space."""
    ux, uy, uz = work.x[1, 0] - work.x[0, 0], work.x[1, 1] - work.x[0, 1], work.x[1, 2] - work.x[0, 2]
    wx, wy, wz = work.x[2, 0] - work.x[0, 0], work.x[2, 1] - work.x[0, 1], work.x[2, 2] - work.x[0, 2]
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    slope = field_b[2] * nz / length
    if slope <= MIN_COSINE * abs(field_b[2]):
        return 0
    for i in range(3):
        for axis in range(3):
            work.polygon[i, axis] = work.x[i, axis]
    work.normal[0], work.normal[1], work.normal[2] = nx / length, ny / length, nz / length
    work.slopes[0], work.slopes[1] = math.inf, slope
    for i in range(4):
        work.field[i] = field_b[i]
    return _clip_by_slab(3, margin_b, work)
