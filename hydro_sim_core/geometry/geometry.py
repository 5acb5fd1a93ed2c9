"""``Geometry``: the data of every shape, from which the contact query is set up."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry.adjacency import Adjacency, surface_adjacency, volume_adjacency
from hydro_sim_core.geometry.flat_sides import has_coarse_flats
from hydro_sim_core.geometry.simplices import boundary_triangles, enclosed_volume, tetrahedron_volumes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Largest number of elements of a mesh of which all are large: a box with a margin has 44 of them.
FEW_ELEMENTS = 64


class GeometryKind(IntEnum):
    """Kind of elements of a geometry, and whether it has a pressure field."""

    COMPLIANT_MESH = 0
    RIGID_MESH = 1
    COMPLIANT_HALF_SPACE = 2
    RIGID_HALF_SPACE = 3


@dataclass(frozen=True, eq=False)
class Geometry:
    """A rigid surface or a compliant volume, in its own frame G. All arrays are C-contiguous and read-only.

    A half space is the solid z <= 0 with outward normal +z; it has no vertices, elements or tree.

    Attributes:
        kind: Kind of the geometry.
        vertices: (N, 3) positions in G, m.
        elements: (M, 4) positively oriented tetrahedra, or (M, 3) triangles counter-clockwise seen from
            outside.
        pressure: (N,) pressure at each vertex, Pa; zero for rigid geometries, negative in the margin.
        fields: (M, 4) rows ``[gx, gy, gz, c]``: the pressure in element i is ``g . x + c``. One row for a
            compliant half space, none for rigid geometries.
        modulus: Hydroelastic modulus, Pa; infinite for rigid geometries.
        margin: Distance of the mesh's surface outside the zero level set of the pressure, m; 0 for rigid geometries.
        tree_boxes: (K, 6) axis-aligned boxes in G, lower corner then upper corner, m. Node 0 is the root.
        tree_links: (K, 2) children of each node (left, right); (-1, element) for a leaf.
        is_skin: Whether the field is that of a rigid body's skin (see ``geometry.skins``).
    """

    kind: GeometryKind
    vertices: FloatArray
    elements: IntArray
    pressure: FloatArray
    fields: FloatArray
    modulus: float
    margin: float
    tree_boxes: FloatArray
    tree_links: IntArray
    is_skin: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, _read_only(value))

    @property
    def is_rigid(self) -> bool:
        """Whether the geometry has no pressure field."""
        return self.kind in (GeometryKind.RIGID_MESH, GeometryKind.RIGID_HALF_SPACE)

    @property
    def is_half_space(self) -> bool:
        """Whether the geometry is the unbounded solid z <= 0."""
        return self.kind in (GeometryKind.COMPLIANT_HALF_SPACE, GeometryKind.RIGID_HALF_SPACE)

    @property
    def has_inside(self) -> bool:
        """Whether it is known which points lie inside: not for a surface that is not closed."""
        return self.kind != GeometryKind.RIGID_MESH or self.adjacency.is_closed

    @cached_property
    def steepest_slope(self) -> float:
        """Largest slope of the pressure, Pa/m; infinite for rigid geometries."""
        if self.is_rigid:
            return math.inf
        return float(np.linalg.norm(self.fields[:, :3], axis=1).max())

    @cached_property
    def has_coarse_flats(self) -> bool:
        """Whether it has a large flat side of large triangles, or few elements at all, or is a half space."""
        return len(self.elements) <= FEW_ELEMENTS or has_coarse_flats(self.vertices, self.surface_triangles())

    @cached_property
    def adjacency(self) -> Adjacency:
        """Adjacency for walks over the mesh, computed on first access. A half space has none."""
        if self.kind == GeometryKind.COMPLIANT_MESH:
            return volume_adjacency(self.vertices, self.elements, self.pressure)
        return surface_adjacency(self.vertices, self.elements)

    @cached_property
    def body_points(self) -> FloatArray:
        """Points (K, 3) with the bounds of the body without its margin, m; none for a half space."""
        if self.margin == 0.0 or self.is_half_space:
            return self.vertices
        # The pressure is zero on the body's surface, which every edge into the margin crosses.
        starts, ends = (
            self.elements[:, [0, 0, 0, 1, 1, 2]].ravel(),
            self.elements[:, [1, 2, 3, 2, 3, 3]].ravel(),
        )
        crosses = self.pressure[starts] * self.pressure[ends] < 0.0
        starts, ends = starts[crosses], ends[crosses]
        share = (self.pressure[starts] / (self.pressure[starts] - self.pressure[ends]))[:, None]
        crossings = self.vertices[starts] + share * (self.vertices[ends] - self.vertices[starts])
        return np.vstack([self.vertices[self.pressure >= 0.0], crossings])

    def surface_triangles(self) -> IntArray:
        """Vertex indices (T, 3) of the surface, counter-clockwise from outside; none for a half space."""
        if self.kind == GeometryKind.COMPLIANT_MESH:
            return boundary_triangles(self.elements)
        return self.elements[:, :3]

    def volume(self) -> float:
        """Volume of the mesh including its margin, m^3; infinite for a half space."""
        if self.is_half_space:
            return np.inf
        if self.kind == GeometryKind.COMPLIANT_MESH:
            return float(tetrahedron_volumes(self.vertices, self.elements).sum())
        return enclosed_volume(self.vertices, self.elements)


def _read_only(array: NDArray) -> NDArray:
    frozen = np.ascontiguousarray(array)
    if frozen is array and array.flags.writeable:
        frozen = array.copy()  # the caller's own array stays writeable
    frozen.flags.writeable = False
    return frozen
