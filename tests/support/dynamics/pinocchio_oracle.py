"""The same scenes in Pinocchio, built from the specifications and not from our tree.

Pinocchio gets every joint on its own, mimic joints too, in depth-first order as its algorithms demand. Its
velocities follow from ours by v_pin = T(q) v, where T holds the multipliers of the mimic joints and turns the
twists of planar and floating joints into the moving frame, as Pinocchio has them. Then M = T^T M_pin T and
tau = T^T tau_pin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import JointSpec, LinkSpec
from hydro_sim_core.dynamics import PlacedRobot

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

SIZES = {
    "revolute": (1, 1),
    "continuous": (1, 1),
    "prismatic": (1, 1),
    "planar": (3, 3),
    "floating": (7, 6),
    "universal": (2, 2),
}


class PinocchioScene:
    """Placed robots as one Pinocchio model, evaluated in our coordinates."""

    def __init__(self, placed: Sequence[PlacedRobot], gravity: np.ndarray) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        self.links: dict[str, tuple[int, pin.SE3]] = {"world": (0, pin.SE3.Identity())}
        self.joints: dict[str, tuple[JointSpec, int]] = {}
        self.children: dict[str, list[tuple[JointSpec, LinkSpec]]] = {}
        self.q_index: dict[str, int] = {}
        self.v_index: dict[str, int] = {}
        self.nq = self.nv = 0
        for item in placed:
            links = {link.name: link for link in item.robot.links}
            for joint in (_base_joint(item), *item.robot.joints):
                self.children.setdefault(joint.parent, []).append((joint, links[joint.child]))
                self._count_coordinates(joint)
        self._add_children("world")
        self.data = self.model.createData()
        self.rotor_inertia = np.zeros(self.model.nv)
        for joint, index in self.joints.values():
            first = self.model.joints[index].idx_v
            self.rotor_inertia[first : first + self.model.joints[index].nv] = joint.rotor_inertia

    def _count_coordinates(self, joint: JointSpec) -> None:
        if joint.type != "fixed" and joint.mimic is None:
            self.q_index[joint.name], self.v_index[joint.name] = self.nq, self.nv
            self.nq, self.nv = self.nq + SIZES[joint.type][0], self.nv + SIZES[joint.type][1]

    def _add_children(self, parent: str) -> None:
        for joint, child in self.children.get(parent, []):
            self._add_joint(joint, child)
            self._add_children(child.name)

    def _add_joint(self, joint: JointSpec, child: LinkSpec) -> None:
        parent, X_parent = self.links[joint.parent]
        X, X_after = X_parent * pin.SE3(joint.X_PJ), pin.SE3.Identity()
        if joint.type == "fixed":
            self._add_link(child, parent, X)
            return
        if joint.type in ("revolute", "continuous"):
            kind = pin.JointModelRevoluteUnaligned(joint.axis)
        elif joint.type == "prismatic":
            kind = pin.JointModelPrismaticUnaligned(joint.axis)
        elif joint.type == "planar":
            kind = pin.JointModelPlanar()
            tilt = pin.SE3(_shortest_turn_of_z_to(joint.axis), np.zeros(3))
            X, X_after = X * tilt, tilt.inverse()
        elif joint.type == "universal":
            kind = pin.JointModelComposite(pin.JointModelRX())
            kind.addJoint(pin.JointModelRY())
        else:
            kind = pin.JointModelFreeFlyer()
        index = self.model.addJoint(parent, kind, X, joint.name)
        self.joints[joint.name] = (joint, index)
        self._add_link(child, index, X_after)

    def _add_link(self, link: LinkSpec, joint: int, X: pin.SE3) -> None:
        self.links[link.name] = (joint, X)
        if link.inertial is not None:
            inertia = pin.Inertia(link.inertial.mass, link.inertial.p_LCo, link.inertial.I_LCo)
            self.model.appendBodyToJoint(joint, inertia, X)

    def convert(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio's coordinates, T (nv_pin, nv), and the part of Pinocchio's acceleration that v causes."""
        q_pin = np.zeros(self.model.nq)
        T = np.zeros((self.model.nv, self.nv))
        a_pin = np.zeros(self.model.nv)
        for joint, index in self.joints.values():
            name, scale, offset = joint.name, 1.0, 0.0
            if joint.mimic is not None:
                name, scale, offset = joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset
            i, k = self.q_index[name], self.v_index[name]
            model = self.model.joints[index]
            m, n = model.idx_q, model.idx_v
            if joint.type == "planar":
                x, y, angle = q[i : i + 3]
                c, s = np.cos(angle), np.sin(angle)
                q_pin[m : m + 4] = x, y, c, s
                block = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
                T[n : n + 3, k : k + 3] = block
                u = block @ v[k : k + 3]
                a_pin[n : n + 3] = u[2] * u[1], -u[2] * u[0], 0.0
            elif joint.type == "floating":
                q_pin[m : m + 7], T[n : n + 6, k : k + 6], a_pin[n : n + 6] = free_flyer(
                    q[i : i + 7], v[k : k + 6]
                )
            elif joint.type == "universal":
                q_pin[m : m + 2], T[n : n + 2, k : k + 2] = q[i : i + 2], np.eye(2)
            else:
                q_pin[m], T[n, k] = scale * q[i] + offset, scale
        return q_pin, T, a_pin

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        q_pin, T, _ = self.convert(q, np.zeros(self.nv))
        M = pin.crba(self.model, self.data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        return T.T @ (M + np.diag(self.rotor_inertia)) @ T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        q_pin, T, a_rest = self.convert(q, v)
        a_pin = T @ a + a_rest
        tau = pin.rnea(self.model, self.data, q_pin, T @ v, a_pin)
        return T.T @ (tau + self.rotor_inertia * a_pin)

    def link_pose(self, q: np.ndarray, link: str) -> np.ndarray:
        q_pin, _, _ = self.convert(q, np.zeros(self.nv))
        pin.forwardKinematics(self.model, self.data, q_pin)
        joint, X = self.links[link]
        return (self.data.oMi[joint] * X).homogeneous

    def link_jacobian(self, q: np.ndarray, link: str) -> np.ndarray:
        """Jacobian (6, nv) of the link's origin in world axes, angular first."""
        q_pin, T, _ = self.convert(q, np.zeros(self.nv))
        joint, X = self.links[link]
        if joint == 0:
            return np.zeros((6, self.nv))
        pin.computeJointJacobians(self.model, self.data, q_pin)
        J = pin.getJointJacobian(self.model, self.data, joint, pin.ReferenceFrame.WORLD)
        w, v_O = J[3:] @ T, J[:3] @ T
        p = (self.data.oMi[joint] * X).translation
        return np.vstack([w, v_O + np.cross(w, p, axisa=0, axisb=0, axisc=0)])

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy."""
        q_pin, T, _ = self.convert(q, v)
        v_pin = T @ v
        kinetic = pin.computeKineticEnergy(self.model, self.data, q_pin, v_pin)
        rotors = 0.5 * self.rotor_inertia @ v_pin**2
        return kinetic + rotors, pin.computePotentialEnergy(self.model, self.data, q_pin)

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Momentum about the world's origin, angular first."""
        q_pin, T, _ = self.convert(q, v)
        h = pin.computeCentroidalMomentum(self.model, self.data, q_pin, T @ v)
        return np.concatenate([h.angular + np.cross(self.data.com[0], h.linear), h.linear])


def free_flyer(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pinocchio's coordinates (7,) of a floating joint, T (6, 6), and the acceleration (6,) that v causes."""
    quaternion_xyzw = np.roll(q[:4], -1)
    R = Rotation.from_quat(quaternion_xyzw).as_matrix()
    T = np.block([[np.zeros((3, 3)), R.T], [R.T, np.zeros((3, 3))]])
    linear, angular = np.split(T @ v, 2)
    return (
        np.concatenate([q[4:], quaternion_xyzw]),
        T,
        np.concatenate([-np.cross(angular, linear), np.zeros(3)]),
    )


def _base_joint(item: PlacedRobot) -> JointSpec:
    """The joint between a robot's root and what carries it."""
    root, z = item.robot.root, np.array([0.0, 0.0, 1.0])
    if item.floating:
        return JointSpec(item.base_joint_name, "floating", "world", root, np.eye(4), z)
    return JointSpec("", "fixed", item.attach_to or "world", root, item.X_WR, z)


def _shortest_turn_of_z_to(axis: np.ndarray) -> np.ndarray:
    z = np.array([0.0, 0.0, 1.0])
    normal, angle = np.cross(z, axis), np.arccos(np.clip(axis[2], -1.0, 1.0))
    length = np.linalg.norm(normal)
    return Rotation.from_rotvec(normal / length * angle).as_matrix() if length > 0.0 else np.eye(3)
