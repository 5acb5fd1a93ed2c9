# mypy: allow-untyped-defs
"""Thickness of solids: how far rays from their surface run inside."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import ConstFloat2D, ConstInt2D, Float1D, Int1D, entry, kernel

#: Widening of triangles, as a share of their size, so that no ray passes between two.
_EDGE = 1e-9


@entry
def thickness_along(
    vertices: ConstFloat2D,
    triangles: ConstInt2D,
    boxes: ConstFloat2D,
    links: ConstInt2D,
    origins: ConstFloat2D,
    directions: ConstFloat2D,
    stack: Int1D,
    thickness: Float1D,
    hit: Int1D,
) -> None:
    """Find where rays into a solid leave it.

    Args:
        vertices: (N, 3) m.
        triangles: (M, 3) counter-clockwise seen from outside.
        boxes: (2 M - 1, 6) tree of the triangles, see ``build_tree``.
        links: (2 M - 1, 2) links of that tree.
        origins: (R, 3) points on the surface, m.
        directions: (R, 3) directions of rays into the solid, of any length.
        stack: (2 M - 1,) scratch.
        thickness: (R,) out: first t > 0 at which origin + t direction crosses a triangle outwards; at most the value
            that it holds before.
        hit: (R,) out: that triangle; -1 where there is none.
    """
    for r in range(origins.shape[0]):
        x, d, nearest, num = origins[r], directions[r], thickness[r], 1
        stack[0], hit[r] = 0, -1
        while num > 0:
            num -= 1
            node = stack[num]
            if _misses(boxes[node], x, d, nearest):
                continue
            if links[node, 0] < 0:
                t = _exit_through(vertices, triangles[links[node, 1]], x, d)
                if t < nearest:
                    nearest, hit[r] = t, links[node, 1]
                continue
            stack[num], stack[num + 1] = links[node, 0], links[node, 1]
            num += 2
        thickness[r] = nearest


@kernel
def _misses(box, x, d, farthest):
    """Whether x + t d, for t in [0, farthest], misses a box (6,), lower then upper corner."""
    first, last = 0.0, farthest
    for i in range(3):
        if d[i] == 0.0:
            if x[i] < box[i] or x[i] > box[i + 3]:
                return True
            continue
        t0, t1 = (box[i] - x[i]) / d[i], (box[i + 3] - x[i]) / d[i]
        first, last = max(first, min(t0, t1)), min(last, max(t0, t1))
    return first > last


@kernel
def _exit_through(vertices, triangle, x, d):
    """The t > 0 at which x + t d crosses a triangle outwards; infinite if it does not (Möller and Trumbore 1997)."""
    a, b, c = vertices[triangle[0]], vertices[triangle[1]], vertices[triangle[2]]
    e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    g0, g1, g2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    n0, n1, n2 = e1 * g2 - e2 * g1, e2 * g0 - e0 * g2, e0 * g1 - e1 * g0
    outwards = n0 * d[0] + n1 * d[1] + n2 * d[2]
    if outwards <= 0.0:
        return math.inf
    s0, s1, s2 = x[0] - a[0], x[1] - a[1], x[2] - a[2]
    t = -(n0 * s0 + n1 * s1 + n2 * s2) / outwards
    q0, q1, q2 = s1 * d[2] - s2 * d[1], s2 * d[0] - s0 * d[2], s0 * d[1] - s1 * d[0]
    u = -(g0 * q0 + g1 * q1 + g2 * q2) / outwards
    v = (e0 * q0 + e1 * q1 + e2 * q2) / outwards
    inside = u >= -_EDGE and v >= -_EDGE and u + v <= 1.0 + _EDGE
    return t if t > 0.0 and inside else math.inf
