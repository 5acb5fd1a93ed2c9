"""From a shape as a description file states it to a geometry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.boxes import box
from hydro_sim_core.geometry.capsules import capsule
from hydro_sim_core.geometry.convex import convex_mesh, hull
from hydro_sim_core.geometry.cylinders import cylinder
from hydro_sim_core.geometry.files import load_surface, named_after
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.half_spaces import half_space
from hydro_sim_core.geometry.mesh import check_surface, rigid_mesh
from hydro_sim_core.geometry.simplices import enclosed_volume
from hydro_sim_core.geometry.spheres import ellipsoid, sphere
from hydro_sim_core.geometry.tetrahedral import tetrahedral_mesh
from hydro_sim_core.geometry.volume_files import VOLUME_SUFFIXES

#: Constructor of every primitive and the number of lengths it takes.
_PRIMITIVES: dict[str, tuple[Callable[..., Geometry], int]] = {
    "sphere": (sphere, 1),
    "box": (box, 3),
    "cylinder": (cylinder, 2),
    "capsule": (capsule, 2),
    "ellipsoid": (ellipsoid, 3),
    "half_space": (half_space, 0),
}

#: A surface that fills its hull but for this fraction counts as convex: files often hold single precision.
CONVEXITY_TOLERANCE = 1e-6


class SurfaceError(InputError):
    """The triangles of a mesh file cannot be used as they are; their convex hull could be."""


def make_geometry(shape: ShapeSpec, proximity: ProximitySpec) -> Geometry:
    """Make the geometry of a shape.

    A mesh file of tetrahedra keeps them. Of a surface, a rigid geometry keeps the triangles, which may be open; a
    compliant one, and any that declares itself convex, takes the convex hull.

    Args:
        shape: The shape.
        proximity: Its contact properties; the compliance, and of the modulus, resolution hint, margin and
            slab thickness those that the shape uses, must be given.

    Raises:
        SurfaceError: A compliant surface is not closed, or neither convex nor declared so; or a rigid one has
            triangles that contradict each other.
        InputError: A property is missing or out of range, or the mesh file is bad.
    """
    source = f"shape '{shape.kind}'" if shape.path is None else str(shape.path)
    modulus = None
    if _given(source, proximity, "compliance") == "compliant":
        modulus = _given(source, proximity, "modulus")
    margin = _given(source, proximity, "margin")
    if shape.kind == "mesh":
        if shape.path is None:
            raise InputError(source, "path", "is missing", "name the mesh file")
        return _mesh_geometry(shape, shape.path, modulus, margin)
    make, num_lengths = _PRIMITIVES[shape.kind]
    if len(shape.size) != num_lengths:
        problem = f"has {len(shape.size)} lengths"
        raise InputError(source, "size", problem, f"give {num_lengths} for a {shape.kind}")
    options: dict[str, Any] = {"modulus": modulus, "margin": margin}
    if shape.kind == "half_space":
        if modulus is not None:
            options["slab_thickness"] = _given(source, proximity, "slab_thickness")
    elif shape.kind != "box":
        options["resolution"] = _given(source, proximity, "resolution_hint")
    return make(*shape.size, **options)


def _mesh_geometry(shape: ShapeSpec, path: Path, modulus: float | None, margin: float) -> Geometry:
    if path.suffix.lower() in VOLUME_SUFFIXES:
        return tetrahedral_mesh(path, modulus, margin, scale=shape.scale)
    vertices, triangles = load_surface(path, shape.scale)
    with named_after(path):
        if not shape.declare_convex:
            with _surface_errors():
                if modulus is None:
                    return rigid_mesh(vertices, triangles, open_surface=True)
                _check_convex(vertices, triangles)
        return convex_mesh(vertices, modulus=modulus, margin=margin)


@contextlib.contextmanager
def _surface_errors() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise SurfaceError(error.source, error.element, error.problem, error.mend) from None


def _check_convex(vertices: FloatArray, triangles: IntArray) -> None:
    check_surface("", vertices, triangles, open_surface=False)
    hull_volume = enclosed_volume(*hull("", vertices))
    if enclosed_volume(vertices, triangles) < (1.0 - CONVEXITY_TOLERANCE) * hull_volume:
        mend = "declare_convex or supply a tetrahedral mesh (.vtk)"
        raise InputError("", "", "is compliant but not convex", mend)


def _given(source: str, proximity: ProximitySpec, name: str) -> Any:
    value = getattr(proximity, name)
    if value is None:
        raise InputError(source, name, "is not given", "state it for the shape or as the scene's default")
    return value
