# mypy: allow-untyped-defs
"""How far points of turning bodies leave their tangents within a step, which friction has to follow (decision 51).

A step moves coordinates by dt times the velocities that contact was solved for. Points of bodies then go along arcs,
and what sticks has the velocity of the tangent at one end of them: it would leave by half their acceleration times dt
in every step, whatever friction could hold.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.dynamics.equations import accelerate
from hydro_sim_core.dynamics.kinematics import body_velocities
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import DRIFT, DRIFT_BEFORE

#: Most slip of what is held, as a multiple of the stiction speed: 49 at 98 % of what friction can hold.
MOST_CREEP = 100.0
#: Differences of velocities that creep hides, likewise.
LEAST_BEND = 0.1


@kernel
def find_arcs(model, scratch):
    """Set how all bodies move with the solver's velocities, and how that would accelerate them if these lasted.

    Reads scratch: S, p_WB, v_next; scratch.solver: v; scratch.tree: A_WB, V_WB, at_rest; scratch.problem.islands:
    order.
    Writes scratch: v_next; scratch.tree: A_WB, V_WB.
    """
    order, tree, V_WB, A_WB = scratch.problem.islands.order, model.tree, scratch.tree.V_WB, scratch.tree.A_WB
    for k in range(order.shape[0]):
        scratch.v_next[order[k]] = scratch.solver.v[k]
    body_velocities(tree, scratch.v_next, scratch.S, V_WB)
    for i in range(A_WB.shape[0]):
        accelerate(tree, i, scratch.p_WB[i], scratch.S, scratch.v_next, scratch.tree.at_rest, V_WB, A_WB)


@kernel
def follow_arcs(model, scratch, p, dt):
    """Let friction in patch p follow the arcs of the two bodies, if it holds them.

    Adds to the patch's drift what the mean velocity over the step differs by from that at its begin, and takes it off
    from that of the step before, but for what moves along the patch's force: there the surfaces meet elsewhere, and the
    next step sees how deep they are. What slides or bounces is left alone: an impact has other velocities after it.

    Reads model: geometry_body, pairs; scratch: p_WR, push, twist; model.options: stiction_speed; scratch.patches: R_WG,
    pair; scratch.problem: drift, v0.
    Writes scratch: twist; scratch.problem: drift.
    """
    R_WG, pair, problem, V = scratch.patches.R_WG[p], scratch.patches.pair[p], scratch.problem, scratch.twist
    a0 = a1 = a2 = 0.0
    for side in range(2):
        body = model.geometry_body[model.pairs[pair, side]]
        if body >= 0:
            sign = 2.0 * side - 1.0
            x, y, z = _acceleration(model, scratch, body, scratch.p_WR)
            a0 += sign * (R_WG[0, 0] * x + R_WG[1, 0] * y + R_WG[2, 0] * z)
            a1 += sign * (R_WG[0, 1] * x + R_WG[1, 1] * y + R_WG[2, 1] * z)
            a2 += sign * (R_WG[0, 2] * x + R_WG[1, 2] * y + R_WG[2, 2] * z)
    n = scratch.push[pair]
    square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    along = (a0 * n[0] + a1 * n[1] + a2 * n[2]) / square if square > 0.0 else 0.0
    b0, b1, b2 = (
        0.5 * dt * (a0 - along * n[0]),
        0.5 * dt * (a1 - along * n[1]),
        0.5 * dt * (a2 - along * n[2]),
    )
    relative_twist(problem, p, problem.v0, DRIFT_BEFORE, V)
    bend = math.sqrt(b0 * b0 + b1 * b1 + b2 * b2)
    slip = math.sqrt((V[3] - b0) ** 2 + (V[4] - b1) ** 2 + (V[5] - b2) ** 2)
    stiction_speed = model.options.stiction_speed
    if bend > LEAST_BEND * stiction_speed and slip <= bend + MOST_CREEP * stiction_speed:
        drift, before = problem.drift[DRIFT, p], problem.drift[DRIFT_BEFORE, p]
        drift[3], drift[4], drift[5] = drift[3] + b0, drift[4] + b1, drift[5] + b2
        before[3], before[4], before[5] = before[3] - b0, before[4] - b1, before[5] - b2


@kernel
def _acceleration(model, scratch, body, x):
    """Acceleration of the point ``x`` (3,) of a body, m/s^2, with velocities that last; of three numbers.

    The centre of mass of a free body does not accelerate, see ``carry_centres``; the origin of another floating one.

    Reads scratch: R_WB, p_WB; model.forest: is_free_body; model.tree: gravity, p_BCo; scratch.tree: A_WB, V_WB.
    """
    tree, V, A = model.tree, scratch.tree.V_WB[body], scratch.tree.A_WB[body]
    if model.forest.is_free_body[body]:
        R, p, c = scratch.R_WB[body], scratch.p_WB[body], tree.p_BCo[body]
        r0 = x[0] - p[0] - (R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2])
        r1 = x[1] - p[1] - (R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2])
        r2 = x[2] - p[2] - (R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2])
        u0, u1, u2 = V[1] * r2 - V[2] * r1, V[2] * r0 - V[0] * r2, V[0] * r1 - V[1] * r0
        return V[1] * u2 - V[2] * u1, V[2] * u0 - V[0] * u2, V[0] * u1 - V[1] * u0
    u0 = V[3] + V[1] * x[2] - V[2] * x[1]
    u1 = V[4] + V[2] * x[0] - V[0] * x[2]
    u2 = V[5] + V[0] * x[1] - V[1] * x[0]
    a0 = A[3] + tree.gravity[0] + A[1] * x[2] - A[2] * x[1] + V[1] * u2 - V[2] * u1
    a1 = A[4] + tree.gravity[1] + A[2] * x[0] - A[0] * x[2] + V[2] * u0 - V[0] * u2
    a2 = A[5] + tree.gravity[2] + A[0] * x[1] - A[1] * x[0] + V[0] * u1 - V[1] * u0
    return a0, a1, a2
