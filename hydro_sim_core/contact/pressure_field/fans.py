# mypy: allow-untyped-defs
"""Contact faces as fans of triangles: every polygon split around its centroid (Elandt 2019, section X-C).

The triangles' pressures vary continuously when a polygon gains or loses a vertex, and each acts at its own centroid:
the force of a polygon stays, its moment comes closer to that of the pressure.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AHEAD,
    AREA,
    CENTROID,
    GRADIENT,
    PRESSURE,
    FaceBuffer,
    corner_of,
    move_face,
)


@entry
def split_into_fans(faces: FaceBuffer, first: int, last: int) -> int:
    """Split faces into triangles around their centroids, in place.

    A face whose triangles would differ in the sign of their pressures stays whole. The query has parted the others at
    the line of zero pressure; upright ones count as one on purpose (see ``faces.append_polygon``).

    Args:
        faces: ``FaceBuffer``; what lies behind the faces is overwritten.
        first: First face.
        last: One past the last face.

    Returns:
        One past the last triangle. If that exceeds the buffer's capacity, the faces are left as they were.

    Reads faces: num_vertices.
    """
    end = first
    for f in range(first, last):
        end += faces.num_vertices[f] if _fan_area(faces, f) > 0.0 else 1
    if end > faces.num_vertices.shape[0]:
        return end
    # Backwards, so that triangles overwrite only what has been split: there are at least as many as faces before them.
    begin = end
    for f in range(last - 1, first - 1, -1):
        whole = _fan_area(faces, f)
        if whole > 0.0:
            begin -= faces.num_vertices[f]
            _write_fan(faces, f, begin, whole)
        else:
            begin -= 1
            move_face(faces, f, begin)
    return end


@kernel(inline=True)
def _triangle_area(a, b):
    """Area of the triangle of the origin and two points (3), m^2."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return 0.5 * math.sqrt(x * x + y * y + z * z)


@kernel
def _fan_area(faces, f):
    """Area of all triangles of face ``f``, m^2; 0 if it stays whole.

    Reads faces: data, num_vertices.
    """
    data, n, whole = faces.data, faces.num_vertices[f], 0.0
    pressure = data[PRESSURE, f]
    b = corner_of(faces, f, n - 1)
    for i in range(n):
        a, b = b, corner_of(faces, f, i)
        area = _triangle_area(a, b)
        if area > 0.0 and (_mean_pressure(data, f, a, b) > 0.0) != (pressure > 0.0):
            return 0.0
        whole += area
    return whole


@kernel(inline=True)
def _mean_pressure(data, f, a, b):
    """Pressure at the centroid of the triangle of the centroid of face ``f`` and two points relative to it, Pa."""
    rise = data[GRADIENT, f] * (a[0] + b[0])
    rise += data[GRADIENT + 1, f] * (a[1] + b[1])
    rise += data[GRADIENT + 2, f] * (a[2] + b[2])
    return data[PRESSURE, f] + rise / 3.0


@kernel
def _write_fan(faces, f, begin, whole):
    """Write the triangles of face ``f`` to the columns from ``begin`` on, which may be its own, but not one before.

    The area of a face may be less than that of its polygon: faces at sharp edges are turned.

    Args:
        faces: ``FaceBuffer``.
        f: Face.
        begin: Column of the first triangle.
        whole: Area of all triangles, m^2.

    Reads faces: data, num_vertices, polygons.
    Writes faces: data, num_vertices, polygons.
    """
    data, polygons, n = faces.data, faces.polygons, faces.num_vertices[f]
    share = data[AREA, f] / whole
    # Backwards: the first triangle may take the place of the polygon.
    b = corner_of(faces, f, 0)
    for i in range(n - 1, -1, -1):
        a, b, slot = corner_of(faces, f, i), b, begin + i
        area, pressure = share * _triangle_area(a, b), _mean_pressure(data, f, a, b)
        center = data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]
        for row in range(data.shape[0]):
            data[row, slot] = data[row, f]
        following = i + 1 if i + 1 < n else 0
        for axis in range(3):
            # In this order, as the first triangle takes the place of corners that it reads.
            polygons[slot, 2, axis] = polygons[f, following, axis]
            polygons[slot, 1, axis] = polygons[f, i, axis]
            polygons[slot, 0, axis] = center[axis]
            data[CENTROID + axis, slot] = center[axis] + (a[axis] + b[axis]) / 3.0
        data[AREA, slot], data[AHEAD, slot] = area, math.inf
        data[PRESSURE, slot] = pressure
        faces.num_vertices[slot] = 3
        b = a
