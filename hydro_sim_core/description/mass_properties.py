"""Mass, centre of mass and inertia of bodies that consist of shapes of uniform density."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import Array, ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.held_interrupts import held_interrupts
from hydro_sim_core.mesh_files import read_surface


def mass_properties(shapes: Sequence[tuple[ShapeSpec, Array]], place: Place) -> tuple[float, Array, Array]:
    """Volume, centre of mass and inertia of a union of solids; overlaps count twice.

    Args:
        shapes: Shapes with their poses (4, 4) in the link frame L.
        place: Place of their description, for errors.

    Returns:
        Volume, m^3; p_LCo (3,), m; inertia (3, 3) about the centre of mass in link axes, per mass, m^2.

    Raises:
        InputError: A shape has no volume, or a mesh is not a closed surface.
    """
    parts = []
    for shape, X_LG in shapes:
        volume, p_GCo, I_GCo = _solid(shape, place)
        if not 0.0 < volume < np.inf:
            raise place.error(f"a {shape.kind} of {volume:g} m^3 has no mass", "correct its lengths: metres")
        R_LG = X_LG[:3, :3]
        parts.append((volume, R_LG @ p_GCo + X_LG[:3, 3], product(R_LG, I_GCo, R_LG.T)))
    volume = sum(part[0] for part in parts)
    p_LCo = np.asarray(sum(part[0] / volume * part[1] for part in parts))
    I_LCo = np.zeros((3, 3))
    for part_volume, p, inertia in parts:
        r = p - p_LCo
        I_LCo += part_volume / volume * (inertia + (r @ r) * np.eye(3) - np.outer(r, r))
    return volume, p_LCo, 0.5 * (I_LCo + I_LCo.T)


def _solid(shape: ShapeSpec, place: Place) -> tuple[float, Array, Array]:
    if shape.kind == "mesh":
        return _mesh(shape, place)
    known = shape_types()[shape.kind]
    if known.solid is None:
        raise place.error(f"a {shape.kind} has no volume", "give mass and inertia")
    volume, inertia = known.volume_and_inertia(shape.size)
    return volume, np.zeros(3), inertia


def _mesh(shape: ShapeSpec, place: Place) -> tuple[float, Array, Array]:
    with held_interrupts():
        import trimesh  # takes a third of a second

    assert shape.path is not None
    try:
        mesh = trimesh.Trimesh(*read_surface(shape.path), process=False)
        mesh.apply_scale(shape.scale)
        mesh = mesh.convex_hull if shape.declare_convex else mesh
        if mesh.is_watertight and mesh.volume < 0.0:
            mesh.invert()  # its triangles are oriented inwards
        is_solid = bool(mesh.is_watertight and mesh.volume > 0.0)
    except InputError as error:
        raise place.error(
            f"{shape.path} gives no inertia ({error.problem})", "give mass and inertia"
        ) from None
    except Exception as error:  # hulls of flat surfaces raise anything
        raise place.error(f"{shape.path} gives no inertia ({error})", "give mass and inertia") from None
    if not is_solid:
        raise place.error(f"{shape.path} is not closed, and has no volume", "give mass and inertia")
    return (
        float(mesh.volume),
        np.array(mesh.center_mass),
        np.array(mesh.moment_inertia) / float(mesh.volume),
    )
