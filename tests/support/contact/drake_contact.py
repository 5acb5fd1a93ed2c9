"""Drake's contact surfaces, as an oracle for ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from pydrake.common.value import AbstractValue  # noqa: F401  (registers the value types that Eval returns)
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddRigidHydroelasticProperties,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    HydroelasticContactRepresentation,
    ProximityProperties,
    SceneGraph,
    Shape,
    VolumeMesh,
)
from pydrake.math import RigidTransform
from scipy.spatial import cKDTree

import hydro_sim_core as hs
from hydro_sim_core.contact import FaceArrays
from hydro_sim_core.geometry import Geometry

#: Touching poses in which a pair is compared.
POSES = 12
#: As a fraction of the area and of the load: the forces of bodies pushed through each other cancel.
TOLERANCE = 1e-12
#: Typical distance of a patch from the origin, m.
ARM = 0.1
#: Draws the poses of A and B.
Place = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Body:
    """One shape in both programs; ``modulus`` is None when it is rigid."""

    ours: Geometry
    shape: Shape
    modulus: float | None
    resolution: float = 0.02
    margin: float = 0.0
    slab_thickness: float = 1.0


@dataclass(frozen=True)
class Wrench:
    """What Drake's faces transmit: faces with negative pressure at the centroid count as faces but carry nothing.

    ``load`` is the sum of the sizes of the faces' forces.
    """

    force_on_b: np.ndarray
    moment_on_b_about_origin: np.ndarray
    area: float
    load: float
    num_faces: int


class DrakePair:
    """Two bodies in a Drake scene."""

    def __init__(self, a: Body, b: Body) -> None:
        self._scene = SceneGraph()
        source = self._scene.RegisterSource("source")
        self._frames = [self._scene.RegisterFrame(source, GeometryFrame(name)) for name in "ab"]
        self._bodies = (a, b)
        self._ids = []
        for body, frame in zip(self._bodies, self._frames, strict=True):
            instance = GeometryInstance(RigidTransform(), body.shape, "shape")
            instance.set_proximity_properties(_properties(body))
            self._ids.append(self._scene.RegisterGeometry(source, frame, instance))
        self._context = self._scene.CreateDefaultContext()
        self._poses = self._scene.get_source_pose_port(source)

    def geometries(self) -> list[Geometry]:
        """Our geometries on exactly Drake's vertices and elements, with our pressures."""
        inspector = self._scene.model_inspector()
        return [
            _on_mesh(body, inspector.maybe_get_hydroelastic_mesh(geometry))
            for body, geometry in zip(self._bodies, self._ids, strict=True)
        ]

    def wrench(self, X_WA: np.ndarray, X_WB: np.ndarray, representation: str = "polygon") -> Wrench:
        """Sum of Drake's faces."""
        poses = FramePoseVector()
        for frame, X in zip(self._frames, (X_WA, X_WB), strict=True):
            poses.set_value(frame, RigidTransform(X))
        self._poses.FixValue(self._context, poses)
        query = self._scene.get_query_output_port().Eval(self._context)
        kind = HydroelasticContactRepresentation
        surfaces = query.ComputeContactSurfaces(
            kind.kPolygon if representation == "polygon" else kind.kTriangle
        )
        force, moment, area, load, count = np.zeros(3), np.zeros(3), 0.0, 0.0, 0
        for surface in surfaces:
            # Drake's normals point out of N into M, so they push M.
            sign = 1.0 if surface.id_M() == self._ids[1] else -1.0
            for face_area, centroid, normal, pressure in _faces(surface, representation):
                count += 1
                if pressure < 0.0:
                    continue
                push = sign * face_area * pressure * normal
                force, moment, area = force + push, moment + np.cross(centroid, push), area + face_area
                load += np.linalg.norm(push)
        return Wrench(force, moment, area, load, count)


def compare(a: Body, b: Body, seed: int, place: Place, representation: str = "polygon") -> None:
    """Hold force, moment, area and number of faces in ``POSES`` touching poses to Drake's."""
    pair = DrakePair(a, b)
    ours_a, ours_b = pair.geometries()
    rng = np.random.default_rng(seed)
    touching = 0
    for _ in range(4 * POSES):
        X_WA, X_WB = place(rng)
        theirs = pair.wrench(X_WA, X_WB, representation)
        patch = hs.contact.compute_patch(
            ours_a, X_WA, ours_b, X_WB, representation=representation, every_polygon=False
        )
        faces = patch.faces
        areas, centroids, normals, pressures = faces.areas, faces.centroids, faces.normals, faces.pressures
        if representation == "polygon" and max(ours_a.margin, ours_b.margin) > 0.0 and len(areas):
            areas, centroids, normals, pressures = joined(faces)
        pushes = (areas * np.maximum(pressures, 0.0))[:, None] * normals
        if representation == "polygon":
            assert len(areas) == theirs.num_faces
        if theirs.load == 0.0:
            assert not pushes.any()
            continue
        allowed = TOLERANCE * theirs.load
        assert np.linalg.norm(pushes.sum(axis=0) - theirs.force_on_b) <= allowed
        assert areas[pressures >= 0.0].sum() == pytest.approx(theirs.area, rel=TOLERANCE)
        if representation == "polygon":
            moment = np.cross(centroids, pushes).sum(axis=0)
            assert np.linalg.norm(moment - theirs.moment_on_b_about_origin) <= ARM * allowed
        touching += 1
        if touching == POSES:
            return
    pytest.fail(f"only {touching} poses touch")


def joined(faces: FaceArrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Areas, centroids, normals and mean pressures of faces, with both sides of a line of zero pressure together.

    Drake does not part them; its face carries the pressure at the centroid of both.
    """
    pressures = faces.pressures
    borders = np.array([_share_an_edge(faces, i) for i in range(len(pressures) - 1)], dtype=bool)
    starts = np.ones(len(pressures), dtype=bool)
    starts[1:] = ~(
        (pressures[:-1] > 0.0)
        & (pressures[1:] < 0.0)
        & (faces.normals[:-1] == faces.normals[1:]).all(axis=1)
        & (faces.gradients[:-1] == faces.gradients[1:]).all(axis=1)
        & borders
    )
    first = np.flatnonzero(starts)
    areas = np.add.reduceat(faces.areas, first)
    centroids = np.add.reduceat(faces.areas[:, None] * faces.centroids, first) / areas[:, None]
    return areas, centroids, faces.normals[first], np.add.reduceat(faces.areas * pressures, first) / areas


def _share_an_edge(faces: FaceArrays, i: int) -> bool:
    """Whether a face and the next have an edge in common on which the pressure is zero."""
    one, other = (faces.vertices[k, : faces.num_vertices[k]] for k in (i, i + 1))
    near = (np.linalg.norm(one[:, None] - other[None], axis=2) < 1e-9).any(axis=1)
    pressures = faces.pressures[i] + (one - faces.centroids[i]) @ faces.field_gradients[i]
    return bool((near & (np.abs(pressures) < 1e-6 * np.abs(pressures).max())).sum() >= 2)


def _properties(body: Body) -> ProximityProperties:
    properties = ProximityProperties()
    half_space = isinstance(body.shape, HalfSpace)
    if body.modulus is None:
        resolution = () if half_space else (body.resolution,)
        AddRigidHydroelasticProperties(*resolution, properties)
    elif half_space:
        AddCompliantHydroelasticPropertiesForHalfSpace(body.slab_thickness, body.modulus, properties)
    else:
        AddCompliantHydroelasticProperties(body.resolution, body.modulus, properties)
    properties.AddProperty("hydroelastic", "margin", float(body.margin))
    return properties


def _on_mesh(body: Body, mesh: object) -> Geometry:
    if mesh is None:
        return body.ours
    vertices = np.array(mesh.vertices())
    if not isinstance(mesh, VolumeMesh):
        return hs.geometry.rigid_mesh(vertices, [[t.vertex(i) for i in range(3)] for t in mesh.triangles()])
    distance, match = cKDTree(body.ours.vertices).query(vertices)
    assert distance.max() <= 1e-12
    return hs.geometry.compliant_mesh(
        vertices,
        [[t.vertex(i) for i in range(4)] for t in mesh.tetrahedra()],
        body.ours.pressure[match],
        modulus=body.modulus,
        margin=body.margin,
    )


def _faces(surface: object, representation: str) -> Iterator[tuple[float, np.ndarray, np.ndarray, float]]:
    polygons = representation == "polygon"
    mesh = surface.poly_mesh_W() if polygons else surface.tri_mesh_W()
    field = surface.poly_e_MN() if polygons else surface.tri_e_MN()
    for face in range(surface.num_faces()):
        centroid = np.asarray(mesh.element_centroid(face))
        if polygons:
            pressure = field.EvaluateCartesian(face, centroid)
        else:
            corners = mesh.triangles()[face]
            pressure = np.mean([field.EvaluateAtVertex(corners.vertex(i)) for i in range(3)])
        yield surface.area(face), centroid, np.asarray(surface.face_normal(face)), pressure
