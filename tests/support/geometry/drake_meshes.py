"""Drake's hydroelastic meshes and pressures, as an oracle for ours."""

from __future__ import annotations

import numpy as np
from pydrake.common.value import AbstractValue  # noqa: F401  (registers the value types that Eval returns)
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
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

from hydro_sim_core.geometry import Geometry


def drake_mesh(
    shape: Shape, resolution: float, modulus: float | None, margin: float
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and elements of the mesh that Drake makes of a shape; rigid when ``modulus`` is None."""
    scene, geometry_id, _, _ = _scene(shape, resolution, modulus, margin)
    mesh = scene.model_inspector().maybe_get_hydroelastic_mesh(geometry_id)
    if isinstance(mesh, VolumeMesh):
        elements = [[tet.vertex(i) for i in range(4)] for tet in mesh.tetrahedra()]
    else:
        elements = [[triangle.vertex(i) for i in range(3)] for triangle in mesh.triangles()]
    return np.array(mesh.vertices()), np.array(elements)


def drake_pressure_on_plane(
    shape: Shape, resolution: float, modulus: float, margin: float, X_GP: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points (in the shape's frame) and Drake's pressures where the plane z = 0 of frame P cuts the shape."""
    scene, _, source, frame = _scene(shape, resolution, modulus, margin)
    plane = GeometryInstance(RigidTransform(X_GP), HalfSpace(), "plane")
    properties = ProximityProperties()
    AddRigidHydroelasticProperties(properties)
    plane.set_proximity_properties(properties)
    scene.RegisterGeometry(source, scene.world_frame_id(), plane)
    context = scene.CreateDefaultContext()
    poses = FramePoseVector()
    poses.set_value(frame, RigidTransform())
    scene.get_source_pose_port(source).FixValue(context, poses)
    query = scene.get_query_output_port().Eval(context)
    (surface,) = query.ComputeContactSurfaces(HydroelasticContactRepresentation.kPolygon)
    mesh, field = surface.poly_mesh_W(), surface.poly_e_MN()
    count = mesh.num_vertices()
    points = np.array([mesh.vertex(i) for i in range(count)])
    return points, np.array([field.EvaluateAtVertex(i) for i in range(count)])


def assert_same_mesh(geometry: Geometry, vertices: np.ndarray, elements: np.ndarray) -> None:
    """The two meshes have the same vertices to rounding and the same elements, whatever their order."""
    assert len(geometry.vertices) == len(vertices)
    distance, match = cKDTree(vertices).query(geometry.vertices)
    assert distance.max() <= 1e-13 * np.abs(vertices).max()
    assert len(set(match)) == len(vertices)
    ours = {tuple(sorted(row)) for row in match[geometry.elements].tolist()}
    assert len(geometry.elements) == len(elements)
    assert ours == {tuple(sorted(row)) for row in elements.tolist()}


def _scene(shape: Shape, resolution: float, modulus: float | None, margin: float) -> tuple:
    scene = SceneGraph()
    source = scene.RegisterSource("source")
    frame = scene.RegisterFrame(source, GeometryFrame("frame"))
    instance = GeometryInstance(RigidTransform(), shape, "shape")
    properties = ProximityProperties()
    if modulus is None:
        AddRigidHydroelasticProperties(resolution, properties)
    else:
        AddCompliantHydroelasticProperties(resolution, modulus, properties)
    properties.AddProperty("hydroelastic", "margin", float(margin))
    instance.set_proximity_properties(properties)
    return scene, scene.RegisterGeometry(source, frame, instance), source, frame
