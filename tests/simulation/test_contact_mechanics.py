"""Friction, stacking and gripping against Coulomb's and Newton's laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from support.simulation.made_scenes import GROUND, G, Robot, add_fingers, box, fixed, free, make_world

MU = 0.5
STICTION_SPEED = 1e-4
SLAB = (0.2, 0.15, 0.04)


def incline(
    degrees: float, dt: float = 1e-3, stiction_speed: float = STICTION_SPEED
) -> tuple[hs.World, np.ndarray]:
    """A flat slab lying on an inclined plane, at rest; and the unit vector down the slope."""
    angle = np.radians(degrees)
    R = Rotation.from_euler("y", angle).as_matrix()
    slab = free(box("slab", SLAB, 2.0, modulus=1e6), R @ [0, 0, SLAB[2] / 2], (0, float(angle), 0))
    plane = {**GROUND, "rpy": (0.0, float(angle), 0.0)}
    solver = {"stiction_speed": stiction_speed}
    return make_world(slab, environment=[plane], time_step=dt, solver=solver), R[:, 0]


@pytest.mark.parametrize("degrees", [10.0, 25.0])
def test_slab_creeps_below_the_friction_angle(degrees: float) -> None:
    """It sticks but for the creep of regularised friction: s r / sqrt(1 - r^2), r the share of friction used."""
    world, down = incline(degrees)
    world.step(300)
    r = np.tan(np.radians(degrees)) / MU
    creep = STICTION_SPEED * r / np.sqrt(1.0 - r**2)
    assert world.v[3:] @ down == pytest.approx(creep, rel=1e-3)


@pytest.mark.parametrize("degrees", [30.0, 40.0])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_slab_slides_above_the_friction_angle(degrees: float, dt: float) -> None:
    """a = g (sin - mu cos) within 0.5 %."""
    world, down = incline(degrees, dt)
    world.step(round(0.2 / dt))
    before = world.v[3:] @ down
    world.step(round(0.3 / dt))
    angle = np.radians(degrees)
    a = G * (np.sin(angle) - MU * np.cos(angle))
    assert (world.v[3:] @ down - before) / 0.3 == pytest.approx(a, rel=5e-3)


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("margin", [0.0, 1e-4])
def test_sliding_slab_slows_by_mu_g_and_does_not_lift(dt: float, margin: float) -> None:
    """From 2 m/s on flat ground: within 0.1 %, and never higher than it lay by a micrometre."""
    contact = {"margin": margin}
    slab = free(box("slab", SLAB, 2.0), (0, 0, SLAB[2] / 2))
    world = make_world(slab, environment=[GROUND], time_step=dt, contact=contact)
    world.step(round(0.3 / dt))
    height = world.q[6]
    world.set_state(world.q, [0, 0, 0, 2.0, 0, 0])
    lift = []
    for _ in range(round(0.3 / dt)):
        world.step()
        lift.append(world.q[6] - height)
    assert (2.0 - world.v[3]) / 0.3 == pytest.approx(MU * G, rel=1e-3)
    assert max(lift) < 1e-6


def test_sliding_slab_stops_where_it_must() -> None:
    """After v^2 / (2 mu g)."""
    world = make_world(free(box("slab", SLAB, 2.0), (0, 0, SLAB[2] / 2)), environment=[GROUND])
    world.step(200)
    start = world.q[4]
    world.set_state(world.q, [0, 0, 0, 2.0, 0, 0])
    world.step(750)
    assert abs(world.v[3]) < 1e-6
    assert world.q[4] - start == pytest.approx(4.0 / (2.0 * MU * G), rel=5e-3)


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_slab_creeps_by_micrometres_near_the_limit(dt: float) -> None:
    """At 80 % of the friction limit and a stiction speed of 10 um/s: at most 20 um/s."""
    world, down = incline(np.degrees(np.arctan(0.8 * MU)), dt, stiction_speed=1e-5)
    world.step(round(0.5 / dt))
    before = world.q[4:] @ down
    world.step(round(0.5 / dt))
    assert 1e-5 < (world.q[4:] @ down - before) / 0.5 <= 2e-5


def test_friction_is_bounded_by_coulomb_on_every_patch() -> None:
    """A box thrown onto the ground, over impacts, sliding and rest."""
    brick = free(box("brick", (0.2, 0.15, 0.08), 0.2, modulus=1e6), (0, 0, 0.145), (0.3, 0.4, 0))
    world = make_world(brick, environment=[GROUND])
    world.set_state(world.q, [0, 0, 0, 2.0, 1.0, 0])
    forces = []
    for _ in range(800):
        world.step()
        for patch in world.contacts:
            normal = patch.normal_force_on_b
            tangential = patch.force_on_b - normal
            assert abs(tangential @ normal) <= 1e-9 * (normal @ normal)
            forces.append((np.linalg.norm(tangential), np.linalg.norm(normal)))
    tangential, normal = np.array(forces).T
    assert len(forces) > 400
    assert (tangential <= 1.05 * MU * normal + 1e-3).all()
    assert tangential.sum() <= 1.01 * MU * normal.sum()


def sliding_brick(
    dt: float, modulus: float, dissipation: float, *others: dict, model: str = "lagged"
) -> hs.World:
    """A brick about to land at 5 m/s sideways and 1 m/s down, beside whatever else there is."""
    brick = free(box("brick", (0.1, 0.1, 0.1), 1.0, modulus=modulus, dissipation=dissipation), (0, 0, 0.052))
    sections = {"time_step": dt, "contact": {"margin": 1e-4}, "solver": {"model": model}}
    world = make_world(brick, *others, environment=[GROUND], **sections)
    v = world.v.copy()
    v[3], v[5] = 5.0, -1.0
    world.set_state(world.q, v)
    return world


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("modulus", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("dissipation", [0.0, 50.0])
def test_friction_of_an_impact_keeps_to_coulombs_bound(dt: float, modulus: float, dissipation: float) -> None:
    """Within the 5 % to which the bounds are settled, in every single step."""
    world = sliding_brick(dt, modulus, dissipation)
    pressed = 0
    for _ in range(20):
        world.step()
        for patch in world.contacts:
            normal = patch.normal_force_on_b
            tangential = np.linalg.norm(patch.force_on_b - normal)
            assert tangential <= 1.05 * MU * np.linalg.norm(normal) + 1e-3
            pressed += np.linalg.norm(normal) > 1.0
    assert pressed > 0
    assert world.diagnostics()["unsettled_steps"] == 0


@pytest.mark.parametrize("model", ["lagged", "sap", "tamsi"])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("dissipation", [0.0, 50.0])
def test_impulses_of_a_stiff_oblique_impact_keep_to_coulombs_ratio(
    model: str, dt: float, dissipation: float
) -> None:
    """Sliding all the while, the brick feels mu times the normal impulse, no less and no more, within 5 %."""
    world = sliding_brick(dt, 1e8, dissipation, model=model)
    normal = tangential = 0.0
    for _ in range(round(0.05 / dt)):
        world.step()
        for patch in world.contacts:
            normal += np.linalg.norm(patch.normal_force_on_b)
            tangential += np.linalg.norm(patch.force_on_b - patch.normal_force_on_b)
    assert world.v[3] > 1.0
    assert tangential == pytest.approx(MU * normal, rel=0.05)
    assert dt * normal > 0.9  # it has landed


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_heavy_bystander_changes_nothing(dt: float) -> None:
    """An anvil of ten tonnes at rest 5 m away does not alter how the brick lands."""
    anvil = free(box("anvil", (1, 1, 1), 1e4, modulus=1e7, dissipation=50.0), (5, 0, 0.5))
    alone, beside = (sliding_brick(dt, 1e7, 50.0, *others) for others in ((), (anvil,)))
    for world in (alone, beside):
        world.step(20)
    # Friction is settled to 5 %, and the anvil may cause another solve.
    assert 5.0 - beside.v[3] == pytest.approx(5.0 - alone.v[3], rel=0.05)
    assert alone.v[3] < 4.6


def force_between(world: hs.World, a: str, b: str) -> np.ndarray:
    """Sum of the contact forces of body a on body b, N."""
    total = np.zeros(3)
    for patch in world.contacts:
        if (patch.name_a, patch.name_b) == (a, b):
            total += patch.force_on_b
        elif (patch.name_a, patch.name_b) == (b, a):
            total -= patch.force_on_b
    return total


@pytest.mark.parametrize("offset", [0.0, 0.013])
def test_stacked_pair_stands(offset: float) -> None:
    """Each interface carries what is above it, and nothing moves, aligned or not."""
    size, m = (0.2, 0.15, 0.08), (0.4, 0.2)
    world = make_world(
        free(box("lower", size, m[0], modulus=1e6), (0, 0, 0.04)),
        free(box("upper", size, m[1], modulus=1e6), (offset, 0.7 * offset, 0.12)),
        environment=[GROUND],
        contact={"margin": 1e-4},
    )
    world.step(1000)
    start = world.q
    np.testing.assert_allclose(force_between(world, "lower", "upper"), [0, 0, m[1] * G], atol=1.5e-4)
    np.testing.assert_allclose(force_between(world, "ground", "lower"), [0, 0, sum(m) * G], atol=1.5e-4)
    world.step(500)
    np.testing.assert_allclose(world.q, start, atol=1e-6)


def test_moment_of_the_contact_balances_the_weight() -> None:
    """A slab at rest with its mass off its middle: the wrench passes through the centre of mass."""
    slab = box("slab", (0.2, 0.15, 0.04), 1.0, inertia=3 * (0.01,), center_of_mass=(0.03, -0.02, 0))
    world = make_world(free(slab, (0, 0, 0.02)), environment=[GROUND])
    world.step(1500)
    (patch,) = world.contacts
    p_WCo = world.frame_pose("slab") @ [0.03, -0.02, 0.0, 1.0]
    np.testing.assert_allclose(patch.force_on_b * (1 if patch.name_b == "slab" else -1), [0, 0, G], atol=1e-4)
    np.testing.assert_allclose(patch.moment_on_b(p_WCo[:3]), 0.0, atol=1e-5)


def gripper() -> Robot:
    """Two rigid pads on rails along y that close onto what is between them: every face has the pads' normal."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("hand")
        add_fingers(model)

    return Robot("gripper", describe)


GRIPPER = {
    "name": "hand",
    "joints": {"left_joint": 1, "right_joint": 1},
    "max_force": 100.0,
    "kp": 2000.0,
    "kd": 50.0,
}


def gripping_world(mass: float) -> hs.World:
    """Pads around a block whose friction with them is 0.6."""
    block = free(box("block", (0.03, 0.05, 0.03), mass, modulus=1e7, mu=0.6))
    solver = {"stiction_speed": STICTION_SPEED}
    return make_world(fixed(gripper()), block, grippers=[GRIPPER], solver=solver)


@given(mass=st.floats(0.05, 2.0), share=st.sampled_from([0.6, 0.9, 0.97, 1.03, 1.1, 2.0]))
@settings(max_examples=40, deadline=None)
def test_grip_holds_two_mu_f(mass: float, share: float) -> None:
    """A block of any weight is held by more than m g / (2 mu) a finger, and slips with the missing share of g below."""
    mu = 0.6
    world = gripping_world(mass)
    force = share * mass * G / (2.0 * mu)
    world.set_gripper(force=1.5 * mass * G / mu)
    world.step(150)
    world.set_gripper(force=force)
    world.step(60)
    before = world.v[-1]
    world.step(30)
    assert world.grip_force() == pytest.approx(force, rel=1e-3)
    if share > 1.0:
        r = 1.0 / share
        assert world.v[-1] == pytest.approx(-STICTION_SPEED * r / np.sqrt(1.0 - r**2), rel=2e-2)
    else:
        assert (world.v[-1] - before) / 0.03 == pytest.approx(-G * (1.0 - share), rel=1e-2)
