"""Evaluation of a kinematic tree from Python, without buffers of the caller."""

from __future__ import annotations

from typing import Self

import numpy as np

from hydro_sim_core.compilation import Handle, prepare
from hydro_sim_core.dynamics import equations, kinematics
from hydro_sim_core.dynamics.tree import Floats, KinematicTree, make_scratch

#: Entry points used by ``TreeEvaluator``, compiled together.
ENTRIES = (
    kinematics.forward_kinematics,
    kinematics.body_velocities,
    kinematics.add_point_jacobian,
    kinematics.integrate_positions,
    equations.mass_matrix,
    equations.bias_forces,
    equations.gravity_forces,
    equations.inverse_dynamics,
    equations.momentum,
    equations.kinetic_energy,
    equations.potential_energy,
)


class TreeEvaluator:
    """Evaluator of a tree at one posture at a time; every method returns new arrays.

    ``update`` has to be called first: results of the other methods are for the posture of its last call. Velocities and
    accelerations are (nv,) arrays.
    """

    def __init__(self, tree: KinematicTree) -> None:
        prepare(ENTRIES)
        num_bodies = len(tree.parent)
        self.tree = tree
        self.R_WB = np.zeros((num_bodies, 3, 3))
        self.p_WB = np.zeros((num_bodies, 3))
        self.S = np.zeros((num_bodies, 6, 6))
        self._q: bytes | None = None
        self._memory = make_scratch(tree)
        self._tree, self._scratch = Handle(tree), Handle(self._memory)

    @property
    def _posture(self) -> tuple[Handle, Floats, Floats, Floats]:
        return self._tree, self.R_WB, self.p_WB, self.S

    def update(self, q: Floats) -> Self:
        """Compute forward kinematics at coordinates q (nq,), unless it is up to date."""
        q = _floats(q)
        if q.tobytes() != self._q:
            kinematics.forward_kinematics(self._tree, q, self.R_WB, self.p_WB, self.S)
            self._q = q.tobytes()
        return self

    def moved(self, q: Floats, v: Floats, dt: float) -> Floats:
        """Coordinates (nq,) after ``dt`` (s) from ``q`` (nq,) on at constant velocities; needs no posture."""
        after = np.empty(len(q))
        kinematics.integrate_positions(self._tree, _floats(q), _floats(v), dt, after)
        return after

    def body_pose(self, body: int) -> Floats:
        """Pose X_WB (4, 4) of a body; the identity for the world, -1."""
        X_WB = np.eye(4)
        if body >= 0:
            X_WB[:3, :3] = self.R_WB[body]
            X_WB[:3, 3] = self.p_WB[body]
        return X_WB

    def body_velocities(self, v: Floats) -> Floats:
        """Twists V_WB (nb, 6) of all bodies about the world's origin."""
        V_WB = np.empty((len(self.tree.parent), 6))
        kinematics.body_velocities(self._tree, _floats(v), self.S, V_WB)
        return V_WB

    def point_jacobian(self, body: int, p_WP: Floats) -> Floats:
        """Jacobian J (6, nv) of the body-fixed point at p_WP: J v = [w_WB; v_WP]."""
        J = np.zeros((6, len(self.tree.damping)))
        kinematics.add_point_jacobian(self._tree, self.S, body, _floats(p_WP), 1.0, J)
        return J

    def mass_matrix(self) -> Floats:
        """Mass matrix M (nv, nv)."""
        M = np.empty((len(self.tree.damping), len(self.tree.damping)))
        equations.mass_matrix(*self._posture, M, self._scratch)
        return M

    def bias_forces(self, v: Floats) -> Floats:
        """Bias forces b (nv,) of M a + b = tau: Coriolis, centrifugal and gravity terms."""
        b = np.empty(len(self.tree.damping))
        equations.bias_forces(*self._posture, _floats(v), b, self._scratch)
        return b

    def gravity_forces(self) -> Floats:
        """Joint forces (nv,) that hold the tree at rest."""
        g = np.empty(len(self.tree.damping))
        equations.gravity_forces(*self._posture, g, self._scratch)
        return g

    def inverse_dynamics(self, v: Floats, a: Floats) -> Floats:
        """Joint forces tau (nv,) = M a + b."""
        tau = np.empty(len(self.tree.damping))
        equations.inverse_dynamics(*self._posture, _floats(v), _floats(a), tau, self._scratch)
        return tau

    def body_accelerations(self, v: Floats, a: Floats) -> Floats:
        """Spatial accelerations A_WB (nb, 6) of all bodies about the world's origin, relative to free fall.

        The angular part comes first. A point p of a body, with twist V_WB = (w, v_O), accelerates relative to free fall
        by ``A[3:] + A[:3] x p + w x (v_O + w x p)``.
        """
        self.inverse_dynamics(v, a)
        return self._memory.A_WB.copy()

    def momentum(self, v: Floats) -> Floats:
        """Momentum L (6,): angular about the world's origin, then linear."""
        L = np.empty(6)
        equations.momentum(*self._posture, _floats(v), L, self._scratch)
        return L

    def kinetic_energy(self, v: Floats) -> float:
        """Kinetic energy, J."""
        return float(equations.kinetic_energy(*self._posture, _floats(v), self._scratch))

    def potential_energy(self) -> float:
        """Potential energy in gravity, J."""
        return float(equations.potential_energy(self._tree, self.R_WB, self.p_WB))


def _floats(values: Floats) -> Floats:
    """Convert values to contiguous arrays of double precision, the arguments of kernels."""
    return np.ascontiguousarray(values, dtype=np.float64)
