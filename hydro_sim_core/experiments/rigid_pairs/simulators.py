"""The same bodies in hydro-sim, Drake and MuJoCo, with the contact that each has for rigid bodies by default."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import trimesh
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.experiments.rigid_pairs.arm import ArmMaker
from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY, Body, BodyScene
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]


class Simulator(Protocol):
    """Bodies of a ``BodyScene`` in motion."""

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""

    def pose(self, name: str) -> Array:
        """Pose (4, 4) of a body in the world."""

    def twist(self, name: str) -> Array:
        """Angular and linear velocity (6,) of a body and its origin in the world, rad/s and m/s."""

    def force(self, a: str, b: str) -> Array:
        """Force (3,) that body ``a`` exerts on ``b``, N."""


#: Makes a scene in a simulator, with a folder for files of meshes.
Maker = Callable[[BodyScene, Path], Simulator]


class OurBodies:
    """The bodies in hydro-sim: rigid shapes, everything else left to its defaults."""

    def __init__(self, scene: BodyScene, folder: Path) -> None:
        contact = {"compliance": "rigid", "friction": scene.friction}
        if scene.dissipation is not None:
            contact["dissipation"] = scene.dissipation
        builder = SceneBuilder(
            scene.name, time_step=scene.time_step, gravity=(0.0, 0.0, -GRAVITY), contact=contact
        )
        for body in scene.bodies:
            self._add(builder, body, folder)
        self._fixed = {body.name: body.X_WB for body in scene.bodies if not body.is_free}
        self.world = World(builder.build())
        v = self.world.v.copy()
        for i, body in enumerate(scene.free):
            v[6 * i + 3 : 6 * i + 6] = body.velocity
        self.world.set_state(self.world.q, v)

    @staticmethod
    def _add(builder: SceneBuilder, body: Body, folder: Path) -> None:
        given = []
        for i, shape in enumerate(body.shapes):
            lengths: dict[str, Any] = dict(shape.lengths)
            if shape.kind == "mesh":
                path = folder / f"{body.name}_{i}.obj"
                write_obj(path, shape.surface)
                lengths["path"] = str(path)
            given.append((shape.kind, lengths))
        xyz, rpy = body.X_WB[:3, 3], body.rpy
        if not body.is_free:
            ((kind, lengths),) = given
            builder.add_static(body.name, kind, xyz=xyz, rpy=rpy, **lengths)
            return
        link = builder.add_body(body.name, body.mass, None, (0.0, 0.0, 0.0), body.inertia, xyz=xyz, rpy=rpy)
        for kind, lengths in given:
            link.add_shape(kind, **lengths)

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self.world.step(n)

    def pose(self, name: str) -> Array:
        """Pose (4, 4) of a body in the world."""
        return self._fixed[name] if name in self._fixed else self.world.frame_pose(name)

    def twist(self, name: str) -> Array:
        """Angular and linear velocity (6,) of a body, rad/s and m/s."""
        if name in self._fixed:
            return np.zeros(6)
        about_origin = self.world.frame_twists()[self.world.frame_names.index(name)]
        w, v = about_origin[:3], about_origin[3:]
        return np.concatenate([w, v + np.cross(w, self.pose(name)[:3, 3])])

    def force(self, a: str, b: str) -> Array:
        """Force (3,) that body ``a`` exerts on ``b``, N."""
        total = np.zeros(3)
        for patch in self.world.contacts:
            if (patch.name_a, patch.name_b) == (a, b):
                total += patch.force_on_b
            elif (patch.name_a, patch.name_b) == (b, a):
                total -= patch.force_on_b
        return total


def write_obj(path: Path, surface: trimesh.Trimesh) -> None:
    """Write a triangulated surface with all digits of its coordinates."""
    with path.open("w") as file:
        np.savetxt(file, surface.vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, surface.faces + 1, fmt="f %d %d %d")


class Other(NamedTuple):
    """Another simulator.

    Attributes:
        bodies: Makes the bodies of a scene in it.
        arm: Makes the arm on its own base in it.
    """

    bodies: Maker
    arm: ArmMaker


#: Package that each of the others needs, with the modules and classes of its makers, by what the tables call it.
_OTHERS = {
    "Drake": ("pydrake", ("drake_points", "DrakeBodies"), ("drake_arm", "DrakeArm")),
    "MuJoCo": ("mujoco", ("mujoco_bodies", "MuJoCoBodies"), ("mujoco_arm", "MuJoCoArm")),
}


def others() -> dict[str, Other | None]:
    """Other simulators by name; None for those that are not installed."""
    found: dict[str, Other | None] = {}
    for name, (package, *makers) in _OTHERS.items():
        is_there = find_spec(package) is not None
        found[name] = Other(*(_maker(*maker) for maker in makers)) if is_there else None
    return found


def _maker(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(f"{__package__}.{module}"), kind)


@contextmanager
def simulated(make: Maker, scene: BodyScene) -> Iterator[Simulator]:
    """Yield a scene in a simulator, with its meshes in files."""
    with tempfile.TemporaryDirectory() as folder:
        yield make(scene, Path(folder))
