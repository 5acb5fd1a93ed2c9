# mypy: allow-untyped-defs
"""Three points with the second moments of a polygon, at which the pressure of a face acts (``face_points``)."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import AHEAD, ASIDE, corner_of
from hydro_sim_core.triples import cross, dot

#: Distance between the centroid of a polygon and where the pressure acts, as a share of its size, that is no round-off.
_CUT = 1e-6


@kernel(inline=True)
def points_of_polygon(faces, f):
    """Those of a face with a polygon; zeros where it presses beside the polygon's centroid, or has no area.

    The first points to the polygon's first vertex. In a triangle all lie halfway to its vertices.

    Reads faces: num_vertices.
    """
    nowhere, n = (0.0, 0.0, 0.0), faces.num_vertices[f]
    corner, normal = corner_of(faces, f, 0), _normal(faces, f, n)
    size, double_area = math.sqrt(dot(corner, corner)), math.sqrt(dot(normal, normal))
    if not size * double_area > 0.0:
        return nowhere, nowhere
    e = corner[0] / size, corner[1] / size, corner[2] / size
    h = cross((normal[0] / double_area, normal[1] / double_area, normal[2] / double_area), e)
    along, mixed, aside, off = _moments(faces, f, n, e, h)
    if off > _CUT * size:
        return nowhere, nowhere
    first, second, third = _of_moments(along, mixed, aside)
    return (
        (first * e[0], first * e[1], first * e[2]),
        (second * e[0] + third * h[0], second * e[1] + third * h[1], second * e[2] + third * h[2]),
    )


@kernel
def _moments(faces, f, n, e, h):
    """Second moments of the polygon of face ``f`` as shares of its area, m^2: along e, of both, along h.

    Returns:
        The three, and how far its centroid is from where the face presses, m.
    """
    area = first_e = first_h = along = mixed = aside = 0.0
    b = corner_of(faces, f, n - 1)
    b_e, b_h = dot(b, e), dot(b, h)
    for i in range(n):
        a_e, a_h, b = b_e, b_h, corner_of(faces, f, i)
        b_e, b_h = dot(b, e), dot(b, h)
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


@kernel
def _normal(faces, f, n):
    """Normal (3) of the polygon of face ``f``, twice as long as its area; the face itself may push elsewhere."""
    x = y = z = 0.0
    b = corner_of(faces, f, n - 1)
    for i in range(n):
        a, b = b, corner_of(faces, f, i)
        c = cross(a, b)
        x, y, z = x + c[0], y + c[1], z + c[2]
    return x, y, z


@kernel(inline=True)
def _of_moments(along, mixed, aside):
    """Length of p, which lies along the first axis, and components of q; zeros of what has no extent."""
    rest = along * aside - mixed * mixed
    if not aside > 0.0 or not rest > 0.0:
        return 0.0, 0.0, 0.0
    return math.sqrt(2.0 * rest / aside), math.sqrt(1.5 / aside) * mixed, math.sqrt(1.5 * aside)


@kernel(inline=True)
def keep_points(data, f, along, mixed, aside):
    """Keep points of face ``f`` with these second moments as shares of its area, m^2, in the axes of ``axes_across``.

    Writes nothing but rows of the face.
    """
    first, second, third = _of_moments(along, mixed, aside)
    data[AHEAD, f], data[AHEAD + 1, f] = first, 0.0
    data[ASIDE, f], data[ASIDE + 1, f] = second, third
