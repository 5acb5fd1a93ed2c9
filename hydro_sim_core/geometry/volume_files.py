"""Reading and writing of tetrahedral mesh files, with or without a pressure field."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.files import scale_factors
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, GeometryKind, IntArray
from hydro_sim_core.mesh_files import Volume, read_volume

#: Names of the arrays in a file: one value per point, and two that are constant over all cells.
PRESSURE, MODULUS, MARGIN = "pressure", "hydroelastic_modulus", "hydroelastic_margin"

#: meshio's names of formats that store numbers without loss.
_FORMATS = {".vtk": ("vtk42", {"binary": True}), ".vtu": ("vtu", {}), ".msh": ("gmsh22", {"binary": True})}


@dataclass(frozen=True, eq=False)
class VolumeFile:
    """Contents of a tetrahedral mesh file.

    Attributes:
        vertices: (N, 3) positions that belong to a tetrahedron, m.
        tetrahedra: (M, 4) vertex indices.
        pressure: (N,) stored pressures, Pa; None when the file has none.
        modulus: Stored hydroelastic modulus, Pa, or the largest pressure; 0 without a pressure.
        margin: Stored margin, m; 0 when the file has none.
    """

    vertices: FloatArray
    tetrahedra: IntArray
    pressure: FloatArray | None
    modulus: float
    margin: float


def load_volume(path: str | Path, scale: float | Sequence[float] = 1.0) -> VolumeFile:
    """Read the linear tetrahedra of a VTK or Gmsh file, and their pressures; other cells are ignored.

    Raises:
        InputError: The file is missing, of an unknown format, too large or unreadable, holds no linear tetrahedra,
            names vertices that do not exist, or has coordinates or pressures that are not finite.
    """
    path = Path(path)
    read = read_volume(path, [PRESSURE], [MODULUS, MARGIN])
    factors = scale_factors(path, scale)
    used, tetrahedra = np.unique(read.tetrahedra, return_inverse=True)
    vertices, tetrahedra = read.points[used] * factors, tetrahedra.reshape(-1, 4)
    if PRESSURE not in read.data:
        return VolumeFile(vertices, tetrahedra, None, 0.0, 0.0)
    pressure = _stored_pressure(path, read, used)
    modulus = _same_in_all_cells(path, read, MODULUS, float(pressure.max()))
    margin = _same_in_all_cells(path, read, MARGIN, 0.0) * float(np.abs(factors).prod() ** (1.0 / 3.0))
    return VolumeFile(vertices, tetrahedra, pressure, modulus, margin)


def write_vtk(geometry: Geometry, path: str | Path) -> None:
    """Write a compliant mesh and its pressure field to a ``.vtk``, ``.vtu`` or ``.msh`` file.

    ``tetrahedral_mesh(path)`` gives the same geometry back. ParaView shows the point data ``pressure``.

    Args:
        geometry: A compliant mesh.
        path: File to write; one that exists is replaced.

    Raises:
        InputError: The geometry is no compliant mesh, the format is unknown or the file cannot be written.
    """
    path = Path(path)
    if geometry.kind != GeometryKind.COMPLIANT_MESH:
        problem = f"cannot hold a {geometry.kind.name.lower()}"
        raise InputError(path, "", problem, "write compliant meshes only")
    if path.suffix.lower() not in _FORMATS:
        problem = f"has the unknown format '{path.suffix}'"
        raise InputError(path, "", problem, f"use one of {', '.join(_FORMATS)}")
    count = len(geometry.elements)
    import meshio  # slow to import, and few programs write such files

    mesh = meshio.Mesh(
        geometry.vertices.copy(),
        [("tetra", geometry.elements.copy())],
        point_data={PRESSURE: geometry.pressure.copy()},
        cell_data={MODULUS: [np.full(count, geometry.modulus)], MARGIN: [np.full(count, geometry.margin)]},
    )
    file_format, options = _FORMATS[path.suffix.lower()]
    try:
        with _silence():
            meshio.write(path, mesh, file_format=file_format, **options)
    except OSError as error:
        raise InputError(path, "", f"cannot be written ({error.strerror})", "choose another place") from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _stored_pressure(path: Path, read: Volume, used: IntArray) -> FloatArray:
    stored = np.asarray(read.data[PRESSURE], dtype=np.float64)
    if stored.shape == (len(read.points), 1):
        stored = stored[:, 0]
    if stored.shape != (len(read.points),):
        problem = f"has shape {stored.shape}"
        raise InputError(path, PRESSURE, problem, f"write one value a point: ({len(read.points)},)")
    if not np.isfinite(stored[used]).all():
        raise InputError(path, PRESSURE, "is not finite everywhere", "repair or export the mesh again")
    return stored[used]


def _same_in_all_cells(path: Path, read: Volume, name: str, default: float) -> float:
    if name not in read.data:
        return default
    values = read.data[name].astype(np.float64)
    if not (values.size and np.isfinite(values).all() and (values == values[0]).all() and values[0] >= 0.0):
        raise InputError(path, name, "is not one number for all cells", "write the file with write_vtk")
    return float(values[0])
