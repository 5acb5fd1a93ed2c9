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


def swing(time_step: float, turned: float, tilt_speed: float = 0.0) -> hs.World:
    """A box between two pads at the end of an arm of half a metre, the hand turned about the axis of the shoulder."""
    scene = hs.SceneBuilder("swing", time_step=time_step, gravity=(0, 0, 0), contact={"friction": 0.8})
    arm = scene.add_model("arm")
    arm.add_link("stand")
    for name in ("arm", "hand"):
        arm.add_link(name, mass=2.0, inertia=(0.1, 0.1, 0.1))
    arm.add_joint("shoulder", "continuous", "stand", "arm", axis=(0, 0, 1))
    arm.add_joint("wrist", "continuous", "arm", "hand", xyz=(0.5, 0, 0), rpy=(0, 0, turned), axis=(1, 0, 0))
    for name in ("left", "right"):
        arm.add_link(name, mass=0.1).add_shape("box", size=(0.04, 0.02, 0.04), compliance="rigid")
    arm.add_joint("fixed", "fixed", "hand", "left", xyz=(0, 0.035, 0))
    arm.add_joint(
        "finger", "prismatic", "hand", "right", xyz=(0, -0.035, 0), axis=(0, 1, 0), lower=-0.01, upper=0.05
    )
    scene.add_command(50.0, joint="finger", mode="effort")
    scene.add_actuators(["finger"], mode="effort")
    scene.add_actuators(["shoulder", "wrist"], mode="velocity", kd=1e4)
    held = scene.add_body("held", mass=0.2, xyz=(0.5, 0, 0), rpy=(0, 0, turned))
    held.add_shape("box", size=(0.03, 0.05, 0.03))
    world = hs.World(scene.build())
    steps = round(0.3 / time_step)
    for share in np.append(np.zeros(steps), np.linspace(0.0, 1.0, steps)):
        world.set_command({"shoulder": share * SPEED, "wrist": share * tilt_speed}, "velocity")
        world.step()
    return world


@pytest.mark.parametrize("turned", [0.0, 45.0, 60.0])
@pytest.mark.parametrize(("time_step", "most"), [(1e-3, 1.6e-6), (5e-3, 3e-5)])
def test_a_grasp_that_swings_keeps_what_it_holds(time_step: float, most: float, turned: float) -> None:
    """0.4 N are needed of 80 N that friction could hold; it walked out by half a millimetre to five in a second.

    Also where part of the acceleration is along the force of the pads, which must not tell them apart.
    """
    world = swing(time_step, math.radians(turned))
    world.step(round(0.2 / time_step))
    before = np.linalg.inv(world.frame_pose("hand")) @ world.frame_pose("held")
    assert creep(world, "hand", "held", 1.0) < most
    turn = before[:3, :3].T @ (np.linalg.inv(world.frame_pose("hand")) @ world.frame_pose("held"))[:3, :3]
    assert np.abs(turn - np.eye(3)).max() < 1e-4
    forces = [world.contact_wrench("held", pad)[3:] for pad in ("left", "right")]
    pads = world.frame_pose("hand")[:3, 1]
    assert all(np.linalg.norm(force - pads * (force @ pads)) < 1.0 for force in forces)


def test_a_hand_on_two_hinges_does_not_turn_what_it_holds() -> None:
    """Its angular acceleration is the product of the two speeds; the box turned by 2 mrad/s."""
    world = swing(1e-3, 0.0, tilt_speed=2.0)
    world.step(200)
    before = (np.linalg.inv(world.frame_pose("hand")) @ world.frame_pose("held"))[:3, :3]
    world.step(1000)
    after = (np.linalg.inv(world.frame_pose("hand")) @ world.frame_pose("held"))[:3, :3]
    assert np.abs(before.T @ after - np.eye(3)).max() < 2e-5


@pytest.mark.parametrize("speed", [0.3, -0.3])
def test_a_belt_on_a_turntable_takes_along(speed: float) -> None:
    """What rides on it has the acceleration of Coriolis, too."""
    scene = hs.SceneBuilder("belt", contact={"friction": 1.0})
    table = scene.add_model("table", base="kinematic")
    belt = {"size": (4.0, 0.2, 0.02), "surface_velocity": (speed, 0, 0), "compliance": "rigid"}
    table.add_link("table").add_shape("box", **belt)
    scene.add_command(SPEED, model="table", mode="wz")
    scene.add_body("box", mass=0.5, xyz=(0, 0, 0.02)).add_shape("box", size=(0.02, 0.02, 0.02))
    world = hs.World(scene.build())
    world.place("box", V_WB=[0, 0, SPEED, speed, 0, 0])
    world.step(200)
    before = on_it(world, "table", "box")
    world.step(200)
    along, across, _ = (on_it(world, "table", "box") - before) / 0.2
    assert along == pytest.approx(speed, abs=1e-5)
    assert abs(across) < 1e-5


@pytest.mark.parametrize(("share", "goes"), [(0.98, False), (1.02, True)])
def test_it_breaks_loose_where_coulomb_says(share: float, goes: bool) -> None:
    world = turntable("led", friction=SPEED**2 * RADIUS / (share * G))
    world.step(500)
    assert (creep(world, "table", "box", 1.0) > 2e-3) == goes


def test_steps_for_parity_with_drake_do_as_drake_does() -> None:
    world = turntable("led", solver={"parity": "drake"})
    world.step(500)
    assert creep(world, "table", "box", 1.0) == pytest.approx(0.5 * SPEED**2 * RADIUS * 1e-3, rel=0.02)
