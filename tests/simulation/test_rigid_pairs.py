"""Two rigid bodies touch: at rest, falling, through a hole, and within a robot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

G = 9.81
RIGID = {"compliance": "rigid", "friction": 0.5}


def scene_of(time_step: float = 1e-3, **contact: Any) -> hs.SceneBuilder:
    return hs.SceneBuilder("rigid", time_step=time_step, contact={**RIGID, **contact})


def force_from(world: hs.World, name: str) -> np.ndarray:
    """Sum of the forces (3,) that a body exerts on what touches it, N."""
    return sum(
        (patch.force_on_b * (1.0 if patch.name_a == name else -1.0))
        for patch in world.contacts
        if name in (patch.name_a, patch.name_b)
    )


# --- at rest


@pytest.mark.parametrize("ground", ["half_space", "box"])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_a_box_lies_still(ground: str, time_step: float) -> None:
    """At its height, pressed by its weight, without creeping: on a half space and on a table."""
    scene = scene_of(time_step)
    if ground == "half_space":
        scene.add_ground(name="table")
    else:
        scene.add_static("table", "box", size=(1.0, 1.0, 0.2), xyz=(0, 0, -0.1))
    scene.add_body("box", 1.0, xyz=(0.02, 0.01, 0.051)).add_shape("box", size=(0.1, 0.08, 0.1))
    world = hs.World(scene.build())
    world.step(round(2.0 / time_step))
    start = world.frame_pose("box")
    assert np.abs(world.v).max() < 1e-9
    assert start[2, 3] == pytest.approx(0.05, abs=1e-8)
    np.testing.assert_allclose(force_from(world, "table"), [0.0, 0.0, G], rtol=0, atol=1e-6)
    world.step(round(2.0 / time_step))
    np.testing.assert_allclose(world.frame_pose("box"), start, rtol=0, atol=1e-9)


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_ten_cubes_stand_on_each_other(time_step: float) -> None:
    scene = scene_of(time_step)
    scene.add_ground()
    for i in range(10):
        scene.add_body(f"cube{i}", 1.0, xyz=(0, 0, 0.025 + 0.05 * i)).add_shape("box", size=3 * (0.05,))
    world = hs.World(scene.build())
    world.step(round(1.0 / time_step))
    assert np.abs(world.v).max() < 1e-8
    for i in range(10):
        assert world.frame_pose(f"cube{i}")[2, 3] == pytest.approx(0.025 + 0.05 * i, abs=1e-7)
        on_it = np.linalg.norm(
            [p.force_on_b for p in world.contacts if {p.name_a, p.name_b} == {f"cube{i}", f"cube{i - 1}"}]
        )
        assert i == 0 or on_it == pytest.approx((10 - i) * G, rel=1e-6)


def test_a_cube_of_a_millimetre_lies_still() -> None:
    """It weighs 1 mg; without a margin it rattles on."""
    scene = scene_of()
    scene.add_ground()
    scene.add_body("cube", 1e-6, xyz=(0, 0, 0.0006)).add_shape("box", size=3 * (1e-3,))
    world = hs.World(scene.build())
    world.step(1000)
    assert np.abs(world.v).max() < 1e-6


def test_a_slope_holds_below_the_friction_angle_and_not_above() -> None:
    for angle, slides in ((np.arctan(0.5) - 0.02, False), (np.arctan(0.5) + 0.02, True)):
        scene = scene_of()
        scene.add_static("slope", "box", size=(2, 2, 0.1), xyz=(0, 0, 0), rpy=(0, angle, 0))
        normal = Rotation.from_euler("y", angle).apply([0, 0, 1.0])
        body = scene.add_body("box", 1.0, xyz=0.0751 * normal, rpy=(0, angle, 0))
        body.add_shape("box", size=(0.1, 0.1, 0.05))
        world = hs.World(scene.build())
        world.step(500)
        speed = np.linalg.norm(world.v[3:])
        expected = G * (np.sin(angle) - 0.5 * np.cos(angle)) * 0.5
        assert speed == pytest.approx(expected, rel=0.02) if slides else speed < 1e-4


# --- falling


@pytest.mark.heavy(4)
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule"])
def test_a_fall_gains_no_energy(kind: str, seed: int, time_step: float) -> None:
    """Turned at random; at no step is there more than at the start, and nothing goes through the table."""
    lengths = {"box": {"size": (0.05, 0.08, 0.03)}, "cylinder": {"radius": 0.03, "length": 0.08}}
    rng = np.random.default_rng(seed)
    scene = scene_of(time_step, dissipation=0.0)
    scene.add_static("table", "box", size=(1.0, 1.0, 0.02), xyz=(0, 0, -0.01))
    body = scene.add_body("body", 0.5, xyz=(0, 0, 0.15), rpy=rng.uniform(-3, 3, 3))
    body.add_shape(kind, **lengths.get(kind, {"radius": 0.02, "length": 0.06}))
    world = hs.World(scene.build())
    start = world.energies().total
    for _ in range(round(0.6 / time_step)):
        world.step()
        energies = world.energies()
        assert energies.total <= start + 1e-9
    assert world.frame_pose("body")[2, 3] > 0.01


@pytest.mark.parametrize("rpy", [(0.4, 0.9, 0.3), (-1.0, 0.0, 0.0)])
@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_a_corner_that_hits_a_slippery_table_gains_no_energy(kind: str, rpy: tuple[float, ...]) -> None:
    """Nothing is lost to friction either; a corner first seen at the rim of the margin must not sink in."""
    lengths = {"box": {"size": (0.05, 0.08, 0.03)}, "cylinder": {"radius": 0.03, "length": 0.08}}
    scene = scene_of(dissipation=0.0, friction=0.0)
    scene.add_static("table", "box", size=(1.0, 1.0, 0.02), xyz=(0, 0, -0.01))
    scene.add_body("body", 0.5, xyz=(0, 0, 0.15), rpy=rpy).add_shape(kind, **lengths[kind])
    world = hs.World(scene.build())
    start = world.energies().total
    for _ in range(600):
        world.step()
        assert world.energies().total <= start + 1e-9


# --- shapes that are not convex


def write_ring(folder: Path, hole: float) -> Path:
    path = folder / f"ring{hole}.obj"
    trimesh.creation.annulus(r_min=hole, r_max=0.012, height=0.02, sections=64).export(path)
    return path


@pytest.mark.parametrize(("hole", "goes_in"), [(4.05e-3, True), (3.9e-3, False)])
def test_a_peg_goes_into_the_hole_that_is_wide_enough(tmp_path: Path, hole: float, goes_in: bool) -> None:
    """8 mm into 8.1 mm, not into 7.8 mm: the ring is no hull."""
    scene = scene_of(resolution_hint=0.001)
    scene.add_ground()
    ring = scene.add_body("ring", 0.2, xyz=(0, 0, 0.01))
    ring.add_shape("mesh", path=str(write_ring(tmp_path, hole)))
    peg = scene.add_body("peg", 0.05, xyz=(0, 0, 0.0355))
    peg.add_shape("cylinder", radius=4e-3, length=0.03)
    world = hs.World(scene.build())
    world.step(500)
    height = world.frame_pose("peg")[2, 3]
    assert height == pytest.approx(0.015 if goes_in else 0.035, abs=1e-6)
    assert np.abs(world.v).max() < 1e-5
    np.testing.assert_allclose(world.frame_pose("ring")[2, 3], 0.01, atol=1e-6)


# --- within a robot


def folding_robot() -> hs.SceneBuilder:
    """A post on a base, and an arm that falls towards it; lid and base are drawn into each other."""
    scene = scene_of()
    robot = scene.add_model("robot")
    robot.add_link("base").add_shape("box", size=(0.4, 0.4, 0.02), xyz=(0, 0, -0.01))
    robot.add_link("shoulder", 1.0, inertia=3 * (0.01,))
    arm = robot.add_link("arm", 1.0, center_of_mass=(0.1, 0, 0), inertia=3 * (0.01,))
    arm.add_shape("box", size=(0.16, 0.02, 0.02), xyz=(0.1, 0, 0))
    lid = robot.add_link("lid", 0.1, inertia=3 * (1e-4,))
    lid.add_shape("box", size=(0.02, 0.02, 0.02))
    robot.add_joint(
        "turn", "revolute", "base", "shoulder", xyz=(0, 0, 0.05), axis=(0, 0, 1), lower=0, upper=1e-6
    )
    robot.add_joint("fold", "revolute", "shoulder", "arm", axis=(0, 1, 0), lower=-1.0, upper=3.0)
    robot.add_joint(
        "slide", "prismatic", "arm", "lid", xyz=(0.05, 0, 0), axis=(0, 1, 0), lower=-0.1, upper=0.1
    )
    return scene


def test_a_robot_does_not_pass_through_itself() -> None:
    """The arm comes to rest on the base, two joints away, with an end in its plane."""
    world = hs.World(folding_robot().build())
    world.step(1500)
    assert {(patch.name_a, patch.name_b) for patch in world.contacts} == {("base", "arm")}
    X_WA = world.frame_pose("arm")
    corner = X_WA[:3, :3] @ [0.18, 0.0, -0.01] + X_WA[:3, 3]
    assert corner[2] == pytest.approx(0.0, abs=1e-4)
    assert np.abs(world.v).max() < 1e-6


def test_links_that_overlap_at_the_start_are_told_and_do_not_touch() -> None:
    """A cover over a box, two joints apart, falls into it; told to touch by name, it is pushed out."""
    scene = folding_robot()
    robot = scene.add_model("other", xyz=(1, 0, 0))
    robot.add_link("frame").add_shape("box", size=3 * (0.1,))
    robot.add_link("crank", 1.0, inertia=3 * (0.01,))
    robot.add_link("cover", 1.0, inertia=3 * (0.01,)).add_shape("box", size=3 * (0.1,))
    robot.add_joint("a", "revolute", "frame", "crank", axis=(0, 0, 1), lower=-1, upper=1)
    robot.add_joint("b", "prismatic", "crank", "cover", xyz=(0, 0, 0.098), axis=(0, 0, 1), lower=-1, upper=1)
    world = hs.World(scene.build())
    (overlap,) = world.built.overlaps
    assert overlap.links == ("frame", "cover")
    assert overlap.depth == pytest.approx(2e-3, rel=1e-6)
    assert overlap.force > 1e6
    world.step(10)
    assert not [patch for patch in world.contacts if "cover" in (patch.name_a, patch.name_b)]
    assert world.frame_pose("cover")[2, 3] < 0.098

    touching = hs.World(scene.set_contact_law("frame", "cover", "pressure_field").build())
    assert touching.built.overlaps == ()
    touching.step(10)
    assert touching.frame_pose("cover")[2, 3] > 0.098
    assert world.energies().elastic == 0.0 < touching.energies().elastic


def test_a_law_none_is_an_exclusion() -> None:
    scene = scene_of()
    scene.add_ground()
    scene.add_body("box", 1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,))
    world = hs.World(scene.set_contact_law("box", "ground", "none").build())
    world.step(100)
    assert world.contacts == []
    assert world.frame_pose("box")[2, 3] < 0.01


# --- properties


@pytest.mark.parametrize("compliance", ["rigid", "compliant"])
@pytest.mark.parametrize("stiffness", [1e6, 1e8])
def test_point_stiffness_is_that_of_a_flat_as_large_as_a_side(stiffness: float, compliance: str) -> None:
    """Of a compliant body the modulus follows from it."""
    scene = scene_of()
    scene.add_ground()
    cube = scene.add_body("cube", 1.0, xyz=(0, 0, 0.05))
    cube.add_shape("box", size=3 * (0.1,), point_stiffness=stiffness, compliance=compliance)
    world = hs.World(scene.build())
    world.step(1000)
    depth = 0.05 - world.frame_pose("cube")[2, 3]
    # Towards the edges the next side is nearer than the lower one: what presses is a frustum.
    inner = 0.1 - 2.0 * depth
    frustum = depth / 3.0 * (0.1**2 + inner**2 + 0.1 * inner)
    assert stiffness / 0.1**2 * frustum == pytest.approx(G, rel=2e-4)


def test_stiffness_of_gazebo_gives_a_modulus_and_a_scene_another(tmp_path: Path) -> None:
    """A flat as large as the mean side of 20 x 20 x 10 mm yields by kp; a scene's own modulus takes its place."""
    box = '<collision><geometry><box size="0.02 0.02 0.01"/></geometry></collision>'
    path = tmp_path / "pad.urdf"
    path.write_text(
        f'<robot name="pad"><link name="pad">{box}</link><gazebo reference="pad"><kp>5e4</kp></gazebo></robot>'
    )
    side = (2 * 0.02 * 0.01 + 0.02**2) / 3.0
    for scene, modulus in (({}, 5e4 / side * 0.005), ({"modulus": 3e6}, 3e6)):
        builder = hs.SceneBuilder("s", contact={"modulus": 7e6}).add_urdf(path, **scene)
        (collider,) = hs.World(builder.build()).built.colliders
        assert collider.geometry.modulus == pytest.approx(modulus, rel=1e-12)


def test_point_stiffness_beside_a_modulus_is_said_to_be_idle(caplog: pytest.LogCaptureFixture) -> None:
    """That of the scene is for those of its bodies that are rigid."""
    scene = hs.SceneBuilder("s", contact={"point_stiffness": 1e6})
    scene.add_ground()
    scene.add_body("other", 1.0, xyz=(1, 0, 1)).add_shape("box", size=3 * (0.1,))
    cube = scene.add_body("cube", 1.0, xyz=(0, 0, 1))
    cube.add_shape("box", size=3 * (0.1,), point_stiffness=1e6, modulus=1e7)
    hs.World(scene.build())
    (record,) = caplog.records
    assert (
        "compliant ones without a modulus of their own, unlike these: cube; leave it out"
        in record.getMessage()
    )


def test_point_stiffness_of_a_scene_without_rigid_bodies_is_said_to_be_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = hs.SceneBuilder("s", contact={"point_stiffness": 1e6})
    scene.add_body("cube", 1.0).add_shape("box", size=3 * (0.1,))
    hs.World(scene.build())
    (record,) = caplog.records
    assert (
        "contact.defaults.point_stiffness acts on rigid bodies only, and no body takes it"
        in record.getMessage()
    )


@pytest.mark.parametrize("softer", ["both", "support"])
@pytest.mark.parametrize("support", ["ground", "tile", "table", "floor"])
def test_point_stiffness_of_a_support_does_not_depend_on_its_size(support: str, softer: str) -> None:
    """Spread over a plane or a large table it would be next to nothing on the little that a box covers.

    What is stored on the way down must not be taken for energy gained: steps were taken in thousands of pieces.
    """
    scene = hs.SceneBuilder("s", contact={"compliance": "rigid", "dissipation": 1.0, "point_stiffness": 1e4})
    stiffness = {"point_stiffness": 1e4}
    if support == "ground":
        scene.add_ground(**stiffness)
    else:
        width = {"tile": 0.1, "table": 1.0, "floor": 10.0}[support]
        scene.add_static(support, "box", size=(width, width, 0.1), xyz=(0, 0, -0.05), **stiffness)
    body = scene.add_body("box", 1.0, xyz=(0, 0, 0.05))
    body.add_shape("box", size=3 * (0.1,), **({} if softer == "both" else {"point_stiffness": 1e6}))
    world = hs.World(scene.build())
    world.step(2000)
    assert 0.05 - world.frame_pose("box")[2, 3] == pytest.approx(G / 1e4, rel=0.06)
    assert world.diagnostics()["fast_steps"] <= 25  # the landing; it was nearly every step


def test_a_support_too_soft_for_a_weight_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    scene = hs.SceneBuilder("s", contact={"compliance": "rigid"})
    scene.add_ground(point_stiffness=200)
    scene.add_body("box", 1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,))
    hs.World(scene.build())
    (record,) = caplog.records
    assert "so small that weight alone presses bodies deep into each other, or through" in record.getMessage()
    assert (
        "'box' and 'ground' by 49" in record.getMessage() or "'ground' and 'box' by 49" in record.getMessage()
    )


@pytest.mark.parametrize(
    "add",
    [
        lambda scene, **both: scene.add_static("table", "box", size=3 * (0.1,), **both),
        lambda scene, **both: scene.add_ground(modulus=both["modulus"]),
        lambda scene, **both: scene.add_body("box", 1.0).add_shape("box", size=3 * (0.1,), **both),
    ],
)
def test_a_modulus_beside_rigid_is_refused(add: Callable[..., object]) -> None:
    told = "a modulus does nothing on a rigid body; leave modulus out, or give compliance: compliant"
    with pytest.raises(hs.InputError, match=told):
        add(hs.SceneBuilder("s"), compliance="rigid", modulus=1e6)


def test_a_force_between_rigid_bodies_is_not_called_inaccurate() -> None:
    """It is what the motion asks for, whatever the mesh: an egg on a table touches with a face or two."""
    scene = scene_of()
    scene.add_ground(name="table")
    scene.add_body("egg", 1.0, xyz=(0, 0, 0.05)).add_shape("ellipsoid", semi_axes=(0.05, 0.05, 0.05))
    world = hs.World(scene.build())
    world.step(500)
    summary = world.contact_summary()
    (patch,) = summary.significant
    assert patch.quality.force_error > 0.1
    assert summary.warnings == ()
    assert summary.worst is None
