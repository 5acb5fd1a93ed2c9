# mypy: allow-untyped-defs
"""The patch of a contact at an equivalent point: its outline, and how it resists turning."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.equivalent_point.patch_radius import add_polygon, clip_to, mean_distance_of_line

#: Gap of points that belong to a patch, as a share of the size: vertices of a mesh in single precision are off their
#: face by a tenth of it.
TOUCHING = 1e-7


@kernel
def patch_radius(model, scratch, j, a0, a1, a2):
    """Semi-axis e_r of contact ``j``, m: the mean distance of its patch from the equivalent contact point.

    Where one of the bodies does not fill the face of its hull, only what it has of it counts.

    Args:
        model: ``Model``.
        scratch: ``Scratch``.
        j: Index of the contact.
        a0: Equivalent contact point relative to the reference point, m; with ``a1`` and ``a2``.
        a1: See ``a0``.
        a2: See ``a0``.

    Reads scratch.points: clipped, corners, outline, tile; model.points.hulls: tile_start; scratch.problem.points:
    tangents, x.
    Writes scratch.points: clipped, corners.
    """
    at, t, x = scratch.points, scratch.problem.points.tangents[j], scratch.problem.points.x
    count = find_outline(model, scratch, j)
    for i in range(count):
        for k in range(2):
            at.corners[i, k] = 0.0
            for m in range(3):
                at.corners[i, k] += t[3 * k + m] * x[at.outline[i], m]
    u, v = t[0] * a0 + t[1] * a1 + t[2] * a2, t[3] * a0 + t[4] * a1 + t[5] * a2
    if count < 3:
        return mean_distance_of_line(at.corners, u, v) if count == 2 else 0.0
    area, moment = 0.0, 0.0
    hulls, face, body = model.points.hulls, 0, -1
    for side in range(2):
        face = _face_of(model, scratch, j, side)
        if face >= 0 and hulls.tile_start[face] < hulls.tile_start[face + 1]:
            body = side
            break
    if body >= 0:
        for n in range(hulls.tile_start[face], hulls.tile_start[face + 1]):
            _place_tile(model, scratch, j, body, n)
            corners, table = clip_to(at.tile, 3, at.corners, count, at.clipped)
            of_tile, times = add_polygon(at.clipped[table], corners, u, v)
            area, moment = area + of_tile, moment + times
    else:
        area, moment = add_polygon(at.corners, count, u, v)
    return moment / area if area > 0.0 else 0.0


@kernel
def _face_of(model, scratch, j, side):
    """The face of one of the hulls that is most in the patch, -1 if it has none.

    Reads model.points: hull_body, pairs; scratch.points: R_WB, row, still; model.points.hulls: face_start, planes;
    scratch.problem.points: normal.
    """
    points, n = model.points, scratch.problem.points.normal[j]
    h = points.pairs[scratch.points.row[j], side]
    body = points.hull_body[h]
    R = scratch.points.R_WB[body] if body >= 0 else scratch.points.still
    sign, best, most = 1.0 - 2.0 * side, -1, 0.0
    # The normal in the frame of the body.
    n0 = sign * (R[0, 0] * n[0] + R[1, 0] * n[1] + R[2, 0] * n[2])
    n1 = sign * (R[0, 1] * n[0] + R[1, 1] * n[1] + R[2, 1] * n[2])
    n2 = sign * (R[0, 2] * n[0] + R[1, 2] * n[1] + R[2, 2] * n[2])
    for face in range(points.hulls.face_start[h], points.hulls.face_start[h + 1]):
        plane = points.hulls.planes[face]
        along = n0 * plane[0] + n1 * plane[1] + n2 * plane[2]
        if along > most:
            best, most = face, along
    return best


@kernel
def _place_tile(model, scratch, j, side, tile):
    """Write a triangle of a body along the tangents, counter-clockwise about the normal.

    Reads model.points: hull_body, pairs; scratch.points: R_WB, origin, p_WB, p_WR, row, still, tile;
    model.points.hulls: tiles; scratch.problem.points: tangents.
    Writes scratch.points: tile.
    """
    at, t = scratch.points, scratch.problem.points.tangents[j]
    body = model.points.hull_body[model.points.pairs[at.row[j], side]]
    R = at.R_WB[body] if body >= 0 else at.still
    p = at.p_WB[body] if body >= 0 else at.origin
    for i in range(3):
        # Out of A is along the normal, out of B against it.
        x = model.points.hulls.tiles[tile, i if side == 0 else 2 - i]
        for k in range(2):
            at.tile[i, k] = 0.0
            for m in range(3):
                placed = p[m] - at.p_WR[j, m] + R[m, 0] * x[0] + R[m, 1] * x[1] + R[m, 2] * x[2]
                at.tile[i, k] += t[3 * k + m] * placed


@kernel
def find_outline(model, scratch, j):
    """Write the conditions around the patch of contact ``j``, counter-clockwise about the normal; return their number.

    The patch is the convex hull of the points that touch (gift wrapping).

    Reads model.points: size; scratch.points: gap, outline, row; scratch.problem.points: end, first, tangents.
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
