# mypy: allow-untyped-defs
"""Area, force and moment of a patch: sums of few faces a thread, then of few sums, in a fixed order."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.local_arrays import local_floats
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    SLOPE_B,
)

#: Rows of sums over faces: area of those without negative pressure, force on B and its moment about B's origin, and the
#: part of the pressing force on faces across which a pressure falls.
SUM_AREA, SUM_FORCE, SUM_MOMENT, SUM_FALLING = 0, 1, 4, 7
NUM_SUMS = 8
#: Faces, and sums of such, that a thread adds up.
ADDED = 32


@kernel(inline=True)
def _moment_within(query, f):
    """Moment of the pressure on a face about its centroid, with its normal: ``(S g) x n``, as in ``contact.moments``.

    Reads query: data, num_vertices, polygons.
    """
    data, corners = query.data, query.polygons[f]
    n = query.num_vertices[f]
    cx, cy, cz = data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]
    gx, gy, gz = data[GRADIENT, f], data[GRADIENT + 1, f], data[GRADIENT + 2, f]
    sx, sy, sz = 0.0, 0.0, 0.0
    ax, ay, az = corners[n - 1, 0] - cx, corners[n - 1, 1] - cy, corners[n - 1, 2] - cz
    for i in range(n):
        bx, by, bz = corners[i, 0] - cx, corners[i, 1] - cy, corners[i, 2] - cz
        ux, uy, uz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        doubled = math.sqrt(ux * ux + uy * uy + uz * uz)
        along_a, along_b = ax * gx + ay * gy + az * gz, bx * gx + by * gy + bz * gz
        # The sum over a, b and a + b of x (x . g).
        share_a, share_b = doubled * (2.0 * along_a + along_b), doubled * (along_a + 2.0 * along_b)
        sx += share_a * ax + share_b * bx
        sy += share_a * ay + share_b * by
        sz += share_a * az + share_b * bz
        ax, ay, az = bx, by, bz
    sx, sy, sz = sx / 24.0, sy / 24.0, sz / 24.0
    nx, ny, nz = data[NORMAL, f], data[NORMAL + 1, f], data[NORMAL + 2, f]
    return sy * nz - sz * ny, sz * nx - sx * nz, sx * ny - sy * nx


@kernel(inline=True)
def _add_face(query, f, totals):
    """Add area, force and moment of a face to the sums of a thread.

    Reads query: data.
    """
    data = query.data
    area, pressure = data[AREA, f], data[PRESSURE, f]
    if pressure >= 0.0:
        totals[SUM_AREA] += area
    if not pressure > 0.0:
        return
    force = area * pressure
    fx, fy, fz = force * data[NORMAL, f], force * data[NORMAL + 1, f], force * data[NORMAL + 2, f]
    x, y, z = data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]
    mx, my, mz = _moment_within(query, f)
    totals[SUM_FORCE] += fx
    totals[SUM_FORCE + 1] += fy
    totals[SUM_FORCE + 2] += fz
    totals[SUM_MOMENT] += y * fz - z * fy + mx
    totals[SUM_MOMENT + 1] += z * fx - x * fz + my
    totals[SUM_MOMENT + 2] += x * fy - y * fx + mz
    if min(data[SLOPE_A, f], data[SLOPE_B, f]) <= 0.0:
        totals[SUM_FALLING] += force


@kernel
def sum_faces(query, i):
    """Add up the faces i, i + m, i + 2 m, ..., where m is the number of threads: neighbours read neighbours.

    Writes query: sums.
    """
    totals = local_floats(8)
    for k in range(NUM_SUMS):
        totals[k] = 0.0
    threads = query.sums.shape[1]
    for f in range(i, query.num_vertices.shape[0], threads):
        _add_face(query, f, totals)
    for k in range(NUM_SUMS):
        query.sums[k, i] = totals[k]


@kernel
def add_sums(query, i):
    """Add up terms j, j + m, j + 2 m, ... of a row, where m is the number of sums in a row.

    Reads query: terms.
    Writes query: sums.
    """
    m = query.sums.shape[1]
    row, j = i // m, i % m
    total = 0.0
    for k in range(j, query.terms.shape[1], m):
        total += query.terms[row, k]
    query.sums[row, j] = total
