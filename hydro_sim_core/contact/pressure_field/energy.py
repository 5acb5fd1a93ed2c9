"""Energy of two overlapping pressure fields.

Each body gives the part of its field beyond the contact surface (Elandt 2019, section V): where the bodies overlap,
that is the field with the smaller pressure, so U = integral of min(p_A, p_B) over the overlap, and of p_A alone where
B is rigid. The static force is -dU/dx.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.geometry import GeometryKind
from hydro_sim_core.jit import kernel

_COMPLIANT_MESH = int(GeometryKind.COMPLIANT_MESH)
_RIGID_MESH = int(GeometryKind.RIGID_MESH)
_COMPLIANT_HALF_SPACE = int(GeometryKind.COMPLIANT_HALF_SPACE)

#: A half-space cut turns one tetrahedron into at most three; six cuts (four faces, two fields).
_MAX_PIECES = 3**6


@kernel(allocates=True)
def _interpolated(corners, a, b, fa, fb):
    t = fa / (fa - fb)
    return corners[a] + t * (corners[b] - corners[a])


@kernel(allocates=True)
def _cut(corners, f, pieces, count):
    """Append to ``pieces`` tetrahedra that fill the part of a tetrahedron with f >= 0; returns the new count."""
    order = np.argsort(-f)
    corners = corners[order]
    f = f[order]
    num_inside = np.sum(f >= 0.0)
    if num_inside == 0:
        return count
    if num_inside == 4:
        pieces[count] = corners
        return count + 1
    if num_inside == 1:
        pieces[count, 0] = corners[0]
        for k in range(1, 4):
            pieces[count, k] = _interpolated(corners, 0, k, f[0], f[k])
        return count + 1
    # Two or three corners inside leave a prism; its six corners as two triangles, joined edge by edge.
    prism = np.empty((6, 3))
    if num_inside == 2:
        prism[0] = corners[0]
        prism[3] = corners[1]
        for k in range(2):
            prism[1 + k] = _interpolated(corners, 0, 2 + k, f[0], f[2 + k])
            prism[4 + k] = _interpolated(corners, 1, 2 + k, f[1], f[2 + k])
    else:
        for k in range(3):
            prism[k] = corners[k]
            prism[3 + k] = _interpolated(corners, k, 3, f[k], f[3])
    for k in range(3):
        # Staircase split: (0,1,2,3), (1,2,3,4), (2,3,4,5).
        for corner in range(4):
            pieces[count + k, corner] = prism[k + corner]
    return count + 3


@kernel(allocates=True)
def _volume(corners):
    u, v, w = corners[1] - corners[0], corners[2] - corners[0], corners[3] - corners[0]
    return (
        u[0] * (v[1] * w[2] - v[2] * w[1])
        + u[1] * (v[2] * w[0] - v[0] * w[2])
        + u[2] * (v[0] * w[1] - v[1] * w[0])
    ) / 6.0


@kernel(allocates=True)
def _integrate_over_cuts(corners, planes, num_planes, field):
    """Integral of ``field`` over a tetrahedron cut by the half spaces ``planes . (x, 1) >= 0``."""
    pieces = np.empty((_MAX_PIECES, 4, 3))
    remaining = np.empty((_MAX_PIECES, 4, 3))
    f = np.empty(4)
    pieces[0] = corners
    count = 1
    for plane in planes[:num_planes]:
        kept = 0
        for piece in pieces[:count]:
            for k in range(4):
                f[k] = plane[:3] @ piece[k] + plane[3]
            kept = _cut(piece, f, remaining, kept)
        pieces, remaining = remaining, pieces
        count = kept
    total = 0.0
    for piece in pieces[:count]:
        mean = field[3]
        for k in range(4):
            mean += 0.25 * (field[:3] @ piece[k])
        total += abs(_volume(piece)) * mean
    return total


@kernel(allocates=True)
def _field_in_b(field, R_BA, p_BA):
    moved = np.empty(4)
    moved[:3] = R_BA @ field[:3]
    moved[3] = field[3] - moved[:3] @ p_BA
    return moved


@kernel(allocates=True)
def _smaller_pressure(corners, planes, num_planes, field_a, field_b):
    """Integral of min(p_A, p_B) over a cut tetrahedron; pressures below zero (the margin skirt) store nothing."""
    total = 0.0
    for side in range(2):
        smaller, larger = (field_a, field_b) if side == 0 else (field_b, field_a)
        planes[num_planes] = larger - smaller
        planes[num_planes + 1] = smaller
        total += _integrate_over_cuts(corners, planes, num_planes + 2, smaller)
    return total


@kernel(allocates=True)
def _barycentric_planes(corners, planes):
    """Write the four inward half spaces of a tetrahedron."""
    for k in range(4):
        a, b, c = corners[(k + 1) % 4], corners[(k + 2) % 4], corners[(k + 3) % 4]
        normal = np.cross(b - a, c - a)
        if normal @ (corners[k] - a) < 0.0:
            normal = -normal
        planes[k, :3] = normal
        planes[k, 3] = -(normal @ a)


@kernel(allocates=True)
def _bounds_apart(x, y):
    for axis in range(3):
        if np.max(x[:, axis]) < np.min(y[:, axis]) or np.min(x[:, axis]) > np.max(y[:, axis]):
            return True
    return False


@kernel(allocates=True)
def _energy_meshes(geometries, a, b, R_BA, p_BA):
    planes = np.empty((6, 4))
    corners_a = np.empty((4, 3))
    corners_b = np.empty((4, 3))
    a_is_rigid = geometries.kind[a] == _RIGID_MESH
    total = 0.0
    for element_b in range(geometries.field_start[b], geometries.field_start[b + 1]):
        for k in range(4):
            corners_b[k] = geometries.vertices[geometries.elements[element_b, k]]
        field_b = geometries.fields[element_b]
        _barycentric_planes(corners_b, planes)
        for element_a in range(geometries.field_start[a], geometries.field_start[a + 1]):
            # A rigid solid is the signed sum of the tetrahedra between its triangles and any fixed point.
            for k in range(3 if a_is_rigid else 4):
                corners_a[k] = R_BA @ geometries.vertices[geometries.elements[element_a, k]] + p_BA
            if a_is_rigid:
                corners_a[3] = p_BA
            if _bounds_apart(corners_a, corners_b):
                continue
            if a_is_rigid:
                sign = -np.sign(_volume(corners_a))
                planes[4] = field_b
                total += sign * _integrate_over_cuts(corners_a, planes, 5, field_b)
            else:
                field_a = _field_in_b(geometries.fields[element_a], R_BA, p_BA)
                total += _smaller_pressure(corners_a, planes, 4, field_a, field_b)
    return total


@kernel(allocates=True)
def _energy_half_space(geometries, a, b, R_BA, p_BA):
    planes = np.zeros((3, 4))
    corners = np.empty((4, 3))
    compliant_b = geometries.kind[b] == _COMPLIANT_HALF_SPACE
    a_is_rigid = geometries.kind[a] == _RIGID_MESH
    field_b = geometries.fields[geometries.field_start[b]]
    total = 0.0
    for element in range(geometries.field_start[a], geometries.field_start[a + 1]):
        for k in range(3 if a_is_rigid else 4):
            corners[k] = R_BA @ geometries.vertices[geometries.elements[element, k]] + p_BA
        if a_is_rigid:
            corners[3] = p_BA
            planes[0] = field_b
            total -= np.sign(_volume(corners)) * _integrate_over_cuts(corners, planes, 1, field_b)
            continue
        field_a = _field_in_b(geometries.fields[element], R_BA, p_BA)
        if compliant_b:
            total += _smaller_pressure(corners, planes, 0, field_a, field_b)
        else:
            planes[0] = np.array([0.0, 0.0, -1.0, 0.0])
            planes[1] = field_a
            total += _integrate_over_cuts(corners, planes, 2, field_a)
    return total


def overlap_energy(
    geometries: GeometrySet, a: int, b: int, R_BA: NDArray[np.float64], p_BA: NDArray[np.float64]
) -> float:
    """Energy of a canonical pair, J; visits every pair of elements, so it is for analysis, not for stepping.

    Args:
        geometries: The set that holds both.
        a: Index of A.
        b: Index of B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
    """
    if geometries.kind[b] == _COMPLIANT_MESH:
        return float(_energy_meshes(geometries, a, b, R_BA, p_BA))
    return float(_energy_half_space(geometries, a, b, R_BA, p_BA))
