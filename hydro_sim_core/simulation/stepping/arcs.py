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
from hydro_sim_core.simulation.stepping.placement import turned_back
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

    Adds to the patch's drift what the mean motion over the step differs by from that at its begin, and takes it off
    from that of the step before, but for what moves along the patch's force: there the surfaces meet elsewhere, and the
    next step sees how deep they are. What slides or bounces is left alone: an impact has other velocities after it.

    Reads scratch: bend, push, twist; model.options: stiction_speed; scratch.patches: R_WG, pair; scratch.problem:
    drift, v0.
    Writes scratch: bend, twist; scratch.problem: drift.
    """
    problem, bend, V = scratch.problem, scratch.bend, scratch.twist
    R_WG, n = scratch.patches.R_WG[p], scratch.push[scratch.patches.pair[p]]
    bend[:] = 0.0
    for side in range(2):
        _add_acceleration(model, scratch, p, side, bend)
    w0, w1, w2 = turned_back(R_WG, bend[0], bend[1], bend[2])
    a0, a1, a2 = turned_back(R_WG, bend[3], bend[4], bend[5])
    square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    along = (a0 * n[0] + a1 * n[1] + a2 * n[2]) / square if square > 0.0 else 0.0
    half = 0.5 * dt
    b0, b1, b2 = half * (a0 - along * n[0]), half * (a1 - along * n[1]), half * (a2 - along * n[2])
    # What is held has moved by half as much the other way in the step before, seen from here, along the force as well:
    # there its depth has kept it on the arc.
    relative_twist(problem, p, problem.v0, DRIFT_BEFORE, V)
    s0, s1, s2 = V[3] - half * a0, V[4] - half * a1, V[5] - half * a2
    size, slip = math.sqrt(b0 * b0 + b1 * b1 + b2 * b2), math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    stiction_speed = model.options.stiction_speed
    if size > LEAST_BEND * stiction_speed and slip <= size + MOST_CREEP * stiction_speed:
        bend[0], bend[1], bend[2] = half * w0, half * w1, half * w2
        bend[3], bend[4], bend[5] = b0, b1, b2
        for i in range(6):
            problem.drift[DRIFT, p, i] += bend[i]
            problem.drift[DRIFT_BEFORE, p, i] -= bend[i]


@kernel
def _add_acceleration(model, scratch, p, side, out):
    """Add to ``out`` (6,) how one side's surface accelerates at the reference point of patch p if velocities last.

    Of B, and less that of A: angular, rad/s^2, then of the point, m/s^2, in world axes. The centre of mass of a free
    body does not accelerate, see ``carry_centres``; the origin of another floating one does not. What rides on a belt
    also has the acceleration of Coriolis.

    Reads model: geometry_body, pairs, surface_velocity; scratch: R_WB, R_WG, p_WB, p_WR; model.forest: is_free_body;
    model.tree: gravity, p_BCo; scratch.patches: pair; scratch.tree: A_WB, V_WB.
    """
    geometry = model.pairs[scratch.patches.pair[p], side]
    body, tree, x, sign = model.geometry_body[geometry], model.tree, scratch.p_WR, 2.0 * side - 1.0
    if body < 0:
        return
    V, A, R = scratch.tree.V_WB[body], scratch.tree.A_WB[body], scratch.R_WB[body]
    if model.forest.is_free_body[body]:
        p_WB, c = scratch.p_WB[body], tree.p_BCo[body]
        r0 = x[0] - p_WB[0] - (R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2])
        r1 = x[1] - p_WB[1] - (R[1, 0] * c[0] + R[1, 1] * c[1] + R[1, 2] * c[2])
        r2 = x[2] - p_WB[2] - (R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2])
        u0, u1, u2 = V[1] * r2 - V[2] * r1, V[2] * r0 - V[0] * r2, V[0] * r1 - V[1] * r0
    else:
        u0 = V[3] + V[1] * x[2] - V[2] * x[1]
        u1 = V[4] + V[2] * x[0] - V[0] * x[2]
        u2 = V[5] + V[0] * x[1] - V[1] * x[0]
        out[3] += sign * (A[3] + tree.gravity[0] + A[1] * x[2] - A[2] * x[1])
        out[4] += sign * (A[4] + tree.gravity[1] + A[2] * x[0] - A[0] * x[2])
        out[5] += sign * (A[5] + tree.gravity[2] + A[0] * x[1] - A[1] * x[0])
        for i in range(3):
            out[i] += sign * A[i]
    belt, R_WG = model.surface_velocity[geometry], scratch.R_WG[geometry]
    u0 += 2.0 * (R_WG[0, 0] * belt[0] + R_WG[0, 1] * belt[1] + R_WG[0, 2] * belt[2])
    u1 += 2.0 * (R_WG[1, 0] * belt[0] + R_WG[1, 1] * belt[1] + R_WG[1, 2] * belt[2])
    u2 += 2.0 * (R_WG[2, 0] * belt[0] + R_WG[2, 1] * belt[1] + R_WG[2, 2] * belt[2])
    out[3] += sign * (V[1] * u2 - V[2] * u1)
    out[4] += sign * (V[2] * u0 - V[0] * u2)
    out[5] += sign * (V[0] * u1 - V[1] * u0)
