"""Equivalent contact points in a World: nothing overlaps, forces and friction are those of statics and closed forms."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact.equivalent_point import FrictionEllipsoid, RigidBody, SupportHull, step_on_plane

Array = NDArray[np.float64]
G = 9.81


def corners(size: tuple[float, float, float]) -> Array:
    return np.array(list(product(*((-0.5 * s, 0.5 * s) for s in size))))


def box_on_ground(
    size: tuple[float, float, float],
    *,
    time_step: float = 0.01,
    mu: float = 0.5,
    ellipsoid: tuple[float, float, float] | None = (1.0, 1.0, 0.05),
    inertia: tuple[float, float, float] = (0.02, 0.02, 0.02),
    z: float | None = None,
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> hs.World:
    scene = hs.SceneBuilder("box", contact={"compliance": "rigid", "friction": mu}, time_step=time_step)
    scene.add_ground()
    height = -float(Rotation.from_euler("xyz", rpy).apply(corners(size))[:, 2].min())
    body = scene.add_body("box", 1.0, inertia=inertia, xyz=(0.0, 0.0, height if z is None else z), rpy=rpy)
    body.add_shape("box", size=size)
    scene.set_contact_law("box", "ground", "equivalent_point", friction_ellipsoid=ellipsoid)
    return hs.World(scene.build())


def twist(world: hs.World, name: str = "box") -> Array:
    """Angular velocity, and velocity of the origin (6,)."""
    V = world.frame_twists()[world.frame_names.index(name)]
    return np.concatenate([V[:3], V[3:] + np.cross(V[:3], world.frame_pose(name)[:3, 3])])


@pytest.mark.parametrize("time_step", [0.001, 0.005, 0.02])
def test_a_box_rests_without_rattling_at_any_step(time_step: float) -> None:
    world = box_on_ground((0.2, 0.1, 0.3), time_step=time_step)
    world.step(200)
    (patch,) = world.contacts
    assert np.abs(twist(world)).max() <= 1e-12
    assert abs(world.frame_pose("box")[2, 3] - 0.15) <= 1e-12
    assert patch.law == "equivalent point"
    assert np.allclose(patch.force_on_b, [0.0, 0.0, -G], atol=1e-9)
    assert patch.area == pytest.approx(0.02, rel=1e-12)
    assert np.allclose(patch.centroid, 0.0, atol=1e-8)


def test_the_point_is_where_the_moments_of_a_push_put_it() -> None:
    """A push at height h moves the point by F h / (m g); beyond the edge the box tips."""
    world = box_on_ground((0.2, 0.2, 0.4), mu=2.0)
    force = 2.0
    world.apply_wrench("box", [0, 0, 0, force, 0, 0])
    world.step(5)
    (patch,) = world.contacts
    assert patch.centroid[0] == pytest.approx(force * 0.2 / G, rel=1e-7)
    assert np.abs(twist(world)).max() <= 1e-9


@pytest.mark.parametrize(("share", "tips"), [(0.999, False), (1.001, True)])
def test_a_box_tips_where_statics_says(share: float, tips: bool) -> None:
    world = box_on_ground((0.2, 0.2, 0.4), mu=2.0)
    world.apply_wrench("box", [0, 0, 0, share * G * 0.1 / 0.2, 0, 0])
    world.step(100)
    assert (abs(twist(world)[1]) > 1e-4) == tips


@pytest.mark.parametrize("time_step", [0.001, 0.01])
def test_a_sliding_box_is_braked_by_mu_g(time_step: float) -> None:
    world = box_on_ground((0.4, 0.4, 0.05), time_step=time_step, mu=0.3)
    world.place("box", V_WB=[0, 0, 0, 2.0, 0, 0])
    steps = round(0.3 / time_step)
    world.step(steps)
    assert twist(world)[3] == pytest.approx(2.0 - 0.3 * G * 0.3, rel=1e-10)


def test_axes_of_the_ellipsoid_brake_as_they_are_long() -> None:
    for axis, share in ((0, 1.0), (1, 0.5)):
        world = box_on_ground((0.4, 0.4, 0.05), mu=0.3, ellipsoid=(1.0, 0.5, 0.1))
        world.place("box", V_WB=[0, 0, 0, *(2.0 * np.eye(3)[axis])])
        world.step(20)
        assert twist(world)[3 + axis] == pytest.approx(2.0 - share * 0.3 * G * 0.2, rel=1e-10)


def test_a_spinning_square_is_braked_by_its_mean_distance() -> None:
    """Without a given e_r it is the mean distance from the middle, (sqrt 2 + ln(1 + sqrt 2)) / 6 of a side."""
    world = box_on_ground((0.2, 0.2, 0.1), time_step=0.001, mu=0.3, ellipsoid=None)
    world.place("box", V_WB=[0, 0, 20.0, 0, 0, 0])
    world.step(100)
    e_r = 0.2 * (math.sqrt(2.0) + math.log(1.0 + math.sqrt(2.0))) / 6.0
    assert twist(world)[2] == pytest.approx(20.0 - 0.3 * G * e_r / 0.02 * 0.1, rel=1e-9)


def test_only_the_feet_of_a_table_resist_turning() -> None:
    scene = hs.SceneBuilder("table", contact={"compliance": "rigid", "friction": 0.3}, time_step=0.001)
    scene.add_ground()
    table = scene.add_body("box", 2.0, inertia=(0.1, 0.1, 0.05), xyz=(0, 0, 0.05))
    table.add_shape("box", size=(0.2, 0.2, 0.05), xyz=(0, 0, 0.025))
    for x, y in product((-0.08, 0.08), repeat=2):
        table.add_shape("box", size=(0.04, 0.04, 0.05), xyz=(x, y, -0.025))
    scene.set_contact_law("box", "ground", "equivalent_point")
    world = hs.World(scene.build())
    world.place("box", V_WB=[0, 0, 20.0, 0, 0, 0])
    world.step(100)
    # Mean distance of one foot from the middle of the table, by a midpoint rule.
    side = 0.08 + 0.04 * (np.arange(2000) + 0.5) / 2000 - 0.02
    e_r = float(np.hypot(*np.meshgrid(side, side)).mean())
    assert twist(world)[2] == pytest.approx(20.0 - 0.3 * 2.0 * G * e_r / 0.05 * 0.1, rel=1e-7)


def test_a_face_of_a_mesh_in_single_precision_is_one_patch(tmp_path: Path) -> None:
    """Its vertices are not in a plane by some nanometres, as turned meshes in STL are."""
    turn = Rotation.from_euler("xyz", [0.7, 0.3, 0.2])
    prism = trimesh.creation.cylinder(0.1, 0.1, sections=24)
    prism.vertices = turn.apply(prism.vertices)
    prism.export(tmp_path / "prism.stl")
    scene = hs.SceneBuilder("prism", contact={"compliance": "rigid"})
    scene.add_ground()
    rpy = tuple(turn.inv().as_euler("xyz").tolist())
    body = scene.add_body("prism", 1.0, inertia=3 * (0.01,), xyz=(0.0, 0.0, 0.0501), rpy=rpy)
    body.add_shape("mesh", path=str(tmp_path / "prism.stl"))
    scene.set_contact_law("prism", "ground", "equivalent_point")
    world = hs.World(scene.build())
    world.step(200)
    (patch,) = world.contacts
    assert patch.area == pytest.approx(12 * 0.01 * math.sin(math.pi / 12), rel=1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_forces_that_are_told_do_not_depend_on_bodies_elsewhere(friction: float) -> None:
    """Bodies that are solved already told impulses of their conditions with velocities of another place: 1e-3 off."""
    rng = np.random.default_rng(100)
    scene = hs.SceneBuilder("six", time_step=0.01, contact={"compliance": "rigid", "friction": friction})
    scene.add_ground()
    for i in range(6):
        rpy, size = rng.normal(size=3).tolist(), rng.uniform(0.05, 0.3, 3).tolist()
        body = scene.add_body(f"b{i}", 1.0, inertia=(0.003, 0.004, 0.005), xyz=(3.0 * i, 0.0, 0.6), rpy=rpy)
        body.add_shape("box", size=size)
        scene.set_contact_law(f"b{i}", "ground", "equivalent_point")
    world = hs.World(scene.build())
    for i in range(6):
        world.place(f"b{i}", V_WB=np.r_[5.0 * rng.normal(size=3), rng.normal(size=3)])
    compared = 0
    for _ in range(120):
        taken_in_pieces = world.diagnostics()["cut_steps"], world.diagnostics()["fast_steps"]
        world.step()
        if taken_in_pieces != (world.diagnostics()["cut_steps"], world.diagnostics()["fast_steps"]):
            continue
        for patch in world.contacts:
            assert patch.normal_force_on_b[2] == pytest.approx(patch.force_on_b[2], rel=1e-8)
            compared += 1
    assert compared > 100


def test_a_heavy_body_elsewhere_does_not_loosen_friction() -> None:
    """What a solve leaves of friction is measured by the momenta of the bodies that touch, not by all of them."""
    ends = []
    for has_train in (False, True):
        # Without weight, so that guesses are judged by the box alone.
        contact = {"compliance": "rigid", "friction": 0.3}
        scene = hs.SceneBuilder("box", contact=contact, time_step=0.005, gravity=(0.0, 0.0, 0.0))
        scene.add_ground()
        box = scene.add_body(
            "box", 0.01, inertia=(1e-5, 2e-5, 3e-5), xyz=(0.0, 0.0, 0.06), rpy=(0.3, 0.2, 0.0)
        )
        box.add_shape("box", size=(0.1, 0.08, 0.06))
        scene.set_contact_law("box", "ground", "equivalent_point")
        if has_train:
            train = scene.add_body("train", 1e6, inertia=(1e6,) * 3, xyz=(50.0, 0.0, 50.0))
            train.add_shape("box", size=(1.0, 1.0, 1.0))
        world = hs.World(scene.build())
        if has_train:
            world.place("train", V_WB=[0.0, 0.0, 0.0, 100.0, 0.0, 0.0])
        world.place("box", V_WB=[1.0, 2.0, 3.0, 1.0, 0.5, -0.5])
        for _ in range(60):
            world.apply_wrench("box", np.array([0.0, 0.0, 0.0, 0.0, 0.0, -0.1]))
            world.step()
        ends.append(world.frame_pose("box"))
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-15)


def test_it_agrees_with_the_paper_s_equations_solved_on_their_own() -> None:
    """The mixed complementarity problem of one body on a plane, by an independent solver in Python."""
    size, mu, dt = (0.2, 0.1, 0.3), 0.3, 0.002
    body = RigidBody(1.0, 0.02 * np.eye(3), SupportHull.from_vertices(corners(size)))
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(12):
        rpy = tuple(rng.normal(size=3) * rng.choice([0.0, 0.5]))
        world = box_on_ground(size, time_step=dt, mu=mu, rpy=rpy)
        V = np.concatenate([rng.normal(size=3) * 0.3, rng.normal(size=3) * 0.3])
        world.place("box", V_WB=V)
        X = world.frame_pose("box")
        world.step(1)
        alone = step_on_plane(body, X, V, dt, FrictionEllipsoid(mu, 1.0, 1.0, 0.05))
        assert np.allclose(twist(world), alone.V_GB, atol=1e-6)
        pressed = sum(float(-patch.force_on_b[2]) for patch in world.contacts) * dt
        assert pressed == pytest.approx(alone.p_n, abs=1e-6)
        compared += alone.p_n > 0.0
    assert compared >= 6


def test_random_pushes_drops_and_tips_end_without_overlap_and_balance() -> None:
    """No step fails, nothing is deeper than 1e-12 m, and impulses are the change of momentum."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        size = tuple(rng.uniform(0.05, 0.4, 3).tolist())
        dt = float(rng.choice([0.001, 0.005, 0.02]))
        rpy = tuple((rng.normal(size=3) * rng.choice([0.0, 1.0])).tolist())
        world = box_on_ground(size, time_step=dt, mu=float(rng.choice([0.0, 0.2, 1.0])), rpy=rpy)
        world.place("box", V_WB=np.concatenate([rng.normal(size=3) * 3.0, rng.normal(size=3)]))
        for _ in range(60):
            push = np.concatenate([rng.normal(size=3), 10.0 * rng.normal(size=3)])
            world.apply_wrench("box", push)
            before = twist(world)
            world.step(1)
            X = world.frame_pose("box")
            assert (corners(size) @ X[2, :3] + X[2, 3]).min() >= -1e-12
            force = sum((-patch.force_on_b for patch in world.contacts), np.zeros(3))
            change = dt * (force + push[3:] - [0.0, 0.0, G])
            assert np.allclose(twist(world)[3:] - before[3:], change, atol=1e-9)
        assert world.diagnostics()["unconverged_steps"] == 0


def test_ten_boxes_stand_on_each_other() -> None:
    scene = hs.SceneBuilder("stack", contact={"compliance": "rigid"}, time_step=0.01)
    scene.add_static("b0", "box", size=(1.0, 1.0, 0.2), xyz=(0, 0, -0.1))
    for i in range(1, 11):
        scene.add_body(f"b{i}", 1.0, xyz=(0, 0, 0.1 * i - 0.05)).add_shape("box", size=(0.1, 0.1, 0.1))
        scene.set_contact_law(f"b{i - 1}", f"b{i}", "equivalent_point")
    world = hs.World(scene.build())
    world.step(100)
    forces = [abs(patch.force_on_b[2]) for patch in world.contacts]
    assert np.allclose(sorted(forces), G * np.arange(1, 11), rtol=1e-9)
    assert max(abs(world.frame_pose(f"b{i}")[2, 3] - 0.1 * i + 0.05) for i in range(1, 11)) <= 1e-12


@pytest.mark.parametrize(
    "shape", [("sphere", {"radius": 0.05}), ("capsule", {"radius": 0.05, "length": 0.1})]
)
def test_round_bodies_rest_on_boxes_and_planes(shape: tuple[str, dict[str, float]]) -> None:
    for ground in ("plane", "box"):
        scene = hs.SceneBuilder("round", contact={"compliance": "rigid"}, time_step=0.005)
        if ground == "plane":
            scene.add_ground("floor")
        else:
            scene.add_static("floor", "box", size=(1.0, 1.0, 0.2), xyz=(0, 0, -0.1))
        kind, lengths = shape
        scene.add_body("body", 1.0, inertia=(0.001,) * 3, xyz=(0, 0, 0.2), rpy=(1.0, 0.2, 0.1)).add_shape(
            kind, **lengths
        )
        scene.set_contact_law("body", "floor", "equivalent_point")
        world = hs.World(scene.build())
        world.step(600)
        assert abs(world.frame_pose("body")[2, 3] - 0.05) <= 1e-9


@pytest.mark.parametrize("yaw", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("tilt", [0.0, 0.1])
def test_a_capsule_rests_across_a_narrower_box(yaw: float, tilt: float) -> None:
    """At both edges that it crosses, each now the closest one; with one point at a time it never came to rest."""
    world = capsule_over("box", {"size": (0.1, 0.1, 0.1)}, (0.0, 0.0, -0.05), yaw, tilt)
    world.step(200)
    (patch,) = world.contacts
    V = twist(world, "capsule")
    # After a tilted landing it may roll on along the box.
    np.testing.assert_allclose(V[2:], [0.0, 0.05 * V[1], -0.05 * V[0], 0.0], rtol=0.0, atol=1e-12)
    assert tilt > 0.0 or np.abs(V).max() <= 1e-12
    assert world.frame_pose("capsule")[2, 3] == pytest.approx(0.05, abs=1e-11)
    np.testing.assert_allclose(patch.force_on_b, [0.0, 0.0, -0.5 * G], atol=1e-9)
    # The line between the edges, of which it rolls over another after some landings.
    (ends,) = patch.polygons
    length = np.linalg.norm(ends[1] - ends[0])
    assert length == pytest.approx(0.1 / math.cos(yaw), rel=1e-8 if tilt == 0.0 else 0.02)
    assert world.diagnostics()["unconverged_steps"] == 0


@pytest.mark.parametrize("yaw", [0.0, 1e-5, 0.3, 1.5])
def test_a_capsule_rests_on_another(yaw: float) -> None:
    """On all of its length where they are parallel, at a point where they cross."""
    lying = {"radius": 0.2, "length": 0.3}
    world = capsule_over("capsule", lying, (0.0, 0.0, -0.2), yaw, 0.0)
    world.step(200)
    (patch,) = world.contacts
    assert np.abs(twist(world, "capsule")).max() <= 1e-10
    assert world.frame_pose("capsule")[2, 3] == pytest.approx(0.05, abs=1e-11)
    length = np.linalg.norm(np.ptp(patch.polygons[0], axis=0))
    assert length == pytest.approx(0.0 if yaw >= 0.3 else 0.3, abs=1e-5)
    assert world.diagnostics()["unconverged_steps"] == 0


@pytest.mark.parametrize("yaw", [1e-4, 2e-3, 0.05])
@pytest.mark.parametrize(("tilt", "mu"), [(0.0, 0.5), (0.1, 0.0)])
def test_a_capsule_lands_on_another_at_a_small_angle(yaw: float, tilt: float, mu: float) -> None:
    """The point where they cross runs by metres a radian: steps did not converge, and let one into the other by 0.1 m.

    Thrown on an end it turns to the other and rocks; without friction it slides off sideways then.
    """
    world = capsule_over("capsule", {"radius": 0.2, "length": 0.3}, (0.0, 0.0, -0.2), yaw, tilt, mu)
    deepest = 0.0
    for _ in range(100):
        world.step()
        X = world.frame_pose("capsule")
        deepest = max(deepest, 0.25 - distance_of_cores(X[:3, 3], X[:3, 2], 0.15, np.array([0.0, 0.0, -0.2])))
    assert deepest <= 1e-9
    assert world.diagnostics()["unconverged_steps"] == 0
    assert tilt > 0.0 or np.abs(twist(world, "capsule")).max() <= 1e-9


def distance_of_cores(x: np.ndarray, along: np.ndarray, half: float, of_lying: np.ndarray) -> float:
    """Distance of a core from one along y of the same half length, m, by bisection of a convex function."""

    def beside(s: float) -> float:
        at = x + s * along - of_lying
        at[1] -= np.clip(at[1], -half, half)
        return float(np.linalg.norm(at))

    low, high = -half, half
    for _ in range(200):
        third = (high - low) / 3.0
        low, high = (low, high - third) if beside(low + third) < beside(high - third) else (low + third, high)
    return beside(0.5 * (low + high))


def capsule_over(
    shape: str,
    lengths: dict[str, Any],
    place: tuple[float, float, float],
    yaw: float,
    tilt: float,
    friction: float = 0.5,
) -> hs.World:
    """A lying capsule that falls by a millimetre on a body that stands still, whose top is at z = 0."""
    contact = {"compliance": "rigid", "friction": friction}
    scene = hs.SceneBuilder("capsules", contact=contact, time_step=0.005)
    lies = (math.pi / 2, 0.0, 0.0) if shape == "capsule" else (0.0, 0.0, 0.0)
    scene.add_static("under", shape, xyz=place, rpy=lies, **lengths)
    body = scene.add_body(
        "capsule",
        0.5,
        inertia=(1e-3, 1e-3, 1e-3),
        xyz=(0.0, 0.0, 0.051 + 0.15 * math.sin(tilt)),
        rpy=(math.pi / 2 + tilt, 0.0, yaw),
    )
    body.add_shape("capsule", radius=0.05, length=0.3)
    scene.set_contact_law("capsule", "under", "equivalent_point")
    return hs.World(scene.build())


def test_a_ball_rolls_down_a_slope_as_theory_says() -> None:
    """Without torsion a ball of one contact point gains 5/7 g sin(slope)."""
    slope = 0.2
    scene = hs.SceneBuilder("roll", contact={"compliance": "rigid", "friction": 0.5}, time_step=0.001)
    scene.add_static("ramp", "box", size=(4.0, 1.0, 0.2), rpy=(0, slope, 0))
    n = np.array([math.sin(slope), 0.0, math.cos(slope)])
    inertia = 0.4 * 0.05**2
    ball = scene.add_body("ball", 1.0, inertia=(inertia,) * 3, xyz=(0.15 * n).tolist())
    ball.add_shape("sphere", radius=0.05)
    scene.set_contact_law("ball", "ramp", "equivalent_point")
    world = hs.World(scene.build())
    world.step(300)
    speed = float(np.linalg.norm(twist(world, "ball")[3:]))
    assert speed == pytest.approx(5.0 / 7.0 * G * math.sin(slope) * 0.3, rel=1e-6)


def test_a_fast_body_does_not_pass_through_a_plate() -> None:
    scene = hs.SceneBuilder("bullet", contact={"compliance": "rigid"}, time_step=0.01, gravity=(0, 0, 0))
    scene.add_static("plate", "box", size=(1.0, 1.0, 0.01))
    scene.add_body("body", 1.0, xyz=(0, 0, 0.5)).add_shape("box", size=(0.05, 0.05, 0.05))
    scene.set_contact_law("body", "plate", "equivalent_point")
    world = hs.World(scene.build())
    world.place("body", V_WB=[0, 0, 0, 0, 0, -100.0])
    world.step(20)
    assert world.frame_pose("body")[2, 3] >= 0.03 - 1e-12
    assert world.diagnostics()["fast_steps"] > 0


def test_bodies_that_start_in_each_other_come_apart_slowly() -> None:
    world = box_on_ground((0.1, 0.1, 0.1))
    X_WB = world.frame_pose("box")
    X_WB[2, 3] = 0.045
    world.place("box", X_WB)
    fastest = 0.0
    for _ in range(30):
        world.step(1)
        fastest = max(fastest, twist(world)[5])
    assert fastest == pytest.approx(0.1, rel=1e-6)
    assert world.frame_pose("box")[2, 3] == pytest.approx(0.05, abs=1e-9)


def test_a_body_that_is_put_deep_into_another_is_told() -> None:
    world = box_on_ground((0.2, 0.1, 0.3))
    world.step()
    assert world.diagnostics()["deep_steps"] == 0
    X_WB = world.frame_pose("box")
    X_WB[2, 3] = -5.0
    world.place("box", X_WB)
    world.step(3)
    assert world.diagnostics()["deep_steps"] == 3


def test_a_link_of_a_robot_comes_to_rest_on_a_box() -> None:
    """A hinged lever falls on a box: its edge stays on, and the moment of the force is that of its weight."""
    scene = hs.SceneBuilder("lever", contact={"compliance": "rigid", "friction": 0.0}, time_step=0.002)
    lever = scene.add_model("lever", xyz=(0, 0, 0.3))
    lever.add_link("base")
    arm = lever.add_link("arm", 1.0, center_of_mass=(0.2, 0, 0), inertia=(0.001, 0.015, 0.015))
    arm.add_shape("box", size=(0.4, 0.04, 0.02), xyz=(0.2, 0, 0))
    lever.add_joint("hinge", "continuous", "base", "arm", axis=(0, 1, 0))
    scene.add_static("block", "box", size=(0.1, 0.1, 0.2), xyz=(0.3, 0, 0.1))
    scene.set_contact_law("arm", "block", "equivalent_point")
    world = hs.World(scene.build())
    world.step(1000)
    (patch,) = world.contacts
    X = world.frame_pose("arm")
    moment = float(np.cross(patch.centroid - [0, 0, 0.3], -patch.force_on_b)[1]) * (
        1 if patch.name_a == "arm" else -1
    )
    assert abs(np.asarray(world.joint_velocities()).max()) <= 1e-9
    assert moment == pytest.approx(-G * (X[:3, :3] @ [0.2, 0, 0])[0], rel=1e-8)


def test_soft_fingers_set_a_rigid_desk_down_and_push_it() -> None:
    """Pressure fields and equivalent points in one step: grip and floor forces carry the weight together."""
    scene = hs.SceneBuilder("desk", contact={"friction": 0.5}, time_step=0.001)
    scene.add_ground(compliance="rigid")
    desk = scene.add_body("desk", 1.0, inertia=(0.01,) * 3, xyz=(0, 0, 0.1115))
    desk.add_shape("box", size=(0.2, 0.2, 0.02), compliance="rigid")
    for x, y in product((-0.09, 0.09), repeat=2):
        desk.add_shape("box", size=(0.02, 0.02, 0.1), xyz=(x, y, -0.06), compliance="rigid")
    for name, x in (("left", -0.1095), ("right", 0.1095)):
        pad = scene.add_model(name, base="kinematic", xyz=(x, 0, 0.1115))
        pad.add_link(name, 0.1, inertia=(1e-4,) * 3).add_shape("box", size=(0.02, 0.04, 0.04), modulus=1e6)
    scene.set_contact_law("desk", "ground", "equivalent_point")
    world = hs.World(scene.build())

    def move(v: tuple[float, float, float], steps: int) -> None:
        for name in ("left", "right"):
            world.place(name, V_WB=[0, 0, 0, *v])
        world.step(steps)

    move((0, 0, 0), 100)
    assert {patch.law for patch in world.contacts} == {"pressure field"}
    move((0, 0, -0.01), 160)
    move((0, 0, 0), 100)
    on_floor = [patch for patch in world.contacts if patch.law == "equivalent point"]
    assert len(on_floor) == 1
    move((0.05, 0, 0), 400)
    vertical = sum(
        (patch.force_on_b if patch.name_b == "desk" else -patch.force_on_b)[2] for patch in world.contacts
    )
    assert vertical == pytest.approx(G, rel=1e-3)
    X = world.frame_pose("desk")
    assert X[0, 3] == pytest.approx(0.02, abs=1e-3)
    feet = np.array([[x, y, -0.11] for x, y in product((-0.1, 0.1), repeat=2)])
    assert abs((feet @ X[2, :3] + X[2, 3]).min()) <= 1e-12
    assert world.diagnostics()["unconverged_steps"] == 0
