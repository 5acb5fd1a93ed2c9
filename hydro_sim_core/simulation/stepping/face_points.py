# mypy: allow-untyped-defs
"""Points at which the pressure of a face acts that is large beside its patch: three with its moments up to the second.

A face that acts at its centroid has the force of its linear pressure, but not the moment, and lets a body turn within
it without resistance. Three points that share its area have both, exactly: their second moments are those of the
polygon. They lie inside of it, so that what presses all over a face presses at each of them. Elsewhere a face acts at
its centre of pressure.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    CENTROID,
    SURE_RISE,
    UPRIGHT,
    axes_across,
    corner_of,
    face_at,
    share_of_rise,
    steepness_of,
)
from hydro_sim_core.simulation.stepping.polygon_points import points_of_polygon
from hydro_sim_core.triples import dot

#: Number of points of a face.
POINTS = 3
#: Cosines of the angle between normal and gradient between which the points of a face move apart along the way on which
#: its pressure falls: of two rigid bodies, and of others. What is below leans.
ACROSS = (0.8, 0.9)
UPRIGHT_TO_SURE = (UPRIGHT, SURE_RISE)
#: Which faces of a pair press with all moments.
NO_FACES, THOSE_OF_COARSE_PATCHES, ALL_FACES = range(3)
#: Shares of a patch's second moment within its faces, in the direction in which it is largest, between which the points
#: move apart. What lies below is left out of what resists a turn within a step, and no moment at its beginning.
FINE, COARSE = 0.05, 0.07
#: Second moments of a face between which its points move apart, as shares of the square of the patch's area, or of that
#: of a square with its least second moment: less is nothing beside the moments of all.
TINY, SMALL = 1e-8, 1e-7


@kernel
def apart_and_area(model, scratch, pair, first, last):
    """How far apart the points of a patch's faces are, as a share of what has the moments of their areas, and its area.

    They are apart where much of the second moment of the whole area lies within the faces in some direction along the
    patch, so that these would give too little moment at their centroids: where they are few, as under a stone that lies
    on one of its facets, or as long as the patch, as on the tread of a wheel. Of rigid pairs, and of two bodies with
    large triangles (boxes, and ends of cylinders, which are fans of wedges), they always are.

    Args:
        model: ``Model``.
        scratch: ``Scratch``.
        pair: Row of the model's pairs.
        first: First face.
        last: The one behind the last.

    Returns:
        The share, from 0 to 1, and the area of what presses, m^2; of a patch that is narrow in some direction no more
        than that of a square with its least second moment.

    Reads model: pair_flat, pair_moments; scratch.faces: data.
    """
    wanted = model.pair_moments[pair]
    if model.pair_flat[pair] == 0.0 or wanted == NO_FACES:
        return (1.0 if wanted == ALL_FACES else 0.0), 0.0
    if first == last:
        return 0.0, 0.0
    if wanted == ALL_FACES:
        area = 0.0
        for f in range(first, last):
            area += _pressing_area(face_at(scratch.faces.data, f))
        return 1.0, area
    area, at_most = _bound_on_share(scratch.faces, first, last)
    if at_most <= FINE:
        return 0.0, area
    share, least = _share_within(scratch.faces, first, last, area)
    return min(max((share - FINE) / (COARSE - FINE), 0.0), 1.0), min(area, math.sqrt(12.0 * least))


@kernel
def _bound_on_share(faces, first, last):
    """Area of what presses, m^2, and a share that ``_share_within`` does not exceed; found in a third of its time.

    The moments of faces add up to no more in any direction than in all together; those between them are in no direction
    less than in the one in which they are least. A convex polygon's moment is at most that of a disc about it.

    Reads faces: data.
    """
    data, within, area = faces.data, 0.0, 0.0
    # Relative to one of them, as the body may be far from its origin.
    x0, y0, z0 = data[CENTROID, first], data[CENTROID + 1, first], data[CENTROID + 2, first]
    x = y = z = xx = yy = zz = xy = yz = zx = 0.0
    n = 0.0, 0.0, 0.0
    for f in range(first, last):
        face = face_at(data, f)
        own, (p, p_h), (q, q_h), c = _pressing_area(face), face.ahead, face.aside, face.centroid
        if own == 0.0:
            continue
        n = _added(n, own, face.normal)
        if p < math.inf:
            within += own * (0.5 * (p * p + p_h * p_h) + (q * q + q_h * q_h) / 1.5)
        else:
            within += 0.5 * own * _farthest(faces, f)
        a, b, c = c[0] - x0, c[1] - y0, c[2] - z0
        area, x, y, z = area + own, x + own * a, y + own * b, z + own * c
        xx, yy, zz = xx + own * a * a, yy + own * b * b, zz + own * c * c
        xy, yz, zx = xy + own * a * b, yz + own * b * c, zx + own * c * a
    size = math.sqrt(dot(n, n))
    if not area > 0.0 or not size > 0.0:
        return area, 0.0
    xx, yy, zz = xx - x * x / area, yy - y * y / area, zz - z * z / area
    xy, yz, zx = xy - x * y / area, yz - y * z / area, zx - z * x / area
    u, v = axes_across((n[0] / size, n[1] / size, n[2] / size))
    of_u = (
        xx * u[0] + xy * u[1] + zx * u[2],
        xy * u[0] + yy * u[1] + yz * u[2],
        zx * u[0] + yz * u[1] + zz * u[2],
    )
    of_v = (
        xx * v[0] + xy * v[1] + zx * v[2],
        xy * v[0] + yy * v[1] + yz * v[2],
        zx * v[0] + yz * v[1] + zz * v[2],
    )
    uu, uv, vv = dot(of_u, u), dot(of_u, v), dot(of_v, v)
    least = 0.5 * (uu + vv - math.sqrt((uu - vv) * (uu - vv) + 4.0 * uv * uv))
    return area, within / (within + max(least, 0.0)) if within > 0.0 else 0.0


@kernel(inline=True)
def _farthest(faces, f):
    """Squared distance of the farthest corner of the polygon of face ``f`` from its centroid, m^2.

    Reads faces: num_vertices.
    """
    most = 0.0
    for i in range(faces.num_vertices[f]):
        corner = corner_of(faces, f, i)
        most = max(most, dot(corner, corner))
    return most


@kernel
def _share_within(faces, first, last, area):
    """Share of a patch's second moment within its faces in the direction along the patch in which it is largest.

    Args:
        faces: ``FaceBuffer``.
        first: First face.
        last: The one behind the last.
        area: Of what presses, m^2.

    Returns:
        The share, and the second moment in the direction in which that is least, m^4.

    Reads faces: data.
    """
    data, x, n = faces.data, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for f in range(first, last):
        face = face_at(data, f)
        own = _pressing_area(face)
        x = _added(x, own / area, face.centroid)
        n = _added(n, own, face.normal)
    size = math.sqrt(dot(n, n))
    if not size > 0.0:
        return 0.0, 0.0
    u, v = axes_across((n[0] / size, n[1] / size, n[2] / size))
    uu = uv = vv = all_uu = all_uv = all_vv = 0.0
    for f in range(first, last):
        face = face_at(data, f)
        own = _pressing_area(face)
        if own == 0.0:
            continue
        p, q = points_of(faces, f, face)
        p_u, p_v, q_u, q_v = dot(p, u), dot(p, v), dot(q, u), dot(q, v)
        uu += own * (0.5 * p_u * p_u + q_u * q_u / 1.5)
        uv += own * (0.5 * p_u * p_v + q_u * q_v / 1.5)
        vv += own * (0.5 * p_v * p_v + q_v * q_v / 1.5)
        way = _added((-x[0], -x[1], -x[2]), 1.0, face.centroid)
        a, b = dot(way, u), dot(way, v)
        all_uu, all_uv, all_vv = all_uu + own * a * a, all_uv + own * a * b, all_vv + own * b * b
    all_uu, all_uv, all_vv = all_uu + uu, all_uv + uv, all_vv + vv
    # The larger root of det(within - share * all) = 0.
    whole, mixed = all_uu * all_vv - all_uv * all_uv, uu * all_vv + vv * all_uu - 2.0 * uv * all_uv
    if not whole > 0.0:
        return 1.0, 0.0
    root = math.sqrt(max(mixed * mixed - 4.0 * whole * (uu * vv - uv * uv), 0.0))
    most = 0.5 * (all_uu + all_vv + math.sqrt((all_uu - all_vv) * (all_uu - all_vv) + 4.0 * all_uv * all_uv))
    # The product of both is known more precisely than their difference.
    return (mixed + root) / (2.0 * whole), whole / most


@kernel(inline=True)
def _added(x, share, y):
    """A vector and a share of another."""
    return x[0] + share * y[0], x[1] + share * y[1], x[2] + share * y[2]


@kernel(inline=True)
def _pressing_area(face):
    """Area of a face, m^2, as far as it presses: one in the margin has one point anyway.

    Reads face: area, pressure.
    """
    return face.area * share_of_rise(face) if face.pressure > 0.0 else 0.0


@kernel
def points_a_face(model):
    """Most points that a face may have.

    Reads model: pair_moments.
    """
    for pair in range(model.pair_moments.shape[0]):
        if model.pair_moments[pair] != NO_FACES:
            return POINTS
    return 1


@kernel(inline=True)
def set_points(faces, f, face, is_rigid, apart, area, points):
    """Write the points of face f, relative to its centroid, and tell their number; each has the same share of the area.

    Those of a face that leans, as the sides of an edge that stands on a flat do, are on a line: the pressure falls
    across it to nothing, and parts of it would press and let go. As a face turns to lean, the three move together, so
    that no moment jumps. One point, the centroid, is that of a face in the margin, and of one with pressure of both
    signs: where part of it begins to press within the step, the rest may never.

    Args:
        faces: ``FaceBuffer``.
        f: Face.
        face: The same, read.
        is_rigid: Whether it is between two rigid bodies.
        apart: Of its patch, see ``apart_and_area``.
        area: Of its patch, m^2; 0 if faces of any size have three points.
        points: (POINTS, 3) the result, m.

    Reads face: pressure.
    """
    points[0, 0] = points[0, 1] = points[0, 2] = 0.0
    if apart == 0.0 or (not is_rigid and face.pressure <= 0.0):
        return 1
    return _move_apart(faces, f, face, is_rigid, apart, area, points)


@kernel
def _move_apart(faces, f, face, is_rigid, apart, area, points):
    """The same of a face that may have points apart; ``points`` begin at the centroid.

    Reads face: area.
    """
    ahead, aside = points_of(faces, f, face)
    held = _apart(face, ACROSS if is_rigid else UPRIGHT_TO_SURE)
    if held < 1.0:
        ahead, aside = _together(face, ahead, aside, held)
    moment, whole = face.area * (0.5 * dot(ahead, ahead) + dot(aside, aside) / 1.5), area * area
    if not moment > (0.0 if is_rigid else TINY * whole):
        return 1
    if not is_rigid and moment < SMALL * whole:
        apart *= (moment - TINY * whole) / ((SMALL - TINY) * whole)
    for axis in range(3):
        p, q = apart * ahead[axis], apart * aside[axis]
        points[0, axis] = p
        points[1, axis] = q - 0.5 * p
        points[2, axis] = -q - 0.5 * p
    return POINTS if _have_one_sign(face, points) else 1


@kernel(inline=True)
def way_to_pressure(faces, f, face, num, points):
    """Way (3) from the centroid of face ``f`` to where its force has the moment that its points lack, m.

    Of one point that is the way to the centre of pressure. So the moment of a step's beginning is exact in fine
    patches, too; what these leave out is how it changes as the bodies turn in the step.

    Args:
        faces: ``FaceBuffer``.
        f: Face; one without pressure has none.
        face: The same, read.
        num: Number of its points.
        points: (POINTS, 3) points relative to the centroid, m.

    Reads face: ahead, aside, gradient, normal, pressure.
    """
    pressure, g, (p, p_h), (q, q_h) = face.pressure, face.gradient, face.ahead, face.aside
    if not pressure > 0.0:
        return 0.0, 0.0, 0.0
    if p < math.inf:
        e, h = axes_across(face.normal)
        g_e, g_h = dot(g, e), dot(g, h)
        a, b = _shares_of_pressure(pressure, g_e * p + g_h * p_h, g_e * q + g_h * q_h)
        u, v = a * p + b * q, a * p_h + b * q_h
        x, y, z = u * e[0] + v * h[0], u * e[1] + v * h[1], u * e[2] + v * h[2]
    else:
        ahead, aside = points_of_polygon(faces, f)
        a, b = _shares_of_pressure(pressure, dot(g, ahead), dot(g, aside))
        x, y, z = (
            a * ahead[0] + b * aside[0],
            a * ahead[1] + b * aside[1],
            a * ahead[2] + b * aside[2],
        )
    if num > 1:
        for j in range(num):
            share = dot(g, points[j]) / (num * pressure)
            x, y, z = x - share * points[j, 0], y - share * points[j, 1], z - share * points[j, 2]
    return x, y, z


@kernel(inline=True)
def _shares_of_pressure(pressure, of_p, of_q):
    """Components along p and q of the mean of three points with all moments, by the pressures that they have.

    Where one has none, part of the face presses with less than nothing.
    """
    first = max(pressure + of_p, 0.0)
    second, third = max(pressure + of_q - 0.5 * of_p, 0.0), max(pressure - of_q - 0.5 * of_p, 0.0)
    whole = first + second + third
    return (first - 0.5 * (second + third)) / whole, (second - third) / whole


@kernel
def points_of(faces, f, face):
    """Vectors p and q (3) of the points of face ``f``, which has been read, see ``FaceBuffer``.

    Reads face: ahead.
    """
    return _kept_points_of(face) if face.ahead[0] < math.inf else points_of_polygon(faces, f)


@kernel(inline=True)
def _kept_points_of(face):
    """Those of a face found in lanes, or of what a third body has left of one.

    Reads face: ahead, aside, normal.
    """
    (e, h), (p, p_h), (q, q_h) = axes_across(face.normal), face.ahead, face.aside
    return (
        (p * e[0] + p_h * h[0], p * e[1] + p_h * h[1], p * e[2] + p_h * h[2]),
        (q * e[0] + q_h * h[0], q * e[1] + q_h * h[1], q * e[2] + q_h * h[2]),
    )


@kernel(inline=True)
def _apart(face, cosines):
    """How far the points of a face are from its centroid, as a share of what has the moments of its area.

    It rises from 0 to 1 as the cosine of the angle between normal and gradient does between two ``cosines``.

    Reads face: gradient, normal.
    """
    across, steepness, (none, whole) = dot(face.normal, face.gradient), steepness_of(face), cosines
    if abs(across) >= whole * steepness:
        return 1.0
    return max(0.0, (abs(across) / steepness - none) / (whole - none))


@kernel(inline=True)
def _together(face, ahead, aside, held):
    """Vectors p and q of a face, of which a share ``held`` is left along the way on which its pressure falls.

    All points of the face's ellipse go along its chords through their middles, those on which a chord along a level
    of pressure is halved. So they stay on the ellipse's inside, and in the face.

    Reads face: gradient, normal.
    """
    n, g = face.normal, face.gradient
    rise = dot(n, g)
    t = g[0] - rise * n[0], g[1] - rise * n[1], g[2] - rise * n[2]
    of_p, of_q = dot(t, ahead), dot(t, aside)
    moment = 0.5 * of_p * of_p + of_q * of_q / 1.5
    if not moment > 0.0:
        return ahead, aside
    # Second moments of the three points are p p^T / 2 + 2 q q^T / 3, and this is them times t.
    a, b = 0.5 * of_p, of_q / 1.5
    x, y, z = a * ahead[0] + b * aside[0], a * ahead[1] + b * aside[1], a * ahead[2] + b * aside[2]
    p, q = (1.0 - held) / moment * of_p, (1.0 - held) / moment * of_q
    return (
        (ahead[0] - p * x, ahead[1] - p * y, ahead[2] - p * z),
        (aside[0] - q * x, aside[1] - q * y, aside[2] - q * z),
    )


@kernel
def _have_one_sign(face, points):
    """Whether the pressure has the same sign at all points of a face.

    Reads face: pressure.
    """
    for i in range(POINTS):
        if (pressure_at(face, points[i]) > 0.0) != (face.pressure > 0.0):
            return False
    return True


@kernel(inline=True)
def pressure_at(face, x):
    """Pressure of a face at a point relative to its centroid, Pa.

    Reads face: gradient, pressure.
    """
    return face.pressure + dot(face.gradient, x)
