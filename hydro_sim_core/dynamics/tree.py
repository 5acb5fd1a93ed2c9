"""The multibody tree as arrays, in the form that kernels read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.compilation import (
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    Float1D,
    Float2D,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class KinematicTree(NamedTuple):
    """Rigid bodies, each moved by one joint relative to its parent body: read-only arrays, parents first.

    Body i is moved by joint i. P is the parent body's frame, J the joint's frame fixed in P, B the body's own
    frame, which coincides with J at the joint's zero. ``nb`` bodies, ``nv`` velocities.

    A mimic joint has no coordinate: it points to its master's with ``q_scale`` and ``q_offset`` (1 and 0 for
    every other joint), and its row of the motion subspace is that of its own axis times ``q_scale``. What it
    adds to limits and losses is already part of the master's entry of the per-velocity arrays, see
    ``build_tree``.

    Attributes:
        parent: (nb,) parent body, -1 for the world.
        joint_type: (nb,) ``joint_dispatch.joint_number`` of its type.
        q_index: (nb,) first coordinate of the joint in q.
        v_index: (nb,) first velocity of the joint in v.
        num_q: (nb,) number of coordinates of the joint, or of its master.
        num_v: (nb,) number of velocities of the joint.
        q_scale: (nb,) a 1-DoF joint's coordinate is q_scale * q[q_index] + q_offset.
        q_offset: (nb,) see ``q_scale``; rad or m.
        axis: (nb, 3) unit axis in J of the joints that have one; the normal of a plane is J's z axis.
        R_PJ: (nb, 3, 3) orientation of J in P.
        p_PJ: (nb, 3) origin of J in P, m.
        mass: (nb,) kg.
        p_BCo: (nb, 3) centre of mass in B, m.
        I_BCo: (nb, 3, 3) inertia about the centre of mass in the axes of B, kg m^2.
        rotor_inertia: (nv,) reflected inertia of the drive, kg m^2 or kg.
        damping: (nv,) viscous, N m s/rad or N s/m.
        friction: (nv,) Coulomb, N m or N.
        q_lower: (nv,) lower limit of the coordinate behind a velocity; -inf without one.
        q_upper: (nv,) upper limit; inf without one.
        limit_stiffness: (nv,) of the limits, N m/rad or N/m; inf, where the file gives none, stands for as
            stiff as the step allows.
        velocity_limit: (nv,) rad/s or m/s; inf without one.
        effort_limit: (nv,) N m or N; inf without one.
        q_of_v: (nv,) coordinate in q whose rate a velocity is, -1 for joints with a quaternion.
        prescribed: (nv,) whether a velocity is given from outside, whatever acts on it: those of kinematic bases.
        gravity: (3,) acceleration of gravity in the world, m/s^2.
    """

    parent: ConstInt1D
    joint_type: ConstInt1D
    q_index: ConstInt1D
    v_index: ConstInt1D
    num_q: ConstInt1D
    num_v: ConstInt1D
    q_scale: ConstFloat1D
    q_offset: ConstFloat1D
    axis: ConstFloat2D
    R_PJ: ConstFloat3D
    p_PJ: ConstFloat2D
    mass: ConstFloat1D
    p_BCo: ConstFloat2D
    I_BCo: ConstFloat3D
    rotor_inertia: ConstFloat1D
    damping: ConstFloat1D
    friction: ConstFloat1D
    q_lower: ConstFloat1D
    q_upper: ConstFloat1D
    limit_stiffness: ConstFloat1D
    velocity_limit: ConstFloat1D
    effort_limit: ConstFloat1D
    q_of_v: ConstInt1D
    prescribed: ConstBool1D
    gravity: ConstFloat1D


class TreeScratch(NamedTuple):
    """Work arrays of the dynamics kernels; contents between two calls mean nothing.

    Attributes:
        V_WB: (nb, 6) spatial velocities about the world's origin.
        A_WB: (nb, 6) spatial accelerations.
        F_WB: (nb, 6) wrenches.
        inertia: (nb, 10) spatial inertias about the world's origin.
        at_rest: (nv,) zeros, never written.
    """

    V_WB: Float2D
    A_WB: Float2D
    F_WB: Float2D
    inertia: Float2D
    at_rest: Float1D


def make_scratch(tree: KinematicTree) -> TreeScratch:
    """Work arrays of the right size for ``tree``."""
    num_bodies, num_velocities = len(tree.parent), len(tree.damping)
    return TreeScratch(
        V_WB=np.zeros((num_bodies, 6)),
        A_WB=np.zeros((num_bodies, 6)),
        F_WB=np.zeros((num_bodies, 6)),
        inertia=np.zeros((num_bodies, 10)),
        at_rest=np.zeros(num_velocities),
    )


def quaternion_starts(tree: KinematicTree) -> Ints:
    """First coordinate of every quaternion: joints with more coordinates than velocities begin with one."""
    return tree.q_index[tree.num_q > tree.num_v]


def frozen(values: ArrayLike, dtype: type = np.float64, shape: tuple[int, ...] = (-1,)) -> np.ndarray:
    """A read-only C-contiguous copy of ``values`` in ``shape``, as kernels take their constants."""
    array: np.ndarray = np.array(values, dtype=dtype, order="C").reshape(shape)
    array.setflags(write=False)
    return array
