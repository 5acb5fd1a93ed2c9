"""Contact patches: the faces between two geometries and their wrench, as returned to users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.face_arrays import FaceArrays
from hydro_sim_core.contact.geometry_set import GeometrySet, make_geometry_set
from hydro_sim_core.contact.laws import EQUIVALENT_POINT, PRESSURE_FIELD, SOFT_MINIMUM
from hydro_sim_core.contact.moments import moments_within
from hydro_sim_core.contact.poses import as_array, as_pose, relative_pose
from hydro_sim_core.contact.pressure_field.energy import overlap_energy
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    FaceBuffer,
    make_face_buffer,
)
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.contact.pressure_field.query import canonical_order, find_faces, make_query_scratch
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE, OVERLAPS
from hydro_sim_core.contact.quality import PatchQuality, patch_quality
from hydro_sim_core.description.spec import Representation
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """All contact faces between geometries A and B and the wrench they transmit, in the world frame.

    The wrench is the static one (pressure only) when the patch comes from ``compute_patch`` and the one the solver
    applied over the last step (with damping and friction) when it comes from a ``World``.

    Attributes:
        face_source: The faces, or a function that makes them on first access, as most callers need only the wrench.
        p_WR: (3,) reference point of the moment, m.
        force_on_b: (3,) N.
        moment_on_b_at_reference: (3,) N m, about ``p_WR``.
        normal_force_on_b: (3,) part of the force along the face normals, N.
        name_a: Body of A; empty for bare geometries.
        name_b: Body of B; empty for bare geometries.
        geometry_a: Name of geometry A.
        geometry_b: Name of geometry B.
        dropped_force: Pressure times area of polygons across which a pressure falls, N: of a patch from
            ``compute_patch`` all of those; of one from a ``World`` what a step left out along the contact's force of
            those that are turned clearly past upright.
        faded_force: Pressure times area, along the contact's force, that a step leaves out of faces that are nearly
            upright, on either side, as of a pad's rim, N; 0 of a patch from ``compute_patch``.
        overlaps_without_faces: Whether the bodies overlap without any face, so that no contact force acts.
        law: Contact law, one of ``contact.laws``.
        apart: How far from its centroid a step lets each face act, as a share of what has the moment of its pressure
            about it: 0 at the centroid, 1 as in a patch from ``compute_patch``.
    """

    face_source: FaceArrays | Callable[[], FaceArrays] = field(repr=False)
    p_WR: Array
    force_on_b: Array
    moment_on_b_at_reference: Array
    normal_force_on_b: Array
    name_a: str = ""
    name_b: str = ""
    geometry_a: str = ""
    geometry_b: str = ""
    dropped_force: float = 0.0
    faded_force: float = 0.0
    overlaps_without_faces: bool = False
    law: str = PRESSURE_FIELD
    apart: float = 1.0
    _overlap: tuple[GeometrySet, int, int, Array, Array] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        fx, fy, fz = self.force_on_b
        bodies = f"'{self.name_a}' on '{self.name_b}'" if self.name_a or self.name_b else "A on B"
        return f"<ContactPatch {bodies}: {self.num_faces} faces, ({fx:.4g}, {fy:.4g}, {fz:.4g}) N>"

    @cached_property
    def faces(self) -> FaceArrays:
        """The faces."""
        return self.face_source if isinstance(self.face_source, FaceArrays) else self.face_source()

    @property
    def num_faces(self) -> int:
        """Number of faces."""
        return len(self.faces.areas)

    @property
    def centroids(self) -> Array:
        """(F, 3) face centroids, m."""
        return self.faces.centroids

    @property
    def normals(self) -> Array:
        """(F, 3) unit normals from A into B."""
        return self.faces.normals

    @property
    def areas(self) -> Array:
        """(F,) face areas, m^2."""
        return self.faces.areas

    @property
    def pressures(self) -> Array:
        """(F,) pressures at the centroids, Pa; negative in the margin skirt."""
        return self.faces.pressures

    @property
    def gradients(self) -> Array:
        """(F, 2) slopes of the fields of A and B along the normal, Pa/m; infinite on a rigid side."""
        return self.faces.gradients

    @cached_property
    def polygons(self) -> list[Array]:
        """One (n, 3) array of vertices per face, m."""
        return [v[:n] for v, n in zip(self.faces.vertices, self.faces.num_vertices, strict=True)]

    @cached_property
    def area(self) -> float:
        """Area of the faces that carry pressure, m^2; the margin skirt does not count."""
        return float(np.sum(self.faces.areas[self.faces.pressures >= 0.0]))

    @cached_property
    def vertex_pressures(self) -> list[Array]:
        """One (n,) array of pressures at the polygon's vertices per face, Pa."""
        return [
            pressure + (vertices - centroid) @ gradient
            for vertices, pressure, centroid, gradient in zip(
                self.polygons, self.pressures, self.centroids, self.faces.field_gradients, strict=True
            )
        ]

    @cached_property
    def peak_pressure(self) -> float:
        """Largest pressure of the patch, which occurs at a vertex, Pa; 0 without positive pressure."""
        return max((float(p.max()) for p in self.vertex_pressures if p.max() > 0.0), default=0.0)

    @property
    def pressing(self) -> NDArray[np.bool_]:
        """(F,) which faces transmit force: those with pressure, at an equivalent point all, as a line has none.

        All, too, where none has pressure but bodies push: they meet within the step, at whose begin the faces are.
        """
        has_pressure = self.faces.pressures > 0.0
        if self.law == EQUIVALENT_POINT or (not has_pressure.any() and np.any(self.normal_force_on_b)):
            return np.ones(self.num_faces, dtype=np.bool_)
        return has_pressure

    @property
    def face_forces(self) -> Array:
        """(F,) normal force of each face, N.

        At an equivalent point, the centroid of all faces, equal parts of that of the patch; where no face has pressure
        yet, parts of it by area.
        """
        forces = self.faces.areas * np.maximum(self.faces.pressures, 0.0)
        if self.law != EQUIVALENT_POINT and (np.any(forces) or not np.any(self.normal_force_on_b)):
            return forces
        parts = np.ones(self.num_faces) if self.law == EQUIVALENT_POINT else self.faces.areas
        return np.linalg.norm(self.normal_force_on_b) * parts / max(np.sum(parts), np.finfo(float).tiny)

    @cached_property
    def centroid(self) -> Array:
        """(3,) centre of pressure, m; without positive pressure the mean of the face centroids, NaN without faces."""
        weight = self.face_forces
        if not np.any(weight):
            weight = self.faces.areas
        return weight @ self.faces.centroids / np.sum(weight) if self.num_faces else np.full(3, np.nan)

    @cached_property
    def quality(self) -> PatchQuality:
        """Resolution of the patch by its faces, and estimated errors of its force and of its resistance to tilt."""
        found = patch_quality(self.faces, self.dropped_force, self.overlaps_without_faces)
        found = replace(found, moment_error=(1.0 - self.apart**2) * found.moment_error)
        # The force at an equivalent point is what motion asks for, that of clouds is a sum over points: faces only show
        # the patch.
        return replace(found, force_error=0.0) if self.law in (EQUIVALENT_POINT, SOFT_MINIMUM) else found

    def moment_on_b(self, point: ArrayLike) -> Array:
        """Moment of the contact forces on B about ``point`` (3,) m, in N m.

        Raises:
            InputError: The point is not three finite numbers.
        """
        arm = self.p_WR - as_array(point, (3,), "moment_on_b", "point")
        return self.moment_on_b_at_reference + np.cross(arm, self.force_on_b)

    @cached_property
    def energy(self) -> float:
        """Energy stored in both fields, J: the integral of the smaller pressure over the overlap.

        Elandt 2019, section V: each body contributes the part of its field beyond the contact surface. Available only
        for patches from ``compute_patch``.

        Raises:
            AttributeError: The patch does not hold its geometries.
        """
        if self._overlap is None:
            raise AttributeError("only a patch from compute_patch knows its energy")
        return overlap_energy(*self._overlap)


def world_faces(
    faces: FaceBuffer, first: int, last: int, R_WB: Array, p_WB: Array, swapped: bool = False
) -> FaceArrays:
    """Copy faces ``first`` to ``last`` of a buffer into the world frame.

    Args:
        faces: Buffer with faces in the frame of the pair's geometry B.
        first: First face.
        last: One past the last face.
        R_WB: (3, 3) rotation of geometry B.
        p_WB: (3,) origin of geometry B, m.
        swapped: Whether the pair was queried in reverse order: reverse the normals and swap the sides.
    """
    data = faces.data[:, first:last]
    slopes = data[SLOPE_A : SLOPE_A + 2].T
    normals = data[NORMAL : NORMAL + 3].T @ R_WB.T
    return FaceArrays(
        centroids=data[CENTROID : CENTROID + 3].T @ R_WB.T + p_WB,
        normals=-normals if swapped else normals,
        areas=data[AREA].copy(),
        pressures=data[PRESSURE].copy(),
        gradients=np.ascontiguousarray(slopes[:, ::-1] if swapped else slopes),
        field_gradients=data[GRADIENT : GRADIENT + 3].T @ R_WB.T,
        vertices=faces.polygons[first:last] @ R_WB.T + p_WB,
        num_vertices=faces.num_vertices[first:last].copy(),
    )


@lru_cache(maxsize=1)
def set_of_pair(a: Geometry, b: Geometry) -> GeometrySet:
    """Both geometries as a set, cached for queries at other poses: making it takes as long as finding the patch."""
    return make_geometry_set((a, b))


def compute_patch(
    a: Geometry,
    X_WA: ArrayLike,
    b: Geometry,
    X_WB: ArrayLike,
    representation: Representation = "polygon",
    *,
    every_polygon: bool = True,
) -> ContactPatch:
    """Contact patch of two geometries and its static wrench.

    For many poses of geometries with very fine meshes there is ``PatchQuery``, which may use a GPU.

    Args:
        a: Geometry A.
        X_WA: (4, 4) pose of A in the world.
        b: Geometry B.
        X_WB: (4, 4) pose of B in the world.
        representation: ``"polygon"``: one face a pair of elements; ``"triangle"``: each polygon as a fan around its
            centroid.
        every_polygon: Whether polygons of equal pressure press however far a pressure falls across them: the wrench is
            then minus the slope of the energy in every pose, and does not jump. False leaves out those that are turned
            by more than 22.5 degrees past upright, as Drake does: what a step begins with.

    Returns:
        The patch. Force and moment of a face are the exact integrals of its linear pressure: ``A p_c n`` at the
        centroid (Masterjohn 2022, section III), and the moment of the pressure about it. Faces with negative centroid
        pressure add nothing.

    Raises:
        InputError: A pose is not a rigid transform, the representation is unknown, an argument is not a geometry, or
            both geometries are rigid or both are half spaces.
    """
    _check_representation(representation)
    canonical = is_canonical(a, b)
    poses = (as_pose(X_WA, "compute_patch", "X_WA"), as_pose(X_WB, "compute_patch", "X_WB"))
    first, second = (0, 1) if canonical else (1, 0)
    geometries = set_of_pair(a, b)
    R_BA, p_BA = relative_pose(poses[first], poses[second])
    buffer, count, report = _find(geometries, first, second, R_BA, p_BA, every_polygon)
    R_WB, p_WB = poses[second][:3, :3], poses[second][:3, 3]
    faces = world_faces(buffer, 0, count, R_WB, p_WB, swapped=not canonical)
    dropped = _force_on_falling(faces) + (0.0 if every_polygon else report[DROPPED_FORCE])
    if representation == "triangle":
        fans, num_triangles = _in_triangles(buffer, count)
        faces = world_faces(fans, 0, num_triangles, R_WB, p_WB, swapped=not canonical)
    pressed = faces.pressures > 0.0
    forces = (faces.areas * np.maximum(faces.pressures, 0.0))[:, None] * faces.normals
    moments = np.cross(faces.centroids - poses[1][:3, 3], forces) + moments_within(faces) * pressed[:, None]
    return ContactPatch(
        face_source=faces,
        p_WR=poses[1][:3, 3],
        force_on_b=forces.sum(axis=0),
        normal_force_on_b=forces.sum(axis=0),
        moment_on_b_at_reference=moments.sum(axis=0),
        dropped_force=float(dropped),
        overlaps_without_faces=count == 0 and bool(dropped > 0.0 or report[OVERLAPS]),
        _overlap=(geometries, first, second, R_BA, p_BA),
    )


def _check_representation(representation: str) -> None:
    known = get_args(Representation)
    if representation not in known:
        problem = f"{representation!r} is unknown"
        raise InputError("compute_patch", "representation", problem, f"use {' or '.join(known)}")


def _force_on_falling(faces: FaceArrays) -> float:
    """Pressure times area of faces across which a pressure falls, N."""
    falling = faces.gradients.min(axis=1, initial=np.inf) <= 0.0
    return float(faces.areas[falling] @ np.maximum(faces.pressures[falling], 0.0))


def _find(
    geometries: GeometrySet, a: int, b: int, R_BA: Array, p_BA: Array, every: bool
) -> tuple[FaceBuffer, int, Array]:
    """Faces of a canonical pair in a buffer that is large enough, their number, and what the query reports."""
    capacity, count = 0, 256
    while count > capacity:
        capacity = 2 * count
        scratch, buffer = make_query_scratch(geometries, capacity), make_face_buffer(capacity)
        count = find_faces(geometries, a, b, R_BA, p_BA, every, scratch, buffer, 0)
    return buffer, count, scratch.report


def _in_triangles(faces: FaceBuffer, count: int) -> tuple[FaceBuffer, int]:
    """The first ``count`` faces of a buffer as triangles in a buffer of their own, and their number."""
    fans = make_face_buffer(int(faces.num_vertices[:count].sum()))
    fans.data[:, :count] = faces.data[:, :count]
    fans.polygons[:count] = faces.polygons[:count]
    fans.num_vertices[:count] = faces.num_vertices[:count]
    return fans, split_into_fans(fans, 0, count)


def is_canonical(a: Geometry, b: Geometry) -> bool:
    """Whether A comes first in a query; see ``query.canonical_order``.

    Raises:
        InputError: An argument is not a geometry, or the two have no pressure-field contact.
    """
    for name, geometry in (("a", a), ("b", b)):
        if not isinstance(geometry, Geometry):
            problem = f"is of type {type(geometry).__name__}"
            raise InputError("compute_patch", name, problem, "make a geometry with hydro_sim_core.geometry")
    canonical = canonical_order(a.kind, b.kind)
    if canonical is None:
        raise InputError(
            "compute_patch",
            f"{a.kind.name} and {b.kind.name}",
            "this pair has no pressure-field contact",
            "make one of the two a compliant mesh, or a rigid mesh against a compliant half space",
        )
    return canonical
