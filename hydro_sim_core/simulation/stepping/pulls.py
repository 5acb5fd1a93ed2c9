# mypy: allow-untyped-defs
"""Springs that pull points of links towards fixed points of the world (decision 25).

A spring and its damper pull with f = k (t - p) - d u, where p and u are position and velocity of the link's point at
the end of the step: p = p0 + dt u and u = J v. This is linear in the velocities, so it is a part of the matrix and of
the momentum of the step's problem, without another iteration:

    (A + dt (d + dt k) J^T J) v = momentum + dt J^T k (t - p0).

What is added to A is symmetric and not negative, so the problem stays convex, and a step of any length with a spring of
any stiffness takes energy and never adds it.
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.dynamics.kinematics import add_point_jacobian

#: Columns of ``Loads.pull``: the point in its link (3), the target in the world (3), stiffness (N/m), damping (N s/m).
POINT = 0
TARGET = 3
STIFFNESS = 6
DAMPING = 7
NUM_PULL_COLUMNS = 8


@kernel
def stiffen_by_pulls(model, loads, scratch, dt):
    """Add the springs' share to the problem's matrix A: their damping, and their stiffness over a step of ``dt`` (s).

    Reads loads: num_pulls, pull; model: link_body; scratch: jacobian; model.forest: first, tree_of_body;
    scratch.problem: A; scratch.problem.islands: order, position.
    Writes scratch.problem: A.
    """
    if loads.num_pulls[0] == 0:
        return
    A, islands, forest = scratch.problem.A, scratch.problem.islands, model.forest
    for link in range(loads.pull.shape[0]):
        pull = loads.pull[link]
        if pull[STIFFNESS] == 0.0:
            continue
        _find_point(model, scratch, link, pull)
        J, gain = scratch.jacobian, dt * (pull[DAMPING] + dt * pull[STIFFNESS])
        tree = forest.tree_of_body[model.link_body[link]]
        begin = islands.position[tree]
        end = begin + forest.first[tree + 1] - forest.first[tree]
        for k in range(begin, end):
            i = islands.order[k]
            for m in range(begin, end):
                j = islands.order[m]
                A[k, m] += gain * (J[3, i] * J[3, j] + J[4, i] * J[4, j] + J[5, i] * J[5, j])


@kernel
def apply_pulls(model, loads, scratch, v, horizon):
    """Add the springs' generalised forces that do not depend on unknown velocities to ``scratch.applied``.

    Args:
        model: The ``Model``.
        loads: The ``Loads``.
        scratch: The ``Scratch``.
        v: (nv,) known velocities: of a step those that are prescribed, at an instant all.
        horizon: Length of the step, s; 0 at an instant.

    Reads loads: pull; scratch: applied, jacobian, p_WR; model.tree: prescribed.
    Writes scratch: applied.
    """
    for link in range(loads.pull.shape[0]):
        pull = loads.pull[link]
        if pull[STIFFNESS] == 0.0:
            continue
        _find_point(model, scratch, link, pull)
        J, p = scratch.jacobian, scratch.p_WR
        drag = pull[DAMPING] + horizon * pull[STIFFNESS]
        for r in range(3):
            speed = 0.0
            for i in range(v.shape[0]):
                if horizon == 0.0 or model.tree.prescribed[i]:
                    speed += J[3 + r, i] * v[i]
            force = pull[STIFFNESS] * (pull[TARGET + r] - p[r]) - drag * speed
            for i in range(v.shape[0]):
                scratch.applied[i] += J[3 + r, i] * force


@kernel
def _find_point(model, scratch, link, pull):
    """Set ``scratch.p_WR`` to the point of a link that its spring pulls, and ``scratch.jacobian`` to its Jacobian.

    Reads model: R_BL, link_body, p_BL; scratch: R_WB, S, jacobian, p_WB, p_WR, twist.
    Writes scratch: jacobian, p_WR, twist.
    """
    body, x, p_WP, J = model.link_body[link], scratch.twist, scratch.p_WR, scratch.jacobian
    R_BL, p_BL, R_WB, p_WB = model.R_BL[link], model.p_BL[link], scratch.R_WB[body], scratch.p_WB[body]
    for r in range(3):
        x[r] = p_BL[r] + R_BL[r, 0] * pull[0] + R_BL[r, 1] * pull[1] + R_BL[r, 2] * pull[2]
    for r in range(3):
        p_WP[r] = p_WB[r] + R_WB[r, 0] * x[0] + R_WB[r, 1] * x[1] + R_WB[r, 2] * x[2]
    for r in range(6):
        for i in range(J.shape[1]):
            J[r, i] = 0.0
    add_point_jacobian(model.tree, scratch.S, body, p_WP, 1.0, J)
