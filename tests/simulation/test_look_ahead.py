"""Nothing passes through something thin because it is fast, and slow scenes take no extra steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core.simulation.stepping import machine

SOFT, RIGID = {"compliance": "compliant", "modulus": 1e7}, {"compliance": "rigid"}


def thrown_ball(
    radius: float, mass: float, speed: float, thickness: float, ball: Any, plate: Any, **scene_values: Any
) -> hs.World:
    """A ball that flies down onto a fixed plate from 0.3 m above."""
    scene = hs.SceneBuilder(
        "thrown", contact={"friction": 0.5, "resolution_hint": radius / 2}, **scene_values
    )
    scene.add_static("plate", "box", size=(0.5, 0.5, thickness), xyz=(0, 0, -thickness / 2), **plate)
    scene.add_body("ball", mass, xyz=(0.01, 0.02, 0.3)).add_shape("sphere", radius=radius, **ball)
    world = hs.World(scene.build())
    world.set_state(world.q, [0, 0, 0, 0, 0, -speed])
    return world


@pytest.mark.parametrize(("ball", "plate"), [(RIGID, RIGID), (SOFT, RIGID), (RIGID, SOFT), (SOFT, SOFT)])
@pytest.mark.parametrize(
    ("radius", "mass", "speed", "thickness"),
    [(0.03, 0.1, 20.0, 0.01), (0.005, 0.004, 100.0, 0.002), (2.5e-3, 1e-3, 800.0, 1e-3)],
)
def test_a_ball_does_not_pass_through_a_plate(
    ball: Any, plate: Any, radius: float, mass: float, speed: float, thickness: float
) -> None:
    """6 cm at 20 m/s on 10 mm, 1 cm at 100 m/s on 2 mm, and a bullet of 5 mm at 800 m/s on a sheet of 1 mm."""
    world = thrown_ball(radius, mass, speed, thickness, ball, plate)
    lowest = np.inf
    for _ in range(100):
        world.step()
        lowest = min(lowest, world.frame_pose("ball")[2, 3])
    assert lowest > (0.9 * radius if ball is plate is RIGID else -thickness)
    assert world.frame_pose("ball")[2, 3] > 0.5 * radius
    assert world.diagnostics()["fast_steps"] > 0


@pytest.mark.parametrize(("kind", "size"), [("sphere", {"radius": 0.03}), ("box", {"size": 3 * (0.06,)})])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_nothing_fast_passes_through_flat_terrain(
    kind: str, size: dict[str, Any], time_step: float, tmp_path: Path
) -> None:
    """A sheet has no thickness, by which poses to look at were counted: there were none."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "terrain.stl")
    scene = hs.SceneBuilder("terrain", time_step=time_step, contact={"friction": 0.5, **RIGID})
    scene.add_static("terrain", "mesh", path=str(tmp_path / "terrain.stl"), **RIGID)
    scene.add_body("body", 1.0, xyz=(0.01, 0.02, 0.3), rpy=(0.3, 0.2, 0.1)).add_shape(kind, **size)
    world = hs.World(scene.build())
    world.set_state(world.q, [0, 0, 0, 0, 0, -20.0])
    energy, most = sum(world.energies()), 0.0
    for _ in range(round(0.1 / time_step)):
        world.step()
        assert world.frame_pose("body")[2, 3] > 0.025
        most = max(most, sum(world.energies()))
    assert most <= energy


def test_plates_that_cross_thousands_of_thicknesses_in_a_step_meet() -> None:
    """As many poses as are looked at within a step lie 8 mm apart, twice as far as both plates are thick."""
    scene = hs.SceneBuilder("thrown", time_step=0.02, gravity=(0, 0, 0), contact=RIGID)
    for name, x in (("left", -0.15), ("right", 0.15)):
        scene.add_body(name, 0.1, xyz=(x, 0, 0)).add_shape("box", size=(0.002, 0.1, 0.1))
    world = hs.World(scene.build())
    world.set_state(world.q, [0, 0, 0, 800.0, 0, 0, 0, 0, 0, -800.0, 0, 0])
    world.step()
    left, right = (world.frame_pose(name)[0, 3] for name in ("left", "right"))
    assert 0.0 < right - left < 0.01
    np.testing.assert_allclose(world.v[[3, 9]], 0.0, rtol=0, atol=1.0)


@pytest.mark.parametrize("representation", ["polygon", "triangle"])
@pytest.mark.parametrize("solver", [{}, {"accuracy": 1e-4}], ids=["fixed", "error control"])
def test_full_memory_does_not_blind(
    monkeypatch: pytest.MonkeyPatch, solver: Any, representation: str
) -> None:
    """Faces that look-ahead has no room for are no reason to cut a step; more is allocated, to the same bits."""
    ends = []
    for faces in (1, 10, machine.INITIAL_FACES):
        monkeypatch.setattr(machine, "INITIAL_FACES", faces)
        settings = {"solver": solver, "representation": representation}
        world = thrown_ball(0.03, 0.1, 20.0, 0.01, RIGID, RIGID, **settings)
        world.step(30)
        ends.append((world.q.tobytes(), world.v.tobytes(), world.step_statistics()))
    assert ends[0] == ends[2]
    assert ends[1] == ends[2]


def test_steps_of_error_control_look_ahead_too() -> None:
    world = thrown_ball(2.5e-3, 1e-3, 800.0, 1e-3, RIGID, RIGID, solver={"accuracy": 1e-4})
    world.step(20)
    assert world.frame_pose("ball")[2, 3] > 0.0


def test_a_plate_that_is_moved_takes_what_it_hits_along() -> None:
    """A kinematic sheet of 2 mm at 10 m/s: its velocity is that of the command, from the first step on."""
    scene = hs.SceneBuilder("moved", gravity=(0, 0, 0), contact={**RIGID, "friction": 0.0})
    sheet = scene.add_model("sheet", base="kinematic", xyz=(-0.1, 0, 0))
    sheet.add_link("plate").add_shape("box", size=(0.002, 0.2, 0.2))
    scene.add_body("cube", 0.1).add_shape("box", size=3 * (0.02,))
    world = hs.World(scene.build())
    world.move("sheet", V_WB=[0, 0, 0, 10.0, 0, 0])
    world.step(30)
    assert world.frame_pose("cube")[0, 3] > world.frame_pose("plate")[0, 3]
    # It leaves the sheet by at most the inverse of the dissipation, 50 s/m.
    assert 10.0 <= world.v[-3] <= 10.021


def test_what_is_slow_is_not_looked_at() -> None:
    """A stack at rest, a box that slides at the speed that margins foresee, and one that flies past."""
    scene = hs.SceneBuilder("slow", contact={**RIGID, "friction": 0.0})
    scene.add_ground()
    for i in range(3):
        scene.add_body(f"cube{i}", 1.0, xyz=(0, 0, 0.025 + 0.05 * i)).add_shape("box", size=3 * (0.05,))
    scene.add_body("slider", 1.0, xyz=(1.0, 0, 0.025)).add_shape("box", size=3 * (0.05,))
    scene.add_body("flier", 1.0, xyz=(-1.0, 0, 1.0)).add_shape("box", size=3 * (0.05,))
    world = hs.World(scene.build())
    v = np.zeros(len(world.v))
    v[-9], v[-3:] = 0.05, (30.0, 0.0, 3.0)
    world.set_state(world.q, v)
    world.step(200)
    assert world.diagnostics()["fast_steps"] == 0


def test_what_slides_in_contact_takes_whole_steps() -> None:
    """A blade scrapes over a table, seven strides a step, under a load that changes its depth all the time.

    Steps in which it got deeper by nanometres were taken in seven pieces. Friction is that of the load all the same.
    """
    friction, speed, mass = 0.5, 0.1, 0.2
    scene = hs.SceneBuilder("scraper", contact={**RIGID, "friction": friction})
    scene.add_static("table", "box", size=(1.0, 1.0, 0.1), xyz=(0.0, 0.0, -0.05))
    tilt = np.radians(4.0)
    lowest = 0.05 * np.sin(tilt) + 0.001 * np.cos(tilt)
    scraper = scene.add_model("scraper", base="kinematic", xyz=(-0.2, 0.0, lowest))
    scraper.add_link("hand")
    scraper.add_link("blade", mass).add_shape("box", size=(0.1, 0.1, 0.002), rpy=(0.0, tilt, 0.0))
    scraper.add_joint("press", "prismatic", "hand", "blade", axis=(0, 0, 1), lower=-0.01, upper=0.01)
    world = hs.World(scene.build())
    world.move("scraper", V_WB=[0.0, 0.0, 0.0, speed, 0.0, 0.0])
    for step in range(200):
        load = 5.0 + 4.0 * np.sin(2.0 * np.pi * 5.0 * world.time)
        world.set_command({"press": -load})
        world.step()
        if step >= 20:
            (contact,) = world.contacts
            force = np.abs(contact.force_on_b)
            # It goes up and down a little with its load, which takes some of it.
            assert force[2] == pytest.approx(load + 9.81 * mass, rel=3e-3)
            assert force[0] == pytest.approx(friction * force[2], rel=1e-2)
    assert world.diagnostics()["fast_steps"] <= 1  # it may touch down in one


@pytest.mark.parametrize("gap", [2e-3, 2.5e-3, 5e-3])
def test_what_gravity_adds_within_a_step_is_looked_at(gap: float) -> None:
    """At 10 ms a box gains 1 mm a step, so one ends within the table that its speed before did not lead into."""
    scene = hs.SceneBuilder("near", time_step=1e-2, contact={"compliance": "rigid"})
    scene.add_ground()
    scene.add_body("box", 1.0, xyz=(0.0, 0.0, 0.025 + gap)).add_shape("box", size=(0.05, 0.05, 0.05))
    world = hs.World(scene.build())
    heights = []
    for _ in range(20):
        world.step(1)
        heights.append(world.frame_pose("box")[2, 3] - 0.025)
    assert min(heights) > -1e-8  # it rests 4e-10 m deep, and went 0.9 mm deep
    assert 1 <= world.diagnostics()["fast_steps"] <= 2  # the landing alone


@pytest.mark.heavy(3)
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize("modulus", [1e7, 1e8, 1e9])
def test_a_stiff_compliant_body_lands_with_the_energy_it_came_with(modulus: float, time_step: float) -> None:
    """What it overlaps by before contact is seen stores a tenth of that at most; it was up to 878 times as much."""
    most = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        scene = hs.SceneBuilder("drop", time_step=time_step)
        scene.add_static("ground", "half_space", compliance="rigid", friction=0.0, dissipation=0.0)
        start = (0.0, 0.0, rng.uniform(0.1, 0.3))
        body = scene.add_body("body", mass=0.3, xyz=start, rpy=tuple(rng.uniform(-3.0, 3.0, 3)))
        body.add_shape(
            "box",
            size=(0.05, 0.06, 0.04),
            compliance="compliant",
            modulus=modulus,
            friction=0.0,
            dissipation=0.0,
        )
        world = hs.World(scene.build())
        world.place("body", V_WB=[0.0, 0.0, 0.0, 0.0, 0.0, rng.uniform(-8.0, 0.0)])
        before = world.energies().total
        for _ in range(round(0.2 / time_step)):
            world.step()
            most.append(world.energies().total / before)
    assert max(most) < 1.1


@pytest.mark.parametrize("modulus", [1e10, 2e11, 1e12])
def test_steel_without_damping_gains_no_energy(modulus: float) -> None:
    """A box that tumbles against a wall in steps of 10 ms: of twelve starts four gained up to 0.8 of it at 200 GPa."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        scene = hs.SceneBuilder("steel", time_step=0.01, contact={"friction": 0.5, "dissipation": 0.0})
        scene.add_ground()
        scene.add_static("wall", "box", size=(0.02, 0.6, 0.3), xyz=(0.06, 0, 0.15), compliance="rigid")
        box = scene.add_body("box", mass=0.015, xyz=(-0.02, 0, 0.1), rpy=random.uniform(-3, 3, 3))
        box.add_shape("box", size=(0.06, 0.05, 0.04), modulus=modulus)
        world = hs.World(scene.build())
        world.place("box", world.frame_pose("box"), [*random.uniform(-20, 20, 3), 1.0, 0, -0.5])
        first = last = world.energies().kinetic + world.energies().potential
        for _ in range(60):
            world.step()
            energies = world.energies()
            total = energies.kinetic + energies.potential
            assert total <= last + 0.002 * first
            # A few of these states store more than a tenth of it, for a step; before it was 300 times all of it.
            assert energies.elastic < 10.0 * first
            last = max(total, 0.0)
