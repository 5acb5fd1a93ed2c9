"""Starts of bodies at equivalent points in each other: their depth, and the error that names it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact.equivalent_point.hull_set import Hull
from hydro_sim_core.geometry.polyhedra import polyhedron
from hydro_sim_core.simulation.assembly.point_starts import start_depth

Array = NDArray[np.float64]


def box(*half: float) -> Hull:
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]) * half
    return Hull(solid=polyhedron("s", "box", corners))


def ball(radius: float) -> Hull:
    return Hull(core=np.zeros((1, 3)), radius=radius)


def capsule(radius: float, length: float) -> Hull:
    return Hull(core=np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]]), radius=radius)


def at(x: float, y: float, z: float, rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.from_euler("xyz", rpy).as_matrix(), [x, y, z]
    return X


@pytest.mark.parametrize(
    ("a", "X_WA", "b", "X_WB", "depth"),
    [
        (box(0.1, 0.2, 0.3), at(0, 0, 0), box(0.1, 0.1, 0.1), at(0.19, 0, 0), 0.01),
        (box(0.1, 0.2, 0.3), at(0, 0, 0), box(0.1, 0.1, 0.1), at(0.21, 0, 0), -0.01),
        (ball(0.1), at(0, 0, 0), ball(0.2), at(0.1, 0.2, 0.1), 0.3 - np.sqrt(0.06)),
        (ball(0.1), at(0, 0, 0), ball(0.2), at(0, 0, 0), 0.3),
        (box(0.1, 0.1, 0.1), at(0, 0, 0), ball(0.05), at(0.0, 0.0, 0.06), 0.09),
        (capsule(0.1, 0.4), at(0, 0, 0), capsule(0.1, 0.4), at(0, 0, 0, (1.5707963267948966, 0, 0)), 0.2),
        (Hull(plane=np.array([0.0, 0.0, 1.0, 0.0])), at(0, 0, 0.5), ball(0.1), at(3, 4, 0.58), 0.02),
    ],
)
def test_depths_of_closed_form(a: Hull, X_WA: Array, b: Hull, X_WB: Array, depth: float) -> None:
    assert start_depth(a, X_WA, b, X_WB, -np.inf) == pytest.approx(depth, abs=1e-9)
    assert start_depth(b, X_WB, a, X_WA, -np.inf) == pytest.approx(depth, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_direction_leads_out_sooner(seed: int) -> None:
    """Of boxes that cross, also edge on edge: among many directions none is shorter, and one is about as short."""
    rng = np.random.default_rng(seed)
    a, b = box(*rng.uniform(0.05, 0.2, 3)), box(*rng.uniform(0.05, 0.2, 3))
    X = at(*rng.uniform(-0.1, 0.1, 3), tuple(rng.uniform(-3.0, 3.0, 3)))
    depth = start_depth(a, at(0, 0, 0), b, X, -np.inf)
    directions = rng.normal(size=(40_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    ways = (a.points @ directions.T).max(axis=0) - ((b.points @ X[:3, :3].T + X[:3, 3]) @ directions.T).min(
        axis=0
    )
    assert depth <= ways.min() + 1e-12
    assert ways.min() == pytest.approx(depth, abs=3e-3)


def test_a_little_overlap_is_let_out_and_more_is_refused() -> None:
    def start(depth: float) -> hs.World:
        scene = hs.SceneBuilder("start", contact={"compliance": "rigid"})
        scene.add_static("table", "box", size=(1.0, 1.0, 0.1))
        scene.add_body("box", 1.0, xyz=(0.2, 0.1, 0.1 - depth)).add_shape("box", size=(0.1, 0.1, 0.1))
        scene.set_contact_law("box", "table", "equivalent_point")
        return hs.World(scene.build())

    world = start(1e-3)
    world.step(100)
    assert world.frame_pose("box")[2, 3] == pytest.approx(0.1, abs=1e-9)
    with pytest.raises(
        hs.InputError, match=r"'box' and 'table'.* 2 mm in each other, and 1.73 mm is the most"
    ):
        start(2e-3)
