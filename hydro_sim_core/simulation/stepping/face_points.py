# mypy: allow-untyped-defs
"""Points at which the pressure of a face acts that is large beside its patch: three with its moments up to the second.

A face that acts at its centroid has the force of its linear pressure, but not the moment, and lets a body turn within
it without resistance. Three points that share its area have both, exactly: their second moments are those of the
polygon. They lie inside of it, so that what presses all over a face presses at each of them.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SPREAD,
    SURE_RISE,
    UPRIGHT,
    axes_across,
    corner_of,
    share_of_rise,
    steepness_of,
)

#: Number of points of a face.
POINTS = 3
#: Cosines of the angle between normal and gradient between which the points of a face move from its centroid to where
#: they have the moments of its area: of two rigid bodies, and of others. What is below leans.
ACROSS = (0.8, 0.9)
UPRIGHT_TO_SURE = (UPRIGHT, SURE_RISE)
#: Share of a patch's second moment within its faces, in the direction in which it is largest, between which the points
#: move apart: what lies below is an error that is left.
FINE, COARSE = 0.03, 0.06
#: The same for round bodies, as shares of areas: of twelve equal faces, and of six.
MANY, FEW = 1.0 / 12.0, 1.0 / 6.0
#: Second moments between which they do, as shares of the square of the patch's area: less is nothing beside all.
TINY, SMALL = 1e-8, 1e-7
#: Distance between the centroid of a polygon and where the pressure acts, as a share of its size, that is no round-off.
CUT = 1e-6


@kernel
def apart_and_area(model, scratch, pair, first, last):
    """How far apart the points of a patch's faces are, as a share of what has the moments of their areas, and its area.

    They are apart where much of the second moment of the whole area lies within the faces, so that these would give too
    little moment at their centroids. Of rigid pairs, and of two sides with large triangles (``pair_face_size`` is
    infinite), they always are: boxes, and ends of cylinders, which are fans of wedges. On finer flats, such as terrain
    under a small box, the patch decides. A face is no longer than the triangles that it is cut from, and in a fine mesh
    much shorter: about as slender as these are. On round bodies (``pair_face_size`` is zero) faces count as round as
    their patch: where few of them carry, as under a stone that lies on one of its facets, they are apart.

    Args:
        model: ``Model``.
        scratch: ``Scratch``.
        pair: Row of the model's pairs.
        first: First face.
        last: The one behind the last.

    Returns:
        The share, from 0 to 1, and the area of what presses, m^2.

    Reads model: pair_face_size, pair_flat; scratch.faces: data.
    """
    spread, slenderness = model.pair_face_size[pair, 0], model.pair_face_size[pair, 1]
    if model.pair_flat[pair] == 0.0 or slenderness == 0.0:
        return (1.0 if spread > 0.0 else 0.0), 0.0
    data, area, squares = scratch.faces.data, 0.0, 0.0
    for f in range(first, last):
        own = _pressing_area(data, f)
        area += own
        squares += own * own
    if spread == math.inf:
        return 1.0, area
    if not area > 0.0:
        return 0.0, 0.0
    if spread == 0.0:
        return _rise(squares / (area * area), MANY, FEW), area
    return _rise(_share_within(data, first, last, area, spread, slenderness), FINE, COARSE), area


@kernel(inline=True)
def _rise(share, none, whole):
    return min(max((share - none) / (whole - none), 0.0), 1.0)


@kernel
def _share_within(data, first, last, area, spread, slenderness):
    """Share of a patch's second moment within its faces, at most, in the direction in which it is largest.

    Args:
        data: Rows of the faces.
        first: First face.
        last: The one behind the last.
        area: Of what presses, m^2.
        spread: Largest of a face, m^2.
        slenderness: Of the faces on the average, see ``TriangleSizes``.
    """
    within = x = y = z = 0.0
    for f in range(first, last):
        own = _pressing_area(data, f)
        within += own * min(spread, slenderness * own)
        x += own * data[CENTROID, f]
        y += own * data[CENTROID + 1, f]
        z += own * data[CENTROID + 2, f]
    x, y, z = x / area, y / area, z / area
    xx = yy = zz = xy = yz = zx = 0.0
    for f in range(first, last):
        own = _pressing_area(data, f)
        a, b, c = data[CENTROID, f] - x, data[CENTROID + 1, f] - y, data[CENTROID + 2, f] - z
        xx, yy, zz = xx + own * a * a, yy + own * b * b, zz + own * c * c
        xy, yz, zx = xy + own * a * b, yz + own * b * c, zx + own * c * a
    # A patch is nearly flat: the sum of the minors is the product of its two moments.
    trace, minors = xx + yy + zz, xx * yy + yy * zz + zz * xx - xy * xy - yz * yz - zx * zx
    larger = 0.5 * (trace + math.sqrt(max(trace * trace - 4.0 * minors, 0.0)))
    between = max(minors, 0.0) / larger if larger > 0.0 else 0.0
    return 0.5 * within / (0.5 * within + between)


@kernel(inline=True)
def _pressing_area(data, f):
    """Area of face ``f``, m^2, as far as it presses: one in the margin has one point anyway."""
    return data[AREA, f] * share_of_rise(data, f) if data[PRESSURE, f] > 0.0 else 0.0


@kernel
def set_points(faces, f, is_rigid, apart, area, points):
    """Write the points of face f, relative to its centroid, and tell their number; each has the same share of the area.

    One point, the centroid, is that of a face that leans, as the sides of an edge that stands on a flat do: the
    pressure falls along it to nothing, and parts of it would press and let go. As a face turns to lean, the three move
    together, so that no moment jumps. One point is that, too, of a face in the margin, and of one with pressure of both
    signs: where part of it begins to press within the step, the rest may never. So is that of a face of which a third
    body has cut something: its polygon is not what presses.

    Args:
        faces: ``FaceBuffer``.
        f: Face.
        is_rigid: Whether it is between two rigid bodies.
        apart: Of its patch, see ``apart_and_area``.
        area: Of its patch, m^2; 0 if faces of any size have three points.
        points: (POINTS, 3) the result, m.

    Reads faces: data.
    """
    points[0, 0] = points[0, 1] = points[0, 2] = 0.0
    if not is_rigid and faces.data[PRESSURE, f] <= 0.0:
        return 1
    apart *= _apart(faces.data, f, ACROSS if is_rigid else UPRIGHT_TO_SURE)
    if apart == 0.0:
        return 1
    e, h, (along, mixed, aside) = _axes_and_moments(faces, f)
    if not is_rigid:
        moment, whole = faces.data[AREA, f] * (along + aside), area * area
        if moment <= TINY * whole:
            return 1
        if moment < SMALL * whole:
            apart *= (moment - TINY * whole) / ((SMALL - TINY) * whole)
    rest = along * aside - mixed * mixed
    if not aside > 0.0 or not rest > 0.0:
        return 1
    first, second, third = (
        apart * math.sqrt(2.0 * rest / aside),
        apart * math.sqrt(1.5 / aside) * mixed,
        apart * math.sqrt(1.5 * aside),
    )
    for axis in range(3):
        ahead, side = first * e[axis], second * e[axis] + third * h[axis]
        points[0, axis] = ahead
        points[1, axis] = side - 0.5 * ahead
        points[2, axis] = -side - 0.5 * ahead
    return POINTS if _have_one_sign(faces.data, f, points) else 1


@kernel(inline=True)
def _axes_and_moments(faces, f):
    """Two axes along face f, and the second moments of its polygon about its centroid as shares of its area, m^2.

    They are zeros where the face presses beside the centroid of its polygon, or has no area. The first axis points to
    the polygon's first vertex: in a triangle the three points lie halfway to its vertices, which is best for friction.
    A face found in lanes has moments in place of a polygon, along axes across its normal.

    Reads faces: data, num_vertices.
    """
    data, n = faces.data, faces.num_vertices[f]
    if n == 0:
        e, h = axes_across((data[NORMAL, f], data[NORMAL + 1, f], data[NORMAL + 2, f]))
        return e, h, (data[SPREAD, f], data[SPREAD + 1, f], data[SPREAD + 2, f])
    corner, normal = corner_of(faces, f, 0), _normal(faces, f, n)
    size, double_area = math.sqrt(_dot(corner, corner)), math.sqrt(_dot(normal, normal))
    if not size * double_area > 0.0:
        return normal, normal, (0.0, 0.0, 0.0)
    e = corner[0] / size, corner[1] / size, corner[2] / size
    h = _cross((normal[0] / double_area, normal[1] / double_area, normal[2] / double_area), e)
    along, mixed, aside, off = _moments(faces, f, n, e, h)
    if off > CUT * size:
        return e, h, (0.0, 0.0, 0.0)
    return e, h, (along, mixed, aside)


@kernel(inline=True)
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(inline=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _normal(faces, f, n):
    """Normal (3) of the polygon of face ``f``, twice as long as its area; the face itself may push elsewhere."""
    x = y = z = 0.0
    b = corner_of(faces, f, n - 1)
    for i in range(n):
        a, b = b, corner_of(faces, f, i)
        c = _cross(a, b)
        x, y, z = x + c[0], y + c[1], z + c[2]
    return x, y, z


@kernel
def _moments(faces, f, n, e, h):
    """Second moments of the polygon of face ``f`` as shares of its area, m^2: along e, of both, along h.

    Returns:
        The three, and how far its centroid is from where the face presses, m.
    """
    area = first_e = first_h = along = mixed = aside = 0.0
    b = corner_of(faces, f, n - 1)
    b_e, b_h = _dot(b, e), _dot(b, h)
    for i in range(n):
        a_e, a_h, b = b_e, b_h, corner_of(faces, f, i)
        b_e, b_h = _dot(b, e), _dot(b, h)
        # A triangle of the centroid and two corners.
        double = a_e * b_h - a_h * b_e
        s_e, s_h = a_e + b_e, a_h + b_h
        area += double
        first_e, first_h = first_e + double * s_e, first_h + double * s_h
        along += double * (a_e * a_e + b_e * b_e + s_e * s_e)
        mixed += double * (a_e * a_h + b_e * b_h + s_e * s_h)
        aside += double * (a_h * a_h + b_h * b_h + s_h * s_h)
    share = 1.0 / (12.0 * area)
    off = max(abs(first_e), abs(first_h)) / (3.0 * abs(area))
    return share * along, share * mixed, share * aside, off


@kernel(inline=True)
def _apart(data, f, cosines):
    """How far the points of face ``f`` are from its centroid, as a share of what has the moments of its area.

    It rises from 0 to 1 as the cosine of the angle between normal and gradient does between two ``cosines``.
    """
    across = data[NORMAL, f] * data[GRADIENT, f]
    across += data[NORMAL + 1, f] * data[GRADIENT + 1, f]
    across += data[NORMAL + 2, f] * data[GRADIENT + 2, f]
    steepness, (none, whole) = steepness_of(data, f), cosines
    if abs(across) >= whole * steepness:
        return 1.0
    return max(0.0, (abs(across) / steepness - none) / (whole - none))


@kernel
def _have_one_sign(data, f, points):
    """Whether the pressure has the same sign at all points of face ``f``."""
    pressure = data[PRESSURE, f]
    for i in range(POINTS):
        if (pressure_at(data, f, points[i]) > 0.0) != (pressure > 0.0):
            return False
    return True


@kernel(inline=True)
def pressure_at(data, f, x):
    """Pressure of face ``f`` at a point relative to its centroid, Pa."""
    rise = data[GRADIENT, f] * x[0] + data[GRADIENT + 1, f] * x[1] + data[GRADIENT + 2, f] * x[2]
    return data[PRESSURE, f] + rise
