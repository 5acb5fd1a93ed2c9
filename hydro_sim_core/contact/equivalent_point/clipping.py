# mypy: allow-untyped-defs
"""The face of one body that lies on a face of another, cut to the outline of that one (Sutherland and Hodgman)."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel

#: Corners this close to an outline count as inside, as a share of the size, so that round-off does not turn the corners
#: of equal boxes on each other into crossings of edges and back.
FLUSH = 1e-9


@kernel
def clip_incident_face(hulls, own, other, side, face, size, work):
    """Cut the face of ``other`` that lies most against a face of ``own`` to the prism over that.

    Args:
        hulls: ``HullSet``.
        own: Hull with the face.
        other: The other hull.
        side: 0 if ``own`` is hull A, else 1.
        face: Index of the face within ``own``.
        size: Extent of the smaller body, m.
        work: ``HullScratch`` with both hulls placed; ``polygon`` and ``labels`` receive the corners.

    Returns:
        Twice the number of corners, plus the half of the tables which they are in.

    Reads hulls: face_start, loop_edges, loop_start, loop_vertices, vertex_start; work: planes, vertices.
    Writes work: labels, polygon.
    """
    plane = work.planes[side, face]
    incident = hulls.face_start[other] + incident_face(hulls, other, plane, work.planes[1 - side])
    table, count = 0, 0
    for i in range(hulls.loop_start[incident], hulls.loop_start[incident + 1]):
        vertex = hulls.loop_vertices[i]
        for k in range(3):
            work.polygon[0, count, k] = work.vertices[1 - side, vertex - hulls.vertex_start[other], k]
        work.labels[0, count], work.labels[1, count] = vertex, hulls.loop_edges[i]
        count += 1
    row, vertices = hulls.face_start[own] + face, work.vertices[side]
    first, end = hulls.loop_start[row], hulls.loop_start[row + 1]
    for i in range(first, end):
        x = vertices[hulls.loop_vertices[i] - hulls.vertex_start[own]]
        following = hulls.loop_vertices[i + 1 if i + 1 < end else first]
        y = vertices[following - hulls.vertex_start[own]]
        # Outward from the face within its plane: along the edge times the normal.
        e0, e1, e2 = y[0] - x[0], y[1] - x[1], y[2] - x[2]
        o0 = e1 * plane[2] - e2 * plane[1]
        o1 = e2 * plane[0] - e0 * plane[2]
        o2 = e0 * plane[1] - e1 * plane[0]
        length = math.sqrt(o0 * o0 + o1 * o1 + o2 * o2)
        outward = (o0 / length, o1 / length, o2 / length)
        offset = outward[0] * x[0] + outward[1] * x[1] + outward[2] * x[2]
        count = _clip(hulls, outward, offset, hulls.loop_edges[i], FLUSH * size, table, count, work)
        table = 1 - table
    return 2 * count + table


@kernel
def incident_face(hulls, other, plane, planes):
    """The face of hull ``other``, whose ``planes`` (F, 4) are placed, that lies most against a plane (4,).

    Reads hulls: face_start.
    """
    incident, most = 0, math.inf
    for i in range(hulls.face_start[other + 1] - hulls.face_start[other]):
        n = planes[i]
        along = n[0] * plane[0] + n[1] * plane[1] + n[2] * plane[2]
        if along < most:
            incident, most = i, along
    return incident


@kernel
def _clip(hulls, outward, offset, edge, tolerance, table, count, work):
    """Cut a polygon of one table by a plane into the other; return the number of its corners.

    Args:
        hulls: ``HullSet``.
        outward: Unit normal of the plane as three numbers; what lies beyond is cut off.
        offset: Offset of the plane, m.
        edge: Edge at which it cuts.
        tolerance: How far beyond still counts as inside, m.
        table: Which table has the polygon.
        count: Number of its corners.
        work: ``HullScratch``.

    Reads work: labels, polygon.
    Writes work: labels, polygon.
    """
    polygon, result = work.polygon[table], work.polygon[1 - table]
    vertices, begins = work.labels[2 * table], work.labels[2 * table + 1]
    new_vertices, new_begins = work.labels[2 * (1 - table)], work.labels[2 * (1 - table) + 1]
    kept = 0
    for i in range(count):
        x, y = polygon[i], polygon[i + 1 if i + 1 < count else 0]
        beyond_x = outward[0] * x[0] + outward[1] * x[1] + outward[2] * x[2] - offset
        beyond_y = outward[0] * y[0] + outward[1] * y[1] + outward[2] * y[2] - offset
        if beyond_x <= tolerance:
            for k in range(3):
                result[kept, k] = x[k]
            new_vertices[kept], new_begins[kept] = vertices[i], begins[i]
            kept += 1
        if (beyond_x <= tolerance) != (beyond_y <= tolerance):
            share = beyond_x / (beyond_x - beyond_y)
            share = min(max(share, 0.0), 1.0)
            for k in range(3):
                result[kept, k] = x[k] + share * (y[k] - x[k])
            new_vertices[kept] = _crossing(hulls, begins[i], edge)
            new_begins[kept] = edge if beyond_x <= tolerance else begins[i]
            kept += 1
    return kept


@kernel
def _crossing(hulls, edge, other):
    """What two edges have in common: a vertex, or for edges of two bodies -1 less a number of the two.

    Reads hulls: edges.
    """
    for i in range(2):
        vertex = hulls.edges[edge, i]
        if vertex == hulls.edges[other, 0] or vertex == hulls.edges[other, 1]:
            return vertex
    return -1 - (min(edge, other) * hulls.edges.shape[0] + max(edge, other))


@kernel
def height(plane, x):
    """Height of a point (3,) over a plane (4,), m."""
    return plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] - plane[3]
