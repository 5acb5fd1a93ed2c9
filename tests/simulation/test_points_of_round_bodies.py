"""Round bodies that stand on a small flat part of themselves tilt as on an elastic foundation, and lie still."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core import geometry
from hydro_sim_core.experiments.balls import Balls, energies

G, MASS = 9.81, 1.5
#: Of the centre of mass, m.
HEIGHT = 0.03
#: Modulus, Pa, and thickness, m, of the layer that carries them.
MODULUS, THICKNESS = 1e13, 0.05
FOUNDATION = MODULUS / THICKNESS


def vase(foot: float, count: int) -> trimesh.Trimesh:
    """A round body on a foot of this radius, a fan of ``count`` wedges."""
    z = np.linspace(0.0, 0.2, 21)
    radius = foot + (0.07 - foot) * np.sin(np.pi * z / 0.2) ** 0.7
    angle = 2.0 * np.pi * np.arange(count) / count
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, h)])
        for r, h in zip(radius, z, strict=True)
    ]
    vertices = np.vstack([*rings, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]]])
    low, foot_middle = np.arange(count), len(vertices) - 2
    ahead = np.roll(low, -1)
    walls = [
        np.vstack(
            [np.column_stack([low, ahead, ahead + count]), np.column_stack([low, ahead + count, low + count])]
        )
        + i * count
        for i in range(len(z) - 1)
    ]
    top = (len(z) - 1) * count
    ends = [
        np.column_stack([ahead, low, np.full(count, foot_middle)]),
        np.column_stack([low + top, ahead + top, np.full(count, foot_middle + 1)]),
    ]
    return trimesh.Trimesh(vertices, np.vstack([*walls, *ends]), process=False)


def stone(level: int) -> trimesh.Trimesh:
    """A flattened ball of triangles that lies on one of them, below its centre."""
    ball = trimesh.creation.icosphere(subdivisions=level, radius=0.05)
    lowest = np.argmin(ball.triangles_center[:, 2])
    normal = ball.face_normals[lowest]
    ball.apply_transform(trimesh.geometry.align_vectors(normal, [0.0, 0.0, -1.0]))
    ball.apply_translation([*-ball.triangles_center[lowest][:2], -ball.vertices[:, 2].min()])
    return ball


def wheel(count: int) -> trimesh.Trimesh:
    """A rim of this many strips on which it stands, its axle along y through the origin."""
    profile = np.array([[0.08, -0.0175], [0.1, -0.0175], [0.1, 0.0175], [0.08, 0.0175]])
    angle = 2.0 * np.pi * (np.arange(count) + 0.5) / count
    radius, y = profile.T
    vertices = np.stack(
        [np.outer(np.sin(angle), radius), np.tile(y, (count, 1)), np.outer(-np.cos(angle), radius)], axis=2
    ).reshape(-1, 3)
    here = 4 * np.arange(count)[:, None] + np.arange(4)
    ahead, beside = np.roll(here, -1, axis=0), np.roll(here, -1, axis=1)
    ahead_beside = np.roll(ahead, -1, axis=1)
    triangles = np.vstack(
        [
            np.stack(three, axis=2).reshape(-1, 3)
            for three in ((here, beside, ahead), (ahead, beside, ahead_beside))
        ]
    )
    return trimesh.Trimesh(vertices, triangles, process=False)


def moments_of(polygon: np.ndarray) -> tuple[float, np.ndarray]:
    """Area, m^2, and second moments (2, 2) about the origin, m^4, of a polygon (N, 2) around it."""
    ahead = np.roll(polygon, -1, axis=0)
    double = polygon[:, 0] * ahead[:, 1] - polygon[:, 1] * ahead[:, 0]
    both = polygon + ahead
    seconds = np.einsum("n,nij->ij", double, polygon[:, :, None] * polygon[:, None])
    seconds += np.einsum("n,nij->ij", double, ahead[:, :, None] * ahead[:, None])
    seconds += np.einsum("n,nij->ij", double, both[:, :, None] * both[:, None])
    return 0.5 * float(double.sum()), seconds / 24.0


def foot_of(mesh: trimesh.Trimesh) -> np.ndarray:
    """Corners (N, 2) of its flat underside about the vertical axis, in order."""
    corners = mesh.vertices[np.abs(mesh.vertices[:, 2]) < 1e-9][:, :2]
    corners = corners[np.hypot(*corners.T) > 1e-9]
    return corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))]


def bar(cells: int, length: float, width: float, height: float) -> trimesh.Trimesh:
    """A bar along y whose sides are rows of cells of two triangles each."""
    y, across = (
        np.linspace(-0.5 * length, 0.5 * length, cells + 1),
        0.5 * width * np.array([-1.0, 1.0, 1.0, -1.0]),
    )
    ring = np.column_stack([across, np.zeros(4), [0.0, 0.0, height, height]])
    rings = [ring + np.array([0.0, place, 0.0]) for place in y]
    low, beside = np.arange(4), np.roll(np.arange(4), -1)
    walls = [
        np.vstack([np.column_stack([low, low + 4, beside]), np.column_stack([beside, low + 4, beside + 4])])
        + 4 * k
        for k in range(cells)
    ]
    ends = [[0, 1, 2], [0, 2, 3], *(4 * cells + np.array([[0, 2, 1], [0, 3, 2]]))]
    return trimesh.Trimesh(np.vstack(rings), np.vstack([*walls, ends]), process=False)


def ball_on_a_keel(cells: int, width: float) -> trimesh.Trimesh:
    """A ball on a bar along y whose underside is a row of cells."""
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.09)
    ball.apply_translation([0.0, 0.0, 0.095])
    return trimesh.util.concatenate([bar(cells, 0.2, width, 0.01), ball])


def at_rest(tmp_path: Path, mesh: trimesh.Trimesh, off: float) -> tuple[np.ndarray, hs.World]:
    """Stand the body on the layer, pressed in by its weight, its centre of mass ``off`` (m) along x; let it rest.

    Returns:
        How far its axis has tilted along x and y, rad, and the world.
    """
    path = tmp_path / "body.obj"
    path.write_text(trimesh.exchange.obj.export_obj(mesh, digits=14))
    scene = hs.SceneBuilder("stands", time_step=1e-3, contact={"friction": 0.5})
    scene.add_ground(compliance="compliant", modulus=MODULUS, slab_thickness=THICKNESS)
    area, _ = moments_of(foot_of(mesh))
    body = scene.add_body(
        "body",
        MASS,
        inertia=(2e-3, 2e-3, 2e-3),
        center_of_mass=(off, 0.0, HEIGHT),
        xyz=(0.0, 0.0, -MASS * G / (FOUNDATION * area)),
    )
    body.add_shape("mesh", path=str(path), compliance="rigid")
    world = hs.World(scene.build())
    world.step(600)
    return world.frame_pose("body")[:2, 2], world


def expected_tilt(mesh: trimesh.Trimesh, off: float) -> np.ndarray:
    """Tilt (2,), rad, on an elastic foundation; the centre of mass moves as the body tilts."""
    _, seconds = moments_of(foot_of(mesh))
    return np.linalg.solve(FOUNDATION * seconds - MASS * G * HEIGHT * np.eye(2), [MASS * G * off, 0.0])


@pytest.mark.parametrize("count", [24, 64])
@pytest.mark.parametrize("foot", [0.02, 0.03])
def test_a_vase_tilts_on_its_foot(tmp_path, foot, count):
    """By 1.11 to 1.5 times as far when each wedge of its foot pressed at its centroid."""
    mesh, off = vase(foot, count), 0.1 * foot
    tilt, world = at_rest(tmp_path, mesh, off)
    assert tilt == pytest.approx(expected_tilt(mesh, off), rel=1e-5, abs=1e-15)
    assert np.abs(world.v).max() < 1e-10


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_stone_lies_still_on_a_facet(tmp_path, level):
    """One that pressed at its centroid let the stone rock as it liked."""
    mesh = stone(level)
    area, seconds = moments_of(foot_of(mesh))
    off = 0.05 * float(np.sqrt(seconds[0, 0] / area))
    tilt, world = at_rest(tmp_path, mesh, off)
    assert tilt == pytest.approx(expected_tilt(mesh, off), rel=3e-4)
    assert np.abs(world.v).max() < 3e-10


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("cells", "width"), [(5, 0.04), (10, 0.02), (20, 0.01)])
def test_a_ball_tilts_on_its_keel(tmp_path, cells, width):
    """It tilted three times as far from 8 cells on: they are many, but each is as wide as the patch."""
    mesh, off = ball_on_a_keel(cells, width), 0.02 * width
    assert mesh.is_volume
    tilt, world = at_rest(tmp_path, mesh, off)
    assert tilt == pytest.approx(expected_tilt(mesh, off), rel=1e-5, abs=1e-15)
    assert np.abs(world.v).max() < 1e-10


@pytest.mark.parametrize("hub", [False, True])
@pytest.mark.parametrize("count", [64, 128, 256])
def test_a_wheel_stands_on_its_tread(tmp_path, count, hub):
    """Its strips are as long as the patch is wide; at their centroids they held a third of a tilt, and it toppled.

    It did so for a hub of other triangles, too, which touches nothing.

    At rest the exact integral of the pressure balances its weight, which acts beside the middle.
    """
    mesh = wheel(count)
    if hub:
        ball = trimesh.creation.icosphere(subdivisions=1, radius=0.078)
        mesh = trimesh.util.concatenate([mesh, ball])
    path = tmp_path / "wheel.obj"
    path.write_text(trimesh.exchange.obj.export_obj(mesh, digits=14))
    scene = hs.SceneBuilder("rolls", time_step=1e-3, contact={"friction": 0.8})
    ground = {"modulus": 1e6, "slab_thickness": 0.05}
    scene.add_ground(compliance="compliant", **ground)
    off = 1e-4
    body = scene.add_body(
        "wheel", 1.17, inertia=(4e-3, 4e-3, 4e-3), center_of_mass=(0.0, off, 0.0), xyz=(0.0, 0.0, 0.099)
    )
    body.add_shape("mesh", path=str(path), compliance="rigid")
    world = hs.World(scene.build())
    world.step(3000)
    X_WB = world.frame_pose("wheel")
    assert 1e-5 < abs(X_WB[2, 1]) < 2e-3
    rim = geometry.rigid_mesh(mesh.vertices, mesh.faces)
    half_space = geometry.half_space(ground["modulus"], slab_thickness=ground["slab_thickness"])
    patch = hs.contact.compute_patch(half_space, np.eye(4), rim, X_WB)
    weight = 1.17 * G
    assert patch.force_on_b[2] == pytest.approx(weight, rel=2e-3)
    about_com = patch.moment_on_b((X_WB @ [0.0, off, 0.0, 1.0])[:3])
    about_middle = patch.moment_on_b(X_WB[:3, 3])
    assert abs(about_com[0]) < 0.02 * abs(about_middle[0])


@pytest.mark.parametrize("time_step", [1e-3, 2.5e-4])
def test_a_ball_that_rolls_from_facet_to_facet_gains_no_energy(time_step):
    """One of 28 faces gained 1 % of its weight times its depth in two seconds when they pressed at their centroids."""
    balls = Balls("lagged", time_step, 1e5, dissipation=0.0, gravity=G, resolution=0.03)
    world = balls.world((0.0, 0.0, 0.0946133333))
    start = world.q.copy()
    start[4:6] = 0.0
    world.set_state(start, [1e-2, 0.0, 0.0, 0.0, 0.0, 0.0])
    left = []
    for _ in range(round(0.6 / (5.0 * time_step))):
        for _ in range(5):
            world.step(5)
        left.append(sum(energies(world, G)))
    rise = np.array(left) - np.minimum.accumulate(left)
    assert np.abs(world.v[:3]).max() > 0.1  # it has left its facet
    assert rise.max() < 1e-7


def test_a_blade_stands_on_its_back(tmp_path):
    """A row of 1200 cells: each is nothing beside the square of the area, but holds all there is across the row."""
    cells, length = 1200, 0.4
    width, height = length / cells, 0.02
    mesh, off = bar(cells, length, width, height), 0.02 * width
    assert mesh.is_volume
    path = tmp_path / "blade.obj"
    path.write_text(trimesh.exchange.obj.export_obj(mesh, digits=14))
    scene = hs.SceneBuilder("stands", time_step=1e-3, contact={"friction": 0.5})
    scene.add_ground(compliance="compliant", modulus=MODULUS, slab_thickness=THICKNESS)
    depth = MASS * G / (FOUNDATION * length * width)
    body = scene.add_body(
        "blade", MASS, inertia=(2e-3, 2e-3, 2e-3), center_of_mass=(off, 0.0, 0.0), xyz=(0.0, 0.0, -depth)
    )
    body.add_shape("mesh", path=str(path), compliance="rigid")
    world = hs.World(scene.build())
    world.step(200)
    tilt = MASS * G * off / (FOUNDATION * length * width**3 / 12.0)
    assert world.frame_pose("blade")[0, 2] == pytest.approx(tilt, rel=1e-4)
    assert np.abs(world.v).max() < 1e-8
