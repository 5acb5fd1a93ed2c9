# mypy: allow-untyped-defs
"""Start pairs of walks over closed surfaces: on rays from pressure peaks, and at components of rigid surfaces."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.containment import coordinate, locate
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.visits import NEIGHBOR_RETRIES, is_full, push
from hydro_sim_core.geometry.adjacency import RAYS


@kernel
def _exit(geometries, element, x, ray, now):
    """Exit of the ray x + t ray from an element: the parameter t, at least ``now``, and the face.

    Reads geometries: coordinates.
    """
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
    """Pressure (Pa) of an element's field at ``x + t ray``.

    Reads geometries: fields.
    """
    field = geometries.fields[element]
    pressure = field[3]
    for i in range(3):
        pressure += field[i] * (x[i] + t * ray[i])
    return pressure


@kernel
def _place_point(x, R_BA, p_BA, to_b, moved):
    """Transform x (3,) from A's frame to B's if ``to_b``, else from B's to A's."""
    for i in range(3):
        moved[i] = p_BA[i] if to_b else 0.0
        for j in range(3):
            moved[i] += R_BA[i, j] * x[j] if to_b else R_BA[j, i] * (x[j] - p_BA[j])


@kernel
def _place_direction(d, R_BA, to_b, moved):
    for i in range(3):
        moved[i] = 0.0
        for j in range(3):
            moved[i] += (R_BA[i, j] if to_b else R_BA[j, i]) * d[j]


@kernel
def _push_crossings(geometries, element_a, element_b, rays, b_has_faces, scratch, num_pending):
    """Follow a ray through both meshes; add the pairs in which p_A - p_B changes sign.

    Reads geometries: neighbors.
    """
    now = 0.0
    before = _pressure(geometries, element_a, rays[0], rays[1], now) - _pressure(
        geometries, element_b, rays[2], rays[3], now
    )
    for _ in range(geometries.elements.shape[0]):
        leave_a, face_a = _exit(geometries, element_a, rays[0], rays[1], now)
        leave_b, face_b = math.inf, 0
        if b_has_faces:
            leave_b, face_b = _exit(geometries, element_b, rays[2], rays[3], now)
        now = min(leave_a, leave_b)
        after = _pressure(geometries, element_a, rays[0], rays[1], now) - _pressure(
            geometries, element_b, rays[2], rays[3], now
        )
        if (before > 0.0) != (after > 0.0):
            num_pending = push(scratch, num_pending, element_a, element_b, NEIGHBOR_RETRIES)
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
    """Add pairs of elements on the closed surfaces around a peak of A or B.

    Returns:
        Number of pending pairs; there must be none before the call.

    Reads geometries: field_start, kind, peak_elements, peaks; scratch: nodes, rays.
    Writes scratch: nodes, rays.
    """
    # Rows: origin and direction of a ray in A, origin and direction in B.
    rays = scratch.rays
    own, other = (0, 2) if owner_is_a else (2, 0)
    for i in range(3):
        rays[own, i] = geometries.peaks[peak, i]
    _place_point(rays[own], R_BA, p_BA, owner_is_a, rays[other])
    partner = b if owner_is_a else a
    if geometries.kind[partner] == RIGID_MESH:
        return 0
    b_has_faces = geometries.kind[b] == COMPLIANT_MESH
    if owner_is_a and not b_has_faces:
        found = geometries.field_start[b] if rays[2, 2] <= 0.0 else -1
    else:
        found = locate(geometries, partner, rays[other], scratch.nodes)
    if found < 0:
        return 0
    elements = geometries.peak_elements[peak]
    if geometries.kind[a] == RIGID_MESH:
        return push(scratch, 0, elements[0], found, NEIGHBOR_RETRIES)
    num_pending = 0
    for k in range(RAYS.shape[0]):
        for i in range(3):
            rays[own + 1, i] = RAYS[k, i]
        _place_direction(rays[own + 1], R_BA, owner_is_a, rays[other + 1])
        element_a, element_b = (elements[k], found) if owner_is_a else (found, elements[k])
        num_pending = _push_crossings(
            geometries, element_a, element_b, rays, b_has_faces, scratch, num_pending
        )
    return num_pending
