# mypy: allow-untyped-defs
"""Jacobian of the state's derivative, by forward differences that ask for no contact faces.

A patch is linear in the motion of its two bodies relative to each other and in their relative twist, twelve numbers
however many coordinates move them. Faces keep their places and areas in it: pressure is zero where a patch ends, so
that area that is gained or lost there bears nothing. Newton's method needs no more, and the solution does not depend on
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, entry, kernel
from hydro_sim_core.dynamics.kinematics import body_velocities
from hydro_sim_core.simulation.integrators.continuous_forces import (
    add_wrench,
    apply_efforts,
    place_bodies,
    press_faces,
    solve_accelerations,
    turn,
)
from hydro_sim_core.simulation.stepping.loads import add_body_wrenches
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.patch_loading import add_surface_velocity
from hydro_sim_core.simulation.stepping.placement import twist_of_pair
from hydro_sim_core.simulation.stepping.round_sides import set_pose_for_faces

#: Difference of a coordinate or velocity: far above round-off, far below depths and stiction speeds.
JACOBIAN_STEP = 1e-8


class LinearPatches(NamedTuple):
    """Wrenches on B about the origin of geometry B and in its axes, as linear functions, of up to P patches.

    Attributes:
        wrench: (P, 6) of the state, N m and N.
        slopes: (P, 6, 12) by the motion of B relative to A (turn in rad, shift in m) and by the relative twist.
        twist: (P, 6) relative twist of the state.
        shifted: (n,) scratch: derivative at a shifted state.
        change: (12,) scratch: motion and twist.
        pressed: (6,) scratch: a wrench.
    """

    wrench: Float2D
    slopes: Float3D
    twist: Float2D
    shifted: Float1D
    change: Float1D
    pressed: Float1D


def make_linear_patches(size: int, patches: int) -> LinearPatches:
    """Memory for states of ``size`` coordinates and velocities, and a number of patches."""
    return LinearPatches(
        wrench=np.zeros((patches, 6)),
        slopes=np.zeros((patches, 6, 12)),
        twist=np.zeros((patches, 6)),
        shifted=np.zeros(size),
        change=np.zeros(12),
        pressed=np.zeros(6),
    )


@entry
def state_jacobian(
    machine: MachineData, linear: LinearPatches, dt: float, y: Float1D, dy: Float1D, jacobian: Float2D
) -> None:
    """Write the Jacobian of the derivative at a state, where ``state_derivative`` was called last.

    Args:
        machine: As for it; the scratch memory is that of other states afterwards.
        linear: ``LinearPatches``.
        dt: Time step of the scene, s.
        y: (n,) the state; changed during the call and restored.
        dy: (n,) its derivative.
        jacobian: (n, n) out.

    Reads linear: shifted.
    Writes linear: shifted.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    nq, n, shifted = state.q.shape[0], y.shape[0], linear.shifted
    _set_slopes(model, scratch, linear)
    # Velocities come first, at the poses of the state.
    for column in range(n - 1, -1, -1):
        before = y[column]
        y[column] = before + JACOBIAN_STEP * max(1.0, abs(before))
        if column < nq:
            place_bodies(model, scratch, y[:nq])
        apply_efforts(model, state, machine.drives, machine.loads, scratch, dt, y, shifted, False)
        _press_linear_patches(model, scratch, linear, y[nq:])
        add_body_wrenches(model.tree, scratch, shifted[nq:])
        solve_accelerations(model, scratch, shifted[nq:])
        for row in range(n):
            jacobian[row, column] = (shifted[row] - dy[row]) / (y[column] - before)
        y[column] = before


@kernel
def _set_slopes(model, scratch, linear):
    """Evaluate the wrenches of all patches at the state, and around it.

    Reads linear: change, pressed, wrench; scratch.patches: num; scratch.solver: twists.
    Writes linear: change, pressed, slopes, twist, wrench.
    """
    change, pressed = linear.change, linear.pressed
    for p in range(scratch.patches.num[0]):
        wrench = linear.wrench[p]
        for i in range(6):
            linear.twist[p, i] = change[6 + i] = scratch.solver.twists[p, i]
            change[i] = 0.0
        _press(model, scratch, p, change, wrench)
        for k in range(12):
            before = change[k]
            change[k] = before + JACOBIAN_STEP
            _press(model, scratch, p, change, pressed)
            for i in range(6):
                linear.slopes[p, i, k] = (pressed[i] - wrench[i]) / (change[k] - before)
            change[k] = before


@kernel
def _press(model, scratch, p, change, wrench):
    """Write the wrench (6,) of patch p at a motion and a twist (12,)."""
    motion = (change[0], change[1], change[2], change[3], change[4], change[5])
    pressed = press_faces(model, scratch, p, change[6:], motion)
    for i in range(6):
        wrench[i] = pressed[i]


@kernel
def _press_linear_patches(model, scratch, linear, v):
    """Write the wrenches of all patches to the bodies (``scratch.tree.F_WB``, about the origin).

    Reads linear: change, pressed, slopes, twist, wrench; model: geometry_body, pairs; scratch: R_WM, S, p_WG;
    scratch.patches: num, pair; scratch.tree: F_WB, V_WB.
    Writes linear: change, pressed; scratch.tree: F_WB, V_WB.
    """
    tree, change, pressed, world = scratch.tree, linear.change, linear.pressed, linear.change[:6]
    body_velocities(model.tree, v, scratch.S, tree.V_WB)
    tree.F_WB[:] = 0.0
    for p in range(scratch.patches.num[0]):
        a, b = model.pairs[scratch.patches.pair[p], 0], model.pairs[scratch.patches.pair[p], 1]
        body_a, body_b = model.geometry_body[a], model.geometry_body[b]
        R, x, twist = scratch.R_WM, scratch.p_WG[b], change[6:]
        _set_motion(model, scratch, p, change)
        twist_of_pair(tree.V_WB, body_a, body_b, R, x, twist)
        if model.running.shape[0] > 0:
            add_surface_velocity(model, scratch, p, R, twist[3:])
        for i in range(6):
            twist[i] -= linear.twist[p, i]
        for i in range(6):
            pressed[i] = linear.wrench[p, i]
            for k in range(12):
                pressed[i] += linear.slopes[p, i, k] * change[k]
        turn(R, pressed[0], pressed[1], pressed[2], world[:3])
        turn(R, pressed[3], pressed[4], pressed[5], world[3:])
        for body, sign in ((body_a, -1.0), (body_b, 1.0)):
            if body >= 0:
                add_wrench(world, sign, x, tree.F_WB[body])


@kernel
def _set_motion(model, scratch, p, motion):
    """Write by how much geometry B has moved relative to A (6,) since the faces of patch p were found, in B's axes.

    Reads scratch: R_BA, p_BA; scratch.patches: R_BA, p_BA, pair.
    """
    R, x, R0, x0 = scratch.R_BA, scratch.p_BA, scratch.patches.R_BA[p], scratch.patches.p_BA[p]
    set_pose_for_faces(model, scratch, scratch.patches.pair[p])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # Twice the turn of a; of E = R R0^T the part that is skew.
        turned = moved = 0.0
        for m in range(3):
            turned += R[k, m] * R0[j, m] - R[j, m] * R0[k, m]
            for n in range(3):
                moved += R[i, m] * R0[n, m] * x0[n]
        motion[i] = -0.5 * turned
        motion[3 + i] = moved - x[i]
