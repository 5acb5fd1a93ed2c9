# mypy: allow-untyped-defs
"""Faces that pass: what a step foresees of their pressure while bodies slide along each other (decisions 40 and 45).

A step takes the pressure of a face to rise by the slope along its normal times the approach. That is right where a face
moves halfway between both bodies. What slides carries its faces along, or leaves them behind: beside the flat that
carries a sliding box a face leans, and at the places of the box its pressure stays, though the slope along its normal
promises a wall.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import face_at
from hydro_sim_core.simulation.stepping.collision import MIN_SLOPE
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import DRIFT_BEFORE


@kernel(inline=True)
def rates_of_face(face, p_GR, V):
    """How the pressure of a face changes at places that move with A or B.

    At places that move with B's share ``s`` of the bodies' relative velocity its rate is
    ``-approach - (share_of_a - s) along``.

    Args:
        face: ``Face``.
        p_GR: (3,) reference point of its patch in the frame of B, m.
        V: (6,) twist of B relative to A about that point, in the axes of B.

    Returns:
        ``share_of_a``, A's slope as a share of both; ``along``, the gradient along the face, the same on both sides,
        times the speed along it, Pa/s; ``approach``, the slope along the normal times the speed along it, Pa/s.

    Reads face: centroid, gradient, normal, slope_a, slope_b.
    """
    c, g, n = face.centroid, face.gradient, face.normal
    x, y, z = c[0] - p_GR[0], c[1] - p_GR[1], c[2] - p_GR[2]
    u = V[3] + V[1] * z - V[2] * y, V[4] + V[2] * x - V[0] * z, V[5] + V[0] * y - V[1] * x
    along = across = v_n = 0.0
    for i in range(3):
        along += g[i] * u[i]
        across += g[i] * n[i]
        v_n += n[i] * u[i]
    along -= across * v_n
    a, b = face.slope_a, face.slope_b
    share_of_a = 1.0 if a == math.inf else a / (a + b)
    slope = b if a == math.inf else (1.0 - share_of_a) * a if b != math.inf else a
    return share_of_a, along, slope * v_n


@kernel(inline=True)
def keep_sliding(push, V):
    """Take out of a twist (6,) what falls and rocks along ``push`` (3,), the sum of a patch's forces; sliding stays.

    What stays is the velocity across ``push`` and the turning about it. In a first contact ``push`` is zero, and the
    whole twist stays.
    """
    square = push[0] * push[0] + push[1] * push[1] + push[2] * push[2]
    if square > 0.0:
        turns = (V[0] * push[0] + V[1] * push[1] + V[2] * push[2]) / square
        falls = (V[3] * push[0] + V[4] * push[1] + V[5] * push[2]) / square
        for i in range(3):
            V[i] = turns * push[i]
            V[3 + i] -= falls * push[i]


@kernel
def set_sliding(scratch, p, pair, V):
    """Write how the bodies of patch p slide to the twist V (6,), and tell the share of it with which the patch moves.

    V is that of B relative to A before the step, about the reference point, in the axes of B.

    Reads scratch: push; scratch.problem: v0.
    """
    relative_twist(scratch.problem, p, scratch.problem.v0, DRIFT_BEFORE, V)
    keep_sliding(scratch.push[pair], V)
    return motion_of_patch(scratch, p, V)


@kernel
def motion_of_patch(scratch, p, V):
    """Share of the velocity of B relative to A with which a patch moves: 0 with A, 1 with B.

    It is where the squares of the faces' rates, weighted by their areas, are least: a box that slides over a slab takes
    its patch along, and a slab that slides below a box leaves it there.

    Reads scratch.faces: data; scratch.patches: first_face, p_GR.
    """
    data, p_GR, product, square = scratch.faces.data, scratch.patches.p_GR[p], 0.0, 0.0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        face = face_at(data, f)
        if face.pressure > 0.0 and face.slope_a > MIN_SLOPE and face.slope_b > MIN_SLOPE:
            share_of_a, along, approach = rates_of_face(face, p_GR, V)
            product += face.area * along * (approach + share_of_a * along)
            square += face.area * along * along
    return min(max(product / square, 0.0), 1.0) if square > 0.0 else 0.0


@kernel(inline=True)
def rise_of_passing(face, p_GR, V, motion):
    """Rate of a face's pressure by its approach along the normal, less that at the places that it goes with, Pa/s.

    Of faces that press it may have either sign.

    A face that presses goes with its patch (``motion_of_patch``). One in the margin may begin to press, with another
    sign on the other side of a patch: there the lesser of the rates at both bodies counts.

    Reads face: pressure.
    """
    share_of_a, along, _ = rates_of_face(face, p_GR, V)
    if face.pressure > 0.0:
        return (share_of_a - motion) * along
    return max(share_of_a * along, (share_of_a - 1.0) * along)
