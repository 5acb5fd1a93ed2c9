"""Programs of large patches for this machine's processor, to test without a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hydro_sim_core.compilation import grid_code
from hydro_sim_core.compilation.grids import Grid, HostGrid
from hydro_sim_core.compilation.targets import Target
from hydro_sim_core.contact import GeometrySet, make_geometry_set
from hydro_sim_core.contact.pressure_field.grid.programs import grid_of
from hydro_sim_core.contact.pressure_field.grid.search import GridSearch
from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.geometry import Geometry


@cache
def translated(grid: Grid) -> str:
    """LLVM's intermediate code of a grid, made once in a process."""
    return grid_code.translated(grid)


@cache
def _program(grid: Grid) -> HostGrid:
    return HostGrid(grid, grid_code.object_code(translated(grid), grid, Target("generic", "")))


def host_search(geometries: GeometrySet, a: int, b: int, **options: Any) -> GridSearch:
    """The search for a canonical pair of a set, thread after thread on this processor."""
    return GridSearch(geometries, a, b, _program(grid_of(geometries, a, b)), **options)


def search_of(a: Geometry, b: Geometry, **options: Any) -> tuple[GridSearch, int, int]:
    """The search for two geometries, and which of them comes first and second in it."""
    first, second = (0, 1) if canonical_order(a.kind, b.kind) else (1, 0)
    return host_search(make_geometry_set((a, b)), first, second, **options), first, second


def sorted_rows(data: np.ndarray, polygons: np.ndarray, num_vertices: np.ndarray) -> np.ndarray:
    """Faces as rows of all their numbers, in an order that does not depend on who found them."""
    used = np.arange(polygons.shape[1])[None, :] < num_vertices[:, None]
    corners = np.where(used[:, :, None], polygons, 0.0).reshape(len(polygons), 3 * polygons.shape[1])
    rows = np.column_stack([data.T, num_vertices, corners])
    return rows[np.lexsort(rows.T)]
