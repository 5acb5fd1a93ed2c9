"""Hollow rigid bodies on and in each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs

G = 9.81
#: Energy that two bodies in free fall may gain by round-off, as a share of what they start with.
ROUND_OFF = 1e-9


def scene_of(time_step: float = 1e-3, **settings) -> hs.SceneBuilder:
    contact = {"compliance": "rigid", "friction": 0.5, **settings.pop("contact", {})}
    return hs.SceneBuilder("shells", time_step=time_step, contact=contact, **settings)


def shell(folder: Path, side: float, wall: float) -> str:
    """A hollow cube."""
    outer, inner = trimesh.creation.box(3 * (side,)), trimesh.creation.box(3 * (side - 2.0 * wall,))
    inner.invert()
    path = folder / f"shell{side}_{wall}.obj"
    trimesh.util.concatenate([outer, inner]).export(path)
    return str(path)


def cup(folder: Path, side: float, hole: float, bottom: float) -> str:
    """A cube with a blind hole from above to just over its lower side, which has two triangles."""
    low, high = -0.5 * side, 0.5 * side
    rings = [(low, side), (high, side), (high, hole), (low + bottom, hole)]
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    vertices = np.vstack([np.column_stack([width * corners, np.full(4, z)]) for z, width in rings])
    quads = [
        (4 * r + i, 4 * r + (i + 1) % 4, 4 * r + 4 + (i + 1) % 4, 4 * r + 4 + i)
        for r in range(3)
        for i in range(4)
    ]
    quads += [(3, 2, 1, 0), (12, 13, 14, 15)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(side**3 - hole**2 * (side - bottom))
    path = folder / "cup.obj"
    mesh.export(path)
    return str(path)


def weight_on(world: hs.World, name: str) -> float:
    """Upward force on a body, N."""
    total = 0.0
    for patch in world.contacts:
        total += patch.force_on_b[2] * ((patch.name_b == name) - (patch.name_a == name))
    return float(total)


# --- hollow bodies


@pytest.mark.parametrize("wall", [0.002, 0.01])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_shells_stand_on_each_other(tmp_path: Path, wall: float, time_step: float) -> None:
    scene = scene_of(time_step)
    scene.add_ground()
    for i in range(3):
        body = scene.add_body(f"shell{i}", 1.0, inertia=3 * (0.002,), xyz=(0, 0, 0.04 + 0.08002 * i))
        body.add_shape("mesh", path=shell(tmp_path, 0.08, wall))
    world = hs.World(scene.build())
    world.step(round(0.5 / time_step))
    heights = [world.frame_pose(f"shell{i}")[2, 3] for i in range(3)]
    np.testing.assert_allclose(heights, [0.04, 0.12, 0.20], rtol=0, atol=1e-7)
    assert np.abs(world.v).max() < 1e-8
    for i in range(3):
        assert weight_on(world, f"shell{i}") == pytest.approx(G, rel=1e-6)


@pytest.mark.parametrize(("side", "wall"), [(0.08, 0.01), (0.08, 0.002), (0.12, 0.002)])
def test_a_shell_in_a_shell_that_it_does_not_touch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, side: float, wall: float
) -> None:
    scene = scene_of(gravity=(0, 0, 0))
    scene.add_body("outer", 1.0, inertia=3 * (0.01,)).add_shape("mesh", path=shell(tmp_path, 0.2, 0.005))
    inner = scene.add_body("inner", 1.0, inertia=3 * (0.002,), xyz=(0.003, 0.002, 0.001))
    inner.add_shape("mesh", path=shell(tmp_path, side, wall))
    world = hs.World(scene.build())
    assert world.energies() == (0.0, 0.0, 0.0)
    world.step(10)
    assert not np.any(world.v)
    assert not world.contacts
    assert "deep overlap" not in caplog.text


def test_a_shell_rests_on_the_floor_of_a_shell(tmp_path: Path) -> None:
    """Dropped by 5 mm, turned: it gains nothing and lies flat on the inner side in the end."""
    scene = scene_of(1e-4, contact={"dissipation": 20.0})
    scene.add_ground()
    outer = scene.add_body("outer", 1.0, inertia=3 * (0.01,), xyz=(0, 0, 0.1))
    outer.add_shape("mesh", path=shell(tmp_path, 0.2, 0.005))
    inner = scene.add_body("inner", 2.0, inertia=3 * (0.002,), xyz=(0.02, 0, 0.06), rpy=(0.2, 0.1, 0.0))
    inner.add_shape("mesh", path=shell(tmp_path, 0.08, 0.002))
    world = hs.World(scene.build())
    start = world.energies().total
    for _ in range(1000):
        world.step(5)
        assert world.energies().total <= start * (1.0 + ROUND_OFF)
    world.step(4000)
    assert world.frame_pose("inner")[2, 3] == pytest.approx(0.045, abs=1e-6)
    # Two light boxes in each other creep by less than 2 mm/s at this step, as solid ones do.
    assert weight_on(world, "inner") == pytest.approx(2.0 * G, rel=1e-2)
    assert weight_on(world, "outer") == pytest.approx(
        1.0 * G, rel=1e-4
    )  # of the ground, less what stands in it


def test_nothing_presses_in_a_blind_hole(tmp_path: Path) -> None:
    """Neither corners nor centres of the lower side's triangles lie below the hole."""
    scene = scene_of(gravity=(0, 0, 0))
    scene.add_static("cup", "mesh", path=cup(tmp_path, 0.1, 0.02, 0.001))
    # The pin has more triangles than the cup, which therefore gets the skin.
    pin = trimesh.creation.annulus(r_min=0.002, r_max=0.004, height=0.02, sections=16)
    pin.export(tmp_path / "pin.obj")
    body = scene.add_body("pin", 0.1, inertia=3 * (1e-4,), xyz=(0, 0, -0.036))
    body.add_shape("mesh", path=str(tmp_path / "pin.obj"))
    world = hs.World(scene.build())
    assert world.energies().elastic == 0.0
    world.step(10)
    assert not np.any(world.v)
