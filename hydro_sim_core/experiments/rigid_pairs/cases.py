"""What comes to rest: the scenes, what is measured in each, and what it must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray

from hydro_sim_core.experiments.rigid_pairs.bodies import (
    GRAVITY,
    Body,
    BodyScene,
    box,
    depth,
    mesh,
    pose,
)
from hydro_sim_core.experiments.rigid_pairs.shapes import HANDLE_BAR, HANDLE_RING, hook, mug, pieces_in, ring
from hydro_sim_core.experiments.rigid_pairs.simulators import Maker, Simulator, simulated

Array = NDArray[np.float64]

#: Duration over which the speed at the end is the largest, s.
_WINDOW = 0.1


@dataclass(frozen=True, eq=False)
class RestCase:
    """A scene that comes to rest, and where.

    Attributes:
        scene: The scene.
        watched: The body whose place is known.
        place: Its origin (3,) at rest, m, by geometry alone.
        support: The body that carries ``carried``.
        carried: A body on it.
        weight: What it carries there, N.
        duration: Time until the measurement, s.
    """

    scene: BodyScene
    watched: str
    place: tuple[float, float, float]
    support: str
    carried: str
    weight: float
    duration: float = 1.0


@dataclass(frozen=True, eq=False)
class Rest:
    """What a simulator made of a case.

    Attributes:
        speed: Largest velocity of any body in the last 0.1 s, m/s or rad/s.
        depth: Deepest point of a body in another, m.
        off_place: Distance of the watched body from its place, m.
        force: Vertical force between support and carried body, N.
        poses: Poses (4, 4) by name.
    """

    speed: float
    depth: float
    off_place: float
    force: float
    poses: dict[str, Array]


def measure(
    case: RestCase,
    make: Maker,
    look: Callable[[Simulator], None] = lambda _: None,
) -> Rest:
    """Let a case come to rest in a simulator.

    Args:
        case: The case.
        make: Makes the simulator.
        look: Is shown the simulator at the end.
    """
    scene = case.scene
    window = round(_WINDOW / scene.time_step)
    with simulated(make, scene) as simulator:
        simulator.step(round(case.duration / scene.time_step) - window)
        speed = 0.0
        for _ in range(window):
            simulator.step()
            speed = max(speed, *(float(np.abs(simulator.twist(body.name)).max()) for body in scene.free))
        poses = {body.name: simulator.pose(body.name) for body in scene.bodies}
        force = float(simulator.force(case.support, case.carried)[2])
        look(simulator)
    off_place = float(np.linalg.norm(poses[case.watched][:3, 3] - case.place))
    return Rest(speed, depth(scene, poses), off_place, force, poses)


def _table(side: float, thickness: float) -> Body:
    return Body("table", [box(side, side, thickness)], X_WB=pose((0.0, 0.0, -0.5 * thickness)))


def box_on_table() -> RestCase:
    """A box that falls by a millimetre, not over the middle of the table."""
    body = Body("box", [box(0.1, 0.08, 0.1)], 1.0, pose((0.02, 0.01, 0.051)))
    scene = BodyScene("box on a table", [_table(0.3, 0.05), body])
    return RestCase(scene, "box", (0.02, 0.01, 0.05), "table", "box", GRAVITY)


def box_over_edge() -> RestCase:
    """A box that hangs over the edge of a table, on which its centre of mass is by 5 mm."""
    side, length, height = 0.4, 0.1, 0.06
    place = (0.5 * side - 0.005, 0.0, 0.5 * height)
    body = Body("box", [box(length, height, height)], 1.0, pose(place))
    scene = BodyScene("box over an edge", [_table(side, 0.05), body])
    return RestCase(scene, "box", place, "table", "box", GRAVITY)


def stack(time_step: float) -> RestCase:
    """Ten cubes on each other."""
    size = 0.05
    cubes = [
        Body(f"cube{i}", [box(size, size, size)], 1.0, pose((0.0, 0.0, (i + 0.5) * size))) for i in range(10)
    ]
    name = f"stack of ten, {1e3 * time_step:g} ms"
    scene = BodyScene(name, [_table(0.2, 0.05), *cubes], time_step=time_step)
    return RestCase(scene, "cube9", (0.0, 0.0, 9.5 * size), "table", "cube0", 10.0 * GRAVITY)


def small_cube() -> RestCase:
    """A cube of a millimetre, which weighs a milligram, falls by a tenth of one."""
    cube = Body("cube", [box(1e-3, 1e-3, 1e-3)], 1e-6, pose((0.0, 0.0, 6e-4)))
    scene = BodyScene("cube of 1 mm", [_table(4e-3, 1e-3), cube])
    return RestCase(scene, "cube", (0.0, 0.0, 5e-4), "table", "cube", 1e-6 * GRAVITY)


def peg_in_hole() -> RestCase:
    """A peg of 8 mm falls into a hole of 8.1 mm in a ring that lies on a table."""
    peg = mesh(trimesh.creation.cylinder(4e-3, 0.03, sections=64))
    scene = BodyScene(
        "peg in its hole",
        [
            _table(0.05, 0.01),
            Body("ring", [mesh(ring(4.05e-3, 0.012, 0.02))], 0.2, pose((0.0, 0.0, 0.0101))),
            Body("peg", [peg], 0.05, pose((0.0, 0.0, 0.0355))),
        ],
    )
    return RestCase(scene, "peg", (0.0, 0.0, 0.015), "table", "peg", 0.05 * GRAVITY)


def mug_on_hook() -> RestCase:
    """A mug falls by 0.2 mm onto the hook that it is hung on."""
    mass, bar, sides = 0.3, 0.004, 8
    parts, ring_centre = mug()
    away = float(np.linalg.norm(ring_centre))
    turn = -math.atan2(ring_centre[0], ring_centre[2])
    inside = (HANDLE_RING - HANDLE_BAR * math.cos(math.pi / sides)) * pieces_in()
    height = bar * math.cos(math.pi / sides) - inside - away
    scene = BodyScene(
        "mug on a hook",
        [
            Body("hook", [mesh(hook(bar, 0.02, sides))]),
            Body(
                "mug", [mesh(part) for part in parts], mass, pose((0.0, 0.0, height + 2e-4), (0.0, turn, 0.0))
            ),
        ],
    )
    return RestCase(scene, "mug", (0.0, 0.0, height), "hook", "mug", mass * GRAVITY, duration=2.0)


def rest_cases() -> list[RestCase]:
    """All cases."""
    return [
        box_on_table(),
        box_over_edge(),
        stack(1e-2),
        stack(1e-3),
        small_cube(),
        peg_in_hole(),
        mug_on_hook(),
    ]
