"""From a mesh file to a compliant solid: tetrahedra, pressure field and quality measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.mesh_picture import AXES, draw_section, telling_plane
from hydro_sim_core.cli.options import positive_and_finite
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    optional,
    out_option,
)
from hydro_sim_core.drawing.pressure_scale import unit_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import (
    Geometry,
    MeshQuality,
    SolidMesh,
    load_surface,
    mesh_quality,
    pressurised,
    tetrahedral_mesh,
    tetrahedralise,
    write_vtk,
)
from hydro_sim_core.geometry.tetrahedralisation import TIME_LIMIT
from hydro_sim_core.mesh_files import SURFACE_SUFFIXES, VOLUME_SUFFIXES

_WRITTEN = {"solid": VOLUME_SUFFIXES, "cross-section": PICTURE, "report": REPORT}
#: Radius ratio below which a tetrahedron is flat enough to be marked in the table.
POOR_RADIUS_RATIO = 0.05

#: Range of the longest side of objects that robots handle, m; a mesh outside it is likely in another unit.
LEAST_EXTENT, LARGEST_EXTENT = 1e-3, 10.0


@dataclass(frozen=True)
class MeshRequest:
    """Options of the solid to be made from a file.

    Attributes:
        file: Surface (STL, OBJ, DAE, GLB, PLY) or tetrahedra (VTK, VTU, MSH).
        resolution: Wanted edge length of the tetrahedra, m; None for a twentieth of the body's extent.
        modulus: Hydroelastic modulus, Pa.
        field: Kind of pressure field; None for the one in the file if it holds one, else the distance to the surface.
        margin: m.
        scale: Factor on the coordinates of the file.
        out: File of tetrahedra and pressures to write.
        plot: PNG file of a cross-section to write.
        axis: Axis perpendicular to the section: x, y or z; None for the body's shortest side.
        place: Coordinate of the section along the axis, m; None for the point of largest pressure.
        time_limit: Limit of processor time for filling a surface with tetrahedra, s.
    """

    file: Path
    resolution: float | None
    modulus: float
    field: Literal["distance", "laplace"] | None
    margin: float
    scale: float
    out: Path | None
    plot: Path | None
    axis: Literal["x", "y", "z"] | None
    place: float | None
    time_limit: float = TIME_LIMIT


FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Closed surface (STL, OBJ, DAE, GLB, PLY) or tetrahedra (VTK, VTU, MSH), in m.",
        show_default=False,
    ),
]
ResolutionOption = Annotated[
    float | None,
    optional(
        "Wanted edge length of the tetrahedra, m (default: a twentieth of the body's diagonal)",
        "M",
        callback=positive_and_finite,
    ),
]
ModulusOption = Annotated[
    float,
    typer.Option(
        metavar="PA",
        help="Hydroelastic modulus, Pa.",
        callback=positive_and_finite,
        show_default="1e7",
    ),
]
FieldOption = Annotated[
    Literal["distance", "laplace"] | None,
    optional(
        "Pressure by distance to the surface or by Laplace's equation "
        "(default: what the file holds, else distance)"
    ),
]
MarginOption = Annotated[float, typer.Option(metavar="M", help="Thickness of the margin layer, m.", min=0.0)]
ScaleOption = Annotated[
    float,
    typer.Option(metavar="X", help="Factor on the coordinates: 0.001 for mm.", callback=positive_and_finite),
]
OutOption = Annotated[list[Path] | None, out_option(_WRITTEN)]
AxisOption = Annotated[
    Literal["x", "y", "z"] | None,
    optional("Normal of the cross-section (default: the body's shortest side)"),
]
AtOption = Annotated[
    float | None,
    optional("Where the cross-section lies on its axis, m (default: where the pressure is largest)", "M"),
]
TimeLimitOption = Annotated[
    float,
    typer.Option(
        metavar="S",
        help="Most processor time to fill a surface with tetrahedra, s. The result is kept, for scenes too.",
        callback=positive_and_finite,
    ),
]


def mesh(
    file: FileArgument,
    resolution: ResolutionOption = None,
    modulus: ModulusOption = 1e7,
    field: FieldOption = None,
    margin: MarginOption = 0.0,
    scale: ScaleOption = 1.0,
    out: OutOption = None,
    axis: AxisOption = None,
    at: AtOption = None,
    time_limit: TimeLimitOption = TIME_LIMIT,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Make a compliant solid of a mesh file and report on its quality."""
    files = files_to_write(out, overwrite, _WRITTEN, json)
    solid, section, report = (files.get(kind) for kind in _WRITTEN)
    request = MeshRequest(
        file, resolution, modulus, field, margin, scale, solid, section, axis, at, time_limit
    )
    result = mesh_file(request, output.make_console(report))
    output.write_report(report, result)


def mesh_file(request: MeshRequest, console: Console) -> dict[str, Any]:
    """Make the solid, print its quality, and write the requested files.

    Returns:
        Plain data for JSON.

    Raises:
        InputError: The file holds no solid, or an output cannot be written.
    """
    with console.status(f"reading {output.shown(request.file.name)}") as status:
        geometry, solid = _make_solid(request, lambda message: status.update(output.shown(message)))
        status.update("measuring the mesh")
        quality = mesh_quality(geometry, solid)
    console.print(quality_table(request.file.name, quality))
    remarks = [("repaired", repair) for repair in quality.repairs] + _doubts_about_scale(geometry)
    for kind, remark in remarks:
        console.print(f"[yellow]{kind}:[/yellow] {output.shown(remark)}", highlight=False, soft_wrap=True)
    if request.out is not None:
        write_vtk(geometry, request.out)
    if request.plot is not None:
        axis, place = telling_plane(geometry, None if request.axis is None else AXES.index(request.axis))
        place = place if request.place is None else request.place
        draw_section(geometry, axis, place, request.file.name, request.plot)
    return {
        "file": str(request.file),
        "modulus": geometry.modulus,
        "margin": geometry.margin,
        **asdict(quality),
    }


def _make_solid(request: MeshRequest, progress: Callable[[str], None]) -> tuple[Geometry, SolidMesh | None]:
    """The geometry, and the tetrahedra of its mesh if they were made here."""
    file, source = request.file, str(request.file)
    formats = (*SURFACE_SUFFIXES, *VOLUME_SUFFIXES)
    if file.suffix.lower() not in formats:
        problem = f"has the unknown format '{file.suffix}'"
        raise InputError(file, "", problem, f"use one of {', '.join(formats)}")
    if file.suffix.lower() in VOLUME_SUFFIXES:
        if request.resolution is not None:
            mend = "leave it out: the tetrahedra of the file are kept"
            raise InputError(file, "--resolution", "is for surfaces", mend)
        geometry = tetrahedral_mesh(
            file, request.modulus, request.margin, scale=request.scale, field=request.field
        )
        return geometry, None
    vertices, triangles = load_surface(file, request.scale)
    solid = tetrahedralise(
        vertices,
        triangles,
        resolution=request.resolution,
        time_limit=request.time_limit,
        source=source,
        progress=progress,
    )
    progress("pressure field")
    geometry = pressurised(
        solid.vertices,
        solid.tetrahedra,
        modulus=request.modulus,
        field=request.field or "distance",
        margin=request.margin,
        source=source,
    )
    return geometry, solid


def _doubts_about_scale(geometry: Geometry) -> list[tuple[str, str]]:
    """A warning if the file's coordinates are unlikely to be in m."""
    extent = float(np.ptp(geometry.vertices, axis=0).max())
    if LEAST_EXTENT <= extent <= LARGEST_EXTENT:
        return []
    factor = 0.001 if extent > LARGEST_EXTENT else 1000.0
    question = f"the body is {extent:.3g} m long; is --scale {factor:g} missing?"
    return [("unit", question)]


def quality_table(title: str, quality: MeshQuality) -> Table:
    """Quality of a compliant mesh as a table; poor values are yellow."""
    table = Table(title=output.shown(title), title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("quantity", "unit", "least", "median", "largest"):
        table.add_column(heading, justify="left" if heading in ("quantity", "unit") else "right")

    def add_one(name: str, unit: str, value: str, poor: bool = False) -> None:
        table.add_row(name, unit, "", f"[yellow]{value}[/yellow]" if poor else value, "")

    add_one("tetrahedra", "", str(quality.num_tetrahedra))
    add_one("vertices", "", str(quality.num_vertices))
    add_one("  of them inside", "", str(quality.num_inner_vertices))
    add_one("triangles of the surface", "", str(quality.num_surface_triangles))
    add_one("layers from the surface to the deepest vertex", "", str(quality.layers))
    add_one(
        "tetrahedra of constant pressure", "", str(quality.num_zero_gradient), quality.num_zero_gradient > 0
    )
    for name, unit, factor, spread, least_good in (
        ("edges", "mm", 1e3, quality.edge_length, 0.0),
        ("radius ratio, 1 for a regular tetrahedron", "", 1.0, quality.radius_ratio, POOR_RADIUS_RATIO),
        ("aspect ratio, 1 for a regular tetrahedron", "", 1.0, quality.aspect_ratio, 0.0),
    ):
        cells = [f"{factor * value:.4g}" for value in (spread.least, spread.median, spread.largest)]
        if spread.least < least_good:
            cells[0] = f"[yellow]{cells[0]}[/yellow]"
        table.add_row(name, unit, *cells)
    unit, size = unit_of(quality.largest_pressure)
    add_one("largest pressure", unit, f"{quality.largest_pressure / size:.5g}")
    add_one("volume", "cm³", f"{1e6 * quality.volume:.5g}")
    if quality.surface_volume is not None and quality.deviation is not None:
        add_one("volume of the file's surface", "cm³", f"{1e6 * quality.surface_volume:.5g}")
        add_one("largest distance between the two surfaces", "mm", f"{1e3 * quality.deviation:.3g}")
    return table
