"""Rigid round bodies touch and roll on each other as the exact shapes do, not as their meshes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.scratch import make_nodes
from hydro_sim_core.simulation.stepping.round_sides import turn_round_sides
from support.simulation.made_scenes import G

SHAPES: dict[str, dict[str, Any]] = {
    "sphere": {"radius": 0.03},
    "capsule": {"radius": 0.02, "length": 0.08},
    "cylinder": {"radius": 0.04, "length": 0.1},
}
#: The rounder one first, as in pairs of the simulator.
PAIRS = [
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "cylinder"),
    ("capsule", "capsule"),
    ("capsule", "cylinder"),
]
MASS = 0.2


def two_bodies(one: str, other: str, time_step: float = 1e-3, **contact: float) -> hs.World:
    """Two rigid round bodies without gravity."""
    scene = hs.SceneBuilder(
        "two",
        time_step=time_step,
        gravity=(0.0, 0.0, 0.0),
        contact={"compliance": "rigid", "dissipation": 0.0} | contact,
    )
    for name, shape in (("one", one), ("other", other)):
        body = scene.add_body(name, MASS, xyz=(0.0, 0.0, 0.0 if name == "one" else 1.0))
        body.add_shape(shape, **SHAPES[shape])
    return hs.World(scene.build())


def pose(R: np.ndarray, p: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


@pytest.mark.parametrize("offset", [0.0, 0.015, 0.03, 0.045])
@pytest.mark.parametrize("seed", range(3))
def test_billiard_balls_go_apart_along_the_line_of_their_centres(offset: float, seed: int) -> None:
    """On facets the one that was hit went off by 2 to 9 degrees, and turned at up to 13 rad/s without friction."""
    world, radius = two_bodies("sphere", "sphere", time_step=2.5e-4, friction=0.0), SHAPES["sphere"]["radius"]
    R = Rotation.random(2, random_state=seed).as_matrix()
    world.place("one", pose(R[0], (0.0, 0.0, 0.0)), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    world.place("other", pose(R[1], (0.1003, offset, 0.0)), np.zeros(6))
    world.step(800)
    sine = offset / (2.0 * radius)
    direction = world.v[9:12] / np.linalg.norm(world.v[9:12])
    np.testing.assert_allclose(direction, [math.sqrt(1.0 - sine**2), sine, 0.0], rtol=0, atol=3e-3)
    np.testing.assert_allclose(world.v[[0, 1, 2, 6, 7, 8]], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(world.v[3:6] + world.v[9:12], [1.0, 0.0, 0.0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("other", ["sphere", "capsule"])
def test_a_hit_does_not_depend_on_how_the_meshes_lie(other: str) -> None:
    """Where vertices lay on edges round-off decided, and with it how fast the bodies went apart."""
    world, speeds = two_bodies("sphere", other, friction=0.3), []
    for spin in Rotation.random(4, random_state=1):
        about = spin if other == "sphere" else Rotation.from_rotvec([0.0, 0.0, spin.magnitude()])
        world.place("one", pose(spin.as_matrix(), (0.0, 0.0, 0.0)), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        world.place("other", pose(about.as_matrix(), (0.1003, 0.03, 0.0)), np.zeros(6))
        world.step(200)
        speeds.append(world.v.copy())
    assert np.linalg.norm(speeds[0][9:]) > 0.1
    np.testing.assert_allclose(speeds[1:], np.tile(speeds[0], (3, 1)), rtol=0, atol=1e-9)


def test_a_heap_of_logs_lies_still() -> None:
    radius = 0.03
    scene = hs.SceneBuilder("logs", contact={"compliance": "rigid", "friction": 0.5})
    scene.add_static("floor", "half_space")
    places = [(-radius, radius), (radius, radius), (0.0, (1.0 + math.sqrt(3.0)) * radius)]
    for i, (y, z) in enumerate(places):
        log = scene.add_body(f"log{i}", MASS, xyz=(0.0, y, z), rpy=(0.0, math.pi / 2, 0.0))
        log.add_shape("capsule", radius=radius, length=0.2)
    world = hs.World(scene.build())
    world.step(500)
    for i, (y, z) in enumerate(places):
        np.testing.assert_allclose(world.frame_pose(f"log{i}")[:3, 3], [0.0, y, z], rtol=0, atol=3e-6)


@pytest.mark.parametrize("dome", ["sphere", "cylinder"])
@pytest.mark.parametrize(("friction", "share"), [(1.0, 5.0 / 7.0), (0.0, 1.0)])
def test_a_ball_goes_down_a_dome_as_in_the_books(dome: str, friction: float, share: float) -> None:
    top, radius, start, duration = 0.2, 0.03, 0.1, 0.36
    scene = hs.SceneBuilder("dome", contact={"compliance": "rigid", "dissipation": 0.0, "friction": friction})
    if dome == "sphere":
        scene.add_static("dome", "sphere", radius=top)
    else:
        scene.add_static("dome", "cylinder", radius=top, length=0.5, rpy=(math.pi / 2, 0.0, 0.0))
    inertia, reach = 0.4 * MASS * radius**2, top + radius
    at = reach * math.sin(start), 0.0, reach * math.cos(start)
    ball = scene.add_body("ball", MASS, inertia=(inertia,) * 3, xyz=at, rpy=(1.0, 0.5, 2.0))
    ball.add_shape("sphere", radius=radius)
    world = hs.World(scene.build())
    angles, distances = [], []
    for _ in range(36):
        world.step(10)
        x, y, z = world.frame_pose("ball")[:3, 3]
        angles.append(math.atan2(x, z))
        distances.append(math.hypot(x, z))
        assert abs(y) < 1e-12
    exact = solve_ivp(
        lambda t, state: [state[1], share * G / reach * math.sin(state[0])],
        (0.0, duration), [start, 0.0], t_eval=np.arange(1, 37) * 0.01, rtol=1e-10,
    ).y[0]  # fmt: skip
    assert angles[-1] - start == pytest.approx(exact[-1] - start, rel=6e-3)
    # Only a vertex presses, which sinks in.
    np.testing.assert_allclose(distances, reach, rtol=0, atol=3e-5)


def test_a_log_rolls_down_two_round_rails() -> None:
    radius, slope, steps, time_step = 0.05, 0.1, 500, 1e-3
    scene = hs.SceneBuilder(
        "rails",
        time_step=time_step,
        gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)),
        contact={"compliance": "rigid", "dissipation": 0.0, "friction": 0.5},
    )
    for side in (-1, 1):
        at = 0.9, 0.04 * side, -0.01
        scene.add_static(
            f"rail{side}", "cylinder", radius=0.01, length=2.0, xyz=at, rpy=(0.0, math.pi / 2, 0.0)
        )
    inertia = 0.5 * MASS * radius**2
    log = scene.add_body("log", MASS, inertia=(inertia,) * 3, xyz=(0.0, 0.0, radius))
    log.add_shape("capsule", radius=radius, length=0.16, rpy=(math.pi / 2, 0.0, 0.0))
    world = hs.World(scene.build())
    heights = []
    for _ in range(steps // 10):
        world.step(10)
        heights.append(world.frame_pose("log")[2, 3])
    way = G * math.sin(slope) / 1.5 * time_step**2 * steps * (steps + 1) / 2.0
    assert world.frame_pose("log")[0, 3] == pytest.approx(way, rel=5e-4)
    assert np.ptp(heights) < 1e-6
    np.testing.assert_allclose(world.v[[0, 2, 4, 5]], 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("pin", ["capsule", "cylinder", "sphere"])
@pytest.mark.parametrize("lean", [0.3, 0.8])
def test_a_cap_that_is_pressed_turns_no_axle(pin: str, lean: float) -> None:
    """With forces along facets it would spin for ever, at up to 20 rad/s, as the energy does not depend on its turn."""
    scene = hs.SceneBuilder("axle", contact={"compliance": "rigid", "friction": 0.0})
    model, inertia = scene.add_model("m"), (1e-4,) * 3
    model.add_link("base")
    model.add_link("roller", 0.5, inertia=inertia).add_shape("capsule", **SHAPES["capsule"])
    model.add_joint("axle", "continuous", "base", "roller", rpy=(lean, 0.0, 0.4), axis=(0.0, 0.0, 1.0))
    # From the cap's centre to what presses on it; a cylinder with its lower rim.
    up, radius = np.array([0.2, -0.3, math.sqrt(1.0 - 0.13)]), SHAPES["capsule"]["radius"]
    cap = 0.04 * Rotation.from_euler("xyz", [lean, 0.0, 0.4]).apply([0.0, 0.0, 1.0])
    turn = [0.0, 0.6, 0.0]
    lowest = {"sphere": [0.0, 0.0, 0.0], "capsule": [0.0, 0.0, -0.04], "cylinder": [0.04, 0.0, -0.05]}[pin]
    reach = radius + (0.0 if pin == "cylinder" else SHAPES[pin]["radius"]) + 2e-3
    at = cap + reach * up - Rotation.from_euler("xyz", turn).apply(lowest)
    model.add_link("pin", 0.5, inertia=inertia).add_shape(pin, **SHAPES[pin], rpy=turn)
    model.add_joint("slide", "prismatic", "base", "pin", xyz=at, axis=(0.0, 0.0, 1.0), lower=-1.0, upper=1.0)
    world = hs.World(scene.build())
    was_pressed = False
    for _ in range(50):
        world.step(10)
        was_pressed |= bool(world.contacts)
    assert was_pressed
    assert abs(world.v[world.velocity_names.index("axle")]) < 1e-9


def test_what_lies_in_a_groove_of_logs_slides_without_friction_as_it_came() -> None:
    """It neither loses speed nor begins to turn, as facets would make it."""
    scene = hs.SceneBuilder("groove", contact={"compliance": "rigid", "dissipation": 0.0, "friction": 0.0})
    for name, y in (("left", -0.03), ("right", 0.03)):
        scene.add_static(
            name, "cylinder", radius=0.02, length=2.0, xyz=(0.0, y, 0.0), rpy=(0.0, math.pi / 2, 0.0)
        )
    radius = 0.04
    height = math.sqrt((0.02 + radius) ** 2 - 0.03**2)
    scene.add_body("ball", MASS, xyz=(0.0, 0.0, height), rpy=(0.3, 0.2, 0.1)).add_shape(
        "sphere", radius=radius
    )
    world = hs.World(scene.build())
    world.place("ball", world.frame_pose("ball"), [0.0, 0.0, 0.0, 0.3, 0.0, 0.0])
    world.step(1000)
    np.testing.assert_allclose(world.v, [0.0, 0.0, 0.0, 0.3, 0.0, 0.0], rtol=0, atol=1e-8)


@pytest.fixture(scope="module")
def worlds() -> dict[tuple[str, str], hs.World]:
    return {(one, other): two_bodies(one, other) for one, other in PAIRS}


def shortest_way(one: str, other: str, R_BA: np.ndarray, p_BA: np.ndarray) -> np.ndarray:
    """Way (3,) from the axis of A to the centre of a ball, the axis of a capsule or all of a cylinder B, m."""
    half_a, half_b = (SHAPES[shape].get("length", 0.0) / 2.0 for shape in (one, other))
    radius = SHAPES[other]["radius"] if other == "cylinder" else 0.0

    def way(along: float) -> np.ndarray:
        p = p_BA + along * R_BA[:, 2]
        inwards = min(radius / max(math.hypot(p[0], p[1]), 1e-300), 1.0)
        return np.array([inwards * p[0], inwards * p[1], min(max(p[2], -half_b), half_b)]) - p

    bounds, options = (-half_a, half_a), {"xatol": 1e-13}
    places = [-half_a, half_a, minimize_scalar(lambda t: way(t) @ way(t), bounds=bounds, options=options).x]
    return min((way(t) for t in places), key=lambda found: float(found @ found))


@pytest.mark.parametrize(("one", "other"), PAIRS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_turned_meshes_reach_as_far_as_the_exact_shapes(
    one: str, other: str, worlds: dict[tuple[str, str], hs.World], seed: int
) -> None:
    """Along the shortest way between the exact shapes both meshes come as near to each other as these."""
    world, random = worlds[one, other], np.random.default_rng(seed)
    R_WA, R_WB = Rotation.random(2, random_state=seed).as_matrix()
    sides = [world.built.colliders[g] for g in world.built.model.pairs[0]]
    assert [side.collision.shape.kind for side in sides] == [one, other]
    p_BA, R_BA, R_WM = random.uniform(-0.3, 0.3, 3), np.ascontiguousarray(R_WB.T @ R_WA), R_WB.copy()
    p_WA, way = R_WB @ p_BA, R_WB @ shortest_way(one, other, R_BA, p_BA)
    turn_round_sides(world.built.model, 0, R_WM, R_BA, p_BA, make_nodes())
    # The turns are about the axes of symmetry, and keep where A is.
    np.testing.assert_allclose(R_WM @ p_BA, p_WA, rtol=0, atol=1e-12)
    for turned, R_WG, shape in ((R_WM @ R_BA, R_WA, one), (R_WM, R_WB, other)):
        np.testing.assert_allclose(turned @ turned.T, np.eye(3), rtol=0, atol=1e-12)
        assert np.linalg.det(turned) > 0.0
        if shape != "sphere":
            np.testing.assert_allclose(turned[:, 2], R_WG[:, 2], rtol=0, atol=1e-12)
    distance = float(np.linalg.norm(way))
    assume(distance > 1e-3)
    u = way / distance
    of_a, of_b = sides[0].geometry.vertices, sides[1].geometry.vertices
    apart = ((of_b @ R_WM.T) @ u).min() - ((p_WA + of_a @ (R_WM @ R_BA).T) @ u).max()
    reach = SHAPES[one]["radius"] + (SHAPES[other]["radius"] if other != "cylinder" else 0.0)
    is_at_cap = [side == "capsule" and abs(u @ R[:, 2]) > 1e-6 for side, R in ((one, R_WA), (other, R_WB))]
    # The rings of a cap do not face everything.
    assert apart == pytest.approx(distance - reach, abs=1e-3 if any(is_at_cap) else 1e-9)
