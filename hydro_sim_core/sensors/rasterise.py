# mypy: allow-untyped-defs
"""Rasterisation: depth and pressure images of polygons."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    Float2D,
    entry,
    kernel,
)

#: A face seen edge on (sine of the angle between ray and plane) covers no pixel.
_EDGE_ON = 1e-9
#: What round-off makes of corners, as a part of their distance, with room: edges as short have no side.
_ROUND_OFF = 1e-12


@entry
def draw_faces(
    vertices: ConstFloat3D,
    num_vertices: ConstInt1D,
    centroids: ConstFloat2D,
    pressures: ConstFloat1D,
    gradients: ConstFloat2D,
    focal_length: float,
    center: ConstFloat1D,
    depth: Float2D,
    pressure: Float2D,
) -> None:
    """Draw convex faces into depth and pressure images, with a depth test.

    Args:
        vertices: (F, V, 3) corners in the camera's frame (z forward, x right, y down), m.
        num_vertices: (F,) number of vertices used in each row.
        centroids: (F, 3) in the camera's frame, m.
        pressures: (F,) at the centroids, Pa; faces below zero are left out.
        gradients: (F, 3) gradient of the pressure along the face in the camera's frame, Pa/m.
        focal_length: In pixels.
        center: (2,) principal point: column and row.
        depth: (H, W) distance along z, m; overwritten where a face is nearer. NaN stays.
        pressure: (H, W) Pa; overwritten together with the depth.
    """
    for f in range(vertices.shape[0]):
        if pressures[f] > 0.0:
            _draw_face(
                vertices[f],
                num_vertices[f],
                centroids[f],
                pressures[f],
                gradients[f],
                focal_length,
                center,
                depth,
                pressure,
            )


@kernel
def _draw_face(vertices, count, centroid, value, gradient, focal_length, center, depth, pressure):
    """Draw one face; arguments as rows of those of ``draw_faces``, with ``value`` the pressure at the centroid."""
    height, width = depth.shape
    # Newell's normal uses the whole polygon, so that it is robust against short sides.
    nx, ny, nz = 0.0, 0.0, 0.0
    low_u, high_u, low_v, high_v, nearest = np.inf, -np.inf, np.inf, -np.inf, np.inf
    around, square = 0.0, 0.0
    for i in range(count):
        x0, y0, z0 = vertices[i]
        x1, y1, z1 = vertices[(i + 1) % count]
        nx += (y0 - y1) * (z0 + z1)
        ny += (z0 - z1) * (x0 + x1)
        nz += (x0 - x1) * (y0 + y1)
        nearest, square = min(nearest, z0), max(square, x0 * x0 + y0 * y0 + z0 * z0)
        around += abs(x0 - x1) + abs(y0 - y1) + abs(z0 - z1)
        if z0 > 0.0:
            u, v = center[0] + focal_length * x0 / z0, center[1] + focal_length * y0 / z0
            low_u, high_u = min(low_u, u), max(high_u, u)
            low_v, high_v = min(low_v, v), max(high_v, v)
    size = np.sqrt(nx * nx + ny * ny + nz * nz)
    if nearest <= 0.0 or size <= _ROUND_OFF * around * np.sqrt(square):  # behind the camera, or without area
        return
    nx, ny, nz = nx / size, ny / size, nz / size
    cx, cy, cz = centroid
    offset = nx * cx + ny * cy + nz * cz
    for row in range(max(0, int(np.ceil(low_v))), min(height - 1, int(np.floor(high_v))) + 1):
        for column in range(max(0, int(np.ceil(low_u))), min(width - 1, int(np.floor(high_u))) + 1):
            ray_x, ray_y = (column - center[0]) / focal_length, (row - center[1]) / focal_length
            facing = nx * ray_x + ny * ray_y + nz
            length = np.sqrt(ray_x * ray_x + ray_y * ray_y + 1.0)
            if abs(facing) <= _EDGE_ON * length:
                continue
            z = offset / facing
            if not z < depth[row, column]:
                continue
            if not _sees(vertices, count, ray_x, ray_y, _ROUND_OFF * square * length):
                continue
            depth[row, column] = z
            there = (
                value
                + gradient[0] * (z * ray_x - cx)
                + gradient[1] * (z * ray_y - cy)
                + gradient[2] * (z - cz)
            )
            pressure[row, column] = max(there, 0.0)


@kernel
def _sees(polygon, count, ray_x, ray_y, nothing):
    """Whether the ray (ray_x, ray_y, 1) from the origin meets a convex polygon in front of it.

    A ray within round-off of an edge is on neither of its sides. So an edge without length hides nothing, and of two
    faces that share an edge at least one sees a ray that meets it, whatever round-off makes of their corners.

    Args:
        polygon: (V, 3) corners, m.
        count: Number of corners used.
        ray_x: The ray's slope to the right.
        ray_y: The same downwards.
        nothing: Volume that a ray and two corners span by round-off, m^2.
    """
    left, right = False, False
    for i in range(count):
        x0, y0, z0 = polygon[i]
        x1, y1, z1 = polygon[(i + 1) % count]
        # Side of the plane through the origin and this edge on which the ray lies.
        side = ray_x * (y0 * z1 - z0 * y1) + ray_y * (z0 * x1 - x0 * z1) + (x0 * y1 - y0 * x1)
        left, right = left or side > nothing, right or side < -nothing
    return not (left and right)
