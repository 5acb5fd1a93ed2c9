"""Assembly of placed robots into one kinematic tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.dynamics.bodies import WORLD, BodyBuilder, PlacedRobot
from hydro_sim_core.dynamics.inertia import velocity_without_inertia
from hydro_sim_core.dynamics.tree import Floats, Ints, KinematicTree, frozen
from hydro_sim_core.errors import InputError


@dataclass(frozen=True)
class ScalarJoint:
    """A length or an angle of a joint: one of the coordinates of its type.

    Its position is ``scale * q[q_index] + offset`` and its rate ``scale * v[v_index]``.

    Attributes:
        name: Name of the joint, or ``joint/x`` and so on for a joint with several.
        body: Body that the joint moves.
        q_index: Index in q.
        v_index: Index in v.
        scale: Scale; 1 except for mimic joints.
        offset: Offset, rad or m; 0 except for mimic joints.
    """

    name: str
    body: int
    q_index: int
    v_index: int
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Assembly:
    """The kinematic tree of a scene and the names of its links, joints and velocities.

    Attributes:
        tree: The tree; ``nb`` bodies.
        link_names: (nl) names of all links, without the world.
        link_body: (nl,) body that carries the link, -1 for links welded to the world.
        X_BL: (nl, 4, 4) pose of the link in its body, or in the world.
        joint_names: (nb) name of the joint that moves each body.
        velocity_names: (nv) joint of each velocity: ``joint``; ``joint/x`` and so on for several lengths and angles;
            ``joint/i`` for a joint with a quaternion.
        scalar_joints: All coordinates that are lengths or angles, including those of mimic joints, in the order of the
            bodies.
        link_tree: Pair (parent link, child link) for every link; the parent of a root may be ``world``.
        q0: (nq,) start coordinates: free bases where they were placed, other joints at zero or at the limit nearest to
            it.
    """

    tree: KinematicTree
    link_names: tuple[str, ...]
    link_body: Ints
    X_BL: Floats
    joint_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    scalar_joints: tuple[ScalarJoint, ...]
    link_tree: tuple[tuple[str, str], ...]
    q0: Floats


class NoInertia(InputError):
    """A velocity moves no inertia.

    Attributes:
        link: Link that needs some; empty after pickling.
    """

    link: str = ""


def build_tree(
    placed: Sequence[PlacedRobot], gravity: ArrayLike, start_positions: Iterable[Mapping[str, float]] = ()
) -> Assembly:
    """Assemble robots into one kinematic tree.

    Links behind fixed joints are lumped into the body that carries them. A mimic joint with rate s times its master's
    adds to the properties of the master's velocity such that power is unchanged: s^2 times its damping, rotor inertia,
    spring and limit stiffness, |s| times its friction, |s| times its effort limit if it has one (each joint's drive
    takes its share). Of the position and velocity limits, converted to the master's coordinate, the tighter ones hold.
    The limits of a joint with several coordinates hold for each of them; joints with a quaternion have no limits.

    Args:
        placed: The robots, in the order in which their joints appear in q and v. As ``load_robot`` leaves
            them: parents first, mimic joints referring to joints that mimic nothing.
        gravity: (3,) acceleration of gravity in the world, m/s^2.
        start_positions: As for ``start_coordinates``.

    Raises:
        NoInertia: A moving link has no inertia, in any posture or where it starts.
        InputError: A name occurs twice or is unknown, or the limits of a mimic joint and its master exclude each other.
    """
    _check_names(placed)
    builder = BodyBuilder()
    for item in placed:
        builder.add_robot(item)
    assembly = _assemble(builder, gravity)
    start = start_coordinates(assembly, start_positions)
    _check_inertia(assembly, start, [body.source for body in builder.bodies])
    return assembly


def start_coordinates(assembly: Assembly, positions: Iterable[Mapping[str, float]]) -> Floats:
    """Coordinates (nq,) at time zero: those of ``Assembly.q0`` where nothing else is said.

    Args:
        assembly: The robots.
        positions: Start position of every independent coordinate, for each robot.
    """
    q = np.array(assembly.q0)
    own = {name: i for i, name in enumerate(assembly.velocity_names)}
    for each in positions:
        for joint, position in each.items():
            q[assembly.tree.q_of_v[own[joint]]] = position
    return q


def _check_names(placed: Sequence[PlacedRobot]) -> None:
    links: set[str] = set()
    joints: set[str] = set()
    for item in placed:
        base = [item.base_joint_name] if item.floating else []
        link_names = [link.name for link in item.robot.links if link.name != WORLD]
        joint_names = base + [name for joint in item.robot.joints for name in joint.all_names]
        for kind, seen, names in (("link", links, link_names), ("joint", joints, joint_names)):
            for name in names:
                if name in seen:
                    problem = "the name occurs twice in the scene"
                    raise InputError(item.robot.source, f"{kind} '{name}'", problem, "rename one of the two")
                seen.add(name)


def _assemble(builder: BodyBuilder, gravity: ArrayLike) -> Assembly:
    tree = _write_tree(builder, gravity)
    q0 = np.array(builder.q0)
    scalar = tree.q_of_v >= 0
    q0[tree.q_of_v[scalar]] = np.clip(0.0, tree.q_lower[scalar], tree.q_upper[scalar])
    return Assembly(
        tree=tree,
        link_names=tuple(builder.frames),
        link_body=frozen([frame.body for frame in builder.frames.values()], np.int64),
        X_BL=frozen([frame.X_BL for frame in builder.frames.values()], shape=(-1, 4, 4)),
        joint_names=tuple(body.joint.name for body in builder.bodies),
        velocity_names=tuple(entry.name for entry in builder.velocities),
        scalar_joints=tuple(
            ScalarJoint(name, i, body.q_index + k, body.v_index + k, body.q_scale, body.q_offset)
            for i, body in enumerate(builder.bodies)
            for k, name in enumerate(body.joint.coordinate_names)
        ),
        link_tree=tuple(builder.link_tree),
        q0=frozen(q0),
    )


def _write_tree(builder: BodyBuilder, gravity: ArrayLike) -> KinematicTree:
    bodies, velocities = builder.bodies, builder.velocities
    integers = {
        name: frozen([getattr(body, name) for body in bodies], np.int64)
        for name in ("parent", "joint_type", "q_index", "v_index", "num_q", "num_v")
    }
    masses = {
        name: frozen([getattr(body, name) for body in bodies], shape=shape)
        for name, shape in {
            "q_scale": (-1,),
            "q_offset": (-1,),
            "mass": (-1,),
            "p_BCo": (-1, 3),
            "I_BCo": (-1, 3, 3),
            "weightless": (-1, 4),
        }.items()
    }
    per_velocity = {
        name: frozen([getattr(entry, name) for entry in velocities])
        for name in (
            "rotor_inertia",
            "damping",
            "friction",
            "q_lower",
            "q_upper",
            "limit_stiffness",
            "spring_stiffness",
            "spring_reference",
            "velocity_limit",
            "effort_limit",
        )
    }
    return KinematicTree(
        **integers,
        **masses,
        **per_velocity,
        axis=frozen([body.joint.axis for body in bodies], shape=(-1, 3)),
        R_PJ=frozen([body.X_PJ[:3, :3] for body in bodies], shape=(-1, 3, 3)),
        p_PJ=frozen([body.X_PJ[:3, 3] for body in bodies], shape=(-1, 3)),
        q_of_v=frozen([entry.q_of_v for entry in velocities], np.int64),
        prescribed=frozen([entry.prescribed for entry in velocities], np.bool_),
        gravity=frozen(gravity, shape=(3,)),
    )


def _check_inertia(assembly: Assembly, start: Floats, sources: Sequence[str]) -> None:
    """Reject trees in which a velocity moves no inertia, since their mass matrix is singular."""
    # In a symmetric posture the matrix may be singular by accident, so that a generic one is tested first; the start is
    # tested too, as the run begins there.
    generic = assembly.q0 + np.sqrt(np.arange(2.0, 2.0 + len(assembly.q0)))
    for q, where, elsewhere in ((generic, "", ""), (start, " where it starts", "start it elsewhere, or ")):
        k = velocity_without_inertia(assembly.tree, q)
        if k >= 0:
            body = _moving_body(assembly, k)
            link = assembly.link_names[int(np.flatnonzero(assembly.link_body == body)[0])]
            error = NoInertia(
                sources[body],
                f"link '{link}'",
                f"joint '{assembly.joint_names[body]}' moves no inertia{where}, so its acceleration has no bound",
                f"{elsewhere}give this link or one that it carries mass and inertia, as <inertial> in a URDF",
            )
            error.link = link
            raise error


def _moving_body(assembly: Assembly, k: int) -> int:
    """Body whose own joint has velocity k, not one of the mimic joints that follow it."""
    tree = assembly.tree
    bodies = np.flatnonzero((tree.v_index <= k) & (k < tree.v_index + tree.num_v))
    own = [body for body in bodies if assembly.joint_names[body] == assembly.velocity_names[k]]
    return int((own or bodies)[0])
