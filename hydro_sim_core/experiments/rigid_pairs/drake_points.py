"""Bodies in Drake, with all its defaults: shapes without hydroelastic properties touch at points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydrake.geometry import AddContactMaterial, Box, Cylinder, Mesh, ProximityProperties, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY, Body, BodyScene, Shape
from hydro_sim_core.experiments.rigid_pairs.simulators import write_obj

Array = NDArray[np.float64]


class DrakeBodies:
    """The bodies of a scene in Drake."""

    def __init__(self, scene: BodyScene, folder: Path) -> None:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, scene.time_step)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
        self._bodies = {}
        for body in scene.bodies:
            instance = plant.AddModelInstance(body.name)
            added = plant.AddRigidBody(body.name, instance, _inertia(body))
            self._bodies[body.name] = added
            if not body.is_free:
                plant.WeldFrames(plant.world_frame(), added.body_frame(), RigidTransform(_plain(body.X_WB)))
            for i, shape in enumerate(body.shapes):
                properties = ProximityProperties()
                AddContactMaterial(
                    properties=properties,
                    friction=CoulombFriction(scene.friction, scene.friction),
                    dissipation=scene.dissipation,
                )
                name = f"{body.name}_{i}"
                plant.RegisterCollisionGeometry(
                    added, RigidTransform(), _shape(shape, folder / f"{name}.obj"), name, properties
                )
        plant.Finalize()
        self._plant = plant
        self._simulator = Simulator(builder.Build())
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        for body in scene.free:
            added = self._bodies[body.name]
            plant.SetFreeBodyPose(self._context, added, RigidTransform(_plain(body.X_WB)))
            v = plant.GetVelocities(self._context)
            first = added.floating_velocities_start_in_v()
            v[first + 3 : first + 6] = body.velocity
            plant.SetVelocities(self._context, v)
        self._simulator.Initialize()
        self._time_step, self._steps = scene.time_step, 0

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self._steps += n
        self._simulator.AdvanceTo(self._steps * self._time_step)

    def pose(self, name: str) -> Array:
        """Pose (4, 4) of a body in the world."""
        X_WB = self._plant.EvalBodyPoseInWorld(self._context, self._bodies[name])
        return np.asarray(X_WB.GetAsMatrix4())

    def twist(self, name: str) -> Array:
        """Angular and linear velocity (6,) of a body and its origin in the world, rad/s and m/s."""
        V = self._plant.EvalBodySpatialVelocityInWorld(self._context, self._bodies[name])
        return np.concatenate([V.rotational(), V.translational()])

    def force(self, a: str, b: str) -> Array:
        """Force (3,) that body ``a`` exerts on ``b``, N."""
        numbers = self._bodies[a].index(), self._bodies[b].index()
        results: Any = self._plant.get_contact_results_output_port().Eval(self._context)
        total = np.zeros(3)
        for i in range(results.num_point_pair_contacts()):
            contact = results.point_pair_contact_info(i)
            pair = contact.bodyA_index(), contact.bodyB_index()
            if pair in (numbers, numbers[::-1]):
                total += contact.contact_force() if pair == numbers else -contact.contact_force()
        return total


def _plain(numbers: Any) -> Any:
    """An array of the type that Drake's stubs ask for."""
    return np.asarray(numbers, dtype=np.float64)


def _inertia(body: Body) -> SpatialInertia:
    if not body.is_free:
        return SpatialInertia.SolidSphereWithMass(1.0, 1.0)
    m = (body.inertia / body.mass).tolist()
    unit = UnitInertia(m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2])
    return SpatialInertia(body.mass, _plain([0.0, 0.0, 0.0]), unit)


def _shape(shape: Shape, path: Path) -> Any:
    lengths: Any = shape.lengths
    match shape.kind:
        case "box":
            return Box(lengths["size"])
        case "sphere":
            return Sphere(lengths["radius"])
        case "cylinder":
            return Cylinder(lengths["radius"], lengths["length"])
        case _:
            write_obj(path, shape.surface)
            return Mesh(path)
