# mypy: allow-untyped-defs
"""Inputs of a friction law: a face, its motion with its patch, and the values shared by a patch."""

from __future__ import annotations

from typing import NamedTuple

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.problem import ELASTIC, FRICTION, INVERSE_MASS, LANES, SLIP, STIFFNESS_DT, N, X


class Twist(NamedTuple):
    """Velocity of B relative to A at a patch's reference point: angular (w), then linear (u) part."""

    w0: float
    w1: float
    w2: float
    u0: float
    u1: float
    u2: float


class FaceState(NamedTuple):
    """A face and its motion, in the axes of the patch's geometry B.

    Attributes:
        x0: Centroid relative to the patch's reference point, m; with ``x1`` and ``x2``.
        n0: Unit normal from A into B; with ``n1`` and ``n2``.
        v0: Velocity of B relative to A, m/s; with ``v1`` and ``v2``.
        v_n: Normal part of that velocity, m/s, positive when separating.
        t0: Tangential part of that velocity, m/s; with ``t1`` and ``t2``.
        v_t2: Squared tangential speed, m^2/s^2.
        elastic: Elastic force f_e0 at the beginning of the step, N.
        stiffness_dt: dt k, or (dt + tau) k with linear damping: force lost a unit of v_n, N s/m.
        friction: Friction bound known before the solve, mu times a normal impulse, N s; 0 where the method sets none.
        slip: Regularisation speed of friction, m/s.
        inverse_mass: w, inverse mass that the face is taken to feel, 1/kg.
    """

    x0: float
    x1: float
    x2: float
    n0: float
    n1: float
    n2: float
    v0: float
    v1: float
    v2: float
    v_n: float
    t0: float
    t1: float
    t2: float
    v_t2: float
    elastic: float
    stiffness_dt: float
    friction: float
    slip: float
    inverse_mass: float


class PatchState(NamedTuple):
    """Values shared by all faces of a patch.

    Attributes:
        dissipation: Hunt-Crossley dissipation d, s/m.
        mu: Coefficient of friction.
        dt: Time step, s.
        h0: Grain vector h: friction along it is sqrt(1 - |h|^2) times that across it; with ``h1`` and ``h2``.
    """

    dissipation: float
    mu: float
    dt: float
    h0: float = 0.0
    h1: float = 0.0
    h2: float = 0.0


@kernel(inline=True)
def twist_of(V):
    """The entries of a (6,) twist, read once so that a loop over faces need not reload them after every store."""
    return Twist(V[0], V[1], V[2], V[3], V[4], V[5])


@kernel(inline=True)
def patch_state(problem, p):
    """The values shared by the faces of patch ``p``.

    Reads problem: dissipation, dt, friction, grain.
    """
    h = problem.grain[p]
    return PatchState(problem.dissipation[p], problem.friction[p], problem.dt[0], h[0], h[1], h[2])


@kernel(inline=True)
def face_state(block, i, twist):
    """The face in lane ``i`` of a block, as it moves with its patch.

    Reads twist: u0, u1, u2, w0, w1, w2.
    """
    x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
    n0, n1, n2 = block[N * LANES + i], block[(N + 1) * LANES + i], block[(N + 2) * LANES + i]
    v0 = twist.u0 + twist.w1 * x2 - twist.w2 * x1
    v1 = twist.u1 + twist.w2 * x0 - twist.w0 * x2
    v2 = twist.u2 + twist.w0 * x1 - twist.w1 * x0
    v_n = v0 * n0 + v1 * n1 + v2 * n2
    t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
    return FaceState(
        x0,
        x1,
        x2,
        n0,
        n1,
        n2,
        v0,
        v1,
        v2,
        v_n,
        t0,
        t1,
        t2,
        t0 * t0 + t1 * t1 + t2 * t2,
        block[ELASTIC * LANES + i],
        block[STIFFNESS_DT * LANES + i],
        block[FRICTION * LANES + i],
        block[SLIP * LANES + i],
        block[INVERSE_MASS * LANES + i],
    )
