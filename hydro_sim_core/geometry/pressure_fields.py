"""Pressure at the vertices of a tetrahedral mesh, as a fraction of the hydroelastic modulus.

Every field is zero on the surface and positive inside. ``docs/geometry.md`` explains the choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from hydro_sim_core.arithmetic import dot, norm
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.distance import distance_to_surface, winding_numbers
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.simplices import boundary_triangles, linear_fields, tetrahedron_volumes

#: A vertex is medial if the distance to the surface increases along no edge at more than this rate.
MEDIAL_SLOPE = 0.5

#: Fraction of the local depth up to which Laplace's equation is solved.
MEDIAL_ZONE = 0.8

#: Relative residual at which Laplace's equation counts as solved.
_RESIDUAL = 1e-10


@dataclass(frozen=True, eq=False)
class UnitField:
    """A field as a fraction of the modulus.

    Attributes:
        values: (N,) at the vertices.
        slope: Slope at the surface, 1/m, if it is uniform; None if it has to be taken from the elements.
    """

    values: FloatArray
    slope: float | None = None


def depths(source: str, vertices: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Distance of every vertex to the surface, (N,), m; exactly zero on it.

    Raises:
        InputError: No vertex lies inside.
    """
    surface = boundary_triangles(tetrahedra)
    inside = np.setdiff1d(np.arange(len(vertices)), surface)
    if not inside.size:
        mend = "refine the mesh until at least one vertex lies inside"
        raise InputError(source, "vertices", "all lie on the surface, so there is no pressure inside", mend)
    depth = np.zeros(len(vertices))
    depth[inside] = distance_to_surface(vertices[inside], vertices, surface)
    return depth


def distance_field(
    source: str, vertices: FloatArray, tetrahedra: IntArray, core: Geometry | None = None
) -> UnitField:
    """Normalised distance to the surface, (N,): ``d / max d``, or ``d / (d + distance to the core)``.

    Args:
        source: Name used in error messages.
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) vertex indices.
        core: Rigid mesh inside, on whose surface the field is one. Deeper it increases by one per smallest thickness of
            the layer around the core, as a constant field there would give no force.
    """
    depth = depths(source, vertices, tetrahedra)
    if core is None:
        return UnitField(depth / depth.max(), 1.0 / float(depth.max()))
    to_core, gap = _distance_to_core(source, vertices, tetrahedra, core)
    between = depth / (depth + np.maximum(to_core, 0.0))
    return UnitField(np.where(to_core <= 0.0, 1.0 - to_core / gap, between))


def laplace_field(
    source: str, vertices: FloatArray, tetrahedra: IntArray, core: Geometry | None = None
) -> UnitField:
    """Solution of Laplace's equation, (N,): zero on the surface, one on the core or the medial set.

    Elandt 2019, section VI-A2, by linear finite elements. Points and curves have zero capacity in space: a solution
    prescribed as one only there tends to zero everywhere as the mesh is refined. Without a core the equation is
    therefore solved only up to ``MEDIAL_ZONE`` of the local depth. Deeper, the field is the distance to the surface
    divided by the local depth, which reaches one on the medial set. Inside a core the field increases further, as in
    :func:`distance_field`.

    Args:
        source: Name used in error messages.
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) vertex indices.
        core: Rigid mesh inside.
    """
    if core is None:
        depth = depths(source, vertices, tetrahedra)
        local = _local_depths(vertices, tetrahedra, depth)
        relative = np.divide(depth, local, out=np.zeros_like(depth), where=local > 0.0)
        held = (depth <= 0.0) | (relative >= MEDIAL_ZONE)
        values = np.where(held, relative, 0.0)
    else:
        to_core, gap = _distance_to_core(source, vertices, tetrahedra, core)
        held = to_core <= 0.0
        values = np.where(held, 1.0 - to_core / gap, 0.0)
        held[boundary_triangles(tetrahedra)] = True
    solved = _harmonic(source, vertices, tetrahedra, held, values)
    return UnitField(solved / solved.max() if core is None else solved)


def given_field(
    source: str, vertices: FloatArray, tetrahedra: IntArray, values: FloatArray, tolerance: float
) -> FloatArray:
    """Check values of a user; those on the surface must be nearly zero and are set to zero.

    Args:
        source: Name used in error messages.
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) vertex indices.
        values: (N,) pressures, Pa.
        tolerance: Largest value on the surface, as a fraction of the largest value.

    Raises:
        InputError: The values have the wrong shape, are not finite, not zero on the surface or not positive inside.
    """
    if values.shape != (len(vertices),):
        mend = f"give one pressure a vertex: ({len(vertices)},)"
        raise InputError(source, "field", f"has shape {values.shape}", mend)
    if not np.isfinite(values).all():
        number = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(source, "field", f"is {values[number]} at vertex {number}", "give finite pressures")
    surface = np.unique(boundary_triangles(tetrahedra))
    outside = surface[np.abs(values[surface]).argmax()]
    if not abs(values[outside]) <= tolerance * values.max():
        where = np.round(vertices[outside], 6).tolist()
        problem = f"is {values[outside]:.3g} Pa on the surface at {where}, {values.max():.3g} Pa at most"
        raise InputError(source, "field", problem, "make it zero on the surface and positive inside")
    checked = values.copy()
    checked[surface] = 0.0
    inside = np.setdiff1d(np.unique(tetrahedra), surface)
    if not inside.size:
        mend = "refine the mesh until at least one vertex lies inside"
        raise InputError(source, "vertices", "all lie on the surface, so there is no pressure inside", mend)
    lowest = inside[checked[inside].argmin()]
    if not checked[lowest] > 0.0:
        where = np.round(vertices[lowest], 6).tolist()
        problem = f"is {checked[lowest]:.3g} Pa inside at {where}"
        raise InputError(source, "field", problem, "make it positive inside")
    return checked


def _distance_to_core(
    source: str, vertices: FloatArray, tetrahedra: IntArray, core: Geometry
) -> tuple[FloatArray, float]:
    """Distance of every vertex to the core's surface, negative inside, and least distance of core and surface, m."""
    surface = boundary_triangles(tetrahedra)
    gap = float(distance_to_surface(core.vertices, vertices, surface).min())
    outside = winding_numbers(core.vertices, vertices, surface) < 0.5
    if outside.any() or not gap > 0.0:
        where = np.round(core.vertices[outside.argmax()], 6).tolist()
        problem = f"is not inside the body at {where}"
        raise InputError(source, "core", problem, "move it inside or make it smaller")
    distance = distance_to_surface(vertices, core.vertices, core.elements)
    near = (vertices >= core.vertices.min(axis=0)).all(axis=1) & (vertices <= core.vertices.max(axis=0)).all(
        axis=1
    )
    inside = np.zeros(len(vertices), dtype=bool)
    inside[near] = winding_numbers(vertices[near], core.vertices, core.elements) > 0.5
    # The tetrahedra follow the core's surface within the mesher's envelope.
    extent = norm(np.ptp(core.vertices, axis=0))
    distance[distance <= 1e-6 * extent] = 0.0
    return np.where(inside, -distance, distance), gap


def _local_depths(vertices: FloatArray, tetrahedra: IntArray, depth: FloatArray) -> FloatArray:
    """Depth, (N,), of the medial vertex reached from each vertex by steepest ascent along edges.

    A vertex is medial if the distance to the surface increases along no edge faster than ``MEDIAL_SLOPE``. This selects
    the part of the medial axis where the directions to the two nearest surface points are at least 120 degrees apart,
    without the sheets that run into edges and corners of the body.
    """
    pairs = tetrahedra[:, [0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3]].reshape(-1, 2)
    start, end = np.vstack([pairs, pairs[:, ::-1]]).T
    slope = (depth[end] - depth[start]) / np.linalg.norm(vertices[end] - vertices[start], axis=1)
    order = np.lexsort((end, -slope, start))
    first = order[np.flatnonzero(np.r_[True, np.diff(start[order]) > 0])]
    above = np.arange(len(vertices))
    above[start[first]] = np.where(slope[first] > MEDIAL_SLOPE, end[first], start[first])

    local = depth.copy()
    np.maximum.at(local, start, depth[end])  # medial vertices are near the medial axis, not on it
    while (above[above] != above).any():
        above = above[above]
    return local[above]


def _harmonic(
    source: str, vertices: FloatArray, tetrahedra: IntArray, held: np.ndarray, values: FloatArray
) -> FloatArray:
    """Solve Laplace's equation with linear elements and Dirichlet ``values`` at the vertices in ``held``.

    Because of obtuse tetrahedra, values near the surface can be zero or negative, unlike in the exact solution. They
    are replaced by the least positive value of the solution.
    """
    stiffness = _stiffness(vertices, tetrahedra)
    free = ~held
    solved = values.copy()
    if not free.any():
        return solved
    matrix = stiffness[free][:, free]
    right = -(stiffness[free][:, held] @ values[held])
    found = _conjugate_gradients(matrix, right, limit=20 * len(right) + 100)
    if found is None:
        mend = "improve the mesh or choose the distance field"
        raise InputError(source, "field", "Laplace's equation could not be solved", mend)
    solved[free] = found
    solved[free & (solved <= 0.0)] = solved[solved > 0.0].min()
    return solved


def _conjugate_gradients(matrix: scipy.sparse.csr_array, right: FloatArray, limit: int) -> FloatArray | None:
    """Solve a symmetric positive definite system, preconditioned by its diagonal, to ``_RESIDUAL``.

    Returns:
        The solution; None if ``limit`` iterations do not suffice.
    """
    found, residual = np.zeros(len(right)), right.copy()
    inverse_diagonal = 1.0 / matrix.diagonal()
    enough = _RESIDUAL * norm(right)
    direction, before = np.zeros(len(right)), 1.0
    for _ in range(limit):
        if norm(residual) <= enough:
            return found
        scaled = inverse_diagonal * residual
        now = dot(residual, scaled)
        direction = scaled + (now / before) * direction
        before = now
        moved = matrix @ direction
        step = now / dot(direction, moved)
        found += step * direction
        residual -= step * moved
    return None


def _stiffness(vertices: FloatArray, tetrahedra: IntArray) -> scipy.sparse.csr_array:
    """Stiffness matrix (N, N): sum over elements of ``V grad(phi_i) . grad(phi_j)``."""
    volumes = tetrahedron_volumes(vertices, tetrahedra)
    gradients = np.empty((len(tetrahedra), 4, 3))
    for corner in range(4):
        hat = np.zeros((len(tetrahedra), 4))
        hat[:, corner] = 1.0
        local = np.arange(4 * len(tetrahedra)).reshape(-1, 4)
        gradients[:, corner] = linear_fields(vertices[tetrahedra].reshape(-1, 3), local, hat.ravel())[:, :3]
    entries = np.einsum("m,mik,mjk->mij", volumes, gradients, gradients)
    rows, columns = np.repeat(tetrahedra, 4, axis=1), np.tile(tetrahedra, (1, 4))
    size = (len(vertices),) * 2
    return scipy.sparse.csr_array(
        scipy.sparse.coo_array((entries.ravel(), (rows.ravel(), columns.ravel())), shape=size)
    )
