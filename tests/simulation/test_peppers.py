"""Soft peppers that are not convex heap up in a crate, come to rest, and are what their generator makes of them."""

from __future__ import annotations

import runpy

import meshio
import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

from hydro_sim_core.assets import folder
from hydro_sim_core.description import load_robot, load_scene
from hydro_sim_core.geometry.simplices import boundary_triangles, tetrahedron_volumes
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import shipped_scene

MESHES = folder("urdf") / "meshes"
PEPPERS = 6
GRAVITY = 9.81
#: Time in which the heap comes to rest, s.
RESTING = 2.0
#: Then their kinetic energy is at most this share of what they fell by, and what the crate carries off their weight.
KINETIC_SHARE, FORCE_SHARE = 3e-7, 3e-5
#: kg/m^3
WOOD = 700.0


@pytest.fixture(scope="module")
def generator() -> dict:
    return runpy.run_path(str(MESHES / "pepper.py"))


def pepper_surface() -> trimesh.Trimesh:
    """The surface of the tetrahedra."""
    solid = meshio.read(MESHES / "pepper.vtk")
    triangles = boundary_triangles(solid.cells_dict["tetra"].astype(np.int64))
    return trimesh.Trimesh(solid.points, triangles)


def make_world(margin: float | None = None) -> World:
    scene = load_scene(shipped_scene("peppers"))
    return World(scene if margin is None else scene.with_({"contact.defaults.margin": margin}))


def on_crate(world: World) -> np.ndarray:
    """Force of the peppers on the crate, (3,) N."""
    forces = [
        patch.force_on_b if patch.name_b == "crate" else -patch.force_on_b
        for patch in world.contacts
        if "crate" in (patch.name_a, patch.name_b)
    ]
    return np.sum(forces, axis=0)


@pytest.fixture(scope="module")
def resting() -> dict[str, World]:
    """The heap at rest, with the scene's margin and with one of 1 cm."""
    worlds = {"thin": make_world(), "thick": make_world(0.01)}
    for world in worlds.values():
        world.step(round(RESTING / world.time_step))
    return worlds


# --- the mesh


def test_the_meshes_are_those_of_the_generator(generator):
    vertices, triangles = generator["surface"](generator["FINE"])
    kept = trimesh.load(MESHES / "pepper.obj", process=False)
    np.testing.assert_allclose(kept.vertices, vertices, rtol=0.0, atol=1.01e-6)
    np.testing.assert_array_equal(kept.faces, triangles)
    vertices, tetrahedra = generator["solid"]()
    kept = meshio.read(MESHES / "pepper.vtk")
    np.testing.assert_allclose(kept.points, vertices, rtol=0.0, atol=1.01e-6)
    np.testing.assert_array_equal(kept.cells_dict["tetra"], tetrahedra)


def test_the_generator_writes_the_files_that_it_names(generator, tmp_path):
    generator["write_obj"](tmp_path / "pepper.obj", *generator["surface"](generator["FINE"]))
    generator["write_vtk"](tmp_path / "pepper.vtk", *generator["solid"]())
    for name in ("pepper.obj", "pepper.vtk"):
        assert (tmp_path / name).read_text() == (MESHES / name).read_text()
        assert (tmp_path / name).stat().st_size < 200_000


def test_a_pepper_is_closed_and_filled_and_not_convex():
    surface = pepper_surface()
    assert surface.is_watertight
    assert surface.is_winding_consistent
    solid = meshio.read(MESHES / "pepper.vtk")
    # Other programs want them positive.
    volumes = tetrahedron_volumes(solid.points, solid.cells_dict["tetra"].astype(np.int64))
    assert volumes.min() > 1e-9
    assert volumes.sum() == pytest.approx(surface.volume, rel=1e-6)
    hull = ConvexHull(surface.vertices)
    assert hull.volume > 1.06 * surface.volume
    # Below the hull: the furrows between the lobes, and the dip around the stem.
    depth = -(surface.vertices @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
    halfway_up = np.abs(surface.vertices[:, 2]) < 0.01
    assert depth[halfway_up].max() > 0.003
    assert depth.max() > 0.005
    assert np.median(surface.edges_unique_length) == pytest.approx(0.007, abs=0.0005)


def test_the_inertia_of_a_pepper_is_that_of_its_mesh():
    (link,) = load_robot(folder("urdf") / "pepper.urdf.xacro").links
    surface = pepper_surface()
    surface.density = link.inertial.mass / surface.volume
    # Triangles and tetrahedra are not quite symmetric where the lobes are.
    np.testing.assert_allclose(link.inertial.p_LCo, surface.center_mass, rtol=0.0, atol=2e-6)
    np.testing.assert_allclose(link.inertial.I_LCo, surface.moment_inertia, rtol=0.0, atol=1e-8)


def test_the_inertia_of_the_crate_is_that_of_its_boards():
    (link,) = load_robot(folder("urdf") / "crate.urdf.xacro").links
    boards = [
        trimesh.creation.box(extents=collision.shape.size, transform=collision.X_LG)
        for collision in link.collisions
    ]
    crate = trimesh.util.concatenate(boards)
    crate.density = WOOD
    assert link.inertial.mass == pytest.approx(crate.mass, rel=1e-4)
    np.testing.assert_allclose(link.inertial.p_LCo, crate.center_mass, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(link.inertial.I_LCo, crate.moment_inertia, rtol=1e-4, atol=1e-9)


# --- the scene


@pytest.mark.long
@pytest.mark.parametrize("margin", ["thin", "thick"])
def test_the_peppers_come_to_rest_in_the_crate(resting, margin):
    start, end = make_world().energies(), resting[margin].energies()
    fallen = start.potential - end.potential
    assert fallen > 0.5
    # They still creep, as friction is regularised.
    assert end.kinetic < KINETIC_SHARE * fallen
    weight = PEPPERS * 0.16 * GRAVITY
    np.testing.assert_allclose(
        on_crate(resting[margin]), [0.0, 0.0, -weight], rtol=0.0, atol=FORCE_SHARE * weight
    )
    for i in range(PEPPERS):
        x, y, z = resting[margin].frame_pose(f"p{i + 1}_pepper")[:3, 3]
        assert max(abs(x), abs(y)) < 0.12
        assert 0.03 < z < 0.1


@pytest.mark.long
def test_a_margin_of_a_centimetre_puts_a_wide_skirt_around_the_same_patches(resting):
    """Figure 5 of Drake's page on the margin: faces of negative pressure far beyond the peppers."""
    areas = {}
    for margin, world in resting.items():
        presses = np.concatenate([patch.pressures > 0.0 for patch in world.contacts])
        area = np.concatenate([patch.areas for patch in world.contacts])
        areas[margin] = area[presses].sum(), area[~presses].sum()
    assert areas["thick"][0] == pytest.approx(areas["thin"][0], rel=0.02)
    assert areas["thin"][1] < 0.2 * areas["thin"][0]
    assert areas["thick"][1] > 4.0 * areas["thick"][0]
