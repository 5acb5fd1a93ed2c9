"""A universal joint is two turns in series, about x and then about the y axis that the first turns along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from rich.console import Console

import hydro_sim_core as hs
from hydro_sim_core.cli.plot_series import RecordedMotion
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.description.scene_builder import SceneBuilder
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.recording import Recorder
from hydro_sim_core.replay import Recording
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.scene import scene_of_urdf, scene_of_world
from support.simulation.made_scenes import Robot, fixed, make_world

NAMES = ("gimbal/x", "gimbal/y")
PLACE: dict[str, Any] = {"xyz": (0.1, -0.2, 0.5), "rpy": (0.4, -0.3, 0.8)}
RATE = 3.0


def scene(universal: bool, solver: Any = None, lower: float = -1.2, upper: float = 0.9) -> SceneBuilder:
    """A lopsided body on a universal joint, or on two hinges with a frame between them, and drives on both."""
    made = hs.SceneBuilder("made", solver=solver or {})
    model = made.add_model("m")
    model.add_link("post")
    model.add_link("bob", mass=2.0, inertia=(0.03, 0.05, 0.02), center_of_mass=(0.05, 0.1, -0.4))
    more: dict[str, Any] = {"lower": lower, "upper": upper, "damping": 0.02, "friction": 0.01}
    if universal:
        model.add_joint(
            "gimbal", "universal", "post", "bob", effort=50.0, rotor_inertia=0.01, **PLACE, **more
        )
    else:
        model.add_link("ring")
        for name, parent, child, axis, place in (
            (NAMES[0], "post", "ring", (1, 0, 0), PLACE),
            (NAMES[1], "ring", "bob", (0, 1, 0), {}),
        ):
            model.add_joint(
                name, "revolute", parent, child, axis=axis, effort=50.0, rotor_inertia=0.01, **place, **more
            )
    return made


def both(**more: Any) -> tuple[hs.World, hs.World]:
    worlds = []
    for universal in (True, False):
        made = scene(universal, **more)
        made.add_actuators([NAMES[0]], mode="position", kp=80.0, kd=4.0)
        made.add_actuators([NAMES[1]], mode="velocity", kd=6.0)
        worlds.append(hs.World(made.build()))
    return worlds[0], worlds[1]


def state(world: hs.World) -> ArrayLike:
    return [*world.q, *world.v]


@pytest.mark.heavy(3)
@pytest.mark.parametrize("model", ["lagged", "tamsi", "continuous"])
def test_drives_and_stops_hold_for_each_turn(model: str) -> None:
    """As those of two hinges: one goes where it is told, and the other, told a speed, runs into its stop."""
    universal, hinges = both(solver={"model": model})
    assert universal.velocity_names == universal.joint_names == NAMES
    for world in (universal, hinges):
        world.set_command({NAMES[0]: 0.5}, mode="position")
        world.set_command({NAMES[1]: RATE}, mode="velocity")
        world.step(150)
    assert universal.v[1] > 0.3 * RATE
    np.testing.assert_allclose(state(universal), state(hinges), rtol=1e-7, atol=1e-9)
    for world in (universal, hinges):
        world.step(650)
    assert universal.q[1] == pytest.approx(0.9, abs=0.05)
    np.testing.assert_allclose(state(universal), state(hinges), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(universal.frame_pose("bob"), hinges.frame_pose("bob"), atol=1e-7)


@pytest.mark.long
def test_a_pendulum_keeps_its_energy() -> None:
    made = hs.SceneBuilder("made", solver={"model": "continuous", "accuracy": 1e-9})
    model = made.add_model("m")
    model.add_link("post")
    model.add_link("bob", mass=2.0, inertia=(0.03, 0.05, 0.02), center_of_mass=(0.05, 0.1, -0.4))
    model.add_joint("gimbal", "universal", "post", "bob", **PLACE)
    world = hs.World(made.build())
    world.set_state([0.6, -0.4], [2.0, -3.0])
    before = world.energies()
    world.step(1500)
    after = world.energies()
    assert abs(after.kinetic - before.kinetic) > 0.1
    assert after.kinetic + after.potential == pytest.approx(before.kinetic + before.potential, abs=1e-7)


def _describe_gimbal(model: ModelBuilder) -> None:
    model.add_link("post")
    model.add_link("bob", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("gimbal", "universal", "post", "bob", lower=0.1, upper=0.9, effort=5.0, velocity=2.0)


GIMBAL = Robot("gimbal", _describe_gimbal)


def test_a_scene_starts_drives_and_deletes_it_by_its_coordinates() -> None:
    """What is not told starts as near to 0 as the limits allow."""
    world = make_world(
        fixed(GIMBAL, positions={"gimbal/y": 0.3}),
        actuators=[{"joints": ["gimbal/x"], "kp": 10.0}],
    )
    assert world.q.tolist() == [0.1, 0.3]
    assert world.actuated_joint_names == NAMES
    world.set_joint_positions({"gimbal/x": 0.5})
    world.set_joint_velocities({"gimbal/y": 0.25})
    assert (world.q.tolist(), world.v.tolist()) == ([0.5, 0.3], [0.0, 0.25])
    assert without(world.scene, "gimbal_0").spec.actuators == ()


@pytest.mark.parametrize(
    ("model", "section", "complaint"),
    [
        ({"positions": {"gimbal": 0.3}}, {}, "name its coordinates gimbal/x, gimbal/y"),
        ({"positions": {"gimbal/x": 2.0}}, {}, "outside the joint's limits 0.1 … 0.9"),
        ({}, {"actuators": [{"joints": ["gimbal"], "kp": 1.0}]}, "name its coordinates gimbal/x, gimbal/y"),
        (
            {},
            {"grippers": [{"name": "g", "joints": {"gimbal/x": 1}, "kp": 1.0, "kd": 1.0, "max_force": 1.0}]},
            "a universal joint has no opening in metres",
        ),
    ],
)
def test_what_it_cannot_be_told_is_refused(
    model: dict[str, Any], section: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(hs.InputError, match=complaint):
        make_world(fixed(GIMBAL, **model), **section)


def test_one_end_alone_and_mimics_are_refused() -> None:
    model = hs.SceneBuilder("s").add_model("m")
    with pytest.raises(hs.InputError, match="one limit alone"):
        model.add_joint("j", "universal", "a", "b", lower=0.0)
    with pytest.raises(hs.InputError, match="a universal joint cannot mimic"):
        model.add_joint("j", "universal", "a", "b", mimic="k")


def test_a_recording_tells_both_angles_and_which_body_is_free(tmp_path: Path) -> None:
    """To other readers both hang on floating joints."""
    made = scene(universal=True)
    made.add_body("ball", mass=1.0).add_shape("sphere", radius=0.05)
    world = hs.World(made.build())
    world.set_state([0.1, -0.2, *world.q[2:]], world.v)
    recorder = Recorder(tmp_path / "run.mcap", complete=True)
    recorder.start(take_snapshot(world, epoch=0), world)
    recorder.stop()
    with Recording(tmp_path / "run.mcap") as recording:
        assert [joint.name for joint in recording.scene(0).joints] == [*NAMES]
        np.testing.assert_array_equal(recording.frame(0).joint_positions, world.q[:2])
    with RecordedMotion(tmp_path / "run.mcap", Console(quiet=True)) as motion:
        assert motion.free_body() == "ball"


def test_a_page_shows_two_angles_live_and_from_a_recording() -> None:
    """Other readers of the description get a floating joint, as URDF has no universal one."""
    world = make_world(fixed(GIMBAL))
    text = scene_urdf(world.scene, "map")
    assert '<joint name="gimbal" type="floating" hydro:type="universal">' in text
    for shown in (scene_of_world(world, PressureScale(1e3)), scene_of_urdf(text, PressureScale(1e3))):
        assert [(joint.name, joint.unit, joint.lower, joint.upper) for joint in shown.joints] == [
            ("gimbal/x", "rad", 0.1, 0.9),
            ("gimbal/y", "rad", 0.1, 0.9),
        ]
