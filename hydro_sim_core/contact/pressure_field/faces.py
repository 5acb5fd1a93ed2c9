# mypy: allow-untyped-defs
"""Buffers of contact faces, the output of a query: one row per quantity, one column per face."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float2D, Float3D, Int1D, Int2D, kernel
from hydro_sim_core.contact.pressure_field.element_pairs import IS_FACE, MIN_COSINE, ROWS, evaluate
from hydro_sim_core.contact.pressure_field.polygon import (
    MAX_POINTS,
    MAX_VERTICES,
    clip_polygon,
    polygon_area_centroid,
)
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE

#: Rows of ``FaceBuffer.data``. Points and vectors are in the frame of the pair's geometry B.
CENTROID = 0
NORMAL = 3
AREA = 6
PRESSURE = 7
SLOPE_A = 8
SLOPE_B = 9
GRADIENT = 10
AHEAD = 13
ASIDE = 15
NUM_ROWS = 17
#: Pressures on a polygon below this share of the largest one have no sign.
ROUND_OFF = 1e-9
#: Cosine of the angle between normal and gradient below which a face is upright.
UPRIGHT = 0.02
#: Cosine of that angle from which a face presses whole in a step; less of it does the more upright it is.
SURE_RISE = 0.1
#: Depth above which an upright face of a skin counts, m: less is what lies flush.
FLUSH = 1e-7


class FaceBuffer(NamedTuple):
    """Preallocated buffer for the faces of one or more pairs.

    Attributes:
        data: (NUM_ROWS, capacity or a few more): centroid (3), unit normal out of A into B (3), area m^2, pressure at
            the centroid Pa, slopes of the two fields along the normal Pa/m (infinite on a rigid side), gradient of the
            field that gives the pressure (3) Pa/m, and two vectors (2, 2) in the axes of ``axes_across``, m: p and q of
            three points p, q - p / 2 and -q - p / 2 beside the centroid that have the second moments of the area. The
            first of these numbers is infinite where the polygon has them.
        polygons: (capacity, MAX_VERTICES, 3) vertices, m.
        num_vertices: (capacity,) number of vertices of each polygon; 0 while it is not made (see ``late_polygons``).
        elements: (capacity, 2) element of A and of B of faces whose polygon is not made.
    """

    data: Float2D
    polygons: Float3D
    num_vertices: Int1D
    elements: Int2D


def make_face_buffer(capacity: int) -> FaceBuffer:
    """Allocate a buffer for ``capacity`` faces."""
    # Rows an odd number of cache lines apart: with a power of two all entries of a face share few lines of the cache.
    length = capacity + (8 - capacity) % 16
    return FaceBuffer(
        data=np.zeros((NUM_ROWS, length)),
        polygons=np.zeros((capacity, MAX_VERTICES, 3)),
        num_vertices=np.zeros(capacity, dtype=np.int64),
        elements=np.zeros((capacity, 2), dtype=np.int64),
    )


class Face(NamedTuple):
    """A column of ``FaceBuffer.data``, read at once.

    Loops over faces read them so: memory that answers late, as that of a GPU does, is then asked once for each face,
    and not wherever a branch comes to need another row. What nobody uses is not read.
    """

    centroid: tuple[float, float, float]
    normal: tuple[float, float, float]
    area: float
    pressure: float
    slope_a: float
    slope_b: float
    gradient: tuple[float, float, float]
    ahead: tuple[float, float]
    aside: tuple[float, float]


@kernel(inline=True)
def face_at(data, f):
    """The ``Face`` in column ``f``."""
    return Face(
        (data[CENTROID, f], data[CENTROID + 1, f], data[CENTROID + 2, f]),
        (data[NORMAL, f], data[NORMAL + 1, f], data[NORMAL + 2, f]),
        data[AREA, f],
        data[PRESSURE, f],
        data[SLOPE_A, f],
        data[SLOPE_B, f],
        (data[GRADIENT, f], data[GRADIENT + 1, f], data[GRADIENT + 2, f]),
        (data[AHEAD, f], data[AHEAD + 1, f]),
        (data[ASIDE, f], data[ASIDE + 1, f]),
    )


@kernel(inline=True)
def axes_across(n):
    """Two axes across the unit vector n: one formula for all directions, without a branch (Duff 2017)."""
    sign = math.copysign(1.0, n[2])
    p = -1.0 / (sign + n[2])
    q = n[0] * n[1] * p
    return (1.0 + sign * n[0] * n[0] * p, sign * q, -sign * n[0]), (q, sign + n[1] * n[1] * p, -n[1])


@kernel(inline=True)
def store_face(faces, slot, n, area, work):
    """Write the polygon of ``work`` into a column of the buffer; do nothing if the column is beyond its capacity.

    Args:
        faces: ``FaceBuffer``.
        slot: Column.
        n: Number of vertices.
        area: Area of the polygon, m^2.
        work: ``Workspace`` with the polygon, its centroid, normal, slopes and pressure field.

    Reads work: centroid, cycle, field, normal, points, slopes.
    Writes faces: data, num_vertices, polygons.
    """
    if slot >= faces.num_vertices.shape[0]:
        return
    centroid, field = work.centroid, work.field
    for axis in range(3):
        faces.data[CENTROID + axis, slot] = centroid[axis]
        faces.data[NORMAL + axis, slot] = work.normal[axis]
        faces.data[GRADIENT + axis, slot] = field[axis]
    faces.data[AREA, slot] = area
    faces.data[PRESSURE, slot] = evaluate(field, centroid[0], centroid[1], centroid[2])
    faces.data[SLOPE_A, slot] = work.slopes[0]
    faces.data[SLOPE_B, slot] = work.slopes[1]
    faces.data[AHEAD, slot] = math.inf
    faces.num_vertices[slot] = n
    rows = work.cycle[ROWS]
    for i in range(n):
        row = (rows >> 4 * i) & 15
        for axis in range(3):
            faces.polygons[slot, i, axis] = work.points[row, axis]


@kernel(inline=True)
def store_even_face(data, f, at, n, area, pressure):
    """Write face ``f`` with one pressure all over, to show a contact that no pressure field has made.

    Its polygon is not written. ``at`` (3,), m, and ``n`` (3,) may be arrays or tuples.

    Writes nothing but rows of the face.
    """
    for k in range(3):
        data[CENTROID + k, f], data[NORMAL + k, f], data[GRADIENT + k, f] = at[k], n[k], 0.0
    data[AREA, f], data[PRESSURE, f] = area, pressure
    data[SLOPE_A, f] = data[SLOPE_B, f] = math.inf


@kernel(inline=True)
def share_by_turn(face):
    """Share of a face that presses, from 1 to 0, the farther the gradients on its sides turn against its normal.

    1 as long as the pressure falls by no more than half of what makes a polygon no face (``MIN_COSINE``), and 0 there.
    So faces come and go without a jump, and the narrow ones around the underside of a flat box, across which the
    pressure neither rises nor falls, press whole at every tilt.

    Reads face: slope_a, slope_b.
    """
    if face.slope_a > 0.0 and face.slope_b > 0.0:
        return 1.0  # most faces
    return min(max(2.0 - 2.0 * cosine_of_rise(face) / MIN_COSINE, 0.0), 1.0)


@kernel(inline=True)
def share_of_rise(face):
    """Share of a face that presses in a step, from 0 to 1, the farther it leans from ``UPRIGHT`` to ``SURE_RISE``.

    A step leaves out faces across which the pressure falls, and would let a face that turns past upright go at once.
    Most lean enough to press whole, and are told without a root.
    """
    along2, least = _along_and_across(face)
    if least > 0.0 and along2 <= (1.0 / SURE_RISE**2 - 1.0) * (least * least):
        return 1.0
    return min(max((cosine_of_rise(face) - UPRIGHT) / (SURE_RISE - UPRIGHT), 0.0), 1.0)


@kernel(inline=True)
def is_past_upright(face):
    """Whether a face across which the pressure falls is turned past upright by more than ``SURE_RISE`` allows.

    Nearer to upright it is a side or a rim, along which the pressure falls and across which it hardly does. What is
    turned farther is on the other side of a body's medial surface.
    """
    return cosine_of_rise(face) <= -SURE_RISE


@kernel(inline=True)
def cosine_of_rise(face):
    """Cosine of the angle between the normal of a face and a gradient: of the side that turns more against it.

    1 where both sides are rigid or have no gradient along the face.
    """
    along2, least = _along_and_across(face)
    size = math.sqrt(along2 + least * least)
    return least / size if 0.0 < size < math.inf else 1.0


@kernel(inline=True)
def _along_and_across(face):
    """Square of the gradient along a face, the same on both sides, and the lesser of those across it.

    Reads face: gradient, normal, slope_a, slope_b.
    """
    (g0, g1, g2), n = face.gradient, face.normal
    rise = g0 * n[0] + g1 * n[1] + g2 * n[2]
    return max(g0 * g0 + g1 * g1 + g2 * g2 - rise * rise, 0.0), min(face.slope_a, face.slope_b)


@kernel(inline=True)
def steepness_of(face):
    """Length of the gradient of the pressure on a face, Pa/m.

    Reads face: gradient.
    """
    x, y, z = face.gradient
    return math.sqrt(x * x + y * y + z * z)


@kernel(inline=True)
def speed_along_normal(face, p, V):
    """Speed along its normal at the centroid of a face, m/s, with the twist V (6,) about a point p (3,).

    Reads face: centroid, normal.
    """
    c = face.centroid
    return speed_along(face.normal, (c[0] - p[0], c[1] - p[1], c[2] - p[2]), V)


@kernel(inline=True)
def speed_along(n, x, V):
    """Speed along a direction n (3,) at a point x (3,) from where the twist V (6,) is told, m/s."""
    v_n = n[0] * (V[3] + V[1] * x[2] - V[2] * x[1])
    v_n += n[1] * (V[4] + V[2] * x[0] - V[0] * x[2])
    v_n += n[2] * (V[5] + V[0] * x[1] - V[1] * x[0])
    return v_n


@kernel(inline=True)
def move_face(faces, old, new):
    """Copy a face from one column of the buffer to another."""
    if old != new:
        copy_faces(faces, old, 1, faces, new)


@kernel
def copy_faces(source, begin, num, target, first):
    """Copy ``num`` faces of a buffer from column ``begin`` on into another one from column ``first`` on.

    Reads source: data, elements, num_vertices, polygons.
    Writes target: data, elements, num_vertices, polygons.
    """
    for row in range(NUM_ROWS):
        for f in range(num):
            target.data[row, first + f] = source.data[row, begin + f]
    for f in range(num):
        to, of = first + f, begin + f
        target.elements[to, 0], target.elements[to, 1] = source.elements[of, 0], source.elements[of, 1]
        target.num_vertices[to] = source.num_vertices[of]
        for i in range(source.num_vertices[of]):
            for axis in range(3):
                target.polygons[to, i, axis] = source.polygons[of, i, axis]


@kernel(inline=True)
def crosses_zero(work, n):
    """Whether the pressure on the polygon in ``work`` has both signs, by more than round-off.

    Writes the pressures at its vertices to the first column of ``work.values``.

    Reads work: cycle, field, points.
    Writes work: values.
    """
    rows, low, high, field = work.cycle[ROWS], 0.0, 0.0, work.field
    for i in range(n):
        row = (rows >> 4 * i) & 15
        x = work.points[row]
        pressure = evaluate(field, x[0], x[1], x[2])
        work.values[row, 0] = pressure
        low, high = min(low, pressure), max(high, pressure)
    return min(-low, high) > ROUND_OFF * max(-low, high)


@kernel(inline=True)
def take_side(work, n, rows, sign, next_row):
    """Reduce the polygon with cycle ``rows`` to where the pressure has a sign, after ``crosses_zero``.

    Uses two rows of the buffers from ``next_row`` on; returns the number of vertices.

    Reads work: points, values.
    Writes work: cycle, points, values.
    """
    for i in range(n):
        row = (rows >> 4 * i) & 15
        work.values[row, 1] = sign * work.values[row, 0]
    n, rows, _, _ = clip_polygon(work.points, work.values, 1, n, rows, 0, next_row)
    work.cycle[ROWS] = rows
    return n


@kernel(inline=True)
def _slope_share(work):
    """Cosine of the angle between the normal of the polygon in ``work`` and the gradient of its pressure.

    Reads work: field, slopes.
    """
    field = work.field
    steepness = math.sqrt(field[0] * field[0] + field[1] * field[1] + field[2] * field[2])
    return min(work.slopes[0], work.slopes[1]) / steepness


@kernel(inline=True)
def _is_flush(work, n):
    """Whether the polygon in ``work`` is nowhere deep.

    Reads work: cycle, field, points.
    """
    rows, highest, field = work.cycle[ROWS], 0.0, work.field
    for i in range(n):
        x = work.points[(rows >> 4 * i) & 15]
        highest = max(highest, evaluate(field, x[0], x[1], x[2]))
    return highest <= FLUSH * math.sqrt(field[0] * field[0] + field[1] * field[1] + field[2] * field[2])


@kernel
def append_polygon(faces, count, n, every, has_margin, is_skin, scratch):
    """Store the polygon in ``scratch.work`` if it is a contact face, or if ``every`` is true.

    Of skins all that presses is stored, for ``sharp_edges.join_at_sharp_edges``, but no upright faces that are flush:
    they press with nothing, and around boxes on each other there are several times as many of them as of others.

    With a margin, polygons that the line of zero pressure crosses are stored in two parts: a law with the pressure at
    their centroids alone would lose the force of the one or the other. In steps upright ones of soft bodies, along
    which the pressure falls, but not across, count as one: under a box that lies flat they come and go with its tilt,
    and a box that slides would rock on them.

    The count goes on when the buffer is full, so that the caller can enlarge it. The force on rejected polygons is
    added to ``scratch.report``.

    Reads scratch.work: cycle.
    Writes scratch.work: cycle.
    """
    across = _slope_share(scratch.work)
    if is_skin and across < UPRIGHT:
        if _is_flush(scratch.work, n):
            return count
        # What does not press of it is left out with the rejected ones.
        scratch.work.cycle[IS_FACE] = 0
    is_parted = has_margin and (every or is_skin or across >= UPRIGHT)
    if not (is_parted and crosses_zero(scratch.work, n)):
        return _append_part(faces, count, n, every, is_skin, scratch)
    rows = scratch.work.cycle[ROWS]
    for side in range(2):
        part = take_side(scratch.work, n, rows, 1.0 - 2.0 * side, MAX_POINTS - 4 + 2 * side)
        if part != 0:
            count = _append_part(faces, count, part, every, is_skin, scratch)
    return count


@kernel(inline=True)
def share_ahead(normal, ahead):
    """Share of a force along ``normal`` that acts along the vector ``ahead``, from 0 to 1; 1 if that is zero."""
    size = math.sqrt(ahead[0] * ahead[0] + ahead[1] * ahead[1] + ahead[2] * ahead[2])
    if size == 0.0:
        return 1.0
    return max(0.0, (normal[0] * ahead[0] + normal[1] * ahead[1] + normal[2] * ahead[2]) / size)


@kernel(inline=True)
def _append_part(faces, count, n, every, is_skin, scratch):
    """Store the polygon in ``scratch.work``; see ``append_polygon``.

    Reads scratch: ahead, report; scratch.work: centroid, cycle, field, normal, points.
    Writes scratch: report; scratch.work: centroid.
    """
    work = scratch.work
    area = polygon_area_centroid(work.points, n, work.cycle[ROWS], work.centroid)
    if not area > 0.0:
        return count
    if work.cycle[IS_FACE] == 0:
        x = work.centroid
        pressure = evaluate(work.field, x[0], x[1], x[2])
        if pressure > 0.0 and is_skin:
            store_face(faces, count, n, area, work)
            return count + 1
        if pressure > 0.0:
            scratch.report[DROPPED_FORCE] += area * pressure * share_ahead(work.normal, scratch.ahead)
        if not every:
            return count
    store_face(faces, count, n, area, work)
    return count + 1


@kernel(inline=True)
def corner_of(faces, f, i):
    """Corner ``i`` of face ``f`` relative to its centroid, m.

    Reads faces: data, polygons.
    """
    data, polygons = faces.data, faces.polygons
    x = polygons[f, i, 0] - data[CENTROID, f]
    y = polygons[f, i, 1] - data[CENTROID + 1, f]
    z = polygons[f, i, 2] - data[CENTROID + 2, f]
    return x, y, z
