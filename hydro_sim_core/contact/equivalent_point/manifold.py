# mypy: allow-untyped-defs
"""Where two convex bodies touch: the points of a contact, their common normal, and the gaps there.

A point stands for one condition of contact, eqs. 8 to 12 of Xie and Chakraborty 2019 split up: the body on the normal's
side stays above the plane through the other's point. The equivalent contact point is the mean of the points, weighted
with their impulses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D, kernel
from hydro_sim_core.contact.equivalent_point.clipping import clip_incident_face, height, incident_face
from hydro_sim_core.contact.equivalent_point.rounded import touch_rounded

#: By how much two edges must be further apart than any face from the other body to be the contact, as a share of the
#: size. A body that lies flat must not seem to stand on one crossing of edges.
EDGE_PREFERENCE = 1e-9
#: Sine of the angle below which two edges are parallel.
PARALLEL = 1e-7


class Manifold(NamedTuple):
    """Points of contact of two hulls A and B in the world.

    Attributes:
        normal: (3,) unit vector out of A into B.
        directions: (N, 3) unit vectors out of A into B along which the points part; the normal, unless a body is round.
        points: (N, 3) midway between the surfaces, m.
        gaps: (N,) distance of the surfaces along that direction, m; negative where they overlap.
        features: (N,) what touches: a vertex, or -1 less a number of two edges. Later searches know points by it.
        separation: (1,) distance of the two hulls, or less than that, m; minus the depth of an overlap.
        axis: (3,) what gives the normal: 0 or 1 and a face of hull A or B, or 2 and an edge of each; -1 is unknown.
            Faces and edges are numbered within the hulls, and within the set.
        running: (1,) point that runs along two cores as they turn, -1 if none does.
        run: (3,) change of that point per metre that it runs.
        tilt: (3,) change of its direction per metre, 1/m.
        bow: (4,) slope (1) and second derivative (1/m) of the gap along its way, and how far it runs at least and at
            most, m.
    """

    normal: Float1D
    directions: Float2D
    points: Float2D
    gaps: Float1D
    features: Int1D
    separation: Float1D
    axis: Int1D
    running: Int1D
    run: Float1D
    tilt: Float1D
    bow: Float1D


def make_manifold(most: int) -> Manifold:
    """Allocate for at most so many points."""
    return Manifold(
        normal=np.zeros(3),
        directions=np.zeros((most, 3)),
        points=np.zeros((most, 3)),
        gaps=np.zeros(most),
        features=np.zeros(most, dtype=np.int64),
        separation=np.zeros(1),
        axis=np.full(3, -1, dtype=np.int64),
        running=np.full(1, -1, dtype=np.int64),
        run=np.zeros(3),
        tilt=np.zeros(3),
        bow=np.zeros(4),
    )


@kernel
def find_manifold(hulls, a, b, R_WA, p_WA, R_WB, p_WB, band, size, work, manifold):
    """Find the points at which two hulls touch, or are closer than ``band``; return their number.

    Args:
        hulls: ``HullSet``.
        a: Index of hull A.
        b: Index of hull B.
        R_WA: (3, 3) orientation of A; with its origin ``p_WA`` (3,), m.
        p_WA: See ``R_WA``.
        R_WB: See ``R_WA``.
        p_WB: See ``R_WA``.
        band: Largest gap of a point, m.
        size: Extent of the smaller body, m: tolerances are shares of it.
        work: ``HullScratch``.
        manifold: ``Manifold``, out. Where its ``axis`` is known, two polyhedra are looked at along that alone.

    Reads hulls: face_start, vertex_start; work: planes.
    Writes manifold: running; work: planes, vertices.
    """
    place_hull(hulls, a, R_WA, p_WA, work.vertices[0], work.planes[0])
    place_hull(hulls, b, R_WB, p_WB, work.vertices[1], work.planes[1])
    num_a = hulls.vertex_start[a + 1] - hulls.vertex_start[a]
    num_b = hulls.vertex_start[b + 1] - hulls.vertex_start[b]
    manifold.running[0] = -1
    if num_a == 0 or num_b == 0:
        return _touch_half_space(hulls, a, b, band, work, manifold)
    if hulls.face_start[a] == hulls.face_start[a + 1] or hulls.face_start[b] == hulls.face_start[b + 1]:
        return touch_rounded(hulls, a, b, band, size, work, manifold)
    return _touch_polyhedra(hulls, a, b, band, size, work, manifold)


@kernel
def place_hull(hulls, h, R, p, vertices, planes):
    """Write the vertices (V, 3) and planes (F, 4) of a hull in the world.

    Reads hulls: face_start, planes, vertex_start, vertices.
    """
    first = hulls.vertex_start[h]
    for i in range(hulls.vertex_start[h + 1] - first):
        x = hulls.vertices[first + i]
        for k in range(3):
            vertices[i, k] = p[k] + R[k, 0] * x[0] + R[k, 1] * x[1] + R[k, 2] * x[2]
    first = hulls.face_start[h]
    for i in range(hulls.face_start[h + 1] - first):
        n = hulls.planes[first + i]
        planes[i, 3] = n[3]
        for k in range(3):
            along = R[k, 0] * n[0] + R[k, 1] * n[1] + R[k, 2] * n[2]
            planes[i, k] = along
            planes[i, 3] += along * p[k]


@kernel
def _touch_half_space(hulls, a, b, band, work, manifold):
    """Points of a body against a half space: all of its vertices that are close.

    Reads hulls: radius, vertex_start; manifold: normal, separation; work: planes, vertices.
    Writes manifold: directions, features, gaps, normal, points, separation.
    """
    side = 0 if hulls.vertex_start[a] == hulls.vertex_start[a + 1] else 1
    body = b if side == 0 else a
    plane, vertices, radius = work.planes[side, 0], work.vertices[1 - side], hulls.radius[body]
    sign = 1.0 if side == 0 else -1.0
    for k in range(3):
        manifold.normal[k] = sign * plane[k]
    manifold.separation[0] = math.inf
    count = 0
    for i in range(hulls.vertex_start[body + 1] - hulls.vertex_start[body]):
        x = vertices[i]
        gap = height(plane, x) - radius
        manifold.separation[0] = min(manifold.separation[0], gap)
        if gap > band:
            continue
        for k in range(3):
            manifold.points[count, k] = x[k] - (radius + 0.5 * gap) * plane[k]
            manifold.directions[count, k] = manifold.normal[k]
        manifold.gaps[count] = gap
        manifold.features[count] = hulls.vertex_start[body] + i
        count += 1
    return count


@kernel
def lowest(plane, vertices, count):
    """The lowest of the first vertices over a plane, and its height, m."""
    least, where = math.inf, 0
    for i in range(count):
        h = height(plane, vertices[i])
        if h < least:
            least, where = h, i
    return where, least


@kernel
def _touch_polyhedra(hulls, a, b, band, size, work, manifold):
    """Points of two polyhedra: of a face and what lies on it, or of two edges that cross.

    Reads hulls: vertex_start; manifold: axis, normal, separation; work: planes, vertices.
    Writes manifold: normal, separation.
    """
    axis = manifold.axis
    if axis[0] < 0:
        _find_axis(hulls, a, b, band, size, work, manifold)
    elif axis[0] == 2:
        manifold.separation[0] = _apart_along(hulls, a, b, axis[1], axis[2], work, manifold.normal)
    else:
        own, other = (a, b) if axis[0] == 0 else (b, a)
        count = hulls.vertex_start[other + 1] - hulls.vertex_start[other]
        _, least = lowest(work.planes[axis[0], axis[1]], work.vertices[1 - axis[0]], count)
        manifold.separation[0] = least
    if manifold.separation[0] > band:
        return 0
    if axis[0] == 2:
        _touch_edges(hulls, a, b, axis[1], axis[2], manifold.separation[0], work, manifold)
        return 1
    own, other = (a, b) if axis[0] == 0 else (b, a)
    return _touch_face(hulls, own, other, axis[0], axis[1], band, size, work, manifold)


@kernel
def _find_axis(hulls, a, b, band, size, work, manifold):
    """Find what separates two polyhedra most, nearly, and by how much; the first axis beyond the band will do.

    Reads hulls: face_start, vertex_start; manifold: normal; work: planes, vertices.
    Writes manifold: axis, normal, separation.
    """
    axis, best, widest = manifold.axis, -math.inf, -math.inf
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        count = hulls.vertex_start[other + 1] - hulls.vertex_start[other]
        for face in range(hulls.face_start[own + 1] - hulls.face_start[own]):
            _, least = lowest(work.planes[side, face], work.vertices[1 - side], count)
            widest = max(widest, least)
            # Of two faces that lie on each other the first stays the one.
            if least > best + (EDGE_PREFERENCE * size if side == 1 else 0.0):
                axis[0], axis[1], best = side, face, least
                if least > band:
                    manifold.separation[0] = least
                    return
    edge_a, edge_b, apart = _edges_apart(hulls, a, b, best + EDGE_PREFERENCE * size, work, manifold.normal)
    # Not that along the face: beside the other body's outline its plane may cut a body that is clear of the other.
    manifold.separation[0] = apart if edge_a >= 0 else widest
    if edge_a >= 0:
        axis[0], axis[1], axis[2] = 2, edge_a, edge_b


@kernel
def _edges_apart(hulls, a, b, least, work, normal):
    """The two edges whose common normal separates the bodies most, if by more than ``least``, and by how much, m.

    Only edges that are a face of the difference of the two bodies can be: their arcs cross on the sphere of normals.
    Writes that normal.

    Reads hulls: edge_start, edges, face_start; work: planes.
    """
    best_a, best_b, best = -1, -1, least
    first_face = hulls.face_start[a]
    for i in range(hulls.edge_start[a], hulls.edge_start[a + 1]):
        edge = hulls.edges[i]
        n, m = work.planes[0, edge[2] - first_face], work.planes[0, edge[3] - first_face]
        n0, n1, n2, m0, m1, m2 = n[0], n[1], n[2], m[0], m[1], m[2]
        # Direction of the edge as the product of its normals, m x n.
        x0, x1, x2 = m1 * n2 - m2 * n1, m2 * n0 - m0 * n2, m0 * n1 - m1 * n0
        for j in range(hulls.edge_start[b], hulls.edge_start[b + 1]):
            other = hulls.edges[j]
            s = work.planes[1, other[2] - hulls.face_start[b]]
            t = work.planes[1, other[3] - hulls.face_start[b]]
            along_s, along_t = -(s[0] * x0 + s[1] * x1 + s[2] * x2), -(t[0] * x0 + t[1] * x1 + t[2] * x2)
            if along_s * along_t >= 0.0:
                continue
            y0, y1, y2 = t[1] * s[2] - t[2] * s[1], t[2] * s[0] - t[0] * s[2], t[0] * s[1] - t[1] * s[0]
            along_n, along_m = n0 * y0 + n1 * y1 + n2 * y2, m0 * y0 + m1 * y1 + m2 * y2
            if along_n * along_m >= 0.0 or along_s * along_m <= 0.0:
                continue
            apart = _apart_along(hulls, a, b, i, j, work, normal)
            if apart > best:
                best_a, best_b, best = i, j, apart
    if best_a >= 0:
        _apart_along(hulls, a, b, best_a, best_b, work, normal)
    return best_a, best_b, best


@kernel
def _apart_along(hulls, a, b, edge_a, edge_b, work, normal):
    """Distance of two edges along their common normal out of A, m; minus infinity if they are parallel.

    Writes the normal (3,).

    Reads hulls: edges, face_start, vertex_start; work: planes, vertices.
    """
    edge, other = hulls.edges[edge_a], hulls.edges[edge_b]
    p, p_end = (
        work.vertices[0, edge[0] - hulls.vertex_start[a]],
        work.vertices[0, edge[1] - hulls.vertex_start[a]],
    )
    q, q_end = (
        work.vertices[1, other[0] - hulls.vertex_start[b]],
        work.vertices[1, other[1] - hulls.vertex_start[b]],
    )
    n, m = work.planes[0, edge[2] - hulls.face_start[a]], work.planes[0, edge[3] - hulls.face_start[a]]
    d0, d1, d2 = p_end[0] - p[0], p_end[1] - p[1], p_end[2] - p[2]
    e0, e1, e2 = q_end[0] - q[0], q_end[1] - q[1], q_end[2] - q[2]
    c0, c1, c2 = d1 * e2 - d2 * e1, d2 * e0 - d0 * e2, d0 * e1 - d1 * e0
    length = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    if length <= PARALLEL * math.sqrt((d0 * d0 + d1 * d1 + d2 * d2) * (e0 * e0 + e1 * e1 + e2 * e2)):
        return -math.inf
    # Out of A: between the normals of the faces of A's edge.
    if c0 * (n[0] + m[0]) + c1 * (n[1] + m[1]) + c2 * (n[2] + m[2]) < 0.0:
        length = -length
    normal[0], normal[1], normal[2] = c0 / length, c1 / length, c2 / length
    return normal[0] * (q[0] - p[0]) + normal[1] * (q[1] - p[1]) + normal[2] * (q[2] - p[2])


@kernel
def _touch_edges(hulls, a, b, edge_a, edge_b, gap, work, manifold):
    """Write the point midway between two edges that cross.

    Reads hulls: edges, vertex_start; manifold: normal; work: vertices.
    Writes manifold: directions, features, gaps, points.
    """
    first_a, first_b = hulls.vertex_start[a], hulls.vertex_start[b]
    p, p_end = (
        work.vertices[0, hulls.edges[edge_a, 0] - first_a],
        work.vertices[0, hulls.edges[edge_a, 1] - first_a],
    )
    q, q_end = (
        work.vertices[1, hulls.edges[edge_b, 0] - first_b],
        work.vertices[1, hulls.edges[edge_b, 1] - first_b],
    )
    dd = de = ee = dr = er = 0.0
    for k in range(3):
        d, e, r = p_end[k] - p[k], q_end[k] - q[k], q[k] - p[k]
        dd, de, ee, dr, er = dd + d * d, de + d * e, ee + e * e, dr + d * r, er + e * r
    determinant = dd * ee - de * de
    s, t = (dr * ee - er * de) / determinant, (dr * de - er * dd) / determinant
    for k in range(3):
        on_a, on_b = p[k] + s * (p_end[k] - p[k]), q[k] + t * (q_end[k] - q[k])
        manifold.points[0, k] = 0.5 * (on_a + on_b)
        manifold.directions[0, k] = manifold.normal[k]
    manifold.gaps[0] = gap
    low, high = min(edge_a, edge_b), max(edge_a, edge_b)
    manifold.features[0] = -1 - (low * hulls.edges.shape[0] + high)


@kernel
def _touch_face(hulls, own, other, side, face, band, size, work, manifold):
    """Write the points of a face of hull ``own`` and the other body: corners of the overlap that are close.

    Reads hulls: vertex_start; manifold: features, gaps; work: labels, planes, polygon, vertices.
    Writes manifold: normal.
    """
    plane, vertices = work.planes[side, face], work.vertices[1 - side]
    sign = 1.0 if side == 0 else -1.0
    for k in range(3):
        manifold.normal[k] = sign * plane[k]
    last = clip_incident_face(hulls, own, other, side, face, size, work)
    table, corners = last % 2, last // 2
    count = 0
    for i in range(corners):
        count = append_point(work.polygon[table, i], plane, work.labels[2 * table, i], band, manifold, count)
    # The deepest vertex belongs to the contact even if the face that lies most against the other does not have it.
    deepest, least = lowest(plane, vertices, hulls.vertex_start[other + 1] - hulls.vertex_start[other])
    feature = hulls.vertex_start[other] + deepest
    for i in range(count):
        if manifold.features[i] == feature or manifold.gaps[i] <= least + EDGE_PREFERENCE * size:
            return count
    return append_point(vertices[deepest], plane, feature, band, manifold, count)


@kernel
def add_vertex(hulls, a, b, vertex, work, manifold, count):
    """Append the point of a vertex over or under a face of the other polyhedron, in or beside its outline.

    Of the body whose face gives the axis that is a corner of the face, of the other body any vertex.

    Returns:
        The new number of points; the old one if another kind of contact was found.

    Reads hulls: vertex_start; manifold: axis; work: planes, polygon, vertices.
    Writes work: polygon.
    """
    side = manifold.axis[0]
    if side != 0 and side != 1:
        return count
    own, other = (a, b) if side == 0 else (b, a)
    plane, x = work.planes[side, manifold.axis[1]], work.polygon[0, 0]
    of_own, of_other = vertex - hulls.vertex_start[own], vertex - hulls.vertex_start[other]
    if 0 <= of_other < hulls.vertex_start[other + 1] - hulls.vertex_start[other]:
        for k in range(3):
            x[k] = work.vertices[1 - side, of_other, k]
        return append_point(x, plane, vertex, math.inf, manifold, count)
    if not 0 <= of_own < hulls.vertex_start[own + 1] - hulls.vertex_start[own]:
        return count
    # Where the other body's face, which lies against this one, is over the corner.
    corner, planes = work.vertices[side, of_own], work.planes[1 - side]
    face = planes[incident_face(hulls, other, plane, planes)]
    rise = -height(face, corner) / (face[0] * plane[0] + face[1] * plane[1] + face[2] * plane[2])
    for k in range(3):
        x[k] = corner[k] + rise * plane[k]
    return append_point(x, plane, vertex, math.inf, manifold, count)


@kernel
def append_point(x, plane, feature, band, manifold, count):
    """Append the point of contact at a point (3,) of the other body, if it is close; return the new count.

    Reads manifold: normal.
    Writes manifold: directions, features, gaps, points.
    """
    gap = height(plane, x)
    if gap > band:
        return count
    for k in range(3):
        manifold.points[count, k] = x[k] - 0.5 * gap * plane[k]
        manifold.directions[count, k] = manifold.normal[k]
    manifold.gaps[count] = gap
    manifold.features[count] = feature
    return count + 1
