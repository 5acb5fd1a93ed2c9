"""Contact patches equal Drake's for solids that are not convex, hollow, slender or of several parts."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import meshio
import numpy as np
import pytest
import trimesh
from pydrake.geometry import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, Mesh, Shape

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.contact.drake_contact import Body, compare
from support.contact.poses import pose, random_direction, random_rotation
from support.contact.solids import ball_surface, compliant_shell, layered, lobes, rigid_shell, together

MODULI = {"a": 2e5, "b": 7e5}
MARGIN = 1e-3
RESOLUTION = 0.03
LINEAR = [0.0, 0.5, 1.0]


def dumbbell(directions: np.ndarray) -> np.ndarray:
    """Radius of a solid of two knobs and a thin waist."""
    return 0.35 + 0.65 * directions[:, 2] ** 2


@cache
def volumes() -> dict[str, Geometry]:
    """Tetrahedral meshes that Drake reads from VTK files."""
    knob = layered(ball_surface(0.03, 0.03), LINEAR)
    return {
        "lobed": layered(ball_surface(0.07, 0.06, lobes), LINEAR),
        "dumbbell": layered(ball_surface(0.09, 0.07, dumbbell), LINEAR),
        "hollow": compliant_shell(ball_surface(0.07, 0.06), 0.4),
        "spindle": layered(
            (ball_surface(1.0, 0.6)[0] * [0.01, 0.015, 0.12], ball_surface(1.0, 0.6)[1]), LINEAR
        ),
        "three": together([knob] * 3, [[0.04, 0.0, 0.0], [-0.03, 0.03, 0.0], [0.0, -0.04, 0.02]]),
    }


@cache
def surfaces() -> dict[str, Geometry]:
    """Rigid surfaces that Drake reads from OBJ files."""
    knob = hs.geometry.sphere(0.03, resolution=0.03)
    return {
        "lobed": hs.geometry.rigid_mesh(*ball_surface(0.07, 0.06, lobes)),
        "dumbbell": hs.geometry.rigid_mesh(*ball_surface(0.09, 0.07, dumbbell)),
        "hollow": rigid_shell(ball_surface(0.07, 0.06), ball_surface(0.04, 0.04)),
        "three": together([knob] * 3, [[0.04, 0.0, 0.0], [-0.03, 0.03, 0.0], [0.0, -0.04, 0.02]]),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Folder of mesh files."""
    path = tmp_path_factory.mktemp("solids")
    for name, solid in volumes().items():
        cells = [("tetra", np.asarray(solid.elements))]
        meshio.write_points_cells(
            path / f"{name}.vtk", solid.vertices, cells, file_format="vtk42", binary=False
        )
    for name, surface in surfaces().items():
        mesh = trimesh.Trimesh(surface.vertices, surface.elements, process=False)
        mesh.export(path / f"{name}.obj", digits=17)
    return path


@cache
def volume_body(name: str, modulus: float | None, folder: Path) -> Body:
    """A tetrahedral mesh in both programs, without margin: they do not grow such a mesh alike."""
    path = folder / f"{name}.vtk"
    return Body(hs.geometry.tetrahedral_mesh(path, modulus), Mesh(str(path)), modulus)


def surface_body(name: str, folder: Path) -> Body:
    """A rigid surface in both programs."""
    return Body(surfaces()[name], Mesh(str(folder / f"{name}.obj")), None)


@cache
def slender_body(name: str, modulus: float | None, margin: float = 0.0) -> Body:
    """A primitive at least ten times longer than wide, or than thick."""
    options = {"modulus": modulus, "margin": margin}
    meshed = {**options, "resolution": RESOLUTION}
    g = hs.geometry
    makers: dict[str, tuple[Geometry, Shape]] = {
        "rod": (g.cylinder(0.01, 0.2, **meshed), Cylinder(0.01, 0.2)),
        "disc": (g.cylinder(0.08, 0.006, **meshed), Cylinder(0.08, 0.006)),
        "needle": (g.ellipsoid(0.008, 0.01, 0.1, **meshed), Ellipsoid(0.008, 0.01, 0.1)),
        "lath": (g.box(0.01, 0.015, 0.2, **options), Box(0.01, 0.015, 0.2)),
        "sheet": (g.box(0.15, 0.12, 0.004, **options), Box(0.15, 0.12, 0.004)),
        "pill": (g.capsule(0.01, 0.18, **meshed), Capsule(0.01, 0.18)),
    }
    return Body(*makers[name], modulus, RESOLUTION, margin)


def close(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two turned bodies whose origins are up to 0.1 m apart."""
    position = rng.uniform(-0.1, 0.1, 3)
    shift = rng.uniform(0.0, 0.1) * random_direction(rng)
    return pose(position, random_rotation(rng)), pose(position + shift, random_rotation(rng))


def crossing(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two turned bodies whose origins all but coincide, so that slender ones touch."""
    position = rng.uniform(-0.1, 0.1, 3)
    shift = rng.uniform(0.0, 0.006) * random_direction(rng)
    return pose(position, random_rotation(rng)), pose(position + shift, random_rotation(rng))


def on_ground(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A turned body A close to the surface of a turned half space B."""
    X_WB = pose(rng.uniform(-0.1, 0.1, 3), random_rotation(rng))
    return X_WB @ pose(rng.uniform(-0.02, 0.02, 3), random_rotation(rng)), X_WB


VOLUMES = ["lobed", "dumbbell", "hollow", "spindle", "three"]
SURFACES = ["lobed", "dumbbell", "hollow", "three"]
SLENDER = ["rod", "disc", "needle", "lath", "sheet", "pill"]


@pytest.mark.heavy(2)
@pytest.mark.parametrize(("a", "b"), [(a, b) for i, a in enumerate(VOLUMES) for b in VOLUMES[i:]])
def test_two_compliant_solids(a, b, folder):
    first, second = volume_body(a, MODULI["a"], folder), volume_body(b, MODULI["b"], folder)
    compare(first, second, 1, crossing if "spindle" in (a, b) else close)


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("a", "b"), list(product(SURFACES, VOLUMES)))
def test_rigid_surface_and_compliant_solid(a, b, folder):
    place = crossing if b == "spindle" else close
    compare(surface_body(a, folder), volume_body(b, MODULI["b"], folder), 2, place)


@pytest.mark.heavy(5)
@pytest.mark.parametrize("margin", [0.0, MARGIN])
@pytest.mark.parametrize(("a", "b"), [(a, b) for i, a in enumerate(SLENDER) for b in SLENDER[i:]])
def test_two_slender_bodies(a, b, margin):
    compare(slender_body(a, MODULI["a"], margin), slender_body(b, MODULI["b"], margin), 3, crossing)


@pytest.mark.heavy(5)
@pytest.mark.parametrize(("a", "b"), list(product(SLENDER, SLENDER)))
def test_rigid_and_compliant_slender_body(a, b):
    compare(slender_body(a, None), slender_body(b, MODULI["b"]), 4, crossing)


@pytest.mark.parametrize("solid", VOLUMES)
def test_compliant_solid_on_rigid_ground(solid, folder):
    ground = Body(hs.geometry.half_space(), HalfSpace(), None)
    compare(volume_body(solid, MODULI["a"], folder), ground, 5, on_ground)


@pytest.mark.parametrize("surface", SURFACES)
def test_rigid_surface_on_compliant_ground(surface, folder):
    soft = hs.geometry.half_space(MODULI["a"], slab_thickness=0.2)
    ground = Body(soft, HalfSpace(), MODULI["a"], slab_thickness=0.2)
    compare(surface_body(surface, folder), ground, 6, on_ground)
