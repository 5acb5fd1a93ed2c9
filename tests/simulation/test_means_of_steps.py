"""Under error control and with the continuous integrator, too, what is told of a time step is the average over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.laws import EQUIVALENT_POINT
from hydro_sim_core.viewer.frame import view_patch

G = 9.81
CONTROLLED = {"integrator": "error_controlled", "accuracy": 1e-5, "tolerance": 1e-12}
CONTINUOUS = {"integrator": "continuous", "accuracy": 1e-6}
#: How closely momentum balances, N s of 1 kg at 1 m/s: the solver's tolerance, and that of Newton's method for stages.
SOLVERS = [pytest.param(CONTROLLED, 1e-9, id="controlled"), pytest.param(CONTINUOUS, 1e-6, id="continuous")]


def drop(solver: dict[str, Any], time_step: float = 1e-2, **contact: float) -> hs.World:
    """A ball of 1 kg and 5 cm, 1 cm above the ground, beside the world's origin."""
    law = {"modulus": 1e6, "friction": 0.5, **contact}
    scene = hs.SceneBuilder("drop", time_step=time_step, contact=law, solver=solver)
    scene.add_ground()
    scene.add_body("ball", 1.0, inertia=3 * (1e-3,), xyz=(0.3, -0.2, 0.06)).add_shape("sphere", radius=0.05)
    return hs.World(scene.build())


def force_on(world: hs.World, body: str) -> np.ndarray:
    return sum(
        (
            p.force_on_b if p.name_b == body else -p.force_on_b
            for p in world.contacts
            if body in (p.name_a, p.name_b)
        ),
        np.zeros(3),
    )


@pytest.mark.parametrize(("solver", "allowed"), SOLVERS)
def test_impulses_of_contacts_are_the_change_of_momentum(solver: Any, allowed: float) -> None:
    """Of a ball that lands with a spin, sub-step by sub-step; the joint that bears it transmits nothing."""
    world = drop(solver)
    world.set_state(world.q, [0, 20.0, 0, 0.3, 0, 0])
    dt, touched = world.time_step, 0
    for _ in range(30):
        v = world.v
        world.step()
        force = force_on(world, "ball")
        np.testing.assert_allclose(force * dt + [0, 0, -G * dt], (world.v - v)[3:], rtol=0, atol=allowed)
        np.testing.assert_allclose(world.contact_wrench("ball")[3:], force, rtol=0, atol=1e-12 * G)
        assert np.abs(world.joint_wrench("ball_base")[3:]).max() < allowed / dt
        touched += bool(np.any(force))
    assert touched > 10


@pytest.mark.parametrize(("solver", "allowed"), SOLVERS)
def test_moments_of_contacts_are_the_change_of_spin(solver: Any, allowed: float) -> None:
    """About the middle of the ball, which moves over the ground while it presses and rubs."""
    world = drop(solver)
    world.set_state(world.q, [0, 20.0, 0, 0.3, 0, 0])
    dt = world.time_step
    for _ in range(30):
        v, x = world.v, world.frame_pose("ball")[:3, 3]
        world.step()
        # Moments are about a fixed point, from which the middle goes away by up to this in a step.
        way = np.linalg.norm(world.frame_pose("ball")[:3, 3] - x)
        force = np.linalg.norm(force_on(world, "ball"))
        moment = sum(
            (p.moment_on_b(x) * (1 if p.name_b == "ball" else -1) for p in world.contacts), np.zeros(3)
        )
        spun = world.frame_pose("ball")[:3, :3] @ (1e-3 * world.v[:3]) - 1e-3 * v[:3]
        assert abs((moment * dt - spun)[1]) < way * force * dt + allowed


@pytest.mark.parametrize(("solver", "allowed"), SOLVERS)
def test_a_bounce_within_one_step_is_told_with_its_faces(solver: Any, allowed: float) -> None:
    """The bodies are apart as the step ends; the patch has the impulse, and faces from when they touched."""
    world = drop(solver, time_step=6e-2, modulus=1e8, dissipation=0.0)
    world.step()
    (patch,) = world.contacts
    assert world.frame_pose("ball")[2, 3] > 0.0502
    force = force_on(world, "ball")[2]
    assert force * world.time_step == pytest.approx(world.v[5] + G * world.time_step, abs=allowed)
    assert patch.pressing.any()
    assert len(patch.polygons) == patch.num_faces
    np.testing.assert_allclose(patch.centroid, [0.3, -0.2, 0.0], atol=1e-4)
    assert world.contact_summary().patches
    again = world.copy()
    np.testing.assert_array_equal(again.contacts[0].force_on_b, patch.force_on_b)


def test_momentum_between_a_body_in_an_impact_and_one_it_touches_is_kept() -> None:
    """Each of two boxes that fall on each other; of one, halves of sub-steps would not go with better of the other."""
    solver = {**CONTROLLED, "accuracy": 1e-4}
    scene = hs.SceneBuilder("heap", time_step=5e-3, contact={"modulus": 1e6, "friction": 0.5}, solver=solver)
    scene.add_ground()
    for name, xyz, rpy in (
        ("low", (0.01, 0.01, 0.05), (0, -0.9, 0.5)),
        ("high", (-0.01, 0, 0.12), (-0.4, 0.1, 0)),
    ):
        scene.add_body(name, 0.2, inertia=3 * (1e-4,), xyz=xyz, rpy=rpy).add_shape("box", size=3 * (0.06,))
    world = hs.World(scene.build())
    dt, touched = world.time_step, 0
    for _ in range(40):
        v = world.v
        world.step()
        for name, gained in zip(("low", "high"), 0.2 * (world.v - v).reshape(2, 6)[:, 3:], strict=True):
            impulse = dt * np.add(force_on(world, name), [0, 0, -0.2 * G])
            np.testing.assert_allclose(impulse, gained, rtol=0, atol=1e-11)
        touched += any(
            {"low", "high"} == {p.name_a, p.name_b} and np.any(p.force_on_b) for p in world.contacts
        )
    assert touched > 10


@pytest.mark.parametrize(("solver", "allowed"), SOLVERS)
def test_what_a_drive_gives_is_the_change_of_momentum(solver: Any, allowed: float) -> None:
    """A cart that a drive pushes back and forth within a step."""
    scene = hs.SceneBuilder("cart", time_step=2e-2, solver=solver, gravity=(0, 0, 0))
    rig = scene.add_model("rig")
    rig.add_link("rail")
    rig.add_link("cart", mass=2.0, inertia=3 * (1e-3,))
    rig.add_joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), lower=-10, upper=10, effort=1e4)
    scene.add_actuators(["slide"], kp=8000.0, kd=5.0)
    world = hs.World(scene.build())
    world.set_command([0.1], mode="position")
    efforts = []
    for _ in range(20):
        v = world.v[0]
        world.step()
        efforts.append(world.joint_efforts()[0])
        assert efforts[-1] * world.time_step == pytest.approx(2.0 * (world.v[0] - v), abs=allowed)
    assert min(efforts) < -100 < 100 < max(efforts)


def test_the_rest_of_a_step_that_is_given_up_is_told_with_what_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An accuracy that cannot be had: the last part of every step is taken whole, and the sum is over all parts."""
    world = drop({**CONTROLLED, "accuracy": 1e-12}, time_step=6e-2)
    dt = world.time_step
    for _ in range(3):
        v = world.v
        world.step()
        np.testing.assert_allclose(
            force_on(world, "ball") * dt + [0, 0, -G * dt], (world.v - v)[3:], rtol=0, atol=1e-9
        )
    assert world.diagnostics()["unconverged_steps"] > 0
    assert np.any(force_on(world, "ball"))


def test_equivalent_points_are_told_in_sum() -> None:
    """Rigid bodies, whose contacts are points without a pressure."""
    scene = hs.SceneBuilder("drop", time_step=1e-2, contact={"compliance": "rigid"}, solver=CONTROLLED)
    scene.add_ground()
    scene.add_body("box", 1.0, xyz=(0.1, 0, 0.07), rpy=(0.1, 0.2, 0)).add_shape("box", size=3 * (0.1,))
    scene.set_contact_law("box", "ground", "equivalent_point")
    world = hs.World(scene.build())
    dt, touched = world.time_step, 0
    for _ in range(30):
        v = world.v
        world.step()
        force = force_on(world, "box")
        np.testing.assert_allclose(force * dt + [0, 0, -G * dt], (world.v - v)[3:], rtol=0, atol=1e-9)
        touched += bool(np.any(force))
    assert touched > 10


def test_a_point_that_is_left_within_a_step_is_told_where_it_was() -> None:
    """A rigid box slides over the end of a plate, and falls for the rest of the step."""
    contact = {"compliance": "rigid", "friction": 0.2}
    scene = hs.SceneBuilder("off", time_step=6e-2, contact=contact, solver=CONTROLLED)
    scene.add_static("plate", "box", size=(0.2, 0.2, 0.02), xyz=(-0.1, 0, -0.01))
    scene.add_body("box", 1.0, xyz=(-0.05, 0, 0.01)).add_shape("box", size=3 * (0.02,))
    scene.set_contact_law("box", "plate", "equivalent_point")
    world = hs.World(scene.build())
    world.set_state(world.q, [0, 0, 0, 2.0, 0, 0])
    world.step()
    assert world.frame_pose("box")[0, 3] > 0.03
    (patch,) = world.contacts
    force = force_on(world, "box")
    np.testing.assert_allclose(force * 6e-2 + [0, 0, -G * 6e-2], world.v[3:] - [2.0, 0, 0], rtol=0, atol=1e-9)
    assert patch.law == EQUIVALENT_POINT
    assert patch.num_faces == 1
    assert -0.05 < patch.centroid[0] < 0.001
    np.testing.assert_allclose(patch.centroid[1:], 0.0, atol=1e-3)
    np.testing.assert_allclose(
        np.abs(patch.normals), [[0, 0, 1]], atol=1e-3
    )  # it tips as it goes over the end
    shown = view_patch(patch)
    assert shown is not None
    np.testing.assert_array_equal(shown.point, patch.centroid)


def double_pendulum(solver: dict[str, Any], time_step: float) -> hs.World:
    """On two hinges that nothing drives or brakes, in fast motion."""
    scene = hs.SceneBuilder("pendulum", time_step=time_step, solver=solver)
    model = scene.add_model("pendulum")
    model.add_link("base")
    for k in (1, 2):
        model.add_link(f"arm_{k}", mass=1.0 * k, center_of_mass=(0, 0, -0.25), inertia=3 * (0.02,))
    ends = {"axis": (0, 1, 0), "lower": -100, "upper": 100}
    model.add_joint("shoulder", "revolute", "base", "arm_1", **ends)
    model.add_joint("elbow", "revolute", "arm_1", "arm_2", xyz=(0, 0, -0.5), **ends)
    world = hs.World(scene.build())
    world.set_state([1.0, -0.4], [1.0, -6.0])
    return world


@pytest.mark.parametrize(
    "solver", [{**CONTROLLED, "accuracy": 1e-7}, CONTINUOUS], ids=["controlled", "continuous"]
)
def test_a_hinge_that_moves_transmits_no_torque_about_its_axis(solver: Any) -> None:
    """But for the square of the step's length: links turn meanwhile, by up to 4 degrees in 10 ms."""
    largest = []
    for time_step in (1e-2, 5e-3):
        world = double_pendulum(solver, time_step)
        torques = []
        for _ in range(round(0.5 / time_step)):
            world.step()
            torques += [world.joint_wrench(joint)[1] for joint in ("shoulder", "elbow")]
        largest.append(np.abs(torques).max())
    assert largest[0] < 0.06  # of 4.5 N m that weights have about the shoulder
    assert largest[1] < 0.3 * largest[0]


def test_joints_read_the_mean_of_fine_steps() -> None:
    """Along the axes of the moving link: a step of 10 ms reads what 100 shorter ones do, up to 70 N."""
    coarse, fine = double_pendulum(CONTINUOUS, 1e-2), double_pendulum(CONTINUOUS, 1e-4)
    for _ in range(20):
        coarse.step()
        told = []
        for _ in range(100):
            fine.step()
            told.append(fine.joint_wrench("shoulder"))
        np.testing.assert_allclose(coarse.joint_wrench("shoulder"), np.mean(told, axis=0), rtol=0, atol=0.2)


@pytest.mark.parametrize(("solver", "allowed"), SOLVERS)
def test_a_pulled_ball_reads_nothing_at_its_base(solver: Any, allowed: float) -> None:
    """The spring counts as it acts within the step, not by where it begins."""
    world = drop({**solver, "accuracy": 1e-7})
    world.pull("ball", [0, 0, 0], [0.4, 0.0, 0.3], stiffness=100.0, damping=1.0)
    for _ in range(30):
        world.step()
        assert np.abs(world.joint_wrench("ball_base")[3:]).max() < 0.05  # of 30 N


@pytest.mark.parametrize(
    ("solver", "bound"),
    [({**CONTROLLED, "accuracy": 1e-7}, 0.02), (CONTINUOUS, 5e-3)],
    ids=["controlled", "continuous"],
)
def test_a_slide_on_a_table_that_is_led_transmits_no_force_along_itself(solver: Any, bound: float) -> None:
    """While the table spins up, and where it stops: it has the velocity of a step's end from its begin on."""
    dt = 1e-2
    scene = hs.SceneBuilder("table", time_step=dt, solver=solver, gravity=(0, 0, 0))
    model = scene.add_model("table", base="kinematic")
    model.add_link("top")
    model.add_link("bead", mass=1.0, inertia=3 * (1e-3,))
    model.add_joint("slide", "prismatic", "top", "bead", axis=(1, 0, 0), lower=-9, upper=9)
    world = hs.World(scene.build())
    world.set_joint_positions({"slide": 0.2})
    forces = []
    for n in range(1, 31):
        turned, X = 10.0 * (min(n, 25) * dt) ** 2, np.eye(4)
        X[:2, :2] = [[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]]
        world.move("table", X)
        world.step()
        forces.append(world.joint_wrench("slide")[3])
    assert np.abs(forces).max() < bound  # of 8 N across it
