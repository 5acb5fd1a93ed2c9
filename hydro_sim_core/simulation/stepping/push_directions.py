# mypy: allow-untyped-defs
"""Directions in which the faces of two rigid bodies push each other.

Faces of a soft body push along their normals, each with a friction cone of its own. Between two rigid bodies that would
give an edge on a table the friction of the two sides that meet in it: 1.4 times that of the weight. What is known of
such a contact besides the normals is the gradient of the skin's pressure, and, where all that touches is a point, the
direction of the whole force.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    SLOPE_B,
    face_at,
    steepness_of,
)
from hydro_sim_core.simulation.stepping.collision import MIN_SLOPE

#: Extent of the faces that press below which they are one point, as a share of half the smallest extent of the bodies.
POINT_SHARE = 1e-2
#: A force below has no direction, N.
TINY = 1e-300
#: Excess of the squared agreement of gradients over that of normals that is no round-off.
SURELY = 1e-9
#: How the faces of a patch push that do not press yet, and those that do.
ALONG_NORMALS, ALONG_GRADIENTS, ALONG_MEAN = range(3)


@kernel
def choose_directions(model, scratch, p):
    """Choose how the faces of patch p push.

    Of normals and gradients those count that agree better over the patch: an edge of a box on the skin of a table has
    two normals and one gradient, a table on the skin of an edge one normal and two gradients. Where the faces that
    press are one point, as where two edges cross, neither need agree, and these push along their sum.

    Returns:
        How faces push that do not press yet, and those that do.

    Reads model: pair_flat, pair_thickness; scratch: mean_push; scratch.faces: data; scratch.patches: first_face, pair.
    Writes scratch: mean_push.
    """
    pair = scratch.patches.pair[p]
    if model.pair_flat[pair] != 0.0:
        return ALONG_NORMALS, ALONG_NORMALS
    first, last = scratch.patches.first_face[p], scratch.patches.first_face[p + 1]
    way = ALONG_GRADIENTS if _gradients_agree_better(scratch.faces.data, first, last) else ALONG_NORMALS
    is_point = _is_point(scratch.faces, first, last, POINT_SHARE * model.pair_thickness[pair])
    if is_point and _set_mean_push(scratch.faces.data, first, last, scratch.mean_push):
        return way, ALONG_MEAN
    return way, way


@kernel
def _gradients_agree_better(data, first, last):
    """Whether the directions of the gradients add up to a larger share than those of the normals."""
    areas, across = 0.0, 0.0
    n0 = n1 = n2 = g0 = g1 = g2 = 0.0
    for f in range(first, last):
        face = face_at(data, f)
        slope, steepness = min(face.slope_a, face.slope_b), steepness_of(face)
        if not slope > MIN_SLOPE:
            continue
        area, n, g = face.area, face.normal, face.gradient
        share = area * slope / (steepness * steepness)
        areas += area
        across += share * steepness
        n0, n1, n2 = n0 + area * n[0], n1 + area * n[1], n2 + area * n[2]
        g0, g1, g2 = g0 + share * g[0], g1 + share * g[1], g2 + share * g[2]
    gradients = (g0 * g0 + g1 * g1 + g2 * g2) * areas * areas
    normals = (n0 * n0 + n1 * n1 + n2 * n2) * across * across
    return gradients > (1.0 + SURELY) * normals


@kernel
def _is_point(faces, first, last, extent):
    """Whether all faces with pressure lie within ``extent`` of the first of them along every axis.

    Reads faces: data, num_vertices, polygons.
    """
    x = y = z = math.nan
    for f in range(first, last):
        if not faces.data[PRESSURE, f] > 0.0:
            continue
        for i in range(faces.num_vertices[f]):
            vertex = faces.polygons[f, i]
            if math.isnan(x):
                x, y, z = vertex[0], vertex[1], vertex[2]
            if max(abs(vertex[0] - x), abs(vertex[1] - y), abs(vertex[2] - z)) > extent:
                return False
    return not math.isnan(x)


@kernel
def _set_mean_push(data, first, last, mean):
    """Write the direction (3,) of the sum of the faces' forces, and tell whether there is one."""
    mean[:] = 0.0
    for f in range(first, last):
        if data[PRESSURE, f] > 0.0 and min(data[SLOPE_A, f], data[SLOPE_B, f]) > MIN_SLOPE:
            for i in range(3):
                mean[i] += data[AREA, f] * data[PRESSURE, f] * data[NORMAL + i, f]
    size = math.sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2])
    for i in range(3):
        mean[i] /= max(size, TINY)
    return size > TINY


@kernel
def combined_slope(slope_a, slope_b):
    """Decrease of a face's pressure per unit of separation, g_A g_B / (g_A + g_B), Pa/m; infinite for rigid sides.

    Past a medial surface the pressure decreases with depth, and would grow as bodies separate. There the absolute value
    of the slope is used, so that a step cannot push bodies farther apart than their depth.
    """
    return 1.0 / (1.0 / max(abs(slope_a), MIN_SLOPE) + 1.0 / max(abs(slope_b), MIN_SLOPE))


@kernel
def set_push(face, ways, mean, push):
    """Write the direction (3,) in which a face pushes, out of A into B.

    Args:
        face: ``Face``.
        ways: What ``choose_directions`` tells of its patch.
        mean: (3,) mean direction of the patch.
        push: (3,) the result.

    Returns:
        Its area across that direction, m^2, and the fall of its pressure along it, Pa/m.

    Reads face: area, gradient, normal, pressure, slope_a, slope_b.
    """
    way = ways[1] if face.pressure > 0.0 else ways[0]
    slope_a, slope_b, n, g = face.slope_a, face.slope_b, face.normal, face.gradient
    if way == ALONG_NORMALS or min(slope_a, slope_b) <= MIN_SLOPE:
        push[0], push[1], push[2] = n
        return face.area, combined_slope(slope_a, slope_b)
    steepness, along_normal, along_gradient = steepness_of(face), 0.0, 0.0
    for i in range(3):
        push[i] = mean[i] if way == ALONG_MEAN else g[i] / steepness
        along_normal += push[i] * n[i]
        along_gradient += push[i] * g[i]
    if way == ALONG_GRADIENTS and along_normal < 0.0:
        # The field of B rises towards B's inside, against the normal.
        along_normal = -along_normal
        for i in range(3):
            push[i] = -push[i]
    return face.area * max(along_normal, 0.0), abs(along_gradient)
