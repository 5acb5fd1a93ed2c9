"""What friction holds creeps as its law says, however small the stiction speed that a user asks for."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

MU = 0.5


def incline(degrees: float, mass: float, dt: float, stiction_speed: float) -> hs.World:
    """A rigid slab on a rigid slope."""
    angle = float(np.radians(degrees))
    scene = hs.SceneBuilder("slope", time_step=dt, solver={"stiction_speed": stiction_speed})
    scene.add_static("slope", "half_space", rpy=(0, angle, 0), compliance="rigid", friction=MU)
    start = 0.01 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    slab = scene.add_body("slab", mass=mass, xyz=tuple(start), rpy=(0, angle, 0))
    slab.add_shape("box", size=(0.2, 0.2, 0.02), compliance="rigid", friction=MU)
    return hs.World(scene.build())


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("mass", [1.0, 100.0])
@pytest.mark.parametrize("stiction_speed", [1e-6, 1e-7, 1e-8])
def test_a_slab_creeps_as_slowly_as_asked(stiction_speed: float, mass: float, dt: float) -> None:
    """On a slope of 20 degrees, at ``e r / sqrt(1 - r^2)``, r the share of friction used; within the tolerance."""
    world = incline(20.0, mass, dt, stiction_speed)
    world.step(round(0.5 / dt))
    r = np.tan(np.radians(20.0)) / MU
    assert np.linalg.norm(world.v[3:]) == pytest.approx(stiction_speed * r / np.sqrt(1.0 - r * r), rel=1e-3)


@pytest.mark.parametrize("stiction_speed", [1e-5, 1e-7])
def test_friction_lets_go_of_the_tension_of_a_drive(stiction_speed: float) -> None:
    """A block that a drive of stiffness k holds off its goal against friction mu N creeps there.

    With the tension r mu N the speed is e r / u, u = sqrt(1 - r^2), so r' = -k (e r / u) / (mu N), and therefore
    artanh u - u grows by k e t / (mu N).
    """
    mass, kp = 2.0, 1e3
    scene = hs.SceneBuilder("press", solver={"stiction_speed": stiction_speed})
    scene.add_static("ground", "half_space", compliance="rigid", friction=MU)
    robot = scene.add_model("press", xyz=(0, 0, 0.01))
    robot.add_link("rail")
    robot.add_link("carriage", 1.0, inertia=(1e-2,) * 3)
    slab = robot.add_link("slab", mass, inertia=(1e-2,) * 3)
    slab.add_shape("box", size=(0.1, 0.1, 0.02), compliance="rigid", friction=MU)
    ends = {"lower": -1.0, "upper": 1.0, "effort": 1e3, "velocity": 10.0}
    robot.add_joint("x", "prismatic", "rail", "carriage", axis=(1, 0, 0), **ends)
    robot.add_joint("z", "prismatic", "carriage", "slab", axis=(0, 0, 1), **ends)
    scene.add_actuators(["x"], mode="position", kp=kp, kd=10.0)
    world = hs.World(scene.build())
    bound = MU * mass * 9.81
    goal = 0.9 * bound / kp
    world.set_command({"x": goal}, "position")
    progress = []
    for _ in range(2):
        world.step(2000)
        u = np.sqrt(1.0 - (kp * (goal - world.q[0]) / bound) ** 2)
        assert world.v[0] == pytest.approx(stiction_speed * np.sqrt(1.0 - u * u) / u, rel=1e-3)
        progress.append(np.arctanh(u) - u)
    assert np.diff(progress)[0] == pytest.approx(2.0 * kp * stiction_speed / bound, rel=1e-2)


@pytest.mark.parametrize("integrator", ["fixed", "continuous"])
@pytest.mark.parametrize("stiction_speed", [1e-5, 1e-7])
def test_friction_of_a_joint_creeps_as_slowly_as_asked(stiction_speed: float, integrator: str) -> None:
    """A drawer with 5 N under 2.5 N crept at 58 um/s whatever the stiction speed."""
    solver = {"stiction_speed": stiction_speed, "integrator": integrator}
    scene = hs.SceneBuilder("drawer", gravity=(2.5, 0.0, 0.0), solver=solver)
    drawer = scene.add_model("drawer")
    drawer.add_link("rail")
    drawer.add_link("box", 1.0, inertia=(1e-2,) * 3)
    ends = {"lower": -1.0, "upper": 1.0, "effort": 1e3, "velocity": 10.0}
    drawer.add_joint("slide", "prismatic", "rail", "box", axis=(1, 0, 0), friction=5.0, **ends)
    world = hs.World(scene.build())
    world.step(500)
    assert world.v[0] == pytest.approx(10.0 * stiction_speed / np.sqrt(3.0), rel=1e-3)
