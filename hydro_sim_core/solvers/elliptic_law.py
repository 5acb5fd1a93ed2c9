# mypy: allow-untyped-defs
"""Anisotropic friction of a surface with a grain: ice skates, brushed metal, scales.

With the friction bound ``f = mu n0`` of the lagged law and the part h of the grain in the tangent plane,

    impulse = -f D v_t / sqrt(v_t . D v_t + slip^2),    D = I - h h^T,

is minus the gradient of the convex cost ``f sqrt(v_t . D v_t + slip^2)``. Among the impulses on an ellipse with
semi-axes f across the grain and f sqrt(1 - |h|^2) along it, this one dissipates most power (Goyal 1991).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.face_laws import FaceLaw, FaceResponse, normal_law


class _Friction(NamedTuple):
    """``H_tt``, its decrease ``H_slip`` along D v_t, the vector D v_t (d), and h in the tangent plane."""

    H_tt: float
    H_slip: float
    d0: float
    d1: float
    d2: float
    h0: float
    h1: float
    h2: float


@kernel(inline=True)
def _friction(face, patch):
    """Friction at the velocity of a face.

    Reads face: friction, n0, n1, n2, slip, t0, t1, t2, v_t2; patch: h0, h1, h2.
    """
    along_normal = patch.h0 * face.n0 + patch.h1 * face.n1 + patch.h2 * face.n2
    h0, h1, h2 = (
        patch.h0 - along_normal * face.n0,
        patch.h1 - along_normal * face.n1,
        patch.h2 - along_normal * face.n2,
    )
    along = h0 * face.t0 + h1 * face.t1 + h2 * face.t2
    inverse_soft2 = 1.0 / (face.v_t2 - along * along + face.slip * face.slip)
    H_tt = face.friction * math.sqrt(inverse_soft2)
    d0, d1, d2 = face.t0 - along * h0, face.t1 - along * h1, face.t2 - along * h2
    return _Friction(H_tt, H_tt * inverse_soft2, d0, d1, d2, h0, h1, h2)


@kernel(inline=True)
def _respond(face, patch):
    """The ``FaceResponse``.

    Reads face: elastic, n0, n1, n2, stiffness_dt, v_n; patch: dissipation, dt.
    """
    normal, H_nn = normal_law(face.v_n, face.elastic, face.stiffness_dt, patch.dissipation, patch.dt)
    H_tt, H_slip, d0, d1, d2, h0, h1, h2 = _friction(face, patch)
    n0, n1, n2, a = face.n0, face.n1, face.n2, H_nn - H_tt
    return FaceResponse(
        normal * n0 - H_tt * d0,
        normal * n1 - H_tt * d1,
        normal * n2 - H_tt * d2,
        H_tt + a * n0 * n0 - H_tt * h0 * h0 - H_slip * d0 * d0,
        a * n0 * n1 - H_tt * h0 * h1 - H_slip * d0 * d1,
        a * n0 * n2 - H_tt * h0 * h2 - H_slip * d0 * d2,
        H_tt + a * n1 * n1 - H_tt * h1 * h1 - H_slip * d1 * d1,
        a * n1 * n2 - H_tt * h1 * h2 - H_slip * d1 * d2,
        H_tt + a * n2 * n2 - H_tt * h2 * h2 - H_slip * d2 * d2,
    )


@kernel(inline=True)
def _power_along(face, patch, along):
    """The impulse times the velocity of the face in the state ``along``.

    Reads along: v0, v1, v2, v_n.
    """
    friction = _friction(face, patch)
    slide = friction.d0 * along.v0 + friction.d1 * along.v1 + friction.d2 * along.v2
    return _normal_impulse(face, patch) * along.v_n - friction.H_tt * slide


@kernel(inline=True)
def _normal_impulse(face, patch):
    """The normal impulse, N s.

    Reads face: elastic, stiffness_dt, v_n; patch: dissipation, dt.
    """
    normal, _ = normal_law(face.v_n, face.elastic, face.stiffness_dt, patch.dissipation, patch.dt)
    return normal


ELLIPTIC = FaceLaw(_respond, _power_along, _normal_impulse)
