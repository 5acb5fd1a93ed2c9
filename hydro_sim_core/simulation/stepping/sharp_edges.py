# mypy: allow-untyped-defs
"""Faces of two rigid bodies at sharp edges and tips that lean, or cross.

Of a tip in a skin, sharper than the angle by which it leans, one side faces away from what it stands on: the pressure
stays or falls along its normal. Where two edges cross each side of the one has parts in the fields of both sides of the
other, and if the edges are sharper than right angles it falls along the normals of some. Such a *leaning* face alone is
no contact, but its force belongs to that of the tip: what all faces press with is the slope of the energy. With a part
left out bodies slide into each other in a direction that nothing holds, and come out of it with what that stored.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    SLOPE_B,
    UPRIGHT,
    face_at,
    move_face,
    steepness_of,
)

#: Share of the force of faces beside which that of leaning ones counts: sides of boxes have less.
LEAST_SHARE = 0.01


@kernel
def join_at_sharp_edges(faces, first, last, box, mean):
    """Let leaning faces, and those that touch them, push along their common force.

    They are left as they are where that force would fall as the bodies come closer, as in deep contact.

    Args:
        faces: ``FaceBuffer``.
        first: First face of a patch of two rigid bodies.
        last: One past its last.
        box: (6,) scratch.
        mean: (5,) scratch: see ``_set_mean``.

    Returns:
        One past the last face that is left: what pushes against the common force is taken off the others.

    Reads faces: data.
    """
    data, f = faces.data, first
    while f < last:
        if _leans(data, f, -math.inf, -UPRIGHT):
            _set_box(faces, first, last, f, box)
            share = _set_mean(faces, first, last, box, mean)
            if share > 0.0:
                last = _turn(faces, first, last, box, mean, share)
                f = first
                continue
        f += 1
    kept = first
    for f in range(first, last):
        # Alone they would push with all of their force until the bodies are far apart.
        if not _leans(data, f, -UPRIGHT, UPRIGHT):
            move_face(faces, f, kept)
            kept += 1
    return kept


@kernel
def _leans(data, f, least, most):
    """Whether a face presses whose pressure rises along its normal by a share of its gradient between two bounds."""
    face = face_at(data, f)
    if not face.pressure > 0.0:
        return False
    across = min(face.slope_a, face.slope_b) / steepness_of(face)
    return least < across < most


@kernel
def _touches(faces, f, box):
    """Whether the bounds of a face meet a box (6,), lower then upper corner.

    Reads faces: num_vertices, polygons.
    """
    for axis in range(3):
        low, high = math.inf, -math.inf
        for i in range(faces.num_vertices[f]):
            x = faces.polygons[f, i, axis]
            low, high = min(low, x), max(high, x)
        if low > box[axis + 3] or high < box[axis]:
            return False
    return True


@kernel
def _set_box(faces, first, last, seed, box):
    """Write the bounds of a leaning face and of those that touch it, directly or by others.

    Reads faces: data, polygons.
    """
    for axis in range(3):
        box[axis] = box[axis + 3] = faces.polygons[seed, 0, axis]
    _extend(faces, seed, box)
    grows = True
    while grows:
        grows = False
        for f in range(first, last):
            if _leans(faces.data, f, -math.inf, UPRIGHT) and _touches(faces, f, box):
                grows = _extend(faces, f, box) or grows


@kernel
def _extend(faces, f, box):
    """Extend a box to a face, and tell whether it was smaller.

    Reads faces: num_vertices, polygons.
    """
    grown = False
    for i in range(faces.num_vertices[f]):
        for axis in range(3):
            x = faces.polygons[f, i, axis]
            grown = grown or x < box[axis] or x > box[axis + 3]
            box[axis], box[axis + 3] = min(box[axis], x), max(box[axis + 3], x)
    return grown


@kernel
def _set_mean(faces, first, last, box, mean):
    """Write the direction of the force on faces in a box, its share of what acts along it, and a mean slope, Pa/m.

    Returns:
        Its share of what acts along it; 0 where leaning faces add little, or it falls as the bodies come closer.

    Reads faces: data.
    """
    data, leaning, whole = faces.data, 0.0, 0.0
    mean[:] = 0.0
    for f in range(first, last):
        if data[PRESSURE, f] > 0.0 and _touches(faces, f, box):
            force = data[AREA, f] * data[PRESSURE, f]
            whole += force
            leaning += force if _leans(data, f, -math.inf, UPRIGHT) else 0.0
            for i in range(3):
                mean[i] += force * data[NORMAL + i, f]
    if not leaning > LEAST_SHARE * whole:
        return 0.0
    size = math.sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2])
    if not size > 0.0:
        return 0.0
    for i in range(3):
        mean[i] /= size
    area, ahead, stiffness = 0.0, 0.0, 0.0
    for f in range(first, last):
        if data[PRESSURE, f] > 0.0 and _touches(faces, f, box):
            along_normal, along_gradient = _along(data, f, mean)
            area += data[AREA, f] * max(along_normal, 0.0)
            ahead += data[AREA, f] * data[PRESSURE, f] * max(along_normal, 0.0)
            stiffness += data[AREA, f] * along_normal * along_gradient
    if not stiffness > 0.0:
        return 0.0
    mean[3], mean[4] = size / ahead, stiffness / area
    return mean[3]


@kernel
def _along(data, f, mean):
    """Components along ``mean`` of a face's normal, and of its gradient turned to rise from A into B."""
    along_normal, along_gradient = 0.0, 0.0
    for i in range(3):
        along_normal += mean[i] * data[NORMAL + i, f]
        along_gradient += mean[i] * data[GRADIENT + i, f]
    return along_normal, along_gradient if math.isinf(data[SLOPE_A, f]) else -along_gradient


@kernel
def _turn(faces, first, last, box, mean, share):
    """Turn the faces in a box to the direction of their common force; return one past the last that is left.

    Those in the margin are turned, too: they may press before the step ends.

    Reads faces: data.
    Writes faces: data.
    """
    data, kept = faces.data, first
    for f in range(first, last):
        if _touches(faces, f, box):
            along_normal, along_gradient = _along(data, f, mean)
            if along_normal <= 0.0:
                continue
            data[AREA, f] *= share * along_normal
            for i in range(3):
                data[NORMAL + i, f] = mean[i]
            skin = SLOPE_B if math.isinf(data[SLOPE_A, f]) else SLOPE_A
            # Upright parts, too, end to press where the others do; and no face leans twice.
            least = 2.0 * UPRIGHT * steepness_of(face_at(data, f))
            data[skin, f] = max(abs(along_gradient), mean[4], least)
        move_face(faces, f, kept)
        kept += 1
    return kept
