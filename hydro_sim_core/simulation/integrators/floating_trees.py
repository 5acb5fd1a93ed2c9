# mypy: allow-untyped-defs
"""Momentum of floating models of several links under error control.

A convex step keeps the momentum of a tree to second order only, and the error of a robot that moves its joints back and
forth has the same sign in every step, so that it would drive off in empty space. Where nothing outside acts on a tree
but gravity its momentum at the end of a sub-step is known, and so is where its centre of mass has come: its base gets
the velocity and the place that belong to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, Int1D, kernel
from hydro_sim_core.description.joint_types import joint_type
from hydro_sim_core.dynamics.joint_dispatch import FLOATING
from hydro_sim_core.dynamics.resolved_rate import solve_positive
from hydro_sim_core.dynamics.tree import TreeScratch
from hydro_sim_core.simulation.integrators.step_means import touches_another
from hydro_sim_core.simulation.stepping.loads import has_loads
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.step import evaluate_dynamics
from hydro_sim_core.triples import cross

#: Of a floating joint: its velocities, and its coordinates before those of its place.
_VELOCITIES = joint_type("floating").num_v
_QUATERNION = joint_type("floating").num_q - 3
#: Columns of what a tree has: angular momentum about its centre of mass and momentum, where that centre is from the
#: link's origin and in the joint's frame, moment about it and force of gravity; all in the axes of the joint's frame.
_SPIN, _PUSH, _ARM, _CENTRE, _MOMENT, _WEIGHT, _COLUMNS = 0, 3, 6, 9, 12, 15, 18


class FloatingTrees(NamedTuple):
    """Trees of several bodies, of which one floats in the world, and memory for their momenta.

    Attributes:
        of_tree: (n,) trees of the forest.
        first_v: (n,) first velocity of the floating joint of each.
        first_q: (n,) its first coordinate.
        before: (n, 18) what each has at the begin of the sub-step.
        after: (n, 18) and at its end.
        block: (6, 6) scratch.
        change: (6,) scratch.
        R_WB: Posture at the end of the sub-step, like the following: what the step evaluated last is still told.
        p_WB: Of it.
        S: Of it.
        M: Of it.
        gravity: Of it.
        tree: Scratch of the dynamics.
    """

    of_tree: Int1D
    first_v: Int1D
    first_q: Int1D
    before: Float2D
    after: Float2D
    block: Float2D
    change: Float1D
    R_WB: Float3D
    p_WB: Float2D
    S: Float3D
    M: Float2D
    gravity: Float1D
    tree: TreeScratch


def make_floating_trees(model: Model) -> FloatingTrees:
    """Memory for the floating trees of a model; hardly any without one."""
    tree, tree_of_body = model.tree, model.forest.tree_of_body
    is_root = (tree_of_body >= 0) & ((tree.parent < 0) | (tree_of_body[tree.parent] < 0))
    roots = np.bincount(tree_of_body[is_root], minlength=len(model.forest.first) - 1)
    resists = (tree.damping != 0.0) | (tree.friction != 0.0) | (tree.spring_stiffness != 0.0)
    floats = is_root & (tree.joint_type == FLOATING) & (tree.parent < 0) & ~model.forest.is_free_body
    # Bodies that only mimic joints tie together are one tree, and have a momentum each.
    bodies = [
        i
        for i in np.flatnonzero(floats)
        if roots[tree_of_body[i]] == 1 and not resists[tree.v_index[i] : tree.v_index[i] + _VELOCITIES].any()
    ]
    if not bodies:
        return no_floating_trees()
    indices = np.stack((tree_of_body[bodies], tree.v_index[bodies], tree.q_index[bodies])).astype(np.int64)
    return _make_memory(indices, len(tree.parent), len(tree.damping))


def no_floating_trees() -> FloatingTrees:
    """The same where there are none."""
    return _make_memory(np.zeros((3, 0), dtype=np.int64), 0, 0)


def _make_memory(indices: np.ndarray, bodies: int, velocities: int) -> FloatingTrees:
    of_tree, first_v, first_q = np.ascontiguousarray(indices)
    return FloatingTrees(
        of_tree=of_tree,
        first_v=first_v,
        first_q=first_q,
        before=np.zeros((len(of_tree), _COLUMNS)),
        after=np.zeros((len(of_tree), _COLUMNS)),
        block=np.zeros((6, 6)),
        change=np.zeros(6),
        R_WB=np.zeros((bodies, 3, 3)),
        p_WB=np.zeros((bodies, 3)),
        S=np.zeros((bodies, 6, 6)),
        M=np.zeros((velocities, velocities)),
        gravity=np.zeros(velocities),
        tree=TreeScratch(
            V_WB=np.zeros((bodies, 6)),
            A_WB=np.zeros((bodies, 6)),
            F_WB=np.zeros((bodies, 6)),
            inertia=np.zeros((bodies, 10)),
            at_rest=np.zeros(velocities),
        ),
    )


@kernel
def keep_momenta(posture, before, floating):
    """Keep what floating trees have in the state ``before``, whose posture is that in ``posture``.

    Reads floating: before.
    Writes floating: before.
    """
    for n in range(floating.of_tree.shape[0]):
        _measure(posture, before, floating, n, floating.before[n])


@kernel
def restore_momenta(machine, floating, means, length):
    """Give floating trees the momentum and the place that they have ``length`` (s) after those that were kept.

    Only trees on which nothing outside acts but gravity, in any part of the sub-step.

    Reads floating: M, after, before, first_q, first_v, of_tree; machine.state: q, v.
    Writes floating: after, change; machine.state: q, v.
    """
    model, state = machine.model, machine.state
    if floating.of_tree.shape[0] == 0 or has_loads(machine.loads):
        return
    evaluate_dynamics(model, state, floating)
    for n in range(floating.of_tree.shape[0]):
        if touches_another(model, means, floating.of_tree[n]):
            continue
        old, new = floating.before[n], floating.after[n]
        first, place = floating.first_v[n], floating.first_q[n] + _QUATERNION
        _measure(floating, state, floating, n, new)
        mass = floating.M[first + 3, first + 3]
        for k in range(3):
            force = 0.5 * (old[_WEIGHT + k] + new[_WEIGHT + k])
            moment = 0.5 * (old[_MOMENT + k] + new[_MOMENT + k])
            centre = old[_CENTRE + k] + length * (old[_PUSH + k] + 0.5 * length * force) / mass
            state.q[place + k] += centre - new[_CENTRE + k]
            floating.change[k] = old[_SPIN + k] + length * moment - new[_SPIN + k]
            floating.change[3 + k] = old[_PUSH + k] + length * force - new[_PUSH + k]
        _turn_base(floating, n, state.v)


@kernel
def _turn_base(floating, n, v):
    """Change the velocity of a base such that spin and momentum of its tree change by ``floating.change``.

    Reads floating: M, after, block, change, first_v.
    Writes floating: block, change.
    """
    first, change = floating.first_v[n], floating.change
    lever = cross(floating.after[n, _ARM:], change[3:])
    for r in range(_VELOCITIES):
        for c in range(_VELOCITIES):
            floating.block[r, c] = floating.M[first + r, first + c]
    for k in range(3):
        change[k] += lever[k]
    solve_positive(floating.block, change)
    for k in range(_VELOCITIES):
        v[first + k] += change[k]


@kernel
def _measure(posture, state, floating, n, out):
    """Write what a floating tree has in a state at its posture, see ``FloatingTrees.before``, to ``out`` (18,).

    Reads floating: first_q, first_v; posture: M, gravity; state: q, v.
    """
    M, first, place = posture.M, floating.first_v[n], floating.first_q[n] + _QUATERNION
    mass = M[first + 3, first + 3]
    # The base's rows of the mass matrix are the momentum about its origin, and its block tells the centre of mass.
    out[_ARM] = M[first + 2, first + 4] / mass
    out[_ARM + 1] = M[first, first + 5] / mass
    out[_ARM + 2] = M[first + 1, first + 3] / mass
    for k in range(_VELOCITIES):
        out[_SPIN + k] = 0.0
        for j in range(state.v.shape[0]):
            out[_SPIN + k] += M[first + k, j] * state.v[j]
    for k in range(3):
        out[_CENTRE + k] = state.q[place + k] + out[_ARM + k]
        out[_WEIGHT + k] = -posture.gravity[first + 3 + k]
    momentum, weight = cross(out[_ARM:], out[_PUSH:]), cross(out[_ARM:], out[_WEIGHT:])
    for k in range(3):
        out[_SPIN + k] -= momentum[k]
        out[_MOMENT + k] = -posture.gravity[first + k] - weight[k]
