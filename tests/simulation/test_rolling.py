"""Rigid round bodies on rigid flat ones roll as the exact shapes do, not as their meshes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.scratch import make_nodes
from hydro_sim_core.simulation.stepping.round_sides import turn_round_sides
from support.simulation.made_scenes import G
from support.simulation.round_bodies import LENGTH, LYING, MASS, RADIUS, SHAPES, SHARES, add_round_body


def scene(
    shape: str, ground: str = "half_space", slope: float = 0.0, time_step: float = 1e-3, **settings: object
) -> hs.SceneBuilder:
    """A rigid round body that lies on rigid ground, gravity turned by a slope, rad: downhill is along x."""
    gravity = (G * math.sin(slope), 0.0, -G * math.cos(slope))
    contact = {"compliance": "rigid", "friction": 0.5, "dissipation": 0.0}
    built = hs.SceneBuilder("rolling", time_step=time_step, gravity=gravity, contact=contact, **settings)
    if ground == "half_space":
        built.add_static("ground", "half_space")
    else:
        built.add_static("ground", "box", size=(4.0, 1.0, 0.2), xyz=(1.9, 0.0, -0.1))
    add_round_body(built, shape, RADIUS)
    return built


def world_of(*args: object, **settings: object) -> hs.World:
    return hs.World(scene(*args, **settings).build())


@pytest.mark.parametrize("ground", ["half_space", "box"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_round_rolls_down_a_slope_as_in_the_books(shape: str, ground: str) -> None:
    """On their facets, 16 around, they went three quarters of the way down 10 degrees, up and down by a millimetre."""
    slope, time_step, steps = math.radians(10.0), 1e-3, 500
    world = world_of(shape, ground, slope, time_step)
    heights = []
    for _ in range(steps // 10):
        world.step(10)
        heights.append(world.frame_pose("body")[2, 3])
    acceleration = G * math.sin(slope) / (1.0 + SHARES[shape])
    # The sum of steps that have the velocity of their end.
    way = acceleration * time_step**2 * steps * (steps + 1) / 2.0
    assert world.frame_pose("body")[0, 3] == pytest.approx(way, rel=4e-4 if shape == "sphere" else 2e-5)
    assert np.ptp(heights) < 1e-6


@pytest.mark.parametrize("ground", ["half_space", "box"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_round_rolls_on(shape: str, ground: str) -> None:
    """On its facets it lost half its speed in a second, and went up and down by 1 to 2 mm."""
    world, speed = world_of(shape, ground), 0.5
    world.place("body", world.frame_pose("body"), [0.0, speed / RADIUS, 0.0, speed, 0.0, 0.0])
    heights = []
    for _ in range(100):
        world.step(10)
        heights.append(world.frame_pose("body")[2, 3])
    assert world.v[3] == pytest.approx(speed, rel=2e-4 if shape == "sphere" else 1e-5)
    np.testing.assert_allclose(world.v[[0, 2, 4, 5]], 0.0, rtol=0, atol=1e-9)
    assert np.ptp(heights) < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_the_continuous_integrator_rolls_as_well(shape: str) -> None:
    """It was 12 to 18 % too fast, falling from corners onto facets."""
    slope = math.radians(10.0)
    world = world_of(shape, "box", slope, solver={"integrator": "continuous"})
    world.step(200)
    way = 0.5 * G * math.sin(slope) / (1.0 + SHARES[shape]) * 0.2**2
    assert world.frame_pose("body")[0, 3] == pytest.approx(way, rel=5e-3 if shape == "sphere" else 1e-3)


def on_tiles(shape: str, time_step: float, friction: float, height: float, lies: bool) -> hs.World:
    """A body at rest on flush tiles of 0.1 m."""
    contact = {"compliance": "rigid", "friction": friction}
    tiles = hs.SceneBuilder("tiles", time_step=time_step, contact=contact)
    for i in range(8):
        tiles.add_static(f"tile{i}", "box", size=(0.1, 1.0, 0.1), xyz=(0.1 * i - 0.05, 0.0, -0.05))
    body = tiles.add_body("body", MASS, xyz=(0.013, 0.0, height))
    body.add_shape(shape, **SHAPES[shape], rpy=LYING if lies else (0.0, 0.0, 0.0))
    world = hs.World(tiles.build())
    world.step(round(0.02 / time_step))
    return world


@pytest.mark.parametrize("time_step", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_round_rolls_and_slides_over_seams(shape: str, friction: float, time_step: float) -> None:
    """It lost half its speed in half a second as it rolled, and up to 30 % and straightness as it slid."""
    world, spin = on_tiles(shape, time_step, friction, RADIUS, lies=True), friction / 0.3 / RADIUS
    world.place("body", world.frame_pose("body"), [0.0, spin, 0.0, 1.0, 0.0, 0.0])
    world.step(round(0.5 / time_step))
    np.testing.assert_allclose(world.v[3:], [1.0, 0.0, 0.0], rtol=0, atol=2e-3)
    np.testing.assert_allclose(world.v[:3], [0.0, spin, 0.0], rtol=0, atol=3e-2)
    assert world.frame_pose("body")[2, 3] == pytest.approx(RADIUS, abs=1e-4)


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
@pytest.mark.parametrize("spin", [0.0, 5.0, 100.0])
def test_a_cylinder_spins_and_slides_on_its_end_over_seams(spin: float, time_step: float) -> None:
    """Its round side, which turns, foresaw a collision with the next tile and threw it back (a reviewer's find)."""
    world = on_tiles("cylinder", time_step, 0.0, LENGTH / 2, lies=False)
    world.place("body", world.frame_pose("body"), [0.0, 0.0, spin, 1.0, 0.0, 0.0])
    world.step(round(0.5 / time_step))
    np.testing.assert_allclose(world.v, [0, 0, spin, 1, 0, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("angle", [0.1, 0.4, 1.2])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_edge_does_not_turn_a_frictionless_wheel(shape: str, angle: float) -> None:
    """The facet beside the vertex pushed past the axis: up to 52 rad/s in a second, from nothing (a reviewer saw)."""
    built = hs.SceneBuilder("wheel", contact={"compliance": "rigid", "friction": 0.0, "dissipation": 0.0})
    built.add_static("block", "box", size=(0.2, 1.0, 0.2), xyz=(0.1 + RADIUS * math.sin(angle), 0.0, -0.1))
    wheel = built.add_model("wheel", xyz=(0.0, 0.0, RADIUS * math.cos(angle) + 1e-5))
    wheel.add_link("frame")
    wheel.add_link("slide", 0.1, inertia=(1e-4,) * 3)
    wheel.add_link("rim", MASS, inertia=(1e-3,) * 3).add_shape(
        shape, **SHAPES[shape], rpy=(0.0, 0.0, 0.0) if shape == "sphere" else LYING
    )
    ends = {"lower": -1.0, "upper": 1.0, "effort": 1e3, "velocity": 1e3}
    wheel.add_joint("up", "prismatic", "frame", "slide", axis=(0, 0, 1), damping=5.0, **ends)
    wheel.add_joint("axle", "continuous", "slide", "rim", axis=(0, 1, 0))
    world = hs.World(built.build())
    world.step(1000)
    assert abs(world.v[1]) < 1e-3
    assert world.contacts


@pytest.mark.parametrize("beside", [0.0, 5e-5, 1e-4, 1.5e-4])
def test_a_ball_gains_nothing_where_it_hits_beside_an_edge(beside: float) -> None:
    """The field of the other side held its pressure all the way up: up to 26 % of the energy, from nothing."""
    contact = {"compliance": "rigid", "friction": 0.0, "dissipation": 0.0}
    built = hs.SceneBuilder("edge", gravity=(0.0, 0.0, 0.0), contact=contact)
    built.add_static("block", "box", size=(0.05, 0.06, 0.04))
    built.add_body("ball", 0.3, xyz=(0.025 + beside, 0.004, 0.0509)).add_shape("sphere", radius=0.03)
    world = hs.World(built.build())
    world.place("ball", world.frame_pose("ball"), [0.0, 0.0, 0.0, 0.0, 0.0, -1.7])
    world.step(12)
    assert world.v[5] > 0.0
    assert np.linalg.norm(world.v[3:]) < 1.7


def test_worlds_of_a_batch_have_their_own_round_sides() -> None:
    """A ball, and a capsule of the same mass: each is stepped as alone."""
    scenes = [scene(shape, slope=0.2).build() for shape in ("sphere", "capsule")]
    batch = hs.BatchWorld(scenes, 2, backend="cpu")
    batch.step(100)
    for i, one in enumerate(scenes):
        alone = hs.World(one)
        alone.step(100)
        np.testing.assert_array_equal(batch.q[i], alone.q)


@pytest.fixture(scope="module")
def worlds() -> dict[tuple[str, str], hs.World]:
    return {(shape, ground): world_of(shape, ground) for shape in SHAPES for ground in ("box", "half_space")}


@pytest.mark.parametrize("shape", SHAPES)
@given(seed=st.integers(0, 2**32 - 1), ground=st.sampled_from(["box", "half_space"]))
def test_meshes_reach_as_far_as_the_exact_shapes(
    shape: str, worlds: dict[tuple[str, str], hs.World], ground: str, seed: int
) -> None:
    """In any pose above the ground, or a millimetre in it, the mesh comes as near to it as the exact body does."""
    world, random = worlds[shape, ground], np.random.default_rng(seed)
    model = world.built.model
    a, b = model.pairs[0]
    R_WA = Rotation.random(random_state=seed).as_matrix()
    tilt, sine = abs(R_WA[2, 2]), math.sqrt(max(0.0, 1.0 - R_WA[2, 2] ** 2))
    reach = (
        RADIUS if shape == "sphere" else LENGTH / 2 * tilt + RADIUS * (1.0 if shape == "capsule" else sine)
    )
    p_WA = [random.uniform(0.2, 3.0), random.uniform(-0.2, 0.2), reach + random.uniform(-1e-3, 0.5)]
    X_WB = world.built.colliders[b].X_BG
    p_BA = X_WB[:3, :3].T @ (p_WA - X_WB[:3, 3])
    R_BA = np.ascontiguousarray(X_WB[:3, :3].T @ R_WA)
    axis = R_BA[:, 2].copy()
    turn_round_sides(model, 0, np.eye(3), R_BA, p_BA, make_nodes())
    lowest = float((X_WB[:3, :3] @ R_BA @ world.built.colliders[a].geometry.vertices.T)[2].min())
    np.testing.assert_allclose(R_BA @ R_BA.T, np.eye(3), rtol=0, atol=1e-12)
    assert np.linalg.det(R_BA) > 0.0
    if shape != "sphere":
        np.testing.assert_allclose(R_BA[:, 2], axis, rtol=0, atol=1e-12)
    tolerance = 1e-3 if shape == "capsule" else 1e-12
    assert lowest == pytest.approx(-reach, abs=tolerance)
