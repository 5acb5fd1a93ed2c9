"""The scenes of ``peer_scenes`` in hydro-sim: batches on a GPU or the processor's cores, and one world on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import numpy as np
import peer_scenes as scenes
from peer_timing import timed

from hydro_sim_core import BatchWorld, World
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene

#: Edges of the cylinder, m, for about 200 and 440 contact faces; of the ball.
CYLINDER_HINTS = (0.0024, 0.001)
BALL_HINTS = (0.005, 0.0025, 0.00125)
SETTLE = 12000
#: The grasp of ``gpu.py``: an arm of seven joints between soft bubbles of 200 faces.
ARM = "grasp with an arm"


def versions() -> dict[str, str]:
    """Of what is measured."""
    found = {}
    for name in ("hydro-sim-core", "cupy-cuda13x", "cupy-cuda12x"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def faces(world: World) -> int:
    """Contact faces of the last step."""
    return sum(patch.num_faces for patch in world.contacts)


def depth(name: str, world: World) -> float:
    """Depth of the contact, m; of the grasp, the mean of both."""
    if name == "grasp":
        places = [world.frame_pose(side)[1, 3] for side in scenes.SIDES]
        return float(scenes.RADIUS - 0.5 * (places[1] - places[0]))
    size = 0.5 * scenes.CUBE if name == "punch" else scenes.BALL
    return float(size - world.frame_pose("body")[2, 3])


def force_errors(backend: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the error of the force: on the processor, whose bits a GPU has."""
    cases: list[tuple[str, float | None, LoadedScene]] = [("punch", None, scenes.our_punch())]
    cases += [("ball", hint, scenes.our_ball(hint)) for hint in BALL_HINTS]
    cases += [("grasp", hint, scenes.our_grasp(hint)) for hint in CYLINDER_HINTS]
    for name, hint, scene in cases:
        yield partial(_force_error, name, hint, scene)


def _force_error(name: str, hint: float | None, scene: LoadedScene) -> dict[str, Any]:
    world = World(scene)
    world.step()
    start, load = pressing(name, world), scenes.LOADS[name]
    world.step(SETTLE)
    found = depth(name, world)
    return {
        "scene": name,
        "hint": hint,
        "error": start / load - 1.0,
        "faces": faces(world),
        "depth_at_rest": found,
        "error_at_rest": scenes.error_at_rest(name, found),
        "unrest": pressing(name, world) / load - 1.0,
    }


def pressing(name: str, world: World) -> float:
    """Pressure times area along the load, N: of the grasp, the mean of both pads."""
    axis = 1 if name == "grasp" else 2
    forces = [
        abs(float((patch.pressures * patch.areas) @ patch.normals[:, axis])) for patch in world.contacts
    ]
    return sum(forces) / len(forces)


class Batch:
    """Worlds of a grasp side by side.

    Args:
        scene: Of the cylinder between pads, or between the fingers of the arm.
        n: Number of worlds.
        backend: ``cuda`` or ``cpu``.
    """

    def __init__(self, scene: LoadedScene, n: int, backend: str) -> None:
        self.n = n
        self.batch = BatchWorld(scene, n, cast(Any, backend))
        xp = self.batch.numpy
        # The first step takes the scene's command, which would replace the forces of the worlds.
        self.batch.step()
        ways = scenes.ways(n)
        q, v = self.batch.q.copy(), xp.zeros_like(self.batch.v)
        v[:, _of_body(self.batch.world)] = xp.asarray(ways.velocity)
        self.batch.set_state(q, v)
        self.batch.drives.effort[...] *= xp.asarray(ways.force)[:, None]

    def step(self, number: int) -> None:
        """Take steps."""
        self.batch.step(number)

    def wait(self) -> None:
        """Wait for the GPU."""
        if self.batch.backend == "cuda":
            self.batch.numpy.cuda.Device().synchronize()

    def counts(self) -> dict[str, Any]:
        """Contact faces of the first world, frozen worlds and the lowest place of a cylinder, m."""
        first = self.batch.copy_of(0)
        name = "held" if "held" in first.frame_names else "cylinder"
        return {
            "faces": faces(first),
            "failures": len(self.batch.failures),
            "sunk": float(abs(first.frame_pose(name)[2, 3] - _start(first, name))),
        }


def _of_body(world: World) -> list[int]:
    """Where in the velocities those of the cylinder are."""
    return [i for i, name in enumerate(world.velocity_names) if name.startswith(("held", "cylinder"))]


def _start(world: World, name: str) -> float:
    return float(World(world.scene).frame_pose(name)[2, 3])


def rates(backend: str, worlds: list[int], seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the rate of the grasps."""
    cases: list[tuple[str, float | None, Callable[[], LoadedScene]]] = [
        ("grasp", hint, partial(scenes.our_grasp, hint)) for hint in CYLINDER_HINTS
    ]
    cases.insert(1, (ARM, None, partial(grasp_scene, 200)))
    for name, hint, scene in cases:
        for n in worlds:
            yield partial(_rate, name, hint, scene, n, backend, seconds)


def _rate(
    name: str, hint: float | None, scene: Callable[[], LoadedScene], n: int, backend: str, seconds: float
) -> dict[str, Any]:
    batch = Batch(scene(), n, backend)
    return {"scene": name, "hint": hint, "worlds": n} | timed(batch, seconds) | batch.counts()


class OneWorld:
    """A world on one core.

    Args:
        scene: Its scene.
    """

    n = 1

    def __init__(self, scene: LoadedScene) -> None:
        self.world = World(scene)

    def step(self, number: int) -> None:
        """Take steps."""
        self.world.step(number)

    def wait(self) -> None:
        """Nothing to wait for."""


def one_core(seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """Steps a second of one world on one core, to compare with Drake's."""
    for hint in CYLINDER_HINTS:
        yield partial(_one_core, hint, seconds)


def _one_core(hint: float, seconds: float) -> dict[str, Any]:
    scene = OneWorld(scenes.our_grasp(hint))
    row: dict[str, Any] = {
        "engine": "hydro-sim",
        "scene": "grasp",
        "hint": hint,
        "worlds": 1,
        "cores": 1,
    } | timed(scene, seconds)
    return row | {"faces": faces(scene.world), "sunk": float(np.abs(scene.world.frame_pose("held")[2, 3]))}
