"""Programs of large patches, one for each kind of pair."""

from __future__ import annotations

from typing import Any

from hydro_sim_core.compilation.grids import Grid
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.grid.faces import (
    count_tetrahedra_on_half_space,
    count_triangles_on_half_space,
    make_faces_of_tetrahedra,
    make_faces_of_triangles,
    move_faces,
    place_faces,
    write_faces_of_tetrahedra,
    write_faces_of_triangles,
    write_tetrahedra_on_half_space,
    write_triangles_on_half_space,
)
from hydro_sim_core.contact.pressure_field.grid.pairs import (
    count_near_half_space,
    count_pairs_of_a,
    count_pairs_of_b,
    count_touching_tetrahedra,
    count_touching_triangles,
    list_near_half_space,
    list_pairs_of_a,
    list_pairs_of_b,
    list_touching,
)
from hydro_sim_core.contact.pressure_field.grid.query import GridQuery
from hydro_sim_core.contact.pressure_field.grid.sums import add_sums, sum_faces


def _grid(name: str, *kernels: Any) -> Grid:
    return Grid(__name__, name, GridQuery, (*kernels, place_faces, sum_faces, add_sums))


_OF_MESHES = (count_pairs_of_a, list_pairs_of_a, count_pairs_of_b, list_pairs_of_b, list_touching, move_faces)
#: Programs by kind of pair: two compliant meshes, a rigid and a compliant one, each on a half space. First of their
#: kernels are those that make or count faces, and write them; then, for meshes, that which tells whether pairs touch.
TETRAHEDRA = _grid(
    "TETRAHEDRA",
    make_faces_of_tetrahedra,
    write_faces_of_tetrahedra,
    count_touching_tetrahedra,
    *_OF_MESHES,
)
TRIANGLES = _grid(
    "TRIANGLES",
    make_faces_of_triangles,
    write_faces_of_triangles,
    count_touching_triangles,
    *_OF_MESHES,
)
TETRAHEDRA_ON_HALF_SPACE = _grid(
    "TETRAHEDRA_ON_HALF_SPACE",
    count_tetrahedra_on_half_space,
    write_tetrahedra_on_half_space,
    count_near_half_space,
    list_near_half_space,
)
TRIANGLES_ON_HALF_SPACE = _grid(
    "TRIANGLES_ON_HALF_SPACE",
    count_triangles_on_half_space,
    write_triangles_on_half_space,
    count_near_half_space,
    list_near_half_space,
)


def grid_of(geometries: GeometrySet, a: int, b: int) -> Grid:
    """The program for a canonical pair."""
    is_rigid = geometries.kind[a] == RIGID_MESH
    if geometries.kind[b] == COMPLIANT_MESH:
        return TRIANGLES if is_rigid else TETRAHEDRA
    return TRIANGLES_ON_HALF_SPACE if is_rigid else TETRAHEDRA_ON_HALF_SPACE
