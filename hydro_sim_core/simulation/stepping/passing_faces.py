# mypy: allow-untyped-defs
"""Faces that pass: what a step foresees of their pressure while bodies slide along each other (decisions 40 and 50).

A step takes the pressure at a point of a face to rise by the slope along its normal times the approach. That is right
where the point moves halfway between both bodies. What slides carries its faces along, or leaves them behind: beside
the flat that carries a sliding box a face leans, and at the places of the box its pressure stays, though the slope
along its normal promises a wall.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import DRIFT_BEFORE


@kernel(inline=True)
def rates_of_face(face, arm, V):
    """How the pressure at a point of a face changes at places that move with A or B.

    At places that move with B's share ``s`` of the bodies' relative velocity its rate is
    ``-approach - (share_of_a - s) along``.

    Args:
        face: ``Face``.
        arm: The point, from the reference point of its patch, in the axes of B: three numbers, m.
        V: (6,) twist of B relative to A about the reference point, in the axes of B.

    Returns:
        ``share_of_a``, A's slope as a share of both; ``along``, the gradient along the face, the same on both sides,
        times the speed along it, Pa/s; ``approach``, the slope along the normal times the speed along it, Pa/s.

    Reads face: gradient, normal, slope_a, slope_b.
    """
    g, n = face.gradient, face.normal
    x, y, z = arm
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
    """Write how the bodies of patch p slide to the twist V (6,).

    It is that of B relative to A before the step, about the reference point, in the axes of B.

    Reads scratch: push; scratch.problem: v0.
    """
    relative_twist(scratch.problem, p, scratch.problem.v0, DRIFT_BEFORE, V)
    keep_sliding(scratch.push[pair], V)


@kernel(inline=True)
def rise_of_passing(face, arm, V):
    """Rate, Pa/s, at which the pressure at a point would rise by the approach along the normal, but does not.

    The point of a face that presses goes with A, with B, or between them, wherever its pressure changes least: the edge
    of a box that slides goes with the box, that of a slab below it stays with the slab. One in the margin may begin to
    press: there the lesser of the rates at both bodies counts.

    Args:
        face: ``Face``.
        arm: The point, see ``rates_of_face``.
        V: (6,) twist of what slides, see ``set_sliding``.

    Reads face: pressure.
    """
    share_of_a, along, approach = rates_of_face(face, arm, V)
    most = max(share_of_a * along, (share_of_a - 1.0) * along)
    # What a pressure would fall by is not given back: where friction ends the sliding within the step it would push.
    return min(max(-approach, 0.0), most) if face.pressure > 0.0 else most
