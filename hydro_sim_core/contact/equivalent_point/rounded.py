# mypy: allow-untyped-defs
"""Contact of spheres and capsules, with each other and with polyhedra.

A capsule that lies along another, or across a face, touches at both ends of what they share. Of these only one is the
closest point, now one and now the other. So both are conditions: any two points of the bodies must not overlap, each
pair along its own direction.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.equivalent_point.clipping import height
from hydro_sim_core.contact.equivalent_point.running import let_run, squared_sines

#: By how much a face must be further away than an edge to be passed over, as a share of the size.
FACE_PREFERENCE = 1e-9
#: By how much cores that cross may be closer there than at the ends of the shorter one and count as parallel, as a
#: share of the size.
FLAT = 1e-9
#: Distance of two cores, as a share of the size, that has no direction.
COINCIDENT = 1e-12
#: Sine of the angle between a core and a face below which it may lie along it; and between two cores.
NEARLY_FLAT, NEARLY_PARALLEL = 0.3, 0.3


@kernel
def touch_rounded(hulls, a, b, band, size, work, manifold):
    """Points of two hulls of which one at least is rounded; arguments as for ``find_manifold``.

    Reads hulls: face_start.
    """
    if hulls.face_start[a] == hulls.face_start[a + 1] and hulls.face_start[b] == hulls.face_start[b + 1]:
        return _touch_cores(hulls, a, b, band, size, work, manifold)
    side = 0 if hulls.face_start[a] < hulls.face_start[a + 1] else 1
    solid, rounded = (a, b) if side == 0 else (b, a)
    return _touch_solid(hulls, solid, rounded, side, band, size, work, manifold)


@kernel
def _touch_cores(hulls, a, b, band, size, work, manifold):
    """Points between the closest points of two cores, and of nearly parallel ones at the ends of what they share.

    Reads hulls: radius, vertex_start; manifold: gaps, normal; work: vertices.
    Writes manifold: normal, separation.
    """
    p, q = work.vertices[0], work.vertices[1]
    last_p = hulls.vertex_start[a + 1] - hulls.vertex_start[a] - 1
    last_q = hulls.vertex_start[b + 1] - hulls.vertex_start[b] - 1
    s, t = _closest(p[0], p[last_p], q[0], q[last_q])
    distance = _between(p[0], p[last_p], s, q[0], q[last_q], t, manifold.normal)
    if distance <= COINCIDENT * size:
        # Any direction parts them.
        manifold.normal[0] = manifold.normal[1] = 0.0
        manifold.normal[2] = 1.0
    gap = distance - hulls.radius[a] - hulls.radius[b]
    manifold.separation[0] = gap
    if gap > band:
        return 0
    count, crosses, bow, least = 0, True, 0.0, math.inf
    if last_p > 0 and last_q > 0:
        square, across = squared_sines(p[0], p[last_p], q[0], q[last_q], manifold.normal)
        crosses = square > NEARLY_PARALLEL * NEARLY_PARALLEL
        bow = across * _shorter(p[0], p[last_p], q[0], q[last_q])
    if not crosses:
        for end in range(2):
            share = float(end)
            beside = _share_beside(p[last_p * end], q[0], q[last_q])
            count = _add_between(hulls, a, b, share, beside, 1 + end, band, size, work, manifold, count)
            beside = _share_beside(q[last_q * end], p[0], p[last_p])
            count = _add_between(hulls, a, b, beside, share, 3 + end, band, size, work, manifold, count)
    # Of parallel ones the middle of what they share is as close as its ends.
    for i in range(count):
        least = min(least, manifold.gaps[i])
    if gap < least - FLAT * size or bow > 8.0 * distance * FLAT * size:
        count = _add_between(hulls, a, b, s, t, 0, band, size, work, manifold, count)
        if last_p > 0 and last_q > 0 and distance > COINCIDENT * size:
            along_a = hulls.radius[a] + 0.5 * gap
            let_run(p[0], p[last_p], s, q[0], q[last_q], t, distance, along_a, manifold, count - 1)
    return count


@kernel
def _add_between(hulls, a, b, s, t, feature, band, size, work, manifold, count):
    """Append the point between shares of two cores, if they are on the cores and close; return the new count.

    Reads hulls: radius, vertex_start; manifold: directions, normal; work: vertices.
    Writes manifold: directions, features, gaps, points.
    """
    if not (0.0 <= s <= 1.0 and 0.0 <= t <= 1.0):
        return count
    p, q = work.vertices[0], work.vertices[1]
    last_p = hulls.vertex_start[a + 1] - hulls.vertex_start[a] - 1
    last_q = hulls.vertex_start[b + 1] - hulls.vertex_start[b] - 1
    direction = manifold.directions[count]
    distance = _between(p[0], p[last_p], s, q[0], q[last_q], t, direction)
    gap = distance - hulls.radius[a] - hulls.radius[b]
    if gap > band:
        return count
    for k in range(3):
        if distance <= COINCIDENT * size:
            direction[k] = manifold.normal[k]
        on_core = p[0, k] + s * (p[last_p, k] - p[0, k])
        manifold.points[count, k] = on_core + (hulls.radius[a] + 0.5 * gap) * direction[k]
    manifold.gaps[count], manifold.features[count] = gap, feature
    return count + 1


@kernel
def _shorter(p, p_end, q, q_end):
    """Squared length of the shorter of two segments, m^2."""
    dd = ee = 0.0
    for k in range(3):
        dd, ee = dd + (p_end[k] - p[k]) ** 2, ee + (q_end[k] - q[k]) ** 2
    return min(dd, ee)


@kernel
def _share_beside(x, q, q_end):
    """Share of a segment's line at which it is closest to a point; beyond 0 to 1 it is outside the segment."""
    along, squared = 0.0, 0.0
    for k in range(3):
        e = q_end[k] - q[k]
        along, squared = along + e * (x[k] - q[k]), squared + e * e
    return along / squared


@kernel
def _closest(p, p_end, q, q_end):
    """Shares of two segments at which they are closest; of parallel ones in the middle of where they overlap."""
    dd = de = ee = dr = er = 0.0
    for k in range(3):
        d, e, r = p_end[k] - p[k], q_end[k] - q[k], q[k] - p[k]
        dd, de, ee, dr, er = dd + d * d, de + d * e, ee + e * e, dr + d * r, er + e * r
    if dd == 0.0 or ee == 0.0:
        s = min(max(dr / dd, 0.0), 1.0) if dd > 0.0 else 0.0
        t = min(max((de * s - er) / ee, 0.0), 1.0) if ee > 0.0 else 0.0
        return s, t
    determinant = dd * ee - de * de
    if determinant > 1e-12 * dd * ee:
        s = min(max((dr * ee - er * de) / determinant, 0.0), 1.0)
    else:
        first, second = dr / dd, (dr + de) / dd
        s = 0.5 * (min(max(min(first, second), 0.0), 1.0) + min(max(max(first, second), 0.0), 1.0))
    t = (de * s - er) / ee
    if t < 0.0 or t > 1.0:
        t = min(max(t, 0.0), 1.0)
        s = min(max((dr + t * de) / dd, 0.0), 1.0)
    return s, t


@kernel
def _between(p, p_end, s, q, q_end, t, direction):
    """Distance of a point of one segment from one of another, m; writes the ``direction`` (3,) to it."""
    squared = 0.0
    for k in range(3):
        direction[k] = q[k] + t * (q_end[k] - q[k]) - p[k] - s * (p_end[k] - p[k])
        squared += direction[k] * direction[k]
    distance = math.sqrt(squared)
    if distance > 0.0:
        for k in range(3):
            direction[k] /= distance
    return distance


@kernel
def _touch_solid(hulls, solid, rounded, side, band, size, work, manifold):
    """Points of a polyhedron and a rounded body: the ends of its core over a face, or the closest point of an edge.

    Reads hulls: face_start, radius, vertex_start; manifold: normal, separation; work: planes, vertices.
    Writes manifold: normal, separation.
    """
    planes, core = work.planes[side], work.vertices[1 - side]
    last = hulls.vertex_start[rounded + 1] - hulls.vertex_start[rounded] - 1
    faces = hulls.face_start[solid + 1] - hulls.face_start[solid]
    radius = hulls.radius[rounded]
    enters, leaves, deepest, least = 0.0, 1.0, 0, -math.inf
    for face in range(faces):
        begin, end = height(planes[face], core[0]), height(planes[face], core[last])
        if min(begin, end) > least:
            deepest, least = face, min(begin, end)
        if begin > 0.0 and end > 0.0:
            leaves = -1.0
        elif begin > 0.0:
            enters = max(enters, begin / (begin - end))
        elif end > 0.0:
            leaves = min(leaves, begin / (begin - end))
    manifold.separation[0] = least - radius
    if manifold.separation[0] > band:
        return 0
    if enters <= leaves:
        return _touch_face(hulls, solid, rounded, side, deepest, False, band, size, work, manifold)
    edge, face, distance = _nearest(hulls, solid, side, last, faces, size, work, manifold.normal)
    manifold.separation[0] = distance - radius
    if distance - radius > band:
        return 0
    if face >= 0:
        return _touch_face(hulls, solid, rounded, side, face, True, band, size, work, manifold)
    return _touch_edge(hulls, solid, side, edge, last, distance, radius, band, size, work, manifold)


@kernel
def _nearest(hulls, solid, side, last, faces, size, work, direction):
    """The edge of a polyhedron nearest to a core outside it, or the face (else -1), and the distance, m.

    Reads hulls: edge_start, edges, vertex_start; work: planes, vertices.
    """
    core, vertices, planes = work.vertices[1 - side], work.vertices[side], work.planes[side]
    first, nearest, edge, face = hulls.vertex_start[solid], math.inf, -1, -1
    for i in range(hulls.edge_start[solid], hulls.edge_start[solid + 1]):
        p, p_end = vertices[hulls.edges[i, 0] - first], vertices[hulls.edges[i, 1] - first]
        s, t = _closest(p, p_end, core[0], core[last])
        distance = _between(p, p_end, s, core[0], core[last], t, direction)
        if distance < nearest:
            nearest, edge = distance, i
    for i in range(faces):
        begin, end = height(planes[i], core[0]), height(planes[i], core[last])
        if min(begin, end) <= nearest + FACE_PREFERENCE * size:
            low, high = _over_face(hulls, solid, i, core[0], core[last], size, vertices, planes[i])
            h = begin + (low if begin <= end else high) * (end - begin)
            if low <= high and 0.0 <= h <= nearest + FACE_PREFERENCE * size:
                nearest, face = min(h, nearest), i
    return edge, face, nearest


@kernel
def _over_face(hulls, solid, face, x, y, size, vertices, plane):
    """Range of shares of a segment from x to y that is over a face; empty if none is.

    Reads hulls: face_start, loop_start, loop_vertices, vertex_start.
    """
    row, first = hulls.face_start[solid] + face, hulls.vertex_start[solid]
    low, high = 0.0, 1.0
    begin, end = hulls.loop_start[row], hulls.loop_start[row + 1]
    for i in range(begin, end):
        p = vertices[hulls.loop_vertices[i] - first]
        q = vertices[hulls.loop_vertices[i + 1 if i + 1 < end else begin] - first]
        e0, e1, e2 = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        o0 = e1 * plane[2] - e2 * plane[1]
        o1 = e2 * plane[0] - e0 * plane[2]
        o2 = e0 * plane[1] - e1 * plane[0]
        slack = FACE_PREFERENCE * size * math.sqrt(o0 * o0 + o1 * o1 + o2 * o2)
        at_x = o0 * (x[0] - p[0]) + o1 * (x[1] - p[1]) + o2 * (x[2] - p[2]) - slack
        at_y = o0 * (y[0] - p[0]) + o1 * (y[1] - p[1]) + o2 * (y[2] - p[2]) - slack
        if at_x > 0.0 and at_y > 0.0:
            return 1.0, 0.0
        if at_x > 0.0:
            low = max(low, at_x / (at_x - at_y))
        elif at_y > 0.0:
            high = min(high, at_x / (at_x - at_y))
    return low, high


@kernel
def _touch_face(hulls, solid, rounded, side, face, is_outside, band, size, work, manifold):
    """Write the points of a core over a face; of all of it if it is inside the polyhedron.

    Reads hulls: radius, vertex_start; work: planes, vertices.
    Writes manifold: normal.
    """
    plane, core = work.planes[side, face], work.vertices[1 - side]
    last, radius = hulls.vertex_start[rounded + 1] - hulls.vertex_start[rounded] - 1, hulls.radius[rounded]
    low, high = _over_face(hulls, solid, face, core[0], core[last], size, work.vertices[side], plane)
    if not is_outside and low > high:
        low, high = 0.0, 1.0
    sign = 1.0 if side == 0 else -1.0
    for k in range(3):
        manifold.normal[k] = sign * plane[k]
    count = 0
    for end in range(last + 1):
        share = low if end == 0 else high
        count = _add_over(plane, sign, core[0], core[last], share, radius, end, band, manifold, count)
    return count


@kernel
def _add_over(plane, sign, x, y, share, radius, feature, band, manifold, count):
    """Append the point below a share of a core from x to y over the plane of a face, if close; return the new count.

    Writes manifold: directions, features, gaps, points.
    """
    gap = -plane[3] - radius
    for k in range(3):
        gap += plane[k] * (x[k] + share * (y[k] - x[k]))
    if gap > band:
        return count
    for k in range(3):
        manifold.points[count, k] = x[k] + share * (y[k] - x[k]) - (radius + 0.5 * gap) * plane[k]
        manifold.directions[count, k] = sign * plane[k]
    manifold.gaps[count], manifold.features[count] = gap, feature
    return count + 1


@kernel
def _touch_edge(hulls, solid, side, edge, last, distance, radius, band, size, work, manifold):
    """Write the point of a core closest to an edge, and where it lies along a face of that edge the one beyond.

    Reads hulls: edges, face_start, vertex_start; manifold: normal; work: planes, vertices.
    Writes manifold: directions, features, gaps, normal, points.
    """
    core, vertices, first = work.vertices[1 - side], work.vertices[side], hulls.vertex_start[solid]
    p, p_end = vertices[hulls.edges[edge, 0] - first], vertices[hulls.edges[edge, 1] - first]
    s, t = _closest(p, p_end, core[0], core[last])
    _between(p, p_end, s, core[0], core[last], t, manifold.normal)
    gap, sign = distance - radius, 1.0 if side == 0 else -1.0
    for k in range(3):
        on_edge = p[k] + s * (p_end[k] - p[k])
        manifold.points[0, k] = on_edge + 0.5 * gap * manifold.normal[k]
        manifold.normal[k] *= sign
        manifold.directions[0, k] = manifold.normal[k]
    manifold.gaps[0], manifold.features[0] = gap, 0
    for of_edge in range(2, 4):
        face = hulls.edges[edge, of_edge] - hulls.face_start[solid]
        plane = work.planes[side, face]
        low, high = _over_face(hulls, solid, face, core[0], core[last], size, vertices, plane)
        begin, end = height(plane, core[0]), height(plane, core[last])
        if last == 0 or low >= high or not _is_flat(core[0], core[last], end - begin):
            continue
        beyond = 1 if abs(t - low) < abs(t - high) else 0
        share = high if beyond == 1 else low
        if begin + share * (end - begin) <= 0.0:
            continue
        if _add_over(plane, sign, core[0], core[last], share, radius, beyond, band, manifold, 1) == 2:
            manifold.features[0] = 1 - beyond
            return 2
    return 1


@kernel
def _is_flat(x, y, rise):
    """Whether a segment that rises so much over a face is nearly parallel to it."""
    squared = (y[0] - x[0]) ** 2 + (y[1] - x[1]) ** 2 + (y[2] - x[2]) ** 2
    return rise * rise <= NEARLY_FLAT * NEARLY_FLAT * squared
