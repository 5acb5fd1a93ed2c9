"""Quality measures of tetrahedral meshes and their pressure fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.distance import distance_to_surface
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, GeometryKind, IntArray
from hydro_sim_core.geometry.simplices import (
    boundary_triangles,
    tetrahedron_faces,
    tetrahedron_volumes,
    triangle_areas,
)
from hydro_sim_core.geometry.tetrahedralisation import SolidMesh

#: Ratio to the largest gradient below which a gradient counts as zero.
ZERO_GRADIENT = 1e-9


@dataclass(frozen=True)
class Spread:
    """Least, median and largest of a quantity."""

    least: float
    median: float
    largest: float


@dataclass(frozen=True)
class MeshQuality:
    """Quality of a compliant mesh.

    Attributes:
        num_vertices: Number of vertices.
        num_inner_vertices: Number of vertices inside the surface.
        num_tetrahedra: Number of tetrahedra.
        num_surface_triangles: Number of triangles of the surface.
        edge_length: Lengths of all edges, m.
        radius_ratio: Three times the inscribed over the circumscribed radius of every tetrahedron: 1 if regular, 0 if
            flat; the smallest is the worst.
        aspect_ratio: Longest edge over least height of every tetrahedron, divided by that of a regular one; the largest
            is the worst.
        num_zero_gradient: Number of tetrahedra with constant pressure, which make no contact.
        layers: Largest number of edges from the surface to a vertex; 1 allows only a pressure linear in depth.
        volume: Volume of the tetrahedra, m^3.
        largest_pressure: Largest pressure, Pa.
        surface_volume: Volume enclosed by the given surface, m^3; None if the surface is not known.
        deviation: Largest distance between the mesh's surface and the given one, at vertices and centroids of triangles
            of both (a lower bound of the Hausdorff distance), m; None as above.
        repairs: Repairs of the surface.
    """

    num_vertices: int
    num_inner_vertices: int
    num_tetrahedra: int
    num_surface_triangles: int
    edge_length: Spread
    radius_ratio: Spread
    aspect_ratio: Spread
    num_zero_gradient: int
    layers: int
    volume: float
    largest_pressure: float
    surface_volume: float | None = None
    deviation: float | None = None
    repairs: tuple[str, ...] = ()


def mesh_quality(geometry: Geometry, solid: SolidMesh | None = None) -> MeshQuality:
    """Measure a compliant mesh.

    Args:
        geometry: A compliant mesh. With a margin, the margin layer counts as part of the mesh.
        solid: Tetrahedra that it was made of, for a comparison with the given surface and the list of repairs.

    Raises:
        InputError: The geometry is not a compliant mesh.
    """
    if geometry.kind != GeometryKind.COMPLIANT_MESH:
        problem = f"is a {geometry.kind.name.lower()}"
        raise InputError("mesh_quality", "geometry", problem, "give a compliant mesh")
    vertices, tetrahedra = geometry.vertices, geometry.elements
    surface = boundary_triangles(tetrahedra)
    on_surface = np.unique(surface)
    lengths, radius_ratio, aspect_ratio = _shapes(vertices, tetrahedra)
    slopes = np.linalg.norm(geometry.fields[:, :3], axis=1)
    against: Mapping[str, float] = {}
    if solid is not None:
        own = boundary_triangles(solid.tetrahedra)
        against = {
            "surface_volume": solid.surface.volume,
            "deviation": max(
                _deviation(solid.vertices, own, solid.surface.vertices, solid.surface.triangles),
                _deviation(solid.surface.vertices, solid.surface.triangles, solid.vertices, own),
            ),
        }
    return MeshQuality(
        num_vertices=len(vertices),
        num_inner_vertices=len(np.unique(tetrahedra)) - len(on_surface),
        num_tetrahedra=len(tetrahedra),
        num_surface_triangles=len(surface),
        edge_length=_spread(lengths),
        radius_ratio=_spread(radius_ratio),
        aspect_ratio=_spread(aspect_ratio),
        num_zero_gradient=int(np.count_nonzero(slopes <= ZERO_GRADIENT * slopes.max())),
        layers=_layers(len(vertices), tetrahedra, on_surface),
        volume=geometry.volume(),
        largest_pressure=float(geometry.pressure.max()),
        repairs=() if solid is None else solid.repairs,
        **against,
    )


def _spread(values: FloatArray) -> Spread:
    return Spread(float(values.min()), float(np.median(values)), float(values.max()))


def _shapes(vertices: FloatArray, tetrahedra: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lengths of all edges of all tetrahedra, radius ratio and aspect ratio of every tetrahedron."""
    volumes = tetrahedron_volumes(vertices, tetrahedra)
    areas = triangle_areas(vertices, tetrahedron_faces(tetrahedra)).reshape(-1, 4)
    a, b, c, d = (vertices[tetrahedra[:, i]] for i in range(4))
    ab, ac, ad, bc, bd, cd = (
        np.linalg.norm(x - y, axis=1) for x, y in ((a, b), (a, c), (a, d), (b, c), (b, d), (c, d))
    )
    inscribed = 3.0 * volumes / areas.sum(axis=1)
    # Crelle: 6 V R is the area of the triangle whose sides are the products of opposite edges.
    p, q, r = ab * cd, ac * bd, ad * bc
    crelle = np.maximum((p + q + r) * (p + q - r) * (p + r - q) * (q + r - p), 0.0)
    circumscribed = 0.25 * np.sqrt(crelle) / (6.0 * volumes)
    radius_ratio = 3.0 * inscribed / np.maximum(circumscribed, np.finfo(float).tiny)
    longest = np.max([ab, ac, ad, bc, bd, cd], axis=0)
    least_height = 3.0 * volumes / areas.max(axis=1)
    return np.concatenate([ab, ac, ad, bc, bd, cd]), radius_ratio, np.sqrt(2.0 / 3.0) * longest / least_height


def _layers(num_vertices: int, tetrahedra: IntArray, on_surface: IntArray) -> int:
    pairs = tetrahedra[:, [0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3]].reshape(-1, 2)
    rows, columns = np.vstack([pairs, pairs[:, ::-1]]).T
    links = scipy.sparse.csr_array(
        scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(num_vertices,) * 2)
    )
    reached = np.ones(num_vertices, dtype=bool)
    reached[np.unique(tetrahedra)] = False
    front = np.zeros(num_vertices, dtype=bool)
    front[on_surface] = True
    layers = -1
    while front.any():
        reached |= front
        front = (links @ front.astype(float) > 0.0) & ~reached
        layers += 1
    return layers


def _deviation(
    from_vertices: FloatArray, from_triangles: IntArray, vertices: FloatArray, triangles: IntArray
) -> float:
    probes = np.vstack([from_vertices[np.unique(from_triangles)], from_vertices[from_triangles].mean(axis=1)])
    return float(distance_to_surface(probes, vertices, triangles).max())
