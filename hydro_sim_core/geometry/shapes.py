"""Geometries of the shapes in description files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hydro_sim_core.description.shape_types import ShapeType, shape_types
from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.geometry.convex import convex_mesh, hull
from hydro_sim_core.geometry.files import load_surface, named_after
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.hull_points import kept_few_hull_points
from hydro_sim_core.geometry.margins import Margin, MarginRule, margin_of
from hydro_sim_core.geometry.mesh import check_surface, rigid_mesh
from hydro_sim_core.geometry.simplices import enclosed_volume
from hydro_sim_core.geometry.solids import compliant_solid
from hydro_sim_core.geometry.tetrahedral import tetrahedral_mesh
from hydro_sim_core.mesh_files import VOLUME_SUFFIXES

#: Corners up to which a hull stays as it is, whatever its tolerance.
MANY_CORNERS = 64
#: Fraction of its convex hull that a convex surface may leave empty, as many files have single precision.
CONVEXITY_TOLERANCE = 1e-6
#: The same where no vertex is farther inside of the hull than the second share of its diagonal: files with six decimals
#: are off by up to a micrometre, which is as much of a peg of 50 mm, and dents its faces all over.
ROUNDED_TOLERANCE, DEEPEST_DENT = 1e-4, 2e-5


#: Pairs of a point and a plane that are looked at at once, which bounds the memory.
_AT_ONCE = 10_000_000

#: Range of the diagonal of a compliant mesh's bounding box, m; beyond it the file is assumed to be in other units.
SMALLEST_EXTENT, LARGEST_EXTENT = 1e-3, 20.0


class SurfaceError(InputError):
    """The triangles of a mesh file cannot be used unchanged, but their convex hull could be."""


def make_geometry(
    shape: ShapeSpec,
    proximity: ProximitySpec,
    *,
    fill: bool = True,
    margin_rule: MarginRule | None = None,
    hull_tolerance: float = 0.0,
) -> Geometry:
    """Make the geometry of a shape.

    Tetrahedra of a mesh file are kept. For a surface, a rigid geometry keeps the triangles, which may be open, and a
    shape that is declared convex becomes the convex hull. The triangles of a closed, convex, compliant surface are
    coned to the centroid, unless a pressure field is chosen; any other compliant surface is filled with tetrahedra.

    Args:
        shape: The shape.
        proximity: Its contact properties; the compliance must be given, and those of modulus, resolution hint, margin
            and slab thickness that the shape uses.
        fill: Whether a compliant surface that is not closed and convex is filled; otherwise it is refused.
        margin_rule: Rule for the margin where the properties give none.
        hull_tolerance: How far points of a mesh that is declared convex may be outside of its hull, as a share of its
            diagonal.

    Raises:
        SurfaceError: A rigid surface has inconsistent triangles, or ``fill`` is false and a compliant one is not closed
            and convex.
        InputError: A property is missing, out of range or not applicable to the shape, or the mesh file is invalid.
    """
    source = f"shape '{shape.kind}'" if shape.path is None else str(shape.path)
    modulus = None
    if _given(source, proximity, "compliance") == "compliant":
        modulus = _given(source, proximity, "modulus")
    margin: Margin = (
        margin_rule
        if proximity.margin is None and margin_rule is not None
        else _given(source, proximity, "margin")
    )
    if shape.kind == "mesh":
        if shape.path is None:
            raise InputError(source, "path", "is missing", "name the mesh file")
        if modulus is None or shape.declare_convex:
            _refuse_field(source, proximity, "a rigid mesh" if modulus is None else "a convex hull")
        if shape.path.suffix.lower() in VOLUME_SUFFIXES:
            field = proximity.pressure_field
            return tetrahedral_mesh(shape.path, modulus, margin, scale=shape.scale, field=field)
        return _surface_geometry(shape, shape.path, modulus, margin, proximity, fill, hull_tolerance)
    return _shape_geometry(shape, proximity, modulus, margin, source)


def _shape_geometry(
    shape: ShapeSpec, proximity: ProximitySpec, modulus: float | None, margin: Margin, source: str
) -> Geometry:
    """Geometry of a shape of the table."""
    _refuse_field(source, proximity, f"a {shape.kind}")
    known = shape_types()[shape.kind]
    if len(shape.size) != known.num_lengths:
        problem = f"has {len(shape.size)} lengths"
        raise InputError(source, "size", problem, f"give {known.num_lengths} for a {shape.kind}")
    options: dict[str, Any] = {"modulus": modulus}
    if "slab_thickness" in known.options and modulus is not None:
        options["slab_thickness"] = _given(source, proximity, "slab_thickness")
    if "resolution" in known.options:
        options["resolution"] = _given(source, proximity, "resolution_hint")
    if callable(margin):
        bare = _of_table(known, shape, **options, margin=0.0)
        if bare.is_rigid:
            return bare
        margin = margin(bare.vertices, bare.modulus)
    return _of_table(known, shape, **options, margin=margin)


def _of_table(known: ShapeType, shape: ShapeSpec, **options: Any) -> Geometry:
    made = known.geometry(shape.size, **options)
    if not isinstance(made, Geometry):
        raise InputError(
            known.make, f"shape '{shape.kind}'", f"gave {excerpt(made)}", "let it return a Geometry"
        )
    return made


def _surface_geometry(
    shape: ShapeSpec,
    path: Path,
    modulus: float | None,
    margin: Margin,
    proximity: ProximitySpec,
    fill: bool,
    hull_tolerance: float,
) -> Geometry:
    vertices, triangles = load_surface(path, shape.scale)
    with named_after(path):
        if modulus is None and not shape.declare_convex:
            with _surface_errors():
                return rigid_mesh(vertices, triangles, open_surface=True)
        if modulus is not None:
            _check_extent(vertices)
        if not shape.declare_convex and (
            proximity.pressure_field or not is_convex(vertices, triangles, rounded=fill)
        ):
            if not fill:
                mend = "declare_convex, tag it compliant or supply a tetrahedral mesh (.vtk)"
                raise SurfaceError("", "", "is not closed and convex", mend)
            return compliant_solid(
                vertices,
                triangles,
                modulus=modulus,
                resolution=_given("", proximity, "resolution_hint"),
                field=proximity.pressure_field or "distance",
                margin=margin,
                source="",
            )
        if hull_tolerance:
            corners, _ = hull("", vertices)
            if len(corners) > MANY_CORNERS:
                diagonal = float(np.linalg.norm(np.ptp(corners, axis=0)))
                vertices = kept_few_hull_points(corners, hull_tolerance * diagonal)
        margin = margin_of("", margin, vertices, modulus or np.inf)
        # Slivers of a surface that is to be kept as it is may be too flat for tetrahedra.
        with contextlib.nullcontext() if fill or shape.declare_convex else _surface_errors():
            return convex_mesh(vertices, modulus=modulus, margin=margin)


@contextlib.contextmanager
def _surface_errors() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise SurfaceError(error.source, error.element, error.problem, error.mend) from None


def is_convex(vertices: FloatArray, triangles: IntArray, *, rounded: bool = False) -> bool:
    """Whether the surface is closed, consistent and, up to a tolerance, equal to its convex hull.

    Args:
        vertices: (N, 3) m.
        triangles: (M, 3) vertex indices.
        rounded: Whether dents as deep as the last decimal of a file count as none, however many there are.
    """
    try:
        check_surface("", vertices, triangles, open_surface=False)
    except InputError:
        return False
    of_hull = hull("", vertices)
    left = 1.0 - enclosed_volume(vertices, triangles) / enclosed_volume(*of_hull)
    if left <= CONVEXITY_TOLERANCE or not (rounded and left <= ROUNDED_TOLERANCE):
        return left <= CONVEXITY_TOLERANCE
    dent = DEEPEST_DENT * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    return float(_depths_in(vertices, *of_hull).max()) <= dent


def _depths_in(points: FloatArray, corners: FloatArray, triangles: IntArray) -> FloatArray:
    """Distance (P,) of points in a convex hull to its surface, m."""
    a, b, c = (corners[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = np.einsum("ij,ij->i", normals, a)
    some = max(1, _AT_ONCE // len(offsets))
    return np.concatenate(
        [(offsets - points[i : i + some] @ normals.T).min(axis=1) for i in range(0, len(points), some)]
    )


def _check_extent(vertices: FloatArray) -> None:
    extent = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if not SMALLEST_EXTENT <= extent <= LARGEST_EXTENT:
        problem = (
            f"are {extent:.3g} m across, too {'small' if extent < 1.0 else 'large'} for a compliant body"
        )
        mend = "correct the scale: 1 for a file in metres, 0.001 for one in millimetres"
        raise InputError("", "vertices", problem, mend)


def _refuse_field(source: str, proximity: ProximitySpec, what: str) -> None:
    if proximity.pressure_field is not None:
        problem = f"is '{proximity.pressure_field}', but {what} takes none"
        raise InputError(source, "pressure_field", problem, "leave it out or use a compliant mesh")


def _given(source: str, proximity: ProximitySpec, name: str) -> Any:
    value = getattr(proximity, name)
    if value is None:
        raise InputError(source, name, "is not given", "state it for the shape or as the scene's default")
    return value
