"""The multibody tree as arrays, the input of the kernels."""

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
    """Rigid bodies, each connected by one joint to its parent body: read-only arrays, parents first.

    Joint i moves body i. P is the parent body's frame, J the joint's frame fixed in P, B the body's own frame, which
    coincides with J at the joint's zero position. ``nb`` bodies, ``nv`` velocities.

    A mimic joint has no coordinate of its own: it refers to its master's with ``q_scale`` and ``q_offset`` (1 and 0 for
    every other joint), and its row of the motion subspace is that of its own axis times ``q_scale``. Its contributions
    to limits, damping and friction are part of the master's entries of the per-velocity arrays, see ``build_tree``.

    Attributes:
        parent: (nb,) parent body, -1 for the world.
        joint_type: (nb,) ``joint_dispatch.joint_number`` of its type.
        q_index: (nb,) first coordinate of the joint in q.
        v_index: (nb,) first velocity of the joint in v.
        num_q: (nb,) number of coordinates of the joint, or of its master.
        num_v: (nb,) number of velocities of the joint.
        q_scale: (nb,) the position of a 1-DoF joint is q_scale * q[q_index] + q_offset.
        q_offset: (nb,) see ``q_scale``; rad or m.
        axis: (nb, 3) unit axis in J, for joints that have one; the normal of a planar joint is J's z axis.
        R_PJ: (nb, 3, 3) orientation of J in P.
        p_PJ: (nb, 3) origin of J in P, m.
        mass: (nb,) kg.
        p_BCo: (nb, 3) centre of mass in B, m.
        I_BCo: (nb, 3, 3) inertia about the centre of mass in the axes of B, kg m^2.
        weightless: (nb, 4) mass that gravity does not pull, kg, and its first moment about the origin of B, kg m.
        rotor_inertia: (nv,) reflected inertia of the drive, kg m^2 or kg.
        damping: (nv,) viscous damping, N m s/rad or N s/m.
        friction: (nv,) Coulomb friction, N m or N.
        q_lower: (nv,) lower limit of the coordinate of each velocity, rad or m; -inf without one.
        q_upper: (nv,) upper limit, rad or m; inf without one.
        spring_stiffness: (nv,) stiffness of the joint's spring, N m/rad or N/m.
        spring_reference: (nv,) position at which it is slack, rad or m.
        limit_stiffness: (nv,) stiffness of the stops, N m/rad or N/m; inf, if the file gives none, means as stiff as
            the step allows.
        velocity_limit: (nv,) rad/s or m/s; inf without one.
        effort_limit: (nv,) N m or N; inf without one.
        q_of_v: (nv,) index in q of the coordinate whose rate is the velocity, -1 for joints with a quaternion.
        prescribed: (nv,) whether a velocity is prescribed and independent of forces, as those of kinematic bases.
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
    weightless: ConstFloat2D
    rotor_inertia: ConstFloat1D
    damping: ConstFloat1D
    friction: ConstFloat1D
    q_lower: ConstFloat1D
    q_upper: ConstFloat1D
    spring_stiffness: ConstFloat1D
    spring_reference: ConstFloat1D
    limit_stiffness: ConstFloat1D
    velocity_limit: ConstFloat1D
    effort_limit: ConstFloat1D
    q_of_v: ConstInt1D
    prescribed: ConstBool1D
    gravity: ConstFloat1D


class TreeScratch(NamedTuple):
    """Work arrays of the dynamics kernels; their contents are not valid between calls.

    Attributes:
        V_WB: (nb, 6) spatial velocities about the world's origin.
        A_WB: (nb, 6) spatial accelerations.
        F_WB: (nb, 6) wrenches.
        inertia: (nb, 10) spatial inertias about the world's origin.
        at_rest: (nv,) zeros, read-only.
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
    """Index of the first coordinate of every quaternion: joints with more coordinates than velocities have one."""
    return tree.q_index[tree.num_q > tree.num_v]


def frozen(values: ArrayLike, dtype: type = np.float64, shape: tuple[int, ...] = (-1,)) -> np.ndarray:
    """A read-only C-contiguous copy of ``values`` in ``shape``, for constant arguments of kernels."""
    array: np.ndarray = np.array(values, dtype=dtype, order="C").reshape(shape)
    array.setflags(write=False)
    return array
