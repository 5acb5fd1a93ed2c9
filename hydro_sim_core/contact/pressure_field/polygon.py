"""Convex polygons: slice a tetrahedron, clip by a half space, integrate.

Scalar kernels on buffers that the caller owns, so that CPU loops and CUDA threads share them. A polygon is the first
``n`` rows of an (MAX_VERTICES, 3) array.
"""

from __future__ import annotations

import math

from hydro_sim_core.jit import kernel

#: Slicing a tetrahedron gives at most 4 vertices and clipping by the 4 faces of another at most one more each; two
#: rows are spare for vertices that round-off duplicates.
MAX_VERTICES = 10


@kernel(forceinline=True)
def _interpolate(polygon, row, a, b, fa, fb):
    """Write the zero of a linear function on segment a-b, whose end values have opposite signs, into ``row``."""
    t = fa / (fa - fb)
    for axis in range(3):
        polygon[row, axis] = a[axis] + t * (b[axis] - a[axis])


@kernel(forceinline=True)
def slice_tetrahedron(x, f, polygon):
    """Intersect a tetrahedron with the plane on which a linear function vanishes.

    A vertex with ``f == 0`` counts as negative: of two tetrahedra that share a face lying in the plane, exactly the one
    on the positive side yields the polygon, so no face is found twice.

    Args:
        x: (4, 3) vertices.
        f: (4,) values of the function at the vertices.
        polygon: Buffer for the result, cyclically ordered (orientation unspecified).

    Returns:
        Number of vertices: 0, 3 or 4.
    """
    num_positive = 0
    first = 0
    for i in range(4):
        if f[i] > 0.0:
            num_positive += 1
    if num_positive == 0 or num_positive == 4:
        return 0
    if num_positive != 2:
        alone_positive = num_positive == 1
        for i in range(4):
            if (f[i] > 0.0) == alone_positive:
                first = i
        row = 0
        for i in range(4):
            if i != first:
                _interpolate(polygon, row, x[first], x[i], f[first], f[i])
                row += 1
        return 3
    p0 = -1
    p1 = -1
    n0 = -1
    n1 = -1
    for i in range(4):
        if f[i] > 0.0:
            if p0 < 0:
                p0 = i
            else:
                p1 = i
        elif n0 < 0:
            n0 = i
        else:
            n1 = i
    # Consecutive edges share a vertex, hence a face of the tetrahedron.
    _interpolate(polygon, 0, x[p0], x[n0], f[p0], f[n0])
    _interpolate(polygon, 1, x[p0], x[n1], f[p0], f[n1])
    _interpolate(polygon, 2, x[p1], x[n1], f[p1], f[n1])
    _interpolate(polygon, 3, x[p1], x[n0], f[p1], f[n0])
    return 4


@kernel(forceinline=True)
def clip_polygon(polygon, n, value, clipped):
    """Keep the part of a convex polygon on which a linear function is not negative.

    Args:
        polygon: (MAX_VERTICES, 3) vertices.
        n: Number of vertices.
        value: (MAX_VERTICES,) the function at the vertices.
        clipped: Buffer for the result.

    Returns:
        Number of vertices of the result; 0 if nothing is left.
    """
    m = 0
    previous = n - 1
    for i in range(n):
        if (value[i] >= 0.0) != (value[previous] >= 0.0) and m < MAX_VERTICES:
            _interpolate(clipped, m, polygon[previous], polygon[i], value[previous], value[i])
            m += 1
        if value[i] >= 0.0 and m < MAX_VERTICES:
            for axis in range(3):
                clipped[m, axis] = polygon[i, axis]
            m += 1
        previous = i
    return m if m >= 3 else 0


@kernel(forceinline=True)
def clip_by_tetrahedron(polygon, n, barycentric, tied_face, buffer, value):
    """Clip a convex polygon by a tetrahedron.

    Args:
        polygon: Buffer that holds the polygon and receives the result.
        n: Number of vertices.
        barycentric: (4, 4) rows (b, c): coordinate k at x is ``b . x + c``, not negative inside.
        tied_face: Face (that opposite vertex ``tied_face``) in which the polygon lies and which therefore does not
            clip it; negative if there is none.
        buffer: Scratch polygon.
        value: Scratch (MAX_VERTICES,).

    Returns:
        Number of vertices of the result; 0 if nothing is left.
    """
    source, target = polygon, buffer
    in_buffer = False
    for k in range(4):
        if k == tied_face:
            continue
        b0, b1, b2, c = barycentric[k, 0], barycentric[k, 1], barycentric[k, 2], barycentric[k, 3]
        lowest = math.inf
        highest = -math.inf
        for i in range(n):
            d = b0 * source[i, 0] + b1 * source[i, 1] + b2 * source[i, 2] + c
            value[i] = d
            # Not min() and max(): Numba 0.68 cannot compile them for a GPU.
            if d < lowest:
                lowest = d
            if d > highest:
                highest = d
        if highest <= 0.0:
            return 0
        if lowest >= 0.0:
            continue
        n = clip_polygon(source, n, value, target)
        if n == 0:
            return 0
        source, target = target, source
        in_buffer = not in_buffer
    if in_buffer:
        for i in range(n):
            for axis in range(3):
                polygon[i, axis] = buffer[i, axis]
    return n


@kernel(forceinline=True)
def polygon_area_centroid(polygon, n, centroid):
    """Area of a planar convex polygon; its centroid goes into ``centroid`` (3,)."""
    x0, y0, z0 = polygon[0, 0], polygon[0, 1], polygon[0, 2]
    area = 0.0
    sx = 0.0
    sy = 0.0
    sz = 0.0
    ax, ay, az = polygon[1, 0] - x0, polygon[1, 1] - y0, polygon[1, 2] - z0
    for i in range(2, n):
        bx, by, bz = polygon[i, 0] - x0, polygon[i, 1] - y0, polygon[i, 2] - z0
        cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        part = 0.5 * math.sqrt(cx * cx + cy * cy + cz * cz)
        area += part
        sx += part * (ax + bx)
        sy += part * (ay + by)
        sz += part * (az + bz)
        ax, ay, az = bx, by, bz
    scale = 1.0 / (3.0 * area) if area > 0.0 else 0.0
    centroid[0] = x0 + scale * sx
    centroid[1] = y0 + scale * sy
    centroid[2] = z0 + scale * sz
    return area
