# mypy: allow-untyped-defs
"""What is told and drawn of contacts at equivalent points: their patch as a polygon, with its mean pressure."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    SLOPE_B,
)
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES
from hydro_sim_core.solvers.point_law import press

#: Gap of points that belong to a patch, as a share of the size: after a step the others are far from it.
TOUCHING = 1e-9


@kernel
def show_points(model, scratch, dt):
    """Write the patches of contacts that press, and take the others out of the table.

    Reads model.points: size; scratch.patches: normal_force, num, p_GR, p_WG, pair, R_WG, wrench; scratch.points:
    num_faced; scratch.solver: twists.
    Writes scratch.patches: first_face, normal_force, num, p_GR, pair, wrench.
    """
    patches, first = scratch.patches, scratch.points.num_faced[0]
    kept = first
    for p in range(first, patches.num[0]):
        j = p - first
        pressed, a0, a1, a2 = press(scratch.problem.points, j, scratch.solver.twists[p])
        if pressed <= 0.0:
            continue
        patches.pair[kept] = patches.pair[p]
        for i in range(3):
            patches.p_GR[kept, i], patches.normal_force[kept, i] = patches.p_GR[p, i], patches.normal_force[p, i]
        for i in range(6):
            patches.wrench[kept, i] = patches.wrench[p, i]
        begin = patches.first_face[kept]
        patches.first_face[kept + 1] = _write_faces(model, scratch, j, begin, (a0, a1, a2), pressed / dt)
        kept += 1
    patches.num[0] = kept


@kernel
def _write_faces(model, scratch, j, begin, arm, force):
    """Write the faces of the patch of contact ``j`` from column ``begin`` on; return one past the last.

    All have the equivalent contact point, ``arm`` from the reference point, as centroid, and the mean pressure of
    ``force`` (N); without an area they have none.

    Reads scratch: faces; scratch.points: outline, p_WR; scratch.problem.points: normal, x.
    """
    points, at, faces, n = scratch.problem.points, scratch.points, scratch.faces, scratch.problem.points.normal[j]
    corners = _outline(model, scratch, j)
    area = 0.0
    for i in range(2, corners):
        area += _triangle(points, j, at.outline[0], at.outline[i - 1], at.outline[i])
    pressure = force / area if area > 0.0 else 0.0
    slot, second = begin, 1
    while slot == begin or second + 1 < corners:
        # Fans around the first corner, each with as many corners as a face can have.
        last = min(second + MAX_VERTICES - 2, corners - 1)
        count = 0
        part = 0.0
        for i in range(0, 1 + max(last - second + 1, 0)):
            corner = at.outline[0] if i == 0 else at.outline[second + i - 1]
            for k in range(3):
                faces.polygons[slot, count, k] = at.p_WR[j, k] + points.x[corner, k]
            if i >= 2:
                part += _triangle(points, j, at.outline[0], at.outline[second + i - 2], corner)
            count += 1
        for k in range(3):
            faces.data[CENTROID + k, slot] = at.p_WR[j, k] + arm[k]
            faces.data[NORMAL + k, slot] = n[k]
            faces.data[GRADIENT + k, slot] = 0.0
        faces.data[AREA, slot], faces.data[PRESSURE, slot] = part, pressure
        faces.data[SLOPE_A, slot] = faces.data[SLOPE_B, slot] = math.inf
        faces.num_vertices[slot] = count
        slot, second = slot + 1, last
    return slot


@kernel
def _triangle(points, j, a, b, c):
    """Area of the triangle of three conditions, m^2.

    Reads points: normal, x.
    """
    n, x, y, z = points.normal[j], points.x[a], points.x[b], points.x[c]
    d0, d1, d2 = y[0] - x[0], y[1] - x[1], y[2] - x[2]
    e0, e1, e2 = z[0] - x[0], z[1] - x[1], z[2] - x[2]
    return 0.5 * (n[0] * (d1 * e2 - d2 * e1) + n[1] * (d2 * e0 - d0 * e2) + n[2] * (d0 * e1 - d1 * e0))


@kernel
def _outline(model, scratch, j):
    """Write the conditions around the patch of contact ``j``, counter-clockwise about the normal; return their number.

    The patch is the convex hull of the points that touch (gift wrapping).

    Reads model.points: size; scratch.points: before, outline, row; scratch.problem.points: end, first, tangents, x.
    Writes scratch.points: outline.
    """
    points, at = scratch.problem.points, scratch.points
    first, end, t = points.first[j], points.end[j], points.tangents[j]
    near = TOUCHING * model.points.size[at.row[j]]
    start = -1
    for c in range(first, end):
        if abs(at.gap[c]) <= near and (start < 0 or _is_before(points, t, c, start)):
            start = c
    if start < 0:
        return 0
    at.outline[0], count = start, 1
    while count < end - first:
        last, following = at.outline[count - 1], -1
        for c in range(first, end):
            if abs(at.gap[c]) > near or c == last:
                continue
            if following < 0:
                following = c
                continue
            turn, closer = _turn(points, t, last, following, c)
            if turn < 0.0 or (turn == 0.0 and closer < 0.0):
                following = c
        if following < 0 or following == start:
            break
        at.outline[count] = following
        count += 1
    return count


@kernel
def _is_before(points, t, a, b):
    """Whether condition ``a`` is further back along the tangents ``t`` (6,) than ``b``.

    Reads points: x.
    """
    x, y = points.x[a], points.x[b]
    first = t[0] * (x[0] - y[0]) + t[1] * (x[1] - y[1]) + t[2] * (x[2] - y[2])
    second = t[3] * (x[0] - y[0]) + t[4] * (x[1] - y[1]) + t[5] * (x[2] - y[2])
    return first < 0.0 or (first == 0.0 and second < 0.0)


@kernel
def _turn(points, t, a, b, c):
    """How far c is to the left of the way from a to b (m^2), and how much closer than b (m^2, negative if further).

    Reads points: x.
    """
    x, y, z = points.x[a], points.x[b], points.x[c]
    b0 = t[0] * (y[0] - x[0]) + t[1] * (y[1] - x[1]) + t[2] * (y[2] - x[2])
    b1 = t[3] * (y[0] - x[0]) + t[4] * (y[1] - x[1]) + t[5] * (y[2] - x[2])
    c0 = t[0] * (z[0] - x[0]) + t[1] * (z[1] - x[1]) + t[2] * (z[2] - x[2])
    c1 = t[3] * (z[0] - x[0]) + t[4] * (z[1] - x[1]) + t[5] * (z[2] - x[2])
    return b0 * c1 - b1 * c0, b0 * b0 + b1 * b1 - c0 * c0 - c1 * c1
