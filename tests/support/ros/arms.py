"""Arms without a gripper and without anything to touch, for controllers that need no node."""

from __future__ import annotations

from pathlib import Path

import hydro_sim_core as hs
from hydro_sim.controllers.arbiter import Arbiter

ROOT = Path(__file__).parents[3]
JOINTS = tuple(f"joint_{i}" for i in range(1, 8))
BENT = dict(zip(JOINTS, (0.0, 0.5, 3.1, -1.6, 0.1, 0.9, 0.0), strict=True))


def gen3(**model) -> hs.World:
    """A Kinova Gen3 with position drives, bent; ``model`` is told to ``add_urdf``."""
    scene = hs.SceneBuilder("gen3")
    scene.add_urdf(ROOT / "urdf" / "kinova_gen3_7dof.urdf.xacro", "arm", positions=BENT, **model)
    scene.add_actuators(JOINTS[:4], mode="position", kp=2000, kd=100)
    scene.add_actuators(JOINTS[4:], mode="position", kp=500, kd=50)
    return hs.World(scene.build())


class Bench:
    """A World whose controllers act before every step."""

    def __init__(self, world) -> None:
        self.world = world
        self.arbiter = Arbiter()
        self.controllers = []

    def add(self, controller):
        self.controllers.append(controller)
        return controller

    def step(self, n: int = 1) -> None:
        for _ in range(n):
            for controller in self.controllers:
                controller.advance(self.world)
            self.world.step()

    def position(self, joint: str) -> float:
        return float(self.world.joint_positions()[self.world.joint_names.index(joint)])
