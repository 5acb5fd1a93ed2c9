"""What falls and flies: drops without dissipation, a ball, a bullet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.rigid_pairs.bodies import (
    GRAVITY,
    Body,
    BodyScene,
    Shape,
    box,
    cylinder,
    mesh,
    pose,
    sphere,
)
from hydro_sim_core.experiments.rigid_pairs.shapes import ring
from hydro_sim_core.experiments.rigid_pairs.simulators import Maker, OurBodies, Simulator, simulated

Array = NDArray[np.float64]

#: Mass, kg, height of the middle at the start, m, and steps of a drop.
MASS, DROP, DROP_STEPS = 0.5, 0.15, 600


def dropped() -> dict[str, Shape]:
    """What is dropped, by name."""
    return {
        "box": box(0.05, 0.08, 0.03),
        "cylinder": cylinder(0.03, 0.08),
        "ring": mesh(ring(0.02, 0.04, 0.02, 32)),
    }


def _plate(thickness: float) -> Body:
    return Body("plate", [box(1.0, 1.0, thickness)], X_WB=pose((0.0, 0.0, -0.5 * thickness)))


def most_in_drop(shape: Shape, seed: int, make: Maker) -> float:
    """Largest energy after any step of a drop without friction and dissipation, as a share of that at the start.

    Args:
        shape: What is dropped.
        seed: Seed of its orientation.
        make: Makes the simulator. What contact stores is counted in ours alone, as the others do not tell it.
    """
    rpy = np.random.default_rng(seed).uniform(-3.0, 3.0, 3)
    body = Body("body", [shape], MASS, pose((0.0, 0.0, DROP), rpy))
    scene = BodyScene("drop", [_plate(0.02), body], friction=0.0, dissipation=0.0)
    with simulated(make, scene) as simulator:
        start, most = _energy(simulator, body), 0.0
        for _ in range(DROP_STEPS):
            simulator.step()
            most = max(most, _energy(simulator, body))
    return most / start


def _energy(simulator: Simulator, body: Body) -> float:
    if isinstance(simulator, OurBodies):
        return simulator.world.energies().total
    X, V = simulator.pose(body.name), simulator.twist(body.name)
    w = X[:3, :3].T @ V[:3]
    return float(0.5 * body.mass * V[3:] @ V[3:] + 0.5 * w @ body.inertia @ w + body.mass * GRAVITY * X[2, 3])


def ball_on_plate() -> BodyScene:
    """A ball of 40 mm hits a plate of 10 mm at 20 m/s: it flies twice the thickness in a step."""
    ball = Body("ball", [sphere(0.02)], 0.1, pose((0.0, 0.0, 0.1)), (0.0, 0.0, -20.0))
    return BodyScene("ball at 20 m/s", [_plate(0.01), ball])


def bullet_on_sheet() -> BodyScene:
    """A bullet of 5 mm hits a sheet of 1 mm at 800 m/s: it flies 0.8 m in a step."""
    ball = Body("ball", [sphere(0.0025)], 0.004, pose((0.0, 0.0, 0.1)), (0.0, 0.0, -800.0))
    return BodyScene("bullet at 800 m/s", [_plate(0.001), ball])


def deepest_flight(scene: BodyScene, radius: float, make: Maker) -> float:
    """Largest depth of the ball below the upper side of the plate within 0.1 s, m."""
    lowest = np.inf
    with simulated(make, scene) as simulator:
        for _ in range(100):
            simulator.step()
            lowest = min(lowest, float(simulator.pose("ball")[2, 3]))
    return radius - lowest
