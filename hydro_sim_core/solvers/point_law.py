# mypy: allow-untyped-defs
"""Impulse and Hessian of a contact at an equivalent point (Xie and Chakraborty 2019, eqs. 8 to 15).

With the impulses l_i of the conditions at x_i, and the normal n, the normal impulse is ``p_n = sum l_i`` and acts at
the equivalent contact point ``a = sum l_i x_i / p_n``. Friction acts there too: with the slip
``s = (e_t t . v, e_o o . v, e_r n . w)`` at a, it is the point of the ball ``|p| <= mu p_n`` that is nearest to
``held - grip s``, multiplied by (e_t, e_o, e_r). Where the solution repeats itself, ``held = p``, that is eqs. 13 to
15: either s is zero, or p is on the boundary and against it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hydro_sim_core.compilation import kernel

#: Replaces a zero in a denominator.
TINY = 1e-200


class PointFriction(NamedTuple):
    """Friction of a contact at a point.

    Attributes:
        p0: Impulse along the first tangent divided by e_t, N s; with ``p1`` along the other and ``p2`` about the
            normal, divided by e_o and e_r.
        u0: Direction of ``held - grip s``; with ``u1`` and ``u2``.
        share: Length of the impulse divided by that of ``held - grip s``, 1 while it sticks.
        slides: 1 if it slides, else 0.
    """

    p0: float
    p1: float
    p2: float
    u0: float
    u1: float
    u2: float
    share: float
    slides: float


@kernel
def run_of(points, j, V):
    """How far the running condition of point ``j`` has run at the twist V (6,), m, and y there; see ``PointContacts``.

    Reads points: bend, lead, lean, reach.
    """
    b = points.lead[j]
    y = points.lean[j] - b[0] * V[0] - b[1] * V[1] - b[2] * V[2] - b[3] * V[3] - b[4] * V[4] - b[5] * V[5]
    return min(max(y / points.bend[j], points.reach[j, 0]), points.reach[j, 1]), y


@kernel(inline=True)
def condition_impulse(points, j, c, V):
    """Impulse of condition ``c`` of point ``j`` at the twist V (6,), N s.

    Reads points: ahead, bend, direction, running, stiffness, x.
    """
    n, x = points.direction[c], points.x[c]
    v0 = V[3] + V[1] * x[2] - V[2] * x[1]
    v1 = V[4] + V[2] * x[0] - V[0] * x[2]
    v2 = V[5] + V[0] * x[1] - V[1] * x[0]
    speed = n[0] * v0 + n[1] * v1 + n[2] * v2
    if c == points.running[j]:
        u, y = run_of(points, j, V)
        speed -= u * (y - 0.5 * points.bend[j] * u)
    return max(points.ahead[c] - points.stiffness[j] * speed, 0.0)


@kernel
def press(points, j, V):
    """Normal impulse of point ``j`` at the twist V (6,), N s, and the equivalent contact point as three numbers, m.

    Without an impulse the point is the reference point. Writes the impulses of the conditions.

    Reads points: end, first, run, running, x.
    Writes points: impulse.
    """
    total, a0, a1, a2 = 0.0, 0.0, 0.0, 0.0
    for c in range(points.first[j], points.end[j]):
        impulse, x = condition_impulse(points, j, c, V), points.x[c]
        points.impulse[c] = impulse
        total += impulse
        a0, a1, a2 = a0 + impulse * x[0], a1 + impulse * x[1], a2 + impulse * x[2]
        if c == points.running[j]:
            u, _ = run_of(points, j, V)
            run = points.run[j]
            a0, a1, a2 = a0 + impulse * u * run[0], a1 + impulse * u * run[1], a2 + impulse * u * run[2]
    share = 1.0 / max(total, TINY)
    return total, a0 * share, a1 * share, a2 * share


@kernel
def sum_pressed(points, j, V, impulse):
    """Write the sum of the impulses (3,) of the conditions of point ``j`` at the twist V (6,), N s, without friction.

    Reads points: direction, end, first, lead, running.
    """
    impulse[:] = 0.0
    for c in range(points.first[j], points.end[j]):
        pressed = condition_impulse(points, j, c, V)
        for k in range(3):
            impulse[k] += pressed * points.direction[c, k]
        if c == points.running[j]:
            u, _ = run_of(points, j, V)
            for k in range(3):
                impulse[k] += pressed * u * points.lead[j, 3 + k]


@kernel
def friction_at(points, j, V, bound, a0, a1, a2):
    """``PointFriction`` at the twist V (6,), of an equivalent contact point and a bound.

    Reads points: ellipsoid, grip, held, normal, tangents.
    """
    n, t, e = points.normal[j], points.tangents[j], points.ellipsoid[j]
    v0 = V[3] + V[1] * a2 - V[2] * a1
    v1 = V[4] + V[2] * a0 - V[0] * a2
    v2 = V[5] + V[0] * a1 - V[1] * a0
    grip, held = points.grip[j], points.held[j]
    y0 = held[0] - grip * e[0] * (t[0] * v0 + t[1] * v1 + t[2] * v2)
    y1 = held[1] - grip * e[1] * (t[3] * v0 + t[4] * v1 + t[5] * v2)
    y2 = held[2] - grip * e[2] * (n[0] * V[0] + n[1] * V[1] + n[2] * V[2])
    length = math.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
    slides = length > bound
    share = bound / max(length, TINY) if slides else 1.0
    inverse = 1.0 / max(length, TINY)
    return PointFriction(
        share * y0,
        share * y1,
        share * y2,
        y0 * inverse,
        y1 * inverse,
        y2 * inverse,
        share,
        1.0 if slides else 0.0,
    )


@kernel
def set_slip_rows(points, j, a0, a1, a2, rows):
    """Write the slip per unit of the twist, (3, 6), for an equivalent contact point.

    Reads points: ellipsoid, normal, tangents.
    """
    n, t, e = points.normal[j], points.tangents[j], points.ellipsoid[j]
    for r in range(2):
        t0, t1, t2 = t[3 * r], t[3 * r + 1], t[3 * r + 2]
        rows[r, 0], rows[r, 1], rows[r, 2] = a1 * t2 - a2 * t1, a2 * t0 - a0 * t2, a0 * t1 - a1 * t0
        rows[r, 3], rows[r, 4], rows[r, 5] = t0, t1, t2
        for k in range(6):
            rows[r, k] *= e[r]
    for k in range(3):
        rows[2, k], rows[2, 3 + k] = e[2] * n[k], 0.0


@kernel
def evaluate_point(points, mu, j, V, impulse, hessian):
    """Wrench impulse on B (6,) and its Hessian (6, 6) at the twist V (6,): minus the derivative of the impulse.

    Only while friction is not coupled to the normal impulse, the Hessian is symmetric.

    Args:
        points: ``PointContacts``.
        mu: Coefficient of friction.
        j: Which of them.
        V: (6,) relative twist.
        impulse: (6,) out, N m s and N s.
        hessian: (6, 6) out.

    Reads points: arm, bound, direction, end, first, impulse, is_coupled, running, share, stiffness, work, x.
    Writes points: work.
    """
    mu *= points.share[0]
    impulse[:] = 0.0
    hessian[:] = 0.0
    stiffness, is_coupled = points.stiffness[j], points.is_coupled[0] != 0
    total, a0, a1, a2 = press(points, j, V)
    # Rows: derivative of the normal impulse, of the impulse's first moment (3), slip rows (3), their coupling (3).
    work = points.work
    fall, moment, slip, turn = work[0], work[1:4], work[4:7], work[7:10]
    work[:] = 0.0
    for c in range(points.first[j], points.end[j]):
        pressed = points.impulse[c]
        if pressed <= 0.0:
            continue
        n, x = points.direction[c], points.x[c]
        row = (
            x[1] * n[2] - x[2] * n[1],
            x[2] * n[0] - x[0] * n[2],
            x[0] * n[1] - x[1] * n[0],
            n[0],
            n[1],
            n[2],
        )
        if c == points.running[j]:
            _add_running(points, j, V, pressed, x, row, impulse, fall, moment, hessian)
            continue
        for k in range(6):
            impulse[k] += pressed * row[k]
            fall[k] -= stiffness * row[k]
            for i in range(3):
                moment[i, k] -= stiffness * x[i] * row[k]
            for m in range(6):
                hessian[k, m] += stiffness * row[k] * row[m]
    bound = mu * total
    if not is_coupled:
        bound, a0, a1, a2 = points.bound[j], points.arm[j, 0], points.arm[j, 1], points.arm[j, 2]
    if bound <= 0.0:
        return
    of = friction_at(points, j, V, bound, a0, a1, a2)
    set_slip_rows(points, j, a0, a1, a2, slip)
    _add_friction(points, j, of, slip, impulse, hessian)
    if is_coupled:
        _couple(points, mu, j, V, of, total, a0, a1, a2, fall, moment, slip, turn, hessian)


@kernel
def _add_running(points, j, V, pressed, x, row, impulse, fall, moment, hessian):
    """Add the condition that runs, whose ``row`` and place ``x`` are those before it did; see ``evaluate_point``.

    Reads points: bend, lead, reach, run, stiffness.
    """
    u, _ = run_of(points, j, V)
    b, run, stiffness = points.lead[j], points.run[j], points.stiffness[j]
    yields = pressed / points.bend[j] if points.reach[j, 0] < u < points.reach[j, 1] else 0.0
    for k in range(6):
        along = row[k] + u * b[k]
        impulse[k] += pressed * along
        fall[k] -= stiffness * along
        for i in range(3):
            moment[i, k] -= stiffness * (x[i] + u * run[i]) * along + yields * run[i] * b[k]
        for m in range(6):
            hessian[k, m] += stiffness * along * (row[m] + u * b[m]) + yields * b[k] * b[m]


@kernel
def _add_friction(points, j, of, slip, impulse, hessian):
    """Add friction's impulse, and its Hessian for a fixed bound and point.

    Reads of: p0, p1, p2, share, slides, u0, u1, u2; points: grip.
    """
    grip = points.grip[j] * of.share
    for k in range(6):
        impulse[k] += slip[0, k] * of.p0 + slip[1, k] * of.p1 + slip[2, k] * of.p2
        along = of.slides * (slip[0, k] * of.u0 + slip[1, k] * of.u1 + slip[2, k] * of.u2)
        for m in range(6):
            across = slip[0, m] * of.u0 + slip[1, m] * of.u1 + slip[2, m] * of.u2
            plain = slip[0, k] * slip[0, m] + slip[1, k] * slip[1, m] + slip[2, k] * slip[2, m]
            hessian[k, m] += grip * (plain - along * across)


@kernel
def _couple(points, mu, j, V, of, total, a0, a1, a2, fall, moment, slip, turn, hessian):
    """Add what the Hessian lacks because bound and point follow the normal impulse of the same twist.

    Reads of: p0, p1, share, slides, u0, u1, u2; points: ellipsoid, grip, tangents.
    """
    t, e = points.tangents[j], points.ellipsoid[j]
    # Derivative of the point, (3, 6), in place of that of the first moment.
    for k in range(6):
        moment[0, k] = (moment[0, k] - a0 * fall[k]) / total
        moment[1, k] = (moment[1, k] - a1 * fall[k]) / total
        moment[2, k] = (moment[2, k] - a2 * fall[k]) / total
    for r in range(2):
        # t . (w x da) = (t x w) . da
        b0 = e[r] * (t[3 * r + 1] * V[2] - t[3 * r + 2] * V[1])
        b1 = e[r] * (t[3 * r + 2] * V[0] - t[3 * r] * V[2])
        b2 = e[r] * (t[3 * r] * V[1] - t[3 * r + 1] * V[0])
        for k in range(6):
            turn[r, k] = b0 * moment[0, k] + b1 * moment[1, k] + b2 * moment[2, k]
    grip = points.grip[j] * of.share
    f0 = e[0] * of.p0 * t[0] + e[1] * of.p1 * t[3]
    f1 = e[0] * of.p0 * t[1] + e[1] * of.p1 * t[4]
    f2 = e[0] * of.p0 * t[2] + e[1] * of.p1 * t[5]
    for m in range(6):
        across = of.slides * (turn[0, m] * of.u0 + turn[1, m] * of.u1)
        grow = of.slides * mu * fall[m]
        # Change of friction in units of its semi-axes.
        d0 = -grip * (turn[0, m] - of.u0 * across) + of.u0 * grow
        d1 = -grip * (turn[1, m] - of.u1 * across) + of.u1 * grow
        d2 = grip * of.u2 * across + of.u2 * grow
        for k in range(6):
            hessian[k, m] -= slip[0, k] * d0 + slip[1, k] * d1 + slip[2, k] * d2
        hessian[0, m] -= moment[1, m] * f2 - moment[2, m] * f1
        hessian[1, m] -= moment[2, m] * f0 - moment[0, m] * f2
        hessian[2, m] -= moment[0, m] * f1 - moment[1, m] * f0


@kernel
def point_slope(points, j, V, dV):
    """Power of the impulse of point ``j`` along ``dV`` at the twist V, both (6,), with a fixed bound and point.

    Reads points: arm, bound, direction, ellipsoid, end, first, lead, normal, running, tangents, x.
    """
    t, e = points.tangents[j], points.ellipsoid[j]
    power = 0.0
    for c in range(points.first[j], points.end[j]):
        n, x = points.direction[c], points.x[c]
        v0 = dV[3] + dV[1] * x[2] - dV[2] * x[1]
        v1 = dV[4] + dV[2] * x[0] - dV[0] * x[2]
        v2 = dV[5] + dV[0] * x[1] - dV[1] * x[0]
        speed = n[0] * v0 + n[1] * v1 + n[2] * v2
        if c == points.running[j]:
            u, _ = run_of(points, j, V)
            for k in range(6):
                speed += u * points.lead[j, k] * dV[k]
        power += condition_impulse(points, j, c, V) * speed
    if points.bound[j] <= 0.0:
        return power
    a = points.arm[j]
    of = friction_at(points, j, V, points.bound[j], a[0], a[1], a[2])
    v0 = dV[3] + dV[1] * a[2] - dV[2] * a[1]
    v1 = dV[4] + dV[2] * a[0] - dV[0] * a[2]
    v2 = dV[5] + dV[0] * a[1] - dV[1] * a[0]
    power += of.p0 * e[0] * (t[0] * v0 + t[1] * v1 + t[2] * v2)
    power += of.p1 * e[1] * (t[3] * v0 + t[4] * v1 + t[5] * v2)
    n = points.normal[j]
    return power + of.p2 * e[2] * (n[0] * dV[0] + n[1] * dV[1] + n[2] * dV[2])


@kernel
def bound_friction(points, mu, j, V):
    """Set the bound and the point of friction from the normal impulse at the twist V (6,).

    Writes points: arm, bound.
    """
    total, a0, a1, a2 = press(points, j, V)
    points.bound[j] = mu * total
    points.arm[j, 0], points.arm[j, 1], points.arm[j, 2] = a0, a1, a2
