# mypy: allow-untyped-defs
"""Friction laws of one face: impulse and Hessian as functions of its velocity.

A law is three kernels of a face and its patch (``FaceLaw``). They have no branches, so that loops over faces vectorise
and a GPU can call them. The impulse is minus the gradient of a convex cost; the Hessian of a face, minus the derivative
of the impulse, is therefore symmetric and positive semidefinite.

Most laws are isotropic. With v_t the tangential velocity and n the normal, their impulse is ``normal n - H_tt v_t`` and
their Hessian

    H_tt (I - n n^T) + H_nn n n^T - H_slip v_t v_t^T - H_nt (n v_t^T + v_t n^T),

and ``isotropic`` makes a law of a kernel that returns these five numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hydro_sim_core.compilation import kernel

#: Regularisation of friction as a share of the inverse mass that the contact feels (Castro 2022, sigma).
FRICTION_SOFTNESS = 1e-3
#: Below this stiction speed (m/s), the default of scenes, friction is stiffer than that in proportion.
USUAL_STICTION_SPEED = 1e-5
#: Upper bound of SAP's contact stiffness: time to settle as a share of the time step (Castro 2022, beta).
NEAR_RIGID = 1.0
#: Replaces a speed of zero in a denominator.
TINY = 1e-100


class Isotropic(NamedTuple):
    """Response of a face under an isotropic law; see the module.

    Attributes:
        normal: Normal impulse, N s.
        H_nn: Fall of the normal impulse a unit of v_n, N s^2/m.
        H_tt: Friction impulse a unit of v_t, against it, N s^2/m.
        H_slip: ``-(d H_tt / d |v_t|) / |v_t|``, N s^4/m^3.
        H_nt: Coupling of friction and normal impulse, N s^3/m^2; zero where friction looks at no impulse of the solve.
    """

    normal: float
    H_nn: float
    H_tt: float
    H_slip: float
    H_nt: float


class FaceResponse(NamedTuple):
    """Impulse of a face on B (N s) and the upper triangle of its Hessian (N s^2/m), in the axes of geometry B."""

    f0: float
    f1: float
    f2: float
    k00: float
    k01: float
    k02: float
    k11: float
    k12: float
    k22: float


class FaceLaw(NamedTuple):
    """A friction law.

    Attributes:
        respond: ``respond(face, patch)`` gives the ``FaceResponse`` at the velocity of the ``FaceState``.
        power_along: ``power_along(face, patch, along)`` gives the impulse times the velocity of the face in the state
            ``along``.
        normal_impulse: ``normal_impulse(face, patch)``, N s. Where a law lags it decides about friction bounds.
    """

    respond: Any
    power_along: Any
    normal_impulse: Any


def isotropic(law: Any, *, couples: bool = True) -> FaceLaw:
    """Make a law from a kernel that returns the ``Isotropic`` response of a face and its patch.

    Args:
        law: The kernel.
        couples: Whether ``H_nt`` can be nonzero.
    """

    @kernel(inline=True)
    def respond(face, patch):
        normal, H_nn, H_tt, H_slip, H_nt = law(face, patch)
        n0, n1, n2, t0, t1, t2 = face.n0, face.n1, face.n2, face.t0, face.t1, face.t2
        a = H_nn - H_tt
        k00 = H_tt + a * n0 * n0 - H_slip * t0 * t0
        k11 = H_tt + a * n1 * n1 - H_slip * t1 * t1
        k22 = H_tt + a * n2 * n2 - H_slip * t2 * t2
        k01 = a * n0 * n1 - H_slip * t0 * t1
        k02 = a * n0 * n2 - H_slip * t0 * t2
        k12 = a * n1 * n2 - H_slip * t1 * t2
        if couples:
            k00 -= 2.0 * H_nt * n0 * t0
            k11 -= 2.0 * H_nt * n1 * t1
            k22 -= 2.0 * H_nt * n2 * t2
            k01 -= H_nt * (n0 * t1 + t0 * n1)
            k02 -= H_nt * (n0 * t2 + t0 * n2)
            k12 -= H_nt * (n1 * t2 + t1 * n2)
        f0, f1, f2 = normal * n0 - H_tt * t0, normal * n1 - H_tt * t1, normal * n2 - H_tt * t2
        return FaceResponse(f0, f1, f2, k00, k01, k02, k11, k12, k22)

    @kernel(inline=True)
    def power_along(face, patch, along):
        normal, _, H_tt, _, _ = law(face, patch)
        slide = face.t0 * along.v0 + face.t1 * along.v1 + face.t2 * along.v2
        return normal * along.v_n - H_tt * slide

    @kernel(inline=True)
    def normal_impulse(face, patch):
        return law(face, patch)[0]

    return FaceLaw(respond, power_along, normal_impulse)


class NormalResponse(NamedTuple):
    """Normal impulse of a face (N s), and its stiffness ``H_nn``, minus its derivative by v_n (N s^2/m)."""

    impulse: float
    H_nn: float


class SapStiffness(NamedTuple):
    """Inverse regularisations ``1 / R_n`` and ``1 / R_t`` of SAP, kg, and the share of the stiffness that R_n keeps."""

    n: float
    t: float
    softening: float


@kernel(inline=True)
def friction_softness(stiction_speed):
    """Regularisation speed per unit of friction impulse, in units of the inverse mass that the contact feels.

    A bound that did not follow small stiction speeds would override them wherever it is larger.

    Args:
        stiction_speed: Smallest regularisation speed, m/s.
    """
    return FRICTION_SOFTNESS * min(1.0, stiction_speed / USUAL_STICTION_SPEED)


@kernel(inline=True)
def normal_law(v_n, elastic, stiffness_dt, dissipation, dt):
    """``NormalResponse`` with the impulse ``dt (f_e0 - dt k v_n)_+ (1 - d v_n)_+``.

    Args:
        v_n: Normal velocity, m/s, positive when separating.
        elastic: Elastic force f_e0 at the beginning of the step, N.
        stiffness_dt: dt k, decrease of the force per unit of v_n, N s/m.
        dissipation: Hunt-Crossley dissipation d, s/m.
        dt: Time step, s.
    """
    force = max(elastic - stiffness_dt * v_n, 0.0)
    damping = max(1.0 - dissipation * v_n, 0.0)
    pressing = 1.0 if force > 0.0 else 0.0
    # The product's derivative vanishes wherever either factor is zero.
    damped = dissipation if damping > 0.0 else 0.0
    stiffness = dt * (pressing * stiffness_dt * damping + damped * force)
    return NormalResponse(dt * force * damping, stiffness)


@kernel(inline=True)
def lagged_law(face, patch):
    """Friction ``friction v_t / sqrt(|v_t|^2 + slip^2)``, independent of the normal impulse (Castro 2023, "lagged").

    Reads face: elastic, friction, slip, stiffness_dt, v_n, v_t2; patch: dissipation, dt.
    """
    normal, H_nn = normal_law(face.v_n, face.elastic, face.stiffness_dt, patch.dissipation, patch.dt)
    inverse_soft2 = 1.0 / (face.v_t2 + face.slip * face.slip)
    H_tt = face.friction * math.sqrt(inverse_soft2)
    return Isotropic(normal, H_nn, H_tt, H_tt * inverse_soft2, 0.0)


@kernel(inline=True)
def similar_law(face, patch):
    """Normal law of z = v_n - mu s with s = sqrt(|v_t|^2 + slip^2) - slip, friction mu times that (Castro 2023).

    Reads face: elastic, slip, stiffness_dt, v_n, v_t2; patch: dissipation, dt, mu.
    """
    mu, slip = patch.mu, face.slip
    soft2 = face.v_t2 + slip * slip
    soft = math.sqrt(soft2)
    z = face.v_n - mu * (soft - slip)
    normal, H_nn = normal_law(z, face.elastic, face.stiffness_dt, patch.dissipation, patch.dt)
    H_tt = mu * normal / soft
    return Isotropic(normal, H_nn, H_tt, (H_tt - mu * mu * H_nn) / soft2, mu * H_nn / soft)


@kernel(inline=True)
def sap_stiffness(face, patch):
    """``R_n = max(beta^2 w / 4 pi^2, 1 / (dt k (dt + tau)))`` and ``R_t = sigma w`` (Castro 2022, section V).

    Reads face: inverse_mass, stiffness_dt; patch: dt.
    """
    stiffest = 4.0 * math.pi * math.pi / (NEAR_RIGID * NEAR_RIGID * face.inverse_mass)
    softening = min(1.0, stiffest / max(patch.dt * face.stiffness_dt, TINY))
    stiff_n = softening * patch.dt * face.stiffness_dt
    return SapStiffness(stiff_n, 1.0 / (FRICTION_SOFTNESS * face.inverse_mass), softening)


@kernel(inline=True)
def projection_on_cone(press, pull, dilation, mu):
    """Project an impulse with the normal part ``press`` and the tangential part ``pull`` on Coulomb's cone.

    Args:
        press: Normal part, N s.
        pull: Magnitude of the tangential part, N s, at least 0.
        dilation: mu R_t / R_n, where R is the metric of the projection.
        mu: Coefficient of friction.

    Returns:
        Whether the impulse lies in the cone, and the normal part of the nearest one on its surface, N s.
    """
    return pull <= mu * press, max(press + dilation * pull, 0.0) * (1.0 / (1.0 + mu * dilation))


@kernel(inline=True)
def sap_law(face, patch):
    """Projection of the unconstrained impulse y = R^-1 (v_hat - v) on the friction cone in the norm of R.

    Damping is linear, see ``sap_stiffness``; ``dissipation`` has no effect.

    Reads face: elastic, stiffness_dt, v_n, v_t2; patch: dt, mu.
    """
    mu = patch.mu
    stiff_n, stiff_t, softening = sap_stiffness(face, patch)
    press = softening * patch.dt * (face.elastic - face.stiffness_dt * face.v_n)
    speed = max(math.sqrt(face.v_t2), TINY)
    dilation = mu * stiff_n / stiff_t
    sticks, sliding = projection_on_cone(press, stiff_t * speed, dilation, mu)
    share = 1.0 / (1.0 + mu * dilation)
    slides = 1.0 if sliding > 0.0 else 0.0
    normal = press if sticks else sliding
    H_nn = stiff_n if sticks else slides * stiff_n * share
    H_tt = stiff_t if sticks else mu * sliding / speed
    H_slip = 0.0 if sticks else (H_tt - slides * mu * dilation * stiff_t * share) / (speed * speed)
    H_nt = 0.0 if sticks else mu * H_nn / speed
    return Isotropic(normal, H_nn, H_tt, H_slip, H_nt)


LAGGED = isotropic(lagged_law, couples=False)
SIMILAR = isotropic(similar_law)
SAP = isotropic(sap_law)
