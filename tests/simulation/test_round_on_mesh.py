"""Rigid round bodies on rigid convex meshes move as the exact shapes do, not as their own meshes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.nearest_points import way_to_surface
from hydro_sim_core.contact.pressure_field.scratch import make_nodes
from hydro_sim_core.geometry.distance import closest_points
from hydro_sim_core.simulation.stepping.round_sides import turn_round_sides
from hydro_sim_core.simulation.stepping.shortest_ways import NOT_ROUND, way_and_foot
from support.simulation.made_scenes import G
from support.simulation.round_bodies import LENGTH, RADIUS, SHAPES, SHARES, add_round_body


@pytest.fixture(scope="module")
def slab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slab of 4 by 1 by 0.2 m with its top at z = 0, in triangles of 0.3 m."""
    mesh = trimesh.creation.box((4.0, 1.0, 0.2)).subdivide_to_size(0.3)
    mesh.apply_translation((1.9, 0.0, -0.1))
    return write(mesh, tmp_path_factory.mktemp("meshes") / "slab.obj")


@pytest.fixture(scope="module")
def stone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hull of points on an ellipsoid, with 54 corners."""
    points = np.random.default_rng(4).normal(size=(54, 3))
    points *= np.array([0.2, 0.15, 0.1]) / np.linalg.norm(points, axis=1)[:, None]
    return write(trimesh.convex.convex_hull(points), tmp_path_factory.mktemp("meshes") / "stone.obj")


def write(mesh: trimesh.Trimesh, path: Path) -> Path:
    mesh.export(path, digits=17)
    return path


def world_of(
    shape: str, mesh: Path, slope: float = 0.0, friction: float = 0.5, height: float = RADIUS, g: float = G
) -> hs.World:
    """A rigid round body above a rigid mesh, gravity turned by a slope, rad: downhill is along x."""
    gravity = (g * math.sin(slope), 0.0, -g * math.cos(slope))
    contact = {"compliance": "rigid", "friction": friction, "dissipation": 0.0}
    built = hs.SceneBuilder("on a mesh", gravity=gravity, contact=contact)
    built.add_static("ground", "mesh", path=mesh)
    add_round_body(built, shape, height)
    return hs.World(built.build())


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_round_rolls_down_a_mesh_as_in_the_books(shape: str, slab: Path) -> None:
    """On their facets they went 0.95 of the way down 10 degrees in half a second, up and down by a millimetre."""
    slope, time_step, steps = math.radians(10.0), 1e-3, 500
    world = world_of(shape, slab, slope)
    heights = []
    for _ in range(steps // 10):
        world.step(10)
        heights.append(world.frame_pose("body")[2, 3])
    acceleration = G * math.sin(slope) / (1.0 + SHARES[shape])
    # The sum of steps that have the velocity of their end.
    way = acceleration * time_step**2 * steps * (steps + 1) / 2.0
    assert world.frame_pose("body")[0, 3] == pytest.approx(way, rel=4e-4 if shape == "sphere" else 2e-5)
    assert np.ptp(heights) < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_round_rolls_on_along_a_mesh(shape: str, slab: Path) -> None:
    """On its facets it lost half its speed in a second."""
    world, speed = world_of(shape, slab), 0.5
    world.place("body", world.frame_pose("body"), [0.0, speed / RADIUS, 0.0, speed, 0.0, 0.0])
    world.step(1000)
    assert world.v[3] == pytest.approx(speed, rel=2e-4 if shape == "sphere" else 1e-5)
    np.testing.assert_allclose(world.v[[0, 2, 4, 5]], 0.0, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def worlds(stone: Path) -> dict[str, hs.World]:
    """Worlds with a body above the stone, by its shape."""
    made = {shape: world_of(shape, stone, height=1.0) for shape in SHAPES}
    return made | {"frictionless ball": world_of("sphere", stone, friction=0.0, height=1.0, g=0.0)}


@given(seed=st.integers(0, 2**32 - 1), on_corner=st.booleans())
def test_a_ball_is_thrown_along_the_way_from_the_nearest_point(
    worlds: dict[str, hs.World], seed: int, on_corner: bool
) -> None:
    """Without friction it is not turned, and corners and faces push it along that way alone."""
    random, world = np.random.default_rng(seed), worlds["frictionless ball"]
    surface = world.built.colliders[world.built.model.pairs[0, 1]].geometry
    if on_corner:
        way = Rotation.random(random_state=seed).as_matrix()[:, 2]
        touched = surface.vertices[np.argmax(surface.vertices @ way)]
    else:
        a, b, c = surface.vertices[surface.elements[random.integers(len(surface.elements))]]
        way, touched = np.cross(b - a, c - a), (a + b + c) / 3.0
        way /= np.linalg.norm(way)
    X_WB, velocity = np.eye(4), random.uniform(0.5, 2.0) * -way
    X_WB[:3, 3] = touched + (RADIUS + 1e-3) * way
    world.place("body", X_WB, [0.0, 0.0, 0.0, *velocity])
    world.step(20)
    gained = world.v[3:] - velocity
    assert gained @ way > 0.4
    np.testing.assert_allclose(world.v[:3], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(gained - (gained @ way) * way, 0.0, rtol=0, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_ways_lead_to_the_nearest_point_of_a_mesh(
    stone: Path, worlds: dict[str, hs.World], seed: int
) -> None:
    """From points outside; from those inside there is no way."""
    model = worlds["sphere"].built.model
    row = model.geometry_row[model.pairs[0, 1]]
    geometry = worlds["sphere"].built.colliders[model.pairs[0, 1]].geometry
    planes = scipy.spatial.ConvexHull(geometry.vertices).equations
    for point in np.random.default_rng(seed).uniform(-0.3, 0.3, (20, 3)):
        nearest = closest_points(point[None], geometry.vertices, geometry.elements)[0]
        is_inside = (planes[:, :3] @ point + planes[:, 3] < 0.0).all()
        way = way_to_surface(model.geometries, row, tuple(point), (0.0, 0.0, 1.0), make_nodes())
        expected = np.zeros(3) if is_inside else nearest - point
        np.testing.assert_allclose([way.x, way.y, way.z], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", ["cylinder", "capsule"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_ways_begin_at_the_nearest_point_of_the_axis(
    shape: str, worlds: dict[str, hs.World], seed: int
) -> None:
    """It is found in a few looks, although the way from the axis turns at every edge."""
    model, random = worlds[shape].built.model, np.random.default_rng(seed)
    geometry = worlds[shape].built.colliders[model.pairs[0, 1]].geometry
    R_BA, R_BP = Rotation.random(2, random_state=seed).as_matrix()
    p_BA = random.uniform(0.28, 0.42) * R_BP[:, 2]
    x, y, z, foot = way_and_foot(model, 0, R_BA, p_BA, make_nodes())

    def distance(along: float) -> float:
        point = (p_BA + along * R_BA[:, 2])[None]
        return float(np.linalg.norm(closest_points(point, geometry.vertices, geometry.elements) - point))

    half = LENGTH / 2.0
    found = scipy.optimize.minimize_scalar(distance, bounds=(-half, half), options={"xatol": 1e-12})
    least = min(found.fun, distance(-half), distance(half))
    assert math.sqrt(x * x + y * y + z * z) == pytest.approx(distance(foot), abs=1e-12)
    assert distance(foot) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_turned_meshes_reach_as_far_as_the_exact_shapes(
    shape: str, worlds: dict[str, hs.World], seed: int
) -> None:
    """Along the shortest way to a mesh that of a round body reaches out by its radius."""
    model = worlds[shape].built.model
    R_BA, R_BP = Rotation.random(2, random_state=seed).as_matrix()
    p_BA = 0.4 * R_BP[:, 2]
    x, y, z, foot = way_and_foot(model, 0, R_BA, p_BA, make_nodes())
    way, axis = np.array([x, y, z]) / math.sqrt(x * x + y * y + z * z), R_BA[:, 2].copy()
    turn_round_sides(model, 0, np.eye(3), R_BA, p_BA, make_nodes())
    reach = float((worlds[shape].built.colliders[model.pairs[0, 0]].geometry.vertices @ R_BA.T @ way).max())
    lean = float(way @ axis)
    if shape == "sphere":
        expected, tolerance = RADIUS, 1e-12
    elif shape == "capsule":
        expected, tolerance = RADIUS + foot * lean, 1e-3
    else:
        expected, tolerance = LENGTH / 2.0 * abs(lean) + RADIUS * math.sqrt(max(0.0, 1.0 - lean**2)), 1e-12
    assert reach == pytest.approx(expected, abs=tolerance)


def test_a_mesh_that_is_not_convex_is_met_with_facets(tmp_path: Path) -> None:
    """Several ways may be the shortest there, between which the mesh of a ball would jump."""
    ring = trimesh.creation.annulus(0.2, 0.4, 0.1)
    model = world_of("sphere", write(ring, tmp_path / "ring.obj"), height=1.0).built.model
    assert model.pair_axis.tolist() == [NOT_ROUND]
