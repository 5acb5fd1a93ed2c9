"""Contact laws of one face: impulse and Hessian as functions of normal velocity and tangential speed.

With v_t the tangential velocity and n the normal, a law gives the impulse ``normal n - drag v_t`` and minus its
derivative

    K = drag (I - n n^T) + fall n n^T - bend v_t v_t^T - couple (n v_t^T + v_t n^T),

symmetric and positive semidefinite, because each law is the slope of a convex cost. Laws take plain numbers and have no
branches, so that loops over faces vectorise and a GPU can call them.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel

#: Friction bounded by mu times a normal impulse known before the solve (Castro 2023, "lagged").
LAGGED = 0
#: Friction bounded by the normal impulse of the solve, in a cost of v_n - mu |v_t| (Castro 2023, "similar").
SIMILAR = 1
#: Linear damping and regularised friction, projected on the cone (Castro 2022, SAP).
SAP = 2
#: The lagged law with the bound of the solution itself, which no cost belongs to (Castro 2020, TAMSI).
TAMSI = 3

#: Friction is no stiffer than this fraction of what the bodies' inertia resists (Castro 2022, sigma).
FRICTION_SOFTNESS = 1e-3
#: A contact of SAP is no stiffer than one that settles within this share of a step's period (Castro 2022, beta).
NEAR_RIGID = 1.0
#: Stands for a speed of zero in a quotient.
_TINY = 1e-100


@kernel(inline=True)
def normal_law(v_n, elastic, stiffness_dt, dissipation, dt):
    """Normal impulse ``dt (f_e0 - dt k v_n)_+ (1 - d v_n)_+`` (N s) and its fall a unit of v_n.

    Args:
        v_n: Normal velocity, m/s, positive when separating.
        elastic: Elastic force f_e0 at the beginning of the step, N.
        stiffness_dt: dt k, force lost a unit of v_n, N s/m.
        dissipation: Hunt-Crossley dissipation d, s/m.
        dt: Time step, s.
    """
    force = max(elastic - stiffness_dt * v_n, 0.0)
    damping = max(1.0 - dissipation * v_n, 0.0)
    pressing = 1.0 if force > 0.0 else 0.0
    # The product's derivative vanishes wherever either factor is zero.
    damped = dissipation if damping > 0.0 else 0.0
    return dt * force * damping, dt * (pressing * stiffness_dt * damping + damped * force)


@kernel(inline=True)
def lagged_law(v_n, v_t2, elastic, stiffness_dt, dissipation, friction, slip, dt):
    """Friction ``friction v_t / sqrt(|v_t|^2 + slip^2)``, whatever the normal impulse.

    Args:
        v_n: Normal velocity, m/s.
        v_t2: Squared tangential speed, m^2/s^2.
        elastic: See ``normal_law``, like ``stiffness_dt``, ``dissipation`` and ``dt``.
        stiffness_dt: N s/m.
        dissipation: s/m.
        friction: mu times the lagged normal impulse, N s.
        slip: Regularisation speed of friction, m/s.
        dt: s.

    Returns:
        normal, fall, drag, bend, couple; see the module.
    """
    normal, fall = normal_law(v_n, elastic, stiffness_dt, dissipation, dt)
    inverse_soft2 = 1.0 / (v_t2 + slip * slip)
    drag = friction * math.sqrt(inverse_soft2)
    return normal, fall, drag, drag * inverse_soft2, 0.0


@kernel(inline=True)
def similar_law(v_n, v_t2, elastic, stiffness_dt, dissipation, mu, slip, dt):
    """Normal law of z = v_n - mu s with s = sqrt(|v_t|^2 + slip^2) - slip, friction mu times that.

    Arguments and results as for ``lagged_law``; ``mu`` is the coefficient of friction.
    """
    soft2 = v_t2 + slip * slip
    soft = math.sqrt(soft2)
    normal, fall = normal_law(v_n - mu * (soft - slip), elastic, stiffness_dt, dissipation, dt)
    drag = mu * normal / soft
    return normal, fall, drag, (drag - mu * mu * fall) / soft2, mu * fall / soft


@kernel(inline=True)
def sap_law(v_n, v_t2, elastic, stiffness_dt, mu, delassus, dt):
    """Projection of the unconstrained impulse y = R^-1 (v_hat - v) on the friction cone in the norm of R.

    ``R_n = max(beta^2 w / 4 pi^2, 1 / (dt k (dt + tau)))``, ``R_t = sigma w`` (Castro 2022, section V).

    Args:
        v_n: Normal velocity, m/s.
        v_t2: Squared tangential speed, m^2/s^2.
        elastic: Elastic force at the beginning of the step, N.
        stiffness_dt: (dt + tau) k, N s/m.
        mu: Coefficient of friction.
        delassus: w, mean inverse mass that the patch feels, 1/kg.
        dt: Time step, s.

    Returns:
        normal, fall, drag, bend, couple; see the module.
    """
    stiffest = 4.0 * math.pi * math.pi / (NEAR_RIGID * NEAR_RIGID * delassus)
    stiff_t = 1.0 / (FRICTION_SOFTNESS * delassus)
    softening = min(1.0, stiffest / max(dt * stiffness_dt, _TINY))
    stiff_n = softening * dt * stiffness_dt
    press = softening * dt * (elastic - stiffness_dt * v_n)
    speed = max(math.sqrt(v_t2), _TINY)
    pull = stiff_t * speed
    sticks = pull <= mu * press
    dilation = mu * stiff_n / stiff_t
    share = 1.0 / (1.0 + mu * dilation)
    sliding = max(press + dilation * pull, 0.0) * share
    slides = 1.0 if sliding > 0.0 else 0.0
    normal = press if sticks else sliding
    fall = stiff_n if sticks else slides * stiff_n * share
    drag = stiff_t if sticks else mu * sliding / speed
    bend = 0.0 if sticks else (drag - slides * mu * dilation * stiff_t * share) / (speed * speed)
    couple = 0.0 if sticks else mu * fall / speed
    return normal, fall, drag, bend, couple


@kernel(inline=True, constants=("law",))
def face_law(law, v_n, v_t2, elastic, stiffness_dt, friction, slip, dissipation, mu, delassus, dt):
    """The law by number. Called with a constant, the choice is made when the caller is compiled."""
    if law == SAP:
        return sap_law(v_n, v_t2, elastic, stiffness_dt, mu, delassus, dt)
    if law == SIMILAR:
        return similar_law(v_n, v_t2, elastic, stiffness_dt, dissipation, mu, slip, dt)
    return lagged_law(v_n, v_t2, elastic, stiffness_dt, dissipation, friction, slip, dt)
