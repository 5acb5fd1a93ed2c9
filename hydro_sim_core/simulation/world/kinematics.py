"""Kinematics of a world's links, equations of motion, and energies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import product
from hydro_sim_core.dynamics.joint_dispatch import FLOATING
from hydro_sim_core.simulation.world.energies import Energies, elastic_energy, spring_energy
from hydro_sim_core.simulation.world.parts import WorldParts, checked_array

Array = NDArray[np.float64]


class WorldKinematics(WorldParts):
    """Kinematics and dynamics at the present state."""

    def mass_matrix(self) -> Array:
        """Mass matrix (nv, nv) at the current state."""
        return self._evaluator.update(self._state.q).mass_matrix()

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces (nv,): ``M a + bias = tau``."""
        return self._evaluator.update(self._state.q).bias_forces(self._state.v)

    def inverse_dynamics(self, a: ArrayLike) -> Array:
        """Generalised forces (nv,) for accelerations ``a`` (nv,) without contact, springs, damping and friction."""
        return self._evaluator.update(self._state.q).inverse_dynamics(
            self._state.v, checked_array("a", a, len(self._state.v))
        )

    def gravity_forces(self) -> Array:
        """Generalised forces (nv,) that compensate gravity at rest, N m or N."""
        return self._evaluator.update(self._state.q).gravity_forces()

    def energies(self) -> Energies:
        """Kinetic, potential and elastic energy at the current state.

        For analysis: elastic energy visits all pairs of elements of two bodies, which takes milliseconds.
        """
        return self.energies_of(self._state.q, self._state.v)

    def energies_of(self, q: Array, v: Array) -> Energies:
        """Energies at ``q`` (nq,) and ``v`` (nv,); safe to call from any thread."""
        posture = self._evaluator.update(q)
        model = self._built.model
        return Energies(
            posture.kinetic_energy(v),
            posture.potential_energy() + spring_energy(model.tree, q),
            # Forces of smooth contact have no potential.
            0.0 if self._machine.soft is not None else elastic_energy(model, posture),
        )

    def frame_pose(self, name: str) -> Array:
        """Pose (4, 4) of a link in the world.

        Raises:
            InputError: There is no such link.
        """
        return self.frame_poses()[self.row_of_frame("frame_pose", name)]

    def frame_jacobian(self, name: str) -> Array:
        """Jacobian J (6, nv) of the origin of a link's frame, world axes: ``J v = [w_WF; v_WF]``.

        Raises:
            InputError: There is no such link.
        """
        index = self.row_of_frame("frame_jacobian", name)
        body = int(self._built.assembly.link_body[index])
        evaluator = self._evaluator.update(self._state.q)
        X_WF = product(evaluator.body_pose(body), self._built.assembly.X_BL[index])  # as the compiled loop
        return evaluator.point_jacobian(body, X_WF[:3, 3].copy())

    def frame_poses(self, q: Array | None = None) -> Array:
        """Poses (links, 4, 4) of all links at ``q`` (nq,) or the current coordinates, in the order of ``frame_names``.

        Safe to call from several threads if ``q`` is given.

        Raises:
            InputError: ``q`` is not an array of nq finite numbers.
        """
        if q is not None:
            q = checked_array("q", q, len(self._state.q))
        evaluator = self._evaluator.update(self._state.q if q is None else q)
        bodies = np.zeros((len(evaluator.p_WB) + 1, 4, 4))
        bodies[:-1, :3, :3], bodies[:-1, :3, 3], bodies[:-1, 3, 3] = evaluator.R_WB, evaluator.p_WB, 1.0
        bodies[-1] = np.eye(4)  # index -1: the world
        return product(bodies[self._built.assembly.link_body], self._built.assembly.X_BL)

    @cached_property
    def floating_coordinates(self) -> dict[str, int]:
        """Where in ``q`` each floating joint has its seven coordinates: quaternion (w, x, y, z), then position, m."""
        tree = self._built.model.tree
        joints = zip(self._built.assembly.joint_names, tree.joint_type, tree.q_index, strict=True)
        return {name: int(first) for name, kind, first in joints if kind == FLOATING}

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each entry of ``q``: one of ``joint_names``, or ``joint/qw`` to ``joint/z`` of a floating joint.

        Floating joints have a quaternion (w, x, y, z), then a position, m; joints that mimic others have no entry.
        """
        names = [""] * len(self._state.q)
        for i, name in enumerate(self.joint_names):
            if self._joint_is_master[i]:
                names[self._joint_q[i]] = name
        for name, first in self.floating_coordinates.items():
            names[first : first + 7] = [f"{name}/{part}" for part in ("qw", "qx", "qy", "qz", "x", "y", "z")]
        return tuple(names)

    def coordinates(self, positions: Mapping[str, float], floating: Mapping[str, ArrayLike]) -> Array:
        """Coordinates (nq,) at these positions of joints; those of others are the current ones.

        Args:
            positions: By the names of joints in ``joint_names``, rad or m. Mimic joints follow those that they mimic.
            floating: Quaternion (w, x, y, z) and position (m) of the child of each floating joint in its parent, by the
                names in ``floating_coordinates``.
        """
        q = self.q.copy()
        for i, name in enumerate(self.joint_names):
            if self._joint_is_master[i] and name in positions:
                q[self._joint_q[i]] = positions[name]
        for name, first in self.floating_coordinates.items():
            if name in floating:
                q[first : first + 7] = floating[name]
        return q

    def frame_twists(self, q: Array | None = None, v: Array | None = None) -> Array:
        """Twists (links, 6) of all links about the world's origin, in the order of ``frame_names``.

        The velocity of a link at a point p is then ``twist[3:] + twist[:3] x p``. Safe to call from several threads if
        ``q`` (nq,) and ``v`` (nv,) are given; the defaults are the current ones.

        Raises:
            InputError: ``q`` or ``v`` is not an array of nq or nv finite numbers.
        """
        q = self.q if q is None else checked_array("q", q, len(self._state.q))
        v = self.v if v is None else checked_array("v", v, len(self._state.v))
        bodies = self._evaluator.update(q).body_velocities(v)
        bodies = np.vstack([bodies, np.zeros(6)])  # index -1: the world
        return bodies[self._built.assembly.link_body]

    def frame_twist(self, name: str) -> Array:
        """Angular velocity of a link, rad/s, then velocity of the origin of its frame, m/s: (6,), world axes.

        Raises:
            InputError: There is no such link.
        """
        row = self.row_of_frame("frame_twist", name)
        twist: Array = self.frame_twists()[row].copy()
        twist[3:] += np.cross(twist[:3], self.frame_poses()[row, :3, 3])
        return twist

    def joint_positions(self) -> Array:
        """Position of every joint in ``joint_names``, rad or m."""
        return self._joint_scale * self._state.q[self._joint_q] + self._joint_offset

    def joint_limits(self) -> tuple[Array, Array]:
        """Lower and upper limits of the joints in ``joint_names``, rad or m; infinite where there are none."""
        tree = self._built.model.tree
        ends = [
            self._joint_scale * limits[self._joint_v] + self._joint_offset
            for limits in (tree.q_lower, tree.q_upper)
        ]
        return np.minimum(*ends), np.maximum(*ends)

    def joint_velocity_limits(self) -> Array:
        """Largest speeds of the joints in ``joint_names``, rad/s or m/s; infinite where there are none."""
        return np.abs(self._joint_scale) * self._built.model.tree.velocity_limit[self._joint_v]

    def joint_velocities(self) -> Array:
        """Velocity of every joint in ``joint_names``, rad/s or m/s."""
        return self._joint_scale * self._state.v[self._joint_v]

    def joint_efforts(self) -> Array:
        """Drive effort of every joint in ``joint_names`` over the last step, N m or N; 0 for mimic joints."""
        return np.where(self._joint_is_master, self._scratch.effort[self._joint_v], 0.0)
