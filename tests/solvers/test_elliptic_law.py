"""Friction within an ellipse: the slope of its cost, the lagged law where there is no grain, and true on a slope."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.solvers.elliptic_law import ELLIPTIC
from hydro_sim_core.solvers.face_laws import LAGGED, FaceLaw
from hydro_sim_core.solvers.face_state import FaceState, PatchState
from support.solvers.made_problems import DT, normal_cost

MU, GRAIN = 0.5, 0.6


def random_face(rng: np.random.Generator, v: np.ndarray) -> FaceState:
    """A face at a velocity, pressed or not."""
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    v_n = float(n @ v)
    t = v - v_n * n
    elastic, stiffness_dt, friction, slip = (
        rng.uniform(-5, 50),
        rng.uniform(1, 500),
        rng.uniform(0, 0.1),
        1e-3,
    )
    return FaceState(0.0, 0.0, 0.0, *n, *v, v_n, *t, float(t @ t), elastic, stiffness_dt, friction, slip, 1.0)


def moved(face: FaceState, v: np.ndarray) -> FaceState:
    n = np.array([face.n0, face.n1, face.n2])
    v_n = float(n @ v)
    t = v - v_n * n
    changed = dict(zip(("v0", "v1", "v2", "t0", "t1", "t2"), (*v, *t), strict=True))
    return face._replace(v_n=v_n, v_t2=float(t @ t), **changed)


def response(law: FaceLaw, face: FaceState, patch: PatchState) -> tuple[np.ndarray, np.ndarray]:
    found = law.respond(face, patch)
    K = np.zeros((3, 3))
    K[np.triu_indices(3)] = found[3:]
    return np.array(found[:3]), K + np.triu(K, 1).T


def cost(face: FaceState, patch: PatchState, v: np.ndarray) -> float:
    """That of the module, plus that of the normal impulse."""
    n, h = np.array([face.n0, face.n1, face.n2]), np.array([patch.h0, patch.h1, patch.h2])
    t = v - (n @ v) * n
    soft = math.sqrt(t @ t - ((h - (h @ n) * n) @ t) ** 2 + face.slip**2)
    return (
        normal_cost(face.elastic, face.stiffness_dt, patch.dissipation, float(n @ v)) + face.friction * soft
    )


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_impulse_hessian_and_power_derive_from_the_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=3) * 10.0 ** rng.uniform(-4, -1)
    h = rng.normal(size=3)
    h *= rng.uniform(0.0, 0.99) / np.linalg.norm(h)
    face, patch = random_face(rng, v), PatchState(rng.choice([0.0, 5.0]), MU, DT, *h)
    impulse, K = response(ELLIPTIC, face, patch)
    step = 1e-3 * face.slip
    for k, e in enumerate(np.eye(3)):
        slope = (cost(face, patch, v + step * e) - cost(face, patch, v - step * e)) / (2.0 * step)
        curved = np.abs(K).max() * step
        assert slope == pytest.approx(-impulse[k], abs=curved + 1e-11 * abs(cost(face, patch, v)) / step)
        ends = [response(ELLIPTIC, moved(face, v + sign * step * e), patch) for sign in (-1, 1)]
        if (
            max(np.abs(end[1] - K).max() for end in ends) < 1e-2 * np.abs(K).max()
        ):  # no corner of the normal law
            column = (ends[0][0] - ends[1][0]) / (2.0 * step)
            np.testing.assert_allclose(
                column, K[k], atol=1e-2 * np.abs(K).max() + 1e-9 * np.abs(impulse).max() / step
            )
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.abs(K).max()
    along = rng.normal(size=3)
    power = ELLIPTIC.power_along(face, patch, moved(face, along))
    assert power == pytest.approx(
        impulse @ along, abs=1e-12 * np.linalg.norm(impulse) * np.linalg.norm(along)
    )


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_without_a_grain_it_is_the_lagged_law(seed: int) -> None:
    rng = np.random.default_rng(seed)
    face, patch = random_face(rng, rng.normal(size=3) * 0.1), PatchState(5.0, MU, DT)
    for ours, theirs in zip(response(ELLIPTIC, face, patch), response(LAGGED, face, patch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def sliding_world(grain_yaw: float, push_yaw: float, on_ground: bool) -> hs.World:
    """A brick on level ground, its grain or the ground's at an angle, that slides at 1 m/s at another."""
    scene = hs.SceneBuilder("grain", solver={"friction": "elliptic"}, time_step=0.001)
    grain = (GRAIN * math.cos(grain_yaw), GRAIN * math.sin(grain_yaw), 0.0)
    scene.add_ground(friction=MU, **({"grain": grain} if on_ground else {}))
    brick = scene.add_body("brick", mass=1.0, xyz=(0.0, 0.0, 0.01))
    own = {} if on_ground else {"grain": grain}
    brick.add_shape(
        "box", size=(0.2, 0.2, 0.02), modulus=1e6, friction=MU, dissipation=20.0, margin=1e-4, **own
    )
    world = hs.World(scene.build())
    world.step(100)
    world.place("brick", V_WB=(0.0, 0.0, 0.0, math.cos(push_yaw), math.sin(push_yaw), 0.0))
    return world


@pytest.mark.parametrize("on_ground", [True, False])
@pytest.mark.parametrize("yaw", [0.0, 0.4, math.pi / 4, 1.2, math.pi / 2])
def test_a_brick_slows_down_by_the_point_of_the_ellipse_that_takes_most_power(
    yaw: float, on_ground: bool
) -> None:
    """Semi-axes mu m g across the grain and (1 - grain) mu m g along it, as the support function of the ellipse."""
    turned = 0.3
    world = sliding_world(turned, turned + yaw, on_ground)
    before = world.v.copy()
    world.step(10)
    R = np.array([[math.cos(turned), -math.sin(turned)], [math.sin(turned), math.cos(turned)]])
    direction = np.array([math.cos(yaw), math.sin(yaw)])
    squares = MU**2 * np.array([(1.0 - GRAIN) ** 2, 1.0])
    expected = -9.81 * R @ (squares * direction / math.sqrt(squares @ direction**2))
    found = (world.v - before)[3:5] / (10 * world.time_step)
    # The direction itself turns by as much while the brick slides 1 cm.
    np.testing.assert_allclose(found, expected, atol=0.02 * MU * 9.81)


def test_a_brick_on_a_slope_slips_along_the_grain_and_holds_across_it() -> None:
    """tan 20 degrees = 0.36 lies between (1 - 0.6) mu = 0.2 and mu = 0.5."""
    slope = math.radians(20.0)
    moved = {}
    for name, grain in (("along", (GRAIN, 0.0, 0.0)), ("across", (0.0, GRAIN, 0.0))):
        scene = hs.SceneBuilder("slope", solver="elliptic")
        scene.add_static(
            "slope", "half_space", rpy=(0.0, slope, 0.0), compliance="rigid", friction=MU, grain=grain
        )
        brick = scene.add_body(
            "brick",
            mass=1.0,
            xyz=(0.01 * math.sin(slope), 0.0, 0.01 * math.cos(slope)),
            rpy=(0.0, slope, 0.0),
        )
        brick.add_shape("box", size=(0.2, 0.2, 0.02), modulus=1e6, friction=MU, dissipation=20.0, margin=1e-4)
        world = hs.World(scene.build())
        world.step(500)
        down = np.array([math.cos(slope), 0.0, -math.sin(slope)])
        moved[name] = world.frame_pose("brick")[:3, 3] @ down
    # Coulomb along the grain: a = g (sin - 0.2 cos) for half a second.
    assert moved["along"] == pytest.approx(
        0.5 * 9.81 * (math.sin(slope) - 0.2 * math.cos(slope)) * 0.25, rel=0.01
    )
    assert 0.0 < moved["across"] < 2e-5


def test_grains_that_nothing_looks_at_are_refused() -> None:
    scene = hs.SceneBuilder("grain")
    scene.add_ground(grain=(0.5, 0.0, 0.0))
    with pytest.raises(
        InputError,
        match="friction lagged knows no direction",
    ):
        hs.World(scene.build())


def test_two_grains_that_meet_are_refused() -> None:
    scene = hs.SceneBuilder("grain", solver="elliptic")
    scene.add_ground(grain=(0.5, 0.0, 0.0))
    brick = scene.add_body("brick", mass=1.0, xyz=(0.0, 0.0, 0.1))
    brick.add_shape("box", size=(0.1, 0.1, 0.1), modulus=1e6, grain=(0.0, 0.5, 0.0))
    with pytest.raises(InputError, match="may touch it, has one too"):
        hs.World(scene.build())


def test_a_grain_leaves_some_friction() -> None:
    scene = hs.SceneBuilder("grain", solver="elliptic")
    with pytest.raises(InputError, match="give less than 1"):
        scene.add_ground(grain=(0.8, 0.8, 0.0))
