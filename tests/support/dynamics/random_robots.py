"""Robots with every kind of joint, branch and mimic, drawn at random."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import InertialSpec, JointSpec, LimitSpec, LinkSpec, MimicSpec, RobotSpec
from hydro_sim_core.dynamics import Assembly, PlacedRobot

GRAVITY = np.array([0.3, -0.4, -9.7])
MOVING_TYPES = ("revolute", "continuous", "prismatic", "planar", "floating", "universal")


def random_pose(rng: np.random.Generator, reach: float = 0.5) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = Rotation.random(random_state=rng.integers(2**31)).as_matrix()
    X[:3, 3] = rng.uniform(-reach, reach, 3)
    return X


def random_axis(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_link(rng: np.random.Generator, name: str) -> LinkSpec:
    """A link whose inertia belongs to a real body: that of four point masses."""
    masses, points = rng.uniform(0.1, 1.0, 4), rng.uniform(-0.2, 0.2, (4, 3))
    p_LCo = masses @ points / masses.sum()
    arms = points - p_LCo
    I_LCo = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return LinkSpec(name, InertialSpec(float(masses.sum()), p_LCo, I_LCo))


def random_robot(
    rng: np.random.Generator,
    prefix: str,
    num_joints: int,
    types: tuple[str, ...] = (*MOVING_TYPES, "fixed"),
    mimic_share: float = 0.3,
) -> RobotSpec:
    """A random tree; mimic joints may precede their masters."""
    links = [random_link(rng, f"{prefix}link0")]
    joints: list[JointSpec] = []
    drawn = [str(rng.choice(types)) for _ in range(num_joints)]
    scalar = [k for k, kind in enumerate(drawn) if kind in ("revolute", "continuous", "prismatic")]
    followers = [k for k in scalar[1:] if rng.random() < mimic_share]
    for k in range(num_joints):
        mimic = None
        if k in followers:
            candidates = [j for j in scalar if j not in followers]
            mimic = MimicSpec(
                f"{prefix}joint{rng.choice(candidates)}", float(rng.uniform(-2, 2)), float(rng.normal())
            )
        is_scalar = k in scalar
        links.append(random_link(rng, f"{prefix}link{k + 1}"))
        joints.append(
            JointSpec(
                f"{prefix}joint{k}",
                drawn[k],
                parent=f"{prefix}link{rng.integers(max(0, k - 2), k + 1)}",
                child=f"{prefix}link{k + 1}",
                X_PJ=random_pose(rng),
                axis=random_axis(rng),
                limits=LimitSpec(),
                rotor_inertia=float(rng.uniform(0.0, 0.3)) if is_scalar else 0.0,
                mimic=mimic,
            )
        )
    return RobotSpec(f"{prefix}robot", tuple(links), tuple(joints), f"{prefix}robot.urdf")


def random_scene(seed: int) -> list[PlacedRobot]:
    """A fixed robot, one that floats, and one attached to the first."""
    rng = np.random.default_rng(seed)
    arm = random_robot(rng, "arm_", int(rng.integers(4, 8)))
    base = random_robot(rng, "base_", int(rng.integers(0, 5)))
    hand = random_robot(rng, "hand_", int(rng.integers(1, 5)))
    carrier = arm.links[int(rng.integers(len(arm.links)))].name
    return [
        PlacedRobot(arm, random_pose(rng)),
        PlacedRobot(base, random_pose(rng), floating=True, base_joint_name="base_free"),
        PlacedRobot(hand, random_pose(rng), attach_to=carrier),
    ]


def random_state(rng: np.random.Generator, assembly: Assembly) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of order one, with normalised quaternions."""
    q = rng.normal(size=len(assembly.q0))
    tree = assembly.tree
    for first in tree.q_index[tree.num_v == 6]:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    return q, rng.normal(size=len(assembly.velocity_names))
