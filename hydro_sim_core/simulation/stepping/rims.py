# mypy: allow-untyped-defs
"""Rims of soft pads: upright faces that press in contact that lasts (decision 53).

The field of a flat pad falls to nothing at its sides as well as at its underside. Around the underside lies a rim as
wide as the pad is deep, along which the pressure falls, and across which it hardly does. As bodies come closer the
pressure on it stays as it is, and the rim gets wider: so the energy of the contact has it, and so a step may load it.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    SURE_RISE,
    axes_across,
    corner_of,
    cosine_of_rise,
    share_ahead,
    steepness_of,
)
from hydro_sim_core.simulation.stepping.face_points import pressure_at
from hydro_sim_core.triples import dot

#: Depth of a rim at which it begins to press, as a share of the smaller body: a shallower one bears next to nothing.
RIM_DEPTH = 1e-4
#: Fall of a rim's pressure as bodies part, over the steepness of its field: so the mean pressure, half the largest,
#: ends where the rim does. By the slope across it, next to nothing, it would press until the step ends.
RIM_SLOPE = 0.5
#: Shares of a face's force along that of the contact up to which an upright one is a side, and from which it is a rim.
SIDE, RIM = 0.7, 0.9


@kernel
def rim_of_face(faces, f, face, push, least):
    """Share of an upright face that presses as a rim, and of what presses the area, force and centre.

    Arguments and results are those of ``share_of_rim`` and ``pressed_part``.
    """
    pressed, force, centre = pressed_part(faces, f, face)
    return share_of_rim(face, pressed, force, push, least), pressed, force, centre


@kernel(inline=True)
def share_of_rim(face, pressed, force, push, least):
    """Share of an upright face that presses as a rim, from 0 to 1.

    A rim faces the way that the contact pushes; the sides of what sank into something soft are across it. The share
    falls to nothing with the angle to that way (``RIM`` to ``SIDE``), with a turn past upright (``SURE_RISE``) and with
    the mean depth, from twice ``least`` to that.

    Args:
        face: ``Face``.
        pressed: Area of it that presses, m^2.
        force: Force on that, N.
        push: (3,) force of the contact, N; without one there is no rim.
        least: Depth at which a rim begins to press, m; infinite for none.

    Reads face: normal.
    """
    depth = force / (pressed * steepness_of(face)) if pressed > 0.0 else 0.0
    if not depth > least or (push[0] == 0.0 and push[1] == 0.0 and push[2] == 0.0):
        return 0.0
    deep = min(depth / least - 1.0, 1.0)
    along = min(max((share_ahead(face.normal, push) - SIDE) / (RIM - SIDE), 0.0), 1.0)
    standing = min(max(1.0 + cosine_of_rise(face) / SURE_RISE, 0.0), 1.0)
    return deep * along * standing


@kernel
def pressed_part(faces, f, face):
    """Where an upright face presses: with a margin it reaches beyond its body, with pressures below nothing.

    The integrals are exact: sums over triangles from one point to the edges, or to what of them is pressed. Of a face
    that presses in part that point is on the line without pressure, so that no triangle ends on it; of one that does
    not it is the centroid, and edges without pressure count as well. A face of a fine mesh, whose polygon is not made
    (``late_polygons``), is taken for a rectangle with its second moments.

    Args:
        faces: ``FaceBuffer``.
        f: Face.
        face: The same, read.

    Returns:
        The area, m^2, and the force, N, of what presses, and the way (3) to its centre of pressure from the centroid of
        the face, m.

    Reads face: gradient, normal, pressure; faces: num_vertices.
    """
    num, n, g = faces.num_vertices[f], face.normal, face.gradient
    if num == 0:
        return _pressed_part_of_rectangle(face)
    across = dot(g, n)
    along2 = dot(g, g) - across * across
    at, of_at = 0.0, face.pressure
    if along2 > 0.0 and _is_pressed_in_part(faces, f, face):
        at, of_at = -face.pressure / along2, 0.0
    o = at * (g[0] - across * n[0]), at * (g[1] - across * n[1]), at * (g[2] - across * n[2])
    area, force, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0
    a = corner_of(faces, f, num - 1)
    p_a = pressure_at(face, a)
    for i in range(num):
        b = corner_of(faces, f, i)
        p_b = pressure_at(face, b)
        if p_a > 0.0 or p_b > 0.0 or of_at > 0.0:
            (u, p_u), (v, p_v) = _pressed_end(a, p_a, b, p_b), _pressed_end(b, p_b, a, p_a)
            s, t = (u[0] - o[0], u[1] - o[1], u[2] - o[2]), (v[0] - o[0], v[1] - o[1], v[2] - o[2])
            twice = n[0] * (s[1] * t[2] - s[2] * t[1]) + n[1] * (s[2] * t[0] - s[0] * t[2])
            twice += n[2] * (s[0] * t[1] - s[1] * t[0])
            total = of_at + p_u + p_v
            area, force = area + twice / 2.0, force + twice * total / 6.0
            k, k_u, k_v = (
                twice * (total + of_at) / 24.0,
                twice * (total + p_u) / 24.0,
                twice * (total + p_v) / 24.0,
            )
            x += k * o[0] + k_u * u[0] + k_v * v[0]
            y += k * o[1] + k_u * u[1] + k_v * v[1]
            z += k * o[2] + k_u * u[2] + k_v * v[2]
        a, p_a = b, p_b
    if not abs(force) > 0.0:
        return 0.0, 0.0, (0.0, 0.0, 0.0)
    return abs(area), abs(force), (x / force, y / force, z / force)


@kernel
def _pressed_part_of_rectangle(face):
    """The same of a rectangle with the area and the second moments of a face, along whose side the pressure falls.

    Reads face: ahead, area, aside, gradient, normal, pressure.
    """
    (p, p_h), (q, q_h), pressure, (e, h) = face.ahead, face.aside, face.pressure, axes_across(face.normal)
    g_e, g_h = dot(face.gradient, e), dot(face.gradient, h)
    # Moments per area times the gradient; and half of the range of the pressure.
    of_p, of_q = 0.5 * (g_e * p + g_h * p_h), (g_e * q + g_h * q_h) / 1.5
    u, v = of_p * p + of_q * q, of_p * p_h + of_q * q_h
    square = g_e * u + g_h * v
    half = math.sqrt(3.0 * square)
    if pressure <= -half:
        return 0.0, 0.0, (0.0, 0.0, 0.0)
    pressed, mean, way = face.area, pressure, 1.0 / pressure if pressure > 0.0 else 0.0
    if pressure < half:
        pressed, mean = face.area * (pressure + half) / (2.0 * half), 0.5 * (pressure + half)
        way = (4.0 / 3.0 * mean - pressure) / square
    u, v = way * u, way * v
    return pressed, pressed * mean, (u * e[0] + v * h[0], u * e[1] + v * h[1], u * e[2] + v * h[2])


@kernel(inline=True)
def _is_pressed_in_part(faces, f, face):
    """Whether pressures at corners of face ``f`` have both signs.

    Reads face: pressure; faces: num_vertices.
    """
    low = high = face.pressure
    for i in range(faces.num_vertices[f]):
        pressure = pressure_at(face, corner_of(faces, f, i))
        low, high = min(low, pressure), max(high, pressure)
    return low < 0.0 < high


@kernel(inline=True)
def _pressed_end(a, p_a, b, p_b):
    """The end a (3) of an edge to b with its pressure p_a, or where the edge comes to be pressed, Pa."""
    if p_a >= 0.0:
        return a, p_a
    t = p_a / (p_a - p_b)
    return (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])), 0.0
