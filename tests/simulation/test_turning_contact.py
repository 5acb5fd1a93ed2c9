"""What friction holds goes with what turns, and does not walk away on the tangent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import G

SPEED, RADIUS = 2.0, 0.2


def turntable(table: str, friction: float = 1.0, **settings: Any) -> hs.World:
    """A box of 2 cm on a table that turns at 2 rad/s, led or by a drive."""
    scene = hs.SceneBuilder("turntable", contact={"friction": friction}, **settings)
    shape = {"radius": 0.5, "length": 0.02, "compliance": "rigid"}
    if table == "led":
        model = scene.add_model("table", base="kinematic")
        model.add_link("table").add_shape("cylinder", **shape)
        scene.add_command(SPEED, model="table", mode="wz")
    else:
        model = scene.add_model("table")
        model.add_link("stand")
        model.add_link("table", mass=5.0).add_shape("cylinder", **shape)
        model.add_joint("axle", "continuous", "stand", "table", axis=(0, 0, 1))
        scene.add_actuators(["axle"], mode="velocity", kd=1e4)
        scene.add_command(SPEED, joint="axle", mode="velocity")
    scene.add_body("box", mass=0.5, xyz=(RADIUS, 0, 0.02)).add_shape("box", size=(0.02, 0.02, 0.02))
    world = hs.World(scene.build())
    world.place("box", V_WB=[0, 0, SPEED, 0, SPEED * RADIUS, 0])
    if table == "driven":
        world.set_joint_velocities({"axle": SPEED})
    return world


def on_it(world: hs.World, table: str, body: str) -> np.ndarray:
    """Where a body is in the frame of what turns, m."""
    return (np.linalg.inv(world.frame_pose(table)) @ world.frame_pose(body))[:3, 3]


def creep(world: hs.World, table: str, body: str, time: float) -> float:
    """How fast it creeps there, m/s."""
    before = on_it(world, table, body)
    world.step(round(time / world.time_step))
    return float(np.linalg.norm(on_it(world, table, body) - before)) / time


@pytest.mark.parametrize("table", ["led", "driven"])
@pytest.mark.parametrize(
    ("time_step", "solver", "most"),
    [
        (1e-3, {}, 1e-6),
        (5e-3, {}, 7e-6),
        (1e-3, {"friction": "sap"}, 1e-6),
        (5e-3, {"accuracy": 1e-5}, 1e-6),
    ],
)
def test_a_box_stays_on_a_turntable(
    table: str, time_step: float, solver: dict[str, Any], most: float
) -> None:
    """With 8 % of what friction can hold. It went outwards at half its centripetal acceleration times the time step."""
    world = turntable(table, time_step=time_step, solver=solver)
    world.step(round(0.5 / time_step))
    assert creep(world, "table", "box", 2.0) < most
    force = world.contact_wrench("box", "table")[3:]
    assert math.hypot(force[0], force[1]) == pytest.approx(0.5 * SPEED**2 * RADIUS, rel=1e-3)
    assert force[2] == pytest.approx(0.5 * G, rel=1e-6)


@pytest.mark.parametrize(("time_step", "most"), [(1e-3, 1e-6), (2e-3, 5e-6)])
def test_a_grasp_that_swings_keeps_what_it_holds(time_step: float, most: float) -> None:
    """0.4 N are needed of 80 N that friction could hold; it walked out by 5 and 10 mm in 5 s."""
    scene = hs.SceneBuilder("swing", time_step=time_step, gravity=(0, 0, 0), contact={"friction": 0.8})
    arm = scene.add_model("arm")
    arm.add_link("stand")
    arm.add_link("arm", mass=5.0, inertia=(0.1, 0.1, 0.1))
    arm.add_joint("shoulder", "continuous", "stand", "arm", axis=(0, 0, 1))
    for name, side in (("left", 1), ("right", -1)):
        arm.add_link(name, mass=0.1).add_shape("box", size=(0.04, 0.02, 0.04), compliance="rigid")
        arm.add_joint(
            name,
            "prismatic",
            "arm",
            name,
            xyz=(0.5, 0.035 * side, 0),
            axis=(0, -side, 0),
            lower=0,
            upper=0.05,
        )
        scene.add_command(50.0, joint=name, mode="effort")
    scene.add_actuators(["left", "right"], mode="effort")
    scene.add_actuators(["shoulder"], mode="velocity", kd=1e4)
    scene.add_command(SPEED, joint="shoulder", mode="velocity")
    scene.add_body("held", mass=0.2, xyz=(0.5, 0, 0)).add_shape("box", size=(0.03, 0.05, 0.03))
    world = hs.World(scene.build())
    world.step(round(0.5 / time_step))
    assert creep(world, "arm", "held", 1.0) < most


@pytest.mark.parametrize(("share", "goes"), [(0.98, False), (1.02, True)])
def test_it_breaks_loose_where_coulomb_says(share: float, goes: bool) -> None:
    world = turntable("led", friction=SPEED**2 * RADIUS / (share * G))
    world.step(500)
    assert (creep(world, "table", "box", 1.0) > 2e-3) == goes


def test_steps_for_parity_with_drake_do_as_drake_does() -> None:
    world = turntable("led", solver={"parity": "drake"})
    world.step(500)
    assert creep(world, "table", "box", 1.0) == pytest.approx(0.5 * SPEED**2 * RADIUS * 1e-3, rel=0.02)
