"""The shipped Gen3, its elbow pressed on its own base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import xacro

from hydro_sim_core.assets import folder
from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY
from hydro_sim_core.simulation import World

URDF = folder("urdf") / "kinova_gen3_6dof.urdf.xacro"
#: Pose of the arm at the start, rad: folded, the forearm above the base. Joints that are not named are at 0.
FOLDED = {"joint_2": 1.4, "joint_3": -2.3}
#: Joint that an effort alone drives, that effort, N m, and the joints that are held by drives of these gains.
ELBOW, EFFORT = "joint_3", -10.0
HELD = tuple(f"joint_{i}" for i in (1, 2, 4, 5, 6))
KP, KD = 2000.0, 100.0
TIME_STEP, FRICTION = 1e-3, 0.5
#: Regularisation of our friction, m/s: what it holds, the tension of the drives, creeps ten times as fast or so.
STICTION_SPEED = 1e-8
#: Steps until the arm rests, and those in which its speed is measured.
STEPS, MEASURED_STEPS = 1500, 100


class Arm(Protocol):
    """The arm in motion."""

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""

    def speed(self) -> float:
        """Largest speed of a joint, rad/s."""

    def depth(self) -> float:
        """Depth of the links in each other, m."""

    def moments(self) -> tuple[float, float]:
        """Moment of the contact about the elbow, and the one that gravity and drive leave to it, N m."""


@dataclass(frozen=True)
class ArmAtRest:
    """The arm on its base.

    Attributes:
        speed: Largest joint velocity in the last ``MEASURED_STEPS``, rad/s.
        depth: m.
        moment: Of the contact about the elbow, N m.
        wanted: What gravity and drive leave to it, N m.
    """

    speed: float
    depth: float
    moment: float
    wanted: float


def measure_arm(arm: Arm) -> ArmAtRest:
    """Let the arm come to rest on its base and measure."""
    arm.step(STEPS - MEASURED_STEPS)
    speed = 0.0
    for _ in range(MEASURED_STEPS):
        arm.step()
        speed = max(speed, arm.speed())
    return ArmAtRest(speed, arm.depth(), *arm.moments())


def urdf_text() -> str:
    """The arm's description for other simulators, which do not look for its meshes: it is only touched there."""
    description = xacro.process_file(URDF)
    for visual in description.getElementsByTagName("visual"):
        visual.parentNode.removeChild(visual)
    return str(description.toxml())


class OurArm:
    """The arm in hydro-sim."""

    def __init__(self) -> None:
        scene = SceneBuilder(
            "arm on its own base",
            time_step=TIME_STEP,
            gravity=(0.0, 0.0, -GRAVITY),
            contact={"friction": FRICTION},
            solver={"stiction_speed": STICTION_SPEED},
        )
        scene.add_urdf(URDF, "arm", positions=FOLDED)
        scene.add_actuators(HELD, mode="position", kp=KP, kd=KD).add_actuators([ELBOW], mode="effort")
        self.world = World(scene.build())
        self.world.set_command({ELBOW: EFFORT})

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self.world.step(n)

    def speed(self) -> float:
        """Largest speed of a joint, rad/s."""
        return float(np.abs(self.world.v).max())

    def depth(self) -> float:
        """Depth of the links in each other by the pressure of their patches, m."""
        return max(
            (
                float((patch.pressures / np.nanmax(np.where(np.isfinite(g), g, 0.0), axis=1)).max())
                for patch in self.world.contacts
                for g in [np.abs(patch.gradients)]
            ),
            default=0.0,
        )

    def moments(self) -> tuple[float, float]:
        """Moment of the contact about the elbow, and the one that gravity and drive leave to it, N m."""
        X = self.world.frame_pose("forearm_link")
        moment = 0.0
        for patch in self.world.contacts:
            away = 1.0 if patch.name_a == "base_link" else -1.0
            moment += away * float(X[:3, 2] @ patch.moment_on_b(X[:3, 3]))
        bias = self.world.bias_forces()[self.world.velocity_names.index(ELBOW)]
        return moment, float(bias) - EFFORT


#: Makes the arm in a simulator.
ArmMaker = Callable[[], Arm]
