"""From a shape as a description file states it to a geometry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.boxes import box
from hydro_sim_core.geometry.capsules import capsule
from hydro_sim_core.geometry.convex import convex_mesh, hull
from hydro_sim_core.geometry.cylinders import cylinder
from hydro_sim_core.geometry.files import VOLUME_SUFFIXES, load_surface, named_after
from hydro_sim_core.geometry.geometry import Geometry
from hydro_sim_core.geometry.half_spaces import half_space
from hydro_sim_core.geometry.mesh import rigid_mesh
from hydro_sim_core.geometry.simplices import enclosed_volume
from hydro_sim_core.geometry.spheres import ellipsoid, sphere
from hydro_sim_core.geometry.tetrahedral import tetrahedral_mesh

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


def make_geometry(shape: ShapeSpec, proximity: ProximitySpec) -> Geometry:
    """Make the geometry of a shape.

    A mesh file of tetrahedra keeps them. Of a surface, a rigid geometry keeps the triangles; a compliant one,
    and any that declares itself convex, takes the convex hull.

    Args:
        shape: The shape.
        proximity: Its contact properties; the compliance, and of the modulus, resolution hint, margin and
            slab thickness those that the shape uses, must be given.

    Raises:
        InputError: A property is missing or out of range, the mesh file is bad, or a compliant surface is
            neither convex nor declared so.
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
    vertices, triangles = load_surface(path, shape.scale, watertight=not shape.declare_convex)
    with named_after(path):
        if shape.declare_convex:
            return convex_mesh(vertices, modulus=modulus, margin=margin)
        if modulus is None:
            return rigid_mesh(vertices, triangles)
        hull_volume = enclosed_volume(*hull("", vertices))
        if enclosed_volume(vertices, triangles) < (1.0 - CONVEXITY_TOLERANCE) * hull_volume:
            mend = "declare_convex or supply a tetrahedral mesh (.vtk)"
            raise InputError(path, "", "is compliant but not convex", mend)
        return convex_mesh(vertices, modulus=modulus, margin=margin)


def _given(source: str, proximity: ProximitySpec, name: str) -> Any:
    value = getattr(proximity, name)
    if value is None:
        raise InputError(source, name, "is not given", "state it for the shape or as the scene's default")
    return value
