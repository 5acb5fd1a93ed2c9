"""Compliant solids: tetrahedra with a selectable pressure field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import float_rows, positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.margin_layers import add_margin_layer
from hydro_sim_core.geometry.margins import Margin, margin_of
from hydro_sim_core.geometry.mesh import compliant_mesh
from hydro_sim_core.geometry.pressure_fields import distance_field, given_field, laplace_field
from hydro_sim_core.geometry.simplices import boundary_triangles, linear_fields
from hydro_sim_core.geometry.tetrahedralisation import Progress, check_core, tetrahedralise

#: A pressure field: ``distance``, ``laplace``, a function of positions (N, 3) in m, or values (N,) at the vertices, Pa.
Field = Literal["distance", "laplace"] | Callable[[FloatArray], ArrayLike] | ArrayLike

#: Largest value on the surface that a function or array may have, as a fraction of its largest value. The mesh's
#: surface is within the mesher's envelope of the given one, so that a function is not exactly zero there.
SURFACE_TOLERANCE = 0.05


def compliant_solid(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    modulus: float | None = None,
    resolution: float | None = None,
    field: Field = "distance",
    core: Geometry | None = None,
    margin: Margin = 0.0,
    source: str = "compliant_solid",
    progress: Progress | None = None,
) -> Geometry:
    """Fill a closed surface of any shape with tetrahedra and a pressure field.

    Args:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices.
        modulus: Hydroelastic modulus E, Pa; required unless ``field`` gives pressures.
        resolution: Target edge length, m; None as for :func:`tetrahedralise`.
        field: See :func:`pressurised`.
        core: See :func:`pressurised`; the tetrahedra follow its surface.
        margin: See :func:`pressurised`.
        source: Name used in error messages.
        progress: Called with the current stage.

    Raises:
        InputError: As :func:`tetrahedralise` and :func:`pressurised`.
    """
    solid = tetrahedralise(
        vertices, triangles, resolution=resolution, core=core, source=source, progress=progress
    )
    return pressurised(
        solid.vertices,
        solid.tetrahedra,
        modulus=modulus,
        field=field,
        core=core,
        margin=margin,
        source=source,
    )


def pressurised(
    vertices: FloatArray,
    tetrahedra: IntArray,
    *,
    modulus: float | None = None,
    field: Field = "distance",
    core: Geometry | None = None,
    margin: Margin = 0.0,
    source: str = "pressurised",
) -> Geometry:
    """Give tetrahedra a pressure field that is zero on their surface and positive inside.

    Args:
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) positively oriented.
        modulus: Hydroelastic modulus E, Pa; the largest pressure when None.
        field: ``"distance"``: E times the distance to the surface over the largest one. ``"laplace"``: E times the
            solution of Laplace's equation, zero on the surface, one on the medial set. A function from positions
            (N, 3), m, or an array, to pressures (N,), Pa.
        core: Rigid mesh inside: the named fields reach E on its surface.
        margin: Thickness of the margin layer on the surface, m. It continues the pressure below zero at the slope
            inside, the mean over the elements at each vertex. The field inside and the zero level set do not change.
            A function from the vertices to it gives a layer that is thinner, or left out, where it would fold.
        source: Name used in error messages.

    Raises:
        InputError: No vertex lies inside, the field is not zero on the surface or not positive inside, the core does
            not lie inside, the margin layer would fold, or a parameter is out of range.
    """
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    check_core(source, core)
    pressure, slope = _pressure(source, vertices, tetrahedra, modulus, field, core)
    thickness = margin_of(source, margin, vertices, float(pressure.max()))
    if thickness > 0.0:
        if slope is None:
            slope = _slopes(vertices, tetrahedra, pressure)
        surface = boundary_triangles(tetrahedra)
        layer = add_margin_layer(
            source, vertices, tetrahedra, surface, thickness, may_be_thin=callable(margin)
        )
        below_zero = -np.broadcast_to(slope, len(vertices))[layer.owners] * layer.thickness
        vertices, tetrahedra, pressure = layer.vertices, layer.tetrahedra, np.r_[pressure, below_zero]
    return compliant_mesh(vertices, tetrahedra, pressure, modulus=modulus, margin=thickness)


def _pressure(
    source: str,
    vertices: FloatArray,
    tetrahedra: IntArray,
    modulus: float | None,
    field: Field,
    core: Geometry | None,
) -> tuple[FloatArray, FloatArray | float | None]:
    """Pressure at the vertices, and its slope at the surface if that is uniform, else None."""
    if isinstance(field, str):
        named = {"distance": distance_field, "laplace": laplace_field}
        if field not in named:
            mend = "write distance or laplace, or give a function or an array"
            raise InputError(source, "field", f"is '{field}'", mend)
        if modulus is None:
            raise InputError(source, "modulus", "is not given", "state it in Pa")
        unit = named[field](source, vertices, tetrahedra, core)
        return modulus * unit.values, None if unit.slope is None else modulus * unit.slope
    if core is not None:
        raise InputError(source, "core", "is given with a field of values", "leave one of the two out")
    values = field(vertices.copy()) if callable(field) else field
    column = np.asarray(values)
    if column.ndim != 1:
        mend = f"give one pressure a vertex: ({len(vertices)},)"
        raise InputError(source, "field", f"has shape {column.shape}", mend)
    pressures = float_rows(source, "field", column[:, None], 1)[:, 0]
    return given_field(source, vertices, tetrahedra, pressures, SURFACE_TOLERANCE), None


def _slopes(vertices: FloatArray, tetrahedra: IntArray, pressure: FloatArray) -> FloatArray:
    """Slope (N,) of the pressure at the vertices, Pa/m: the mean over their tetrahedra."""
    gradient = np.linalg.norm(linear_fields(vertices, tetrahedra, pressure)[:, :3], axis=1)
    total = np.bincount(tetrahedra.ravel(), np.repeat(gradient, 4), minlength=len(vertices))
    count = np.bincount(tetrahedra.ravel(), minlength=len(vertices))
    return total / np.maximum(count, 1)
