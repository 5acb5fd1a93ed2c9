"""Geometries from tetrahedral mesh files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import non_negative, positive
from hydro_sim_core.geometry.files import named_after
from hydro_sim_core.geometry.geometry import Geometry
from hydro_sim_core.geometry.margins import Margin
from hydro_sim_core.geometry.mesh import compliant_mesh, oriented, rigid_mesh
from hydro_sim_core.geometry.simplices import boundary_triangles
from hydro_sim_core.geometry.solids import SURFACE_TOLERANCE, Field, pressurised
from hydro_sim_core.geometry.volume_files import VolumeFile, load_volume


def tetrahedral_mesh(
    path: str | Path,
    modulus: float | None = None,
    margin: Margin = 0.0,
    *,
    scale: float | Sequence[float] = 1.0,
    field: Field | None = None,
) -> Geometry:
    """Read a tetrahedral mesh and give it a pressure field.

    The tetrahedra are kept unchanged, also those without an inner vertex. A margin adds a layer of that thickness,
    three tetrahedra per surface triangle, which continues the pressure below zero at the slope inside; the mesh inside
    and its zero level set do not change.

    Args:
        path: File in VTK or Gmsh format, lengths in m.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Thickness of the margin layer of a compliant mesh, m, or a rule as for :func:`pressurised`, which a
            margin in the file overrides.
        scale: Factor on the coordinates: one number, or one per axis.
        field: As for :func:`pressurised`. None takes the pressures in the file, scaled by the ratio of the modulus to
            the stored one; without pressures in the file, the distance to the surface.

    Raises:
        InputError: The file cannot be read or holds no linear tetrahedra, no vertex lies inside, the field is not
            zero on the surface or not positive inside, the file's mesh has another margin, the margin layer would fold,
            or a parameter is out of range.
    """
    if modulus is None:
        margin = 0.0
    if not callable(margin):
        margin = non_negative(str(path), "margin", margin)
    modulus = None if modulus is None else positive(str(path), "modulus", modulus)
    file = load_volume(path, scale)
    with named_after(path):
        file = replace(file, tetrahedra=oriented("", file.vertices, file.tetrahedra))
        if modulus is None:
            surface = boundary_triangles(file.tetrahedra)
            used, triangles = np.unique(surface, return_inverse=True)
            return rigid_mesh(file.vertices[used], triangles.reshape(-1, 3))
        if field is None and file.pressure is not None:
            return _as_stored(file, modulus, margin)
        if file.margin > 0.0:
            problem = f"already holds a margin of {file.margin:g} m"
            raise InputError("", "mesh", problem, "leave the field to the file or write it without margin")
        return pressurised(
            file.vertices,
            file.tetrahedra,
            modulus=modulus,
            field="distance" if field is None else field,
            margin=margin,
            source="",
        )


def stored_geometry(path: str | Path) -> Geometry:
    """Read a geometry written by :func:`write_vtk`, with unchanged mesh, pressures, modulus and margin.

    Raises:
        InputError: As :func:`tetrahedral_mesh`, or the file holds no pressures.
    """
    file = load_volume(path)
    if file.pressure is None:
        raise InputError(path, "pressure", "is not stored", "use tetrahedral_mesh, which makes a field")
    with named_after(path):
        return _as_stored(file, positive("", "modulus", file.modulus), file.margin)


def _as_stored(file: VolumeFile, modulus: float, margin: Margin) -> Geometry:
    assert file.pressure is not None
    if not file.modulus > 0.0:
        raise InputError("", "pressure", "is nowhere positive", "write a positive pressure inside")
    pressure = file.pressure * (modulus / file.modulus)
    if file.margin == 0.0 and (callable(margin) or margin > 0.0):
        return pressurised(
            file.vertices,
            file.tetrahedra,
            modulus=modulus,
            field=pressure,
            margin=margin,
            source="",
        )
    wanted = file.margin if callable(margin) else margin
    if not np.isclose(file.margin, wanted, rtol=1e-6, atol=0.0):
        problem = f"is {wanted:g} m, but the mesh in the file has one of {file.margin:g} m"
        raise InputError("", "margin", problem, "use the file's or write the mesh without margin")
    surface = boundary_triangles(file.tetrahedra)
    highest = surface.ravel()[pressure[surface].argmax()]
    if pressure[highest] > SURFACE_TOLERANCE * pressure.max():
        where = np.round(file.vertices[highest], 6).tolist()
        problem = f"is {pressure[highest]:.3g} Pa on the surface at {where}"
        raise InputError("", "pressure", problem, "make it zero on the surface and positive inside")
    return compliant_mesh(file.vertices, file.tetrahedra, pressure, modulus=modulus, margin=wanted)
