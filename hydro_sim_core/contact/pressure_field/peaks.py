"""Where walks over closed surfaces begin: on rays from pressure peaks, and in loose rigid surfaces."""

from __future__ import annotations

import math

from hydro_sim_core.contact.pressure_field.containment import coordinate, locate
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.visits import PATIENCE, is_full, push
from hydro_sim_core.jit import kernel


@kernel
def _exit(geometries, element, x, ray, now):
    """Where the ray x + t ray leaves an element: the parameter t, at least ``now``, and the face."""
    c = geometries.coordinates[element]
    first, face = math.inf, 0
    for k in range(4):
        rate = c[0, k] * ray[0] + c[1, k] * ray[1] + c[2, k] * ray[2]
        if rate < 0.0:
            t = -coordinate(geometries, element, k, x) / rate
            if t < first:
                first, face = t, k
    return max(first, now), face


@kernel
def _pressure(geometries, element, x, ray, t):
    field = geometries.fields[element]
    pressure = field[3]
    for i in range(3):
        pressure += field[i] * (x[i] + t * ray[i])
    return pressure


@kernel
def _place_ray(geometries, peak, owner_is_a, R_BA, p_BA, rays):
    """Write the ray of a peak in both frames: rows origin and direction in A, origin and direction in B."""
    x, d = geometries.peaks[peak], geometries.peak_rays[peak]
    for i in range(3):
        if owner_is_a:
            rays[0, i], rays[1, i] = x[i], d[i]
            rays[2, i], rays[3, i] = p_BA[i], 0.0
            for j in range(3):
                rays[2, i] += R_BA[i, j] * x[j]
                rays[3, i] += R_BA[i, j] * d[j]
        else:
            rays[2, i], rays[3, i] = x[i], d[i]
            rays[0, i], rays[1, i] = 0.0, 0.0
            for j in range(3):
                rays[0, i] += R_BA[j, i] * (x[j] - p_BA[j])
                rays[1, i] += R_BA[j, i] * d[j]


@kernel
def _push_crossings(geometries, element_a, element_b, rays, b_has_walls, scratch):
    """Follow a ray through both meshes; add the pairs in which the pressures change order."""
    num_pending = 0
    now = 0.0
    before = _pressure(geometries, element_a, rays[0], rays[1], now) - _pressure(
        geometries, element_b, rays[2], rays[3], now
    )
    for _ in range(geometries.elements.shape[0]):
        leave_a, face_a = _exit(geometries, element_a, rays[0], rays[1], now)
        leave_b, face_b = math.inf, 0
        if b_has_walls:
            leave_b, face_b = _exit(geometries, element_b, rays[2], rays[3], now)
        now = min(leave_a, leave_b)
        after = _pressure(geometries, element_a, rays[0], rays[1], now) - _pressure(
            geometries, element_b, rays[2], rays[3], now
        )
        if (before > 0.0) != (after > 0.0):
            num_pending = push(scratch, num_pending, element_a, element_b, PATIENCE)
        before = after
        if leave_a <= leave_b:
            element_a = geometries.neighbors[element_a, face_a]
        else:
            element_b = geometries.neighbors[element_b, face_b]
        if element_a < 0 or element_b < 0 or is_full(scratch, num_pending):
            break
    return num_pending


@kernel
def push_pairs_at_peak(geometries, a, b, peak, owner_is_a, R_BA, p_BA, scratch):
    """Add pairs of elements from which closed surfaces around a peak of A or B can be reached.

    Returns:
        Number of pending pairs; there must have been none.
    """
    rays = scratch.rays
    _place_ray(geometries, peak, owner_is_a, R_BA, p_BA, rays)
    element = geometries.peak_elements[peak]
    a_is_rigid = geometries.kind[a] == RIGID_MESH
    b_has_walls = geometries.kind[b] == COMPLIANT_MESH
    if not owner_is_a:
        if a_is_rigid:
            return 0
        element_a, element_b = locate(geometries, a, rays[0], scratch.nodes), element
    else:
        element_a, element_b = element, geometries.field_start[b]
        if b_has_walls:
            element_b = locate(geometries, b, rays[2], scratch.nodes)
        elif rays[2, 2] > 0.0:
            element_b = -1
    if element_a < 0 or element_b < 0:
        return 0
    if a_is_rigid:
        return push(scratch, 0, element_a, element_b, PATIENCE)
    return _push_crossings(geometries, element_a, element_b, rays, b_has_walls, scratch)
