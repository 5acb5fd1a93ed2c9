# mypy: allow-untyped-defs
"""Energy of two overlapping pressure fields.

Each body contributes the part of its field beyond the contact surface (Elandt 2019, section V). In the overlap that is
the field with the smaller pressure, so that U is the integral of min(p_A, p_B) over the overlap, or of p_A alone if B
is rigid. The static force is -dU/dx.

The integrals are exact: the overlap of every pair of elements is divided into tetrahedra.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    Float1D,
    Float2D,
    Float3D,
    Int1D,
    entry,
    kernel,
)
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.geometry import GeometryKind

_COMPLIANT_MESH = int(GeometryKind.COMPLIANT_MESH)
_RIGID_MESH = int(GeometryKind.RIGID_MESH)
_COMPLIANT_HALF_SPACE = int(GeometryKind.COMPLIANT_HALF_SPACE)

#: Largest number of planes that bound a region: four faces of B's tetrahedron, equality of the fields, and zero
#: pressure.
_MAX_PLANES = 6

#: Depth of the stack of pieces: a cut gives at most three pieces, one of which is processed next, so that each plane
#: adds two.
_MAX_WAITING = 1 + 2 * _MAX_PLANES


class _Scratch(NamedTuple):
    """Buffers of one integral.

    Attributes:
        planes: (_MAX_PLANES, 4) half spaces ``plane . (x, 1) >= 0``.
        corners_a: (4, 3) vertices of A's element in B's frame, m.
        corners_b: (4, 3) vertices of B's element, m.
        field_a: (4,) field of A's element in B's frame.
        waiting: (_MAX_WAITING, 4, 3) pieces still to be cut.
        next_plane: (_MAX_WAITING,) index of the next plane for each of them.
        piece: (4, 3) current piece.
        side: (4,) values of the plane's function at its vertices, positive inside.
        order: (4,) its vertices, those inside first.
        prism: (6, 3) vertices of a prism: two triangles with corresponding vertices.
    """

    planes: Float2D
    corners_a: Float2D
    corners_b: Float2D
    field_a: Float1D
    waiting: Float3D
    next_plane: Int1D
    piece: Float2D
    side: Float1D
    order: Int1D
    prism: Float2D


def _make_scratch() -> _Scratch:
    return _Scratch(
        planes=np.zeros((_MAX_PLANES, 4)),
        corners_a=np.zeros((4, 3)),
        corners_b=np.zeros((4, 3)),
        field_a=np.zeros(4),
        waiting=np.zeros((_MAX_WAITING, 4, 3)),
        next_plane=np.zeros(_MAX_WAITING, dtype=np.int64),
        piece=np.zeros((4, 3)),
        side=np.zeros(4),
        order=np.zeros(4, dtype=np.int64),
        prism=np.zeros((6, 3)),
    )


@kernel
def _evaluate(field, x):
    return field[0] * x[0] + field[1] * x[1] + field[2] * x[2] + field[3]


@kernel
def _interpolate(target, x, side, inside, outside):
    """Write the intersection of the plane with an edge from a vertex inside to one outside."""
    t = side[inside] / (side[inside] - side[outside])
    for axis in range(3):
        target[axis] = x[inside, axis] + t * (x[outside, axis] - x[inside, axis])


@kernel
def _copy(target, source):
    for i in range(len(source)):
        for axis in range(3):
            target[i, axis] = source[i, axis]


@kernel
def _cut(plane, scratch, top):
    """Push tetrahedra that fill the part of ``scratch.piece`` inside a half space; returns the new size of the stack.

    Reads scratch: order, piece, prism, side.
    Writes scratch: order, prism, side, waiting.
    """
    x, side, order, prism = scratch.piece, scratch.side, scratch.order, scratch.prism
    num_inside = 0
    num_outside = 0
    for k in range(4):
        side[k] = _evaluate(plane, x[k])
        if side[k] >= 0.0:
            order[num_inside] = k
            num_inside += 1
        else:
            num_outside += 1
            order[4 - num_outside] = k
    if num_inside == 0:
        return top
    if num_inside == 4:
        _copy(scratch.waiting[top], x)
        return top + 1
    if num_inside == 1:
        piece = scratch.waiting[top]
        for axis in range(3):
            piece[0, axis] = x[order[0], axis]
        for k in range(1, 4):
            _interpolate(piece[k], x, side, order[0], order[k])
        return top + 1
    if num_inside == 2:
        for end in range(2):
            for axis in range(3):
                prism[3 * end, axis] = x[order[end], axis]
            for k in range(2):
                _interpolate(prism[3 * end + 1 + k], x, side, order[end], order[2 + k])
    else:
        for k in range(3):
            for axis in range(3):
                prism[k, axis] = x[order[k], axis]
            _interpolate(prism[3 + k], x, side, order[k], order[3])
    for k in range(3):
        # Standard split of a prism into three tetrahedra: (0,1,2,3), (1,2,3,4), (2,3,4,5).
        _copy(scratch.waiting[top + k], prism[k : k + 4])
    return top + 3


@kernel
def _signed_volume(x):
    ux, uy, uz = x[1, 0] - x[0, 0], x[1, 1] - x[0, 1], x[1, 2] - x[0, 2]
    vx, vy, vz = x[2, 0] - x[0, 0], x[2, 1] - x[0, 1], x[2, 2] - x[0, 2]
    wx, wy, wz = x[3, 0] - x[0, 0], x[3, 1] - x[0, 1], x[3, 2] - x[0, 2]
    return (ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx)) / 6.0


@kernel
def _integrate(num_planes, field, scratch):
    """Integral of ``field`` over the tetrahedron ``scratch.corners_a`` cut by the first planes.

    Reads scratch: corners_a, next_plane, planes, waiting.
    Writes scratch: next_plane, piece, waiting.
    """
    waiting, next_plane, piece = scratch.waiting, scratch.next_plane, scratch.piece
    _copy(waiting[0], scratch.corners_a)
    next_plane[0] = 0
    top = 1
    total = 0.0
    while top:
        top -= 1
        plane = next_plane[top]
        if plane == num_planes:
            mean = 0.0
            for k in range(4):
                mean += 0.25 * _evaluate(field, waiting[top, k])
            total += abs(_signed_volume(waiting[top])) * mean
            continue
        _copy(piece, waiting[top])
        first = top
        top = _cut(scratch.planes[plane], scratch, top)
        for i in range(first, top):
            next_plane[i] = plane + 1
    return total


@kernel
def _set_plane(plane, larger, smaller):
    """Write the half space in which one field is at least another."""
    for i in range(4):
        plane[i] = larger[i] - smaller[i]


@kernel
def _integrate_smaller(num_planes, field_a, field_b, scratch):
    """Integral of min(p_A, p_B) over the cut tetrahedron; negative pressures (the margin skirt) store no energy.

    Writes scratch: planes.
    """
    total = 0.0
    identical = True
    for i in range(4):
        identical = identical and field_a[i] == field_b[i]
    for side in range(1 if identical else 2):
        smaller, larger = (field_a, field_b) if side == 0 else (field_b, field_a)
        _set_plane(scratch.planes[num_planes], larger, smaller)
        for i in range(4):
            scratch.planes[num_planes + 1, i] = smaller[i]
        total += _integrate(num_planes + 2, smaller, scratch)
    return total


@kernel
def _load_element(geometries, element, is_rigid, R_BA, p_BA, scratch):
    """Transform A's element to B's frame; returns the sign of its integral.

    A rigid solid is the signed sum of the tetrahedra between its triangles and a fixed point.

    Reads geometries: elements, fields, vertices; scratch: corners_a, field_a.
    Writes scratch: corners_a, field_a.
    """
    x = scratch.corners_a
    for k in range(3 if is_rigid else 4):
        v = geometries.elements[element, k]
        for i in range(3):
            x[k, i] = p_BA[i]
            for j in range(3):
                x[k, i] += R_BA[i, j] * geometries.vertices[v, j]
    if is_rigid:
        for i in range(3):
            x[3, i] = p_BA[i]
        return -1.0 if _signed_volume(x) > 0.0 else 1.0
    field, field_a = geometries.fields[element], scratch.field_a
    field_a[3] = field[3]
    for i in range(3):
        field_a[i] = R_BA[i, 0] * field[0] + R_BA[i, 1] * field[1] + R_BA[i, 2] * field[2]
        field_a[3] -= field_a[i] * p_BA[i]
    return 1.0


@kernel
def _bounds_apart(x, y):
    for axis in range(3):
        if min(x[0, axis], x[1, axis], x[2, axis], x[3, axis]) > max(
            y[0, axis], y[1, axis], y[2, axis], y[3, axis]
        ) or max(x[0, axis], x[1, axis], x[2, axis], x[3, axis]) < min(
            y[0, axis], y[1, axis], y[2, axis], y[3, axis]
        ):
            return True
    return False


@entry
def _energy_meshes(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    scratch: _Scratch,
) -> float:
    """Energy (J) of the overlap of two meshes, A in B by ``R_BA`` (3, 3) and ``p_BA`` (3,), m.

    Reads geometries: coordinates, elements, field_start, fields, kind, vertices; scratch: corners_a, corners_b,
    field_a.
    Writes scratch: corners_b, planes.
    """
    is_rigid = geometries.kind[a] == _RIGID_MESH
    total = 0.0
    for element_a in range(geometries.field_start[a], geometries.field_start[a + 1]):
        sign = _load_element(geometries, element_a, is_rigid, R_BA, p_BA, scratch)
        for element_b in range(geometries.field_start[b], geometries.field_start[b + 1]):
            for k in range(4):
                for axis in range(3):
                    scratch.corners_b[k, axis] = geometries.vertices[geometries.elements[element_b, k], axis]
            if _bounds_apart(scratch.corners_a, scratch.corners_b):
                continue
            for k in range(4):
                for i in range(4):
                    scratch.planes[k, i] = geometries.coordinates[element_b, i, k]
            field_b = geometries.fields[element_b]
            if is_rigid:
                for i in range(4):
                    scratch.planes[4, i] = field_b[i]
                total += sign * _integrate(5, field_b, scratch)
            else:
                total += _integrate_smaller(4, scratch.field_a, field_b, scratch)
    return total


@entry
def _energy_half_space(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    scratch: _Scratch,
) -> float:
    """Energy (J) of the overlap of a mesh A with the half space B; arguments as for ``_energy_meshes``.

    Reads geometries: field_start, fields, kind; scratch: field_a.
    Writes scratch: planes.
    """
    is_rigid = geometries.kind[a] == _RIGID_MESH
    field_b = geometries.fields[geometries.field_start[b]]
    planes = scratch.planes
    total = 0.0
    for element in range(geometries.field_start[a], geometries.field_start[a + 1]):
        sign = _load_element(geometries, element, is_rigid, R_BA, p_BA, scratch)
        if is_rigid:
            for i in range(4):
                planes[0, i] = field_b[i]
            total += sign * _integrate(1, field_b, scratch)
        elif geometries.kind[b] == _COMPLIANT_HALF_SPACE:
            total += _integrate_smaller(0, scratch.field_a, field_b, scratch)
        else:
            for i in range(4):
                planes[0, i] = -1.0 if i == 2 else 0.0
                planes[1, i] = scratch.field_a[i]
            total += _integrate(2, scratch.field_a, scratch)
    return total


def overlap_energy(
    geometries: GeometrySet, a: int, b: int, R_BA: NDArray[np.float64], p_BA: NDArray[np.float64]
) -> float:
    """Energy of a canonical pair, J; visits every pair of elements, so it is for analysis, not for stepping.

    Args:
        geometries: Set that contains both geometries.
        a: Index of A.
        b: Index of B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
    """
    energy = _energy_meshes if geometries.kind[b] == _COMPLIANT_MESH else _energy_half_space
    return float(energy(geometries, a, b, R_BA, p_BA, _make_scratch()))
