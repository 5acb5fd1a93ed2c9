"""Lumping of links joined by fixed joints into bodies, robot by robot."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hydro_sim_core.arithmetic import dot, product
from hydro_sim_core.description.spec import JointSpec, LinkSpec, RobotSpec
from hydro_sim_core.dynamics.joint_dispatch import joint_number
from hydro_sim_core.dynamics.tree import Floats
from hydro_sim_core.dynamics.velocities import VelocityEntry, add_mimic, velocity_entries
from hydro_sim_core.errors import InputError
from hydro_sim_core.rotations import quaternions_of

WORLD = "world"


@dataclass(frozen=True, eq=False)
class PlacedRobot:
    """A robot and its placement.

    Attributes:
        robot: The robot.
        X_WR: (4, 4) pose of its root link in the world, or in the link that ``attach_to`` names.
        floating: Whether its root moves freely, starting at ``X_WR``; otherwise it is fixed there.
        attach_to: Link of an earlier robot that carries this one; None for the world.
        base_joint_name: Name of the floating joint that a floating root gets.
        prescribed: Whether the velocity of a floating root is prescribed, independent of forces.
    """

    robot: RobotSpec
    X_WR: Floats
    floating: bool = False
    attach_to: str | None = None
    base_joint_name: str = ""
    prescribed: bool = False


@dataclass
class Body:
    """A body and the joint that moves it; its moments of mass are about the origin of its frame B.

    ``q_index`` and ``v_index`` are -1 until the master of a mimic joint is known.
    """

    joint: JointSpec
    parent: int
    X_PJ: Floats
    source: str
    q_index: int = -1
    v_index: int = -1
    q_scale: float = 1.0
    q_offset: float = 0.0
    mass: float = 0.0
    first_moment: Floats = field(default_factory=lambda: np.zeros(3))
    second_moment: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    weightless: Floats = field(default_factory=lambda: np.zeros(4))

    @property
    def joint_type(self) -> int:
        return joint_number(self.joint.type)

    @property
    def num_q(self) -> int:
        return self.joint.traits.num_q

    @property
    def num_v(self) -> int:
        return self.joint.traits.num_v

    @property
    def p_BCo(self) -> Floats:
        return self.first_moment / self.mass if self.mass > 0.0 else np.zeros(3)

    @property
    def I_BCo(self) -> Floats:
        return self.second_moment - self.mass * _point_inertia(self.p_BCo)

    def add_link(self, link: LinkSpec, X_BL: Floats) -> None:
        """Add the mass of a link to the body."""
        if link.inertial is None:
            return
        R_BL, mass = X_BL[:3, :3], link.inertial.mass
        p_BCo = product(R_BL, link.inertial.p_LCo) + X_BL[:3, 3]
        self.mass += mass
        self.first_moment += mass * p_BCo
        if not link.has_weight:
            self.weightless += mass * np.array([1.0, *p_BCo])
        self.second_moment += product(R_BL, link.inertial.I_LCo, R_BL.T) + mass * _point_inertia(p_BCo)


def _point_inertia(p: Floats) -> Floats:
    """Inertia (3, 3) about the origin of a unit mass at p."""
    return dot(p, p) * np.eye(3) - np.outer(p, p)


def _turn_of_z(axis: Floats) -> Floats:
    """The smallest rotation (3, 3) that maps the z axis to a unit vector; half a turn about y for -z."""
    x, y, z = axis
    level = x * x + y * y
    if level == 0.0:
        return np.diag([math.copysign(1.0, z), 1.0, math.copysign(1.0, z)])
    scale = 1.0 / (1.0 + z) if z > 0.0 else (1.0 - z) / level
    return np.array(
        [
            [1.0 - x * x * scale, -x * y * scale, x],
            [-x * y * scale, 1.0 - y * y * scale, y],
            [-x, -y, z],
        ]
    )


@dataclass(frozen=True, eq=False)
class Frame:
    """Placement of a link: its pose in the body that carries it, or in the world for body -1."""

    body: int
    X_BL: Floats


class BodyBuilder:
    """Builder of bodies, links and velocities from robots added one by one.

    Attributes:
        bodies: Bodies, parents first.
        frames: Frame of every link by name, in file order, without the world.
        link_tree: Pair (parent link, child link) for every link.
        velocities: Properties of the entries of v.
        q0: Start coordinates.
    """

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.frames: dict[str, Frame] = {}
        self.link_tree: list[tuple[str, str]] = []
        self.velocities: list[VelocityEntry] = []
        self.q0: list[float] = []

    def add_robot(self, placed: PlacedRobot) -> None:
        """Append a robot's bodies.

        Raises:
            InputError: Its base cannot be placed, or limits of a mimic joint and its master exclude each
                other.
        """
        robot = placed.robot
        links = {link.name: link for link in robot.links}
        frames = {robot.root: self._add_base(placed)}
        for joint in robot.joints:
            parent = frames[joint.parent]
            X_BJ = product(parent.X_BL, joint.X_PJ)
            if joint.type == "fixed":
                frames[joint.child] = Frame(parent.body, X_BJ)
            else:
                frames[joint.child] = self._add_body(joint, parent.body, X_BJ, robot.source)
            self._add_link(links[joint.child], frames[joint.child], joint.parent)
        self._couple_mimics(robot)

    def _add_base(self, placed: PlacedRobot) -> Frame:
        """Add the base of the root link; returns its frame."""
        robot, root = placed.robot, placed.robot.links[0]
        element = f"link '{root.name}'"
        carrier = placed.attach_to or WORLD
        if placed.floating:
            if carrier != WORLD:
                problem = f"floats and is attached to '{carrier}' at once"
                raise InputError(robot.source, element, problem, "choose one of the two")
            frame = self._add_floating_base(placed)
        elif carrier == WORLD:
            frame = Frame(-1, np.array(placed.X_WR, dtype=float))
        elif carrier in self.frames:
            frame = Frame(self.frames[carrier].body, product(self.frames[carrier].X_BL, placed.X_WR))
        else:
            problem = f"is attached to '{carrier}', which no earlier robot has"
            raise InputError(robot.source, element, problem, "name a link of a robot that comes first")
        if root.name != WORLD:
            self._add_link(root, frame, carrier)
        elif placed.floating or root.collisions or root.visuals or carrier != WORLD:
            problem = "a link named 'world' moves or has geometry"
            raise InputError(robot.source, element, problem, "give the link another name")
        return frame

    def _add_floating_base(self, placed: PlacedRobot) -> Frame:
        robot, axis = placed.robot, np.array([0.0, 0.0, 1.0])
        joint = JointSpec(placed.base_joint_name, "floating", WORLD, robot.root, np.eye(4), axis)
        frame = self._add_body(joint, -1, np.eye(4), robot.source)
        for entry in self.velocities[-6:]:
            entry.prescribed = placed.prescribed
        x, y, z, w = quaternions_of(placed.X_WR[:3, :3])
        self.q0[-7:] = [w, x, y, z, *placed.X_WR[:3, 3]]
        return frame

    def _add_body(self, joint: JointSpec, parent: int, X_PJ: Floats, source: str) -> Frame:
        """Append the body that a moving joint carries; returns the frame of the joint's child link."""
        X_BL = np.eye(4)
        if joint.traits.axis == "normal":
            # The kernels take the normal of a plane as the z axis.
            X_JN = np.eye(4)
            X_JN[:3, :3] = _turn_of_z(joint.axis)
            X_PJ, X_BL = product(X_PJ, X_JN), X_JN.T
        body = Body(joint, parent, X_PJ, source)
        if joint.mimic is None:
            body.q_index, body.v_index = len(self.q0), len(self.velocities)
            self.velocities += velocity_entries(joint, body.num_v, body.q_index)
            self.q0 += joint.traits.start
        self.bodies.append(body)
        return Frame(len(self.bodies) - 1, X_BL)

    def _add_link(self, link: LinkSpec, frame: Frame, parent: str) -> None:
        self.frames[link.name] = frame
        self.link_tree.append((parent, link.name))
        if frame.body >= 0:
            self.bodies[frame.body].add_link(link, frame.X_BL)

    def _couple_mimics(self, robot: RobotSpec) -> None:
        """Set the coordinate indices of mimic joints to their masters', which may come later in the file."""
        bodies = {body.joint.name: body for body in self.bodies}
        for joint in robot.joints:
            if joint.mimic is None:
                continue
            body, master = bodies[joint.name], bodies[joint.mimic.joint]
            body.q_index, body.v_index = master.q_index, master.v_index
            body.q_scale, body.q_offset = joint.mimic.multiplier, joint.mimic.offset
            add_mimic(self.velocities[master.v_index], joint, joint.mimic, robot.source)
