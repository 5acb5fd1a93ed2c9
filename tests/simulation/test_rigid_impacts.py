"""Two tumbling rigid bodies hit each other in free flight, in steps of 10 ms: none gains energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

MASSES, START, SPEED, SPIN = (1.0, 2.0), 0.25, 0.75, 3.0


@pytest.mark.parametrize("seed", [59, 85, 167, 251, 448, 515, 523, 550])
def test_no_impact_gains_energy(seed: int) -> None:
    """Once they came out with 1.4 to 8.8 times theirs: a solve was taken to have stored what it had not stopped."""
    rng = np.random.default_rng(seed)
    world = flight(rng)
    before = world.energies().kinetic
    for _ in range(6):
        world.step(10)
        assert world.energies().kinetic < before * (1.0 + 1e-6)
    # They have met.
    assert world.energies().kinetic < 0.9 * before


def flight(rng: np.random.Generator) -> hs.World:
    """Two bodies of random shapes that fly towards each other."""
    scene = hs.SceneBuilder(
        "flight", time_step=0.01, gravity=(0, 0, 0), contact={"friction": 0.0, "dissipation": 0.0}
    )
    for name, mass, x in zip("ab", MASSES, (-START, START), strict=True):
        kind, sizes = random_shape(rng)
        body = scene.add_body(name, mass=mass, xyz=(x, *rng.uniform(-0.03, 0.03, 2)))
        body.add_shape(kind, compliance="rigid", **sizes)
    world = hs.World(scene.build())
    for name, towards in zip("ab", (1.0, -1.0), strict=True):
        X_WB = world.frame_pose(name)
        X_WB[:3, :3] = Rotation.random(rng=rng).as_matrix()
        world.place(name, X_WB, [*rng.uniform(-SPIN, SPIN, 3), towards * SPEED, 0.0, 0.0])
    return world


def random_shape(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    kind = str(rng.choice(["box", "sphere", "cylinder"]))
    if kind == "box":
        return kind, {"size": tuple(rng.uniform(0.05, 0.2, 3))}
    if kind == "sphere":
        return kind, {"radius": rng.uniform(0.03, 0.1)}
    return kind, {"radius": rng.uniform(0.03, 0.1), "length": rng.uniform(0.05, 0.2)}
