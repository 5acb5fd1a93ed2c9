"""Geometries from vertices and elements: validation, orientation, pressure gradients, tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import float_rows, index_rows, non_negative, positive, real_numbers
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, GeometryKind, IntArray
from hydro_sim_core.geometry.simplices import (
    boundary_triangles,
    enclosed_volume,
    linear_fields,
    longest_edges,
    sorted_rows,
    tetrahedron_faces,
    tetrahedron_volumes,
    triangle_areas,
)
from hydro_sim_core.geometry.tree import build_tree

#: Ratio of volume or area to a cube or square on the longest edge, below which an element has no usable normal or
#: gradient.
FLATNESS = 1e-13

#: Length, relative to the body's depth, below which a part of a primitive's medial axis counts as a point.
MEDIAL_TOLERANCE = 1e-9


def compliant_mesh(
    vertices: ArrayLike,
    tetrahedra: ArrayLike,
    pressure: ArrayLike,
    *,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make a compliant volume from tetrahedra with a pressure at every vertex.

    Negatively oriented tetrahedra are reoriented (their last two vertices are swapped).

    Args:
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) vertex indices.
        pressure: (N,) pressure at the vertices, Pa: zero on the surface of the body, largest deep inside.
        modulus: Hydroelastic modulus, Pa; None takes the largest pressure.
        margin: Distance of the mesh's surface outside the zero level set of the pressure, m.

    Raises:
        InputError: An array has the wrong shape or type or is not finite, an index is out of range, a
            tetrahedron is flat, three tetrahedra share a face or two lie on the same side of it, or no
            pressure is positive.
    """
    source = "compliant_mesh"
    vertices = float_rows(source, "vertices", vertices, 3)
    tetrahedra = index_rows(source, "tetrahedra", tetrahedra, 4, len(vertices))
    pressure = _vertex_pressure(source, pressure, len(vertices))
    largest = float(pressure[tetrahedra].max())
    if not largest > 0.0:
        raise InputError(source, "pressure", f"is at most {largest:g} Pa", "give a positive pressure inside")
    modulus = largest if modulus is None else positive(source, "modulus", modulus)
    margin = non_negative(source, "margin", margin)
    tetrahedra = oriented(source, vertices, tetrahedra)
    _check_faces(source, tetrahedra)
    boxes, links = build_tree(vertices, tetrahedra)
    return Geometry(
        kind=GeometryKind.COMPLIANT_MESH,
        vertices=vertices,
        elements=tetrahedra,
        pressure=pressure,
        fields=linear_fields(vertices, tetrahedra, pressure),
        modulus=modulus,
        margin=margin,
        tree_boxes=boxes,
        tree_links=links,
    )


def rigid_mesh(vertices: ArrayLike, triangles: ArrayLike, *, open_surface: bool = False) -> Geometry:
    """Make a rigid surface from triangles that are counter-clockwise seen from outside.

    Args:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices.
        open_surface: Accept an open surface, such as a patch of terrain. Its back makes no contact, and bodies can pass
            around the boundary to it.

    Raises:
        InputError: An array has the wrong shape or type or is not finite, an index is out of range, a
            triangle is degenerate, an edge is open or is shared by more than two triangles, neighbouring triangles have
            opposite orientations, or the surface is oriented inwards.
    """
    source = "rigid_mesh"
    vertices = float_rows(source, "vertices", vertices, 3)
    triangles = index_rows(source, "triangles", triangles, 3, len(vertices))
    flat = np.flatnonzero(
        triangle_areas(vertices, triangles) <= FLATNESS * longest_edges(vertices, triangles) ** 2
    )
    if flat.size:
        raise InputError(source, f"triangles[{flat[0]}]", "has no area", "remove the triangle")
    check_surface(source, vertices, triangles, open_surface=open_surface)
    boxes, links = build_tree(vertices, triangles)
    return Geometry(
        kind=GeometryKind.RIGID_MESH,
        vertices=vertices,
        elements=triangles,
        pressure=np.zeros(len(vertices)),
        fields=np.empty((0, 4)),
        modulus=np.inf,
        margin=0.0,
        tree_boxes=boxes,
        tree_links=links,
    )


def primitive(
    vertices: FloatArray,
    tetrahedra: IntArray,
    unit_pressure: FloatArray,
    *,
    modulus: float | None,
    margin: float,
) -> Geometry:
    """Make the compliant volume of a primitive, or its rigid surface when ``modulus`` is None.

    Args:
        vertices: (N, 3) positions, m, including the margin.
        tetrahedra: (M, 4) vertex indices, either orientation.
        unit_pressure: (N,) pressure as a fraction of the modulus.
        modulus: Hydroelastic modulus, Pa.
        margin: Margin included in the vertices, m.
    """
    if modulus is not None:
        return compliant_mesh(vertices, tetrahedra, modulus * unit_pressure, modulus=modulus, margin=margin)
    try:
        triangles = boundary_triangles(oriented("rigid_mesh", vertices, tetrahedra))
    except InputError:
        # Nobody who asks for a primitive knows its tetrahedra.
        problem = (
            f"is so thin beside its length of {np.ptp(vertices, axis=0).max():.3g} m that it has no volume"
        )
        raise InputError("rigid_mesh", "", problem, "make it thicker or smaller") from None
    used, triangles = np.unique(triangles, return_inverse=True)
    return rigid_mesh(vertices[used], triangles.reshape(-1, 3))


def check_surface(source: str, vertices: FloatArray, triangles: IntArray, *, open_surface: bool) -> None:
    """Raise unless the triangles bound a solid or, if ``open_surface``, could be part of the boundary of one."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    order, starts, counts = sorted_rows(edges)
    first = edges[order[starts]]
    second = edges[order[np.minimum(starts + 1, len(order) - 1)]]

    crowded = counts > 2
    _raise_for_edge(
        source, vertices, first, crowded, "is shared by more than two triangles", "split the solids there"
    )
    turned = (counts == 2) & (first == second).all(axis=1)
    mend = "turn all triangles counter-clockwise seen from outside"
    _raise_for_edge(source, vertices, first, turned, "joins triangles that are turned opposite ways", mend)
    if open_surface:
        return
    mend = "close the hole, merge duplicate vertices, or take the convex hull"
    _raise_for_edge(source, vertices, first, counts == 1, "is open: it belongs to one triangle only", mend)
    if not enclosed_volume(vertices, triangles) > 0.0:
        raise InputError(source, "triangles", "bound a solid inside out", "reverse every triangle")


def _raise_for_edge(
    source: str, vertices: FloatArray, edges: IntArray, wrong: np.ndarray, problem: str, mend: str
) -> None:
    found = np.flatnonzero(wrong)
    if not found.size:
        return
    a, b = edges[found[0]]
    ends = f"{np.round(vertices[a], 6).tolist()} to {np.round(vertices[b], 6).tolist()}"
    problem = f"from {ends} {problem} ({found.size} such edges)"
    raise InputError(source, f"edge ({a}, {b})", problem, mend)


def _vertex_pressure(source: str, pressure: ArrayLike, num_vertices: int) -> FloatArray:
    mend = f"give one value a vertex: ({num_vertices},)"
    values = real_numbers(source, "pressure", pressure, mend)
    if values.shape != (num_vertices,):
        raise InputError(source, "pressure", f"has shape {values.shape}", mend)
    return float_rows(source, "pressure", values[:, None], 1)[:, 0]


def oriented(source: str, vertices: FloatArray, tetrahedra: IntArray) -> IntArray:
    """Reorient negatively oriented tetrahedra; raise for flat ones."""
    volumes = tetrahedron_volumes(vertices, tetrahedra)
    flat = np.flatnonzero(np.abs(volumes) <= FLATNESS * longest_edges(vertices, tetrahedra) ** 3)
    if flat.size:
        row = tetrahedra[flat[0]].tolist()
        raise InputError(source, f"tetrahedra[{flat[0]}]", f"{row} has no volume", "remove the tetrahedron")
    return np.where((volumes < 0.0)[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)


def _check_faces(source: str, tetrahedra: IntArray) -> None:
    """Raise unless every face belongs to one tetrahedron or lies between two."""
    faces = tetrahedron_faces(tetrahedra)
    order, starts, counts = sorted_rows(faces)
    crowded = counts > 2
    first, second = order[starts], order[np.minimum(starts + 1, len(order) - 1)]
    # Two oriented faces with the same vertices are cyclic shifts of each other iff they have the same orientation.
    same_side = (counts == 2) & (
        (faces[first][:, None, :] == faces[second][:, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]])
        .all(axis=2)
        .any(axis=1)
    )
    wrong = np.flatnonzero(crowded | same_side)
    if wrong.size:
        face = faces[first[wrong[0]]].tolist()
        owners = sorted({int(i) // 4 for i in order[starts[wrong[0]] : starts[wrong[0]] + counts[wrong[0]]]})
        problem = f"overlap: they share the face {face}"
        raise InputError(
            source, f"tetrahedra {owners}", problem, "remove duplicate or overlapping tetrahedra"
        )
