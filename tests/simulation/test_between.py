"""What lies between two bodies takes their force: thin plates and rods between soft fingers, plates on tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs

G = 9.81
#: Commanded force a finger, N.
FORCE = 8.0
SOFT = {"modulus": 1e5, "dissipation": 5.0, "friction": 0.8}


def fingers(**settings: Any) -> hs.SceneBuilder:
    """Two soft balls on rails along x that close by a given force; they meet at the origin."""
    scene = hs.SceneBuilder("grip", time_step=1e-3, contact={"friction": 0.8}, **settings)
    hand = scene.add_model("hand")
    hand.add_link("palm")
    for side, sign in (("left", -1.0), ("right", 1.0)):
        finger = hand.add_link(side, 0.1)
        finger.add_shape("sphere", radius=0.04, xyz=(0.045 * sign, 0, 0), resolution_hint=0.01, **SOFT)
        hand.add_joint(
            f"{side}_joint", "prismatic", "palm", side, axis=(-sign, 0, 0), lower=-0.02, upper=0.03, effort=80
        )
    joints = {"left_joint": 1, "right_joint": 1}
    scene.add_gripper("grip", joints, max_force=80, kp=2000, kd=30)
    return scene


def closed(scene: hs.SceneBuilder, steps: int = 1500, force: float = FORCE) -> hs.World:
    world = hs.World(scene.build())
    world.set_gripper(force=force)
    world.step(steps)
    return world


def plate(scene: hs.SceneBuilder, thickness: float, compliance: str = "rigid", mass: float = 0.05) -> None:
    body = scene.add_body("plate", mass)
    values = {"modulus": 1e8, "resolution_hint": 0.02} if compliance == "compliant" else {}
    body.add_shape("box", size=(thickness, 0.1, 0.1), friction=0.8, compliance=compliance, **values)


@pytest.mark.parametrize("representation", ["polygon", "triangle"])
@pytest.mark.parametrize("thickness", [0.0005, 0.001, 0.002])
def test_a_thin_plate_takes_the_whole_force(thickness: float, representation: str) -> None:
    """The fingers, whose surfaces overlap inside the plate, do not press each other through it."""
    scene = fingers(representation=representation)
    plate(scene, thickness)
    world = closed(scene)
    assert world.grip_forces_on() == {"plate": pytest.approx(FORCE, rel=1e-4)}
    assert world.grip_force() == pytest.approx(FORCE, rel=1e-4)
    names = {frozenset((patch.name_a, patch.name_b)) for patch in world.contacts}
    assert names == {frozenset(("left", "plate")), frozenset(("right", "plate"))}
    assert world.diagnostics()["deep_steps"] == 0


@pytest.mark.parametrize("thickness", [0.0005, 0.002])
def test_friction_holds_what_the_force_allows(thickness: float) -> None:
    """A plate of 97 % of the capacity of two faces stays, one of 103 % falls."""
    capacity = 2.0 * 0.8 * FORCE / G
    for share, stays in ((0.97, True), (1.03, False)):
        scene = fingers()
        plate(scene, thickness, mass=1e-3)
        world = closed(scene, 500)
        world.apply_wrench("plate", (0, 0, 0, 0, 0, -(share * capacity - 1e-3) * G))
        world.step(300)
        before = world.frame_pose("plate")[2, 3]
        world.step(200)
        sunk = before - world.frame_pose("plate")[2, 3]
        assert (sunk < 1e-4) == stays, f"{share}: {sunk}"


def test_a_soft_plate_that_is_stiffer_counts_as_well() -> None:
    scene = fingers()
    plate(scene, 0.002, "compliant")
    world = closed(scene)
    assert world.grip_forces_on() == {"plate": pytest.approx(FORCE, rel=1e-3)}


def test_fingers_meet_beside_a_rod() -> None:
    """The rod has its part, the fingers above and below it theirs, and both together the whole."""
    scene = fingers()
    scene.add_body("rod", 0.05).add_shape(
        "cylinder", radius=0.002, length=0.1, rpy=(0, 0, 0), compliance="rigid"
    )
    world = closed(scene)
    parts = world.grip_forces_on()
    assert sum(parts.values()) == pytest.approx(FORCE, rel=1e-4)
    assert parts["left"] == pytest.approx(parts["right"], rel=1e-6)
    assert 0.05 * FORCE < parts["rod"] < 0.6 * FORCE
    assert world.diagnostics()["deep_steps"] == 0


def test_parts_change_steadily_with_the_size_of_a_rod() -> None:
    """No face changes hands as a whole: the force on the rod is smooth in its radius."""
    forces = []
    for radius in np.linspace(0.004, 0.0042, 5):
        scene = fingers()
        scene.add_body("rod", 0.05).add_shape(
            "cylinder", radius=float(radius), length=0.1, compliance="rigid"
        )
        forces.append(closed(scene, 600).grip_forces_on()["rod"])
    slopes = np.diff(forces)
    assert (slopes > 0.0).all()
    assert slopes.max() < 1.5 * slopes.min()


@pytest.mark.parametrize("is_moving", [True, False])
def test_a_ball_does_not_press_the_table_through_a_plate(is_moving: bool) -> None:
    """The plate's bottom lies in the table's top, where the ball's field would press both."""
    scene = hs.SceneBuilder("stack", time_step=1e-3, contact={"friction": 0.5})
    scene.add_static("table", "box", size=(1, 1, 0.2), xyz=(0, 0, -0.1), compliance="rigid")
    if is_moving:
        sheet = scene.add_body("sheet", 0.1, xyz=(0, 0, 0.0005))
        sheet.add_shape("box", size=(0.2, 0.2, 0.001), compliance="rigid")
    else:
        scene.add_static("sheet", "box", size=(0.2, 0.2, 0.001), xyz=(0, 0, 0.0005), compliance="rigid")
    ball = scene.add_body("ball", 2.0, xyz=(0, 0, 0.0505))
    ball.add_shape("sphere", radius=0.05, modulus=1e5, dissipation=20.0, resolution_hint=0.01)
    world = hs.World(scene.build())
    world.step(2000)
    pairs = {frozenset((p.name_a, p.name_b)): abs(p.force_on_b[2]) for p in world.contacts}
    assert frozenset(("ball", "table")) not in pairs
    assert pairs[frozenset(("ball", "sheet"))] == pytest.approx(2.0 * G, rel=1e-4)


def test_equals_share_as_before() -> None:
    """Three equal balls in a corner: none is stiffer, so that nothing is cut, and pairs are as alone."""
    scene = hs.SceneBuilder("balls", time_step=1e-3, gravity=(0, 0, 0))
    angles = 2.0 * np.pi * np.arange(3) / 3
    for i, angle in enumerate(angles):
        body = scene.add_body(f"ball{i}", 1.0, xyz=(0.05 * np.cos(angle), 0.05 * np.sin(angle), 0))
        body.add_shape("sphere", radius=0.05, modulus=1e5, resolution_hint=0.02)
    three = hs.World(scene.build())
    pair = hs.SceneBuilder("two", time_step=1e-3, gravity=(0, 0, 0))
    for i, angle in enumerate(angles[:2]):
        body = pair.add_body(f"ball{i}", 1.0, xyz=(0.05 * np.cos(angle), 0.05 * np.sin(angle), 0))
        body.add_shape("sphere", radius=0.05, modulus=1e5, resolution_hint=0.02)
    two = hs.World(pair.build())
    three.step()
    two.step()
    (alone,) = two.contacts
    (same,) = (p for p in three.contacts if {p.name_a, p.name_b} == {"ball0", "ball1"})
    assert same.area == pytest.approx(alone.area, rel=1e-12)
    assert same.num_faces == alone.num_faces
