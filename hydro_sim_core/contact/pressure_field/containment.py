# mypy: allow-untyped-defs
"""Containment tests: the element that contains a point, and whether one body lies inside the other."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.boxes import outside_box, push_children
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH

#: Least barycentric coordinate of points that count as inside a tetrahedron.
_INSIDE = -1e-9

#: Direction of rays for crossing counts, chosen so that no designed mesh has an edge along it.
_RAY = (0.5772156649, 0.2614972128, 0.7739560486)


@kernel
def coordinate(geometries, element, k, x):
    """Barycentric coordinate ``k`` of x (3,) in a tetrahedron.

    Reads geometries: coordinates.
    """
    c = geometries.coordinates[element]
    return c[0, k] * x[0] + c[1, k] * x[1] + c[2, k] * x[2] + c[3, k]


@kernel
def locate(geometries, g, x, nodes):
    """Tetrahedron of a compliant mesh that contains x (3,) in the mesh's frame; -1 if there is none.

    Reads geometries: boxes, links, node_start.
    """
    nodes[0, 0] = geometries.node_start[g]
    num_nodes = 1
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes[num_nodes, 0]
        if outside_box(x, geometries.boxes[node]):
            continue
        if geometries.links[node, 0] >= 0:
            num_nodes = push_children(geometries.links, node, nodes, num_nodes)
            continue
        element = geometries.links[node, 1]
        lowest = 0.0
        for k in range(4):
            lowest = min(lowest, coordinate(geometries, element, k, x))
        if lowest >= _INSIDE:
            return element
    return -1


@kernel
def _ray_misses_box(x, box):
    enter, leave = 0.0, math.inf
    for i in range(3):
        enter = max(enter, (box[i] - box[i + 3] - x[i]) / _RAY[i])
        leave = min(leave, (box[i] + box[i + 3] - x[i]) / _RAY[i])
    return enter > leave


@kernel
def _ray_crosses(geometries, triangle, x):
    """Whether the ray from x passes through a triangle: Cramer's rule for x + t ray = a + u (b - a) + w (c - a).

    Reads geometries: elements, vertices.
    """
    vertices, corners = geometries.vertices, geometries.elements[triangle]
    a, b, c = vertices[corners[0]], vertices[corners[1]], vertices[corners[2]]
    e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    f0, f1, f2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    s0, s1, s2 = x[0] - a[0], x[1] - a[1], x[2] - a[2]
    h0, h1, h2 = _RAY[1] * f2 - _RAY[2] * f1, _RAY[2] * f0 - _RAY[0] * f2, _RAY[0] * f1 - _RAY[1] * f0
    q0, q1, q2 = s1 * e2 - s2 * e1, s2 * e0 - s0 * e2, s0 * e1 - s1 * e0
    determinant = e0 * h0 + e1 * h1 + e2 * h2
    u = (s0 * h0 + s1 * h1 + s2 * h2) / determinant
    w = (_RAY[0] * q0 + _RAY[1] * q1 + _RAY[2] * q2) / determinant
    t = (f0 * q0 + f1 * q1 + f2 * q2) / determinant
    return u >= 0.0 and w >= 0.0 and u + w <= 1.0 and t > 0.0


@kernel
def _is_enclosed(geometries, g, x, nodes):
    """Whether a closed rigid surface encloses x (3,), in its frame: a ray from x crosses it an odd number of times.

    Reads geometries: boxes, links, node_start.
    """
    nodes[0, 0] = geometries.node_start[g]
    num_nodes, crossings = 1, 0
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes[num_nodes, 0]
        if _ray_misses_box(x, geometries.boxes[node]):
            continue
        if geometries.links[node, 0] >= 0:
            num_nodes = push_children(geometries.links, node, nodes, num_nodes)
        elif _ray_crosses(geometries, geometries.links[node, 1], x):
            crossings += 1
    return crossings % 2 == 1


@kernel
def encloses(geometries, g, x, nodes):
    """Whether x (3,), in the frame of geometry ``g``, lies inside it; never for a surface that is not closed.

    Reads geometries: is_closed, kind.
    """
    if geometries.kind[g] == COMPLIANT_MESH:
        return locate(geometries, g, x, nodes) >= 0
    if geometries.kind[g] == RIGID_MESH:
        return geometries.is_closed[g] and _is_enclosed(geometries, g, x, nodes)
    return x[2] < 0.0


@kernel
def _any_anchor_inside(geometries, inner, outer, R_OI, p_OI, scratch):
    """Whether the anchor of any component of one geometry lies inside another geometry.

    Reads geometries: anchor_start, anchors; scratch: nodes, rays.
    Writes scratch: nodes, rays.
    """
    x = scratch.rays[0]
    for anchor in range(geometries.anchor_start[inner], geometries.anchor_start[inner + 1]):
        for i in range(3):
            x[i] = p_OI[i]
            for j in range(3):
                x[i] += R_OI[i, j] * geometries.anchors[anchor, j]
        if encloses(geometries, outer, x, scratch.nodes):
            return True
    return False


@kernel
def one_lies_in_other(geometries, a, b, R_BA, p_BA, scratch):
    """Whether a component of A lies inside B, or one of B inside A; for bodies whose surfaces do not intersect.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        scratch: ``QueryScratch``.

    Reads scratch: rays; scratch.work: centroid.
    Writes scratch: rays; scratch.work: centroid.
    """
    if _any_anchor_inside(geometries, a, b, R_BA, p_BA, scratch):
        return True
    R_AB, p_AB = scratch.rays[1:4], scratch.work.centroid
    for i in range(3):
        p_AB[i] = 0.0
        for j in range(3):
            R_AB[i, j] = R_BA[j, i]
            p_AB[i] -= R_BA[j, i] * p_BA[j]
    return _any_anchor_inside(geometries, b, a, R_AB, p_AB, scratch)
