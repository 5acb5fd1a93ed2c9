"""The scenes of ``peer_scenes`` in Drake: one world on one core, with contact of pressure fields on polygons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import peer_scenes as scenes
from peer_ours import one_core
from peer_timing import timed
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Cylinder,
    HydroelasticContactRepresentation,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import PrismaticJoint, RigidBody, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

#: Edges, m, of the cylinder and of the ball.
CYLINDER_HINTS = (0.0024, 0.001)
BALL_HINTS = (0.005, 0.0025, 0.00125)
SETTLE = 1500
ANY_HINT = 1.0


def versions() -> dict[str, str]:
    """Of what is measured."""
    return {"drake": version("drake")}


class DrakeWorld:
    """A scene.

    Args:
        name: ``punch``, ``ball`` or ``grasp``.
        hint: Edges of what is curved, m.
    """

    n = 1

    def __init__(self, name: str, hint: float) -> None:
        self._name = name
        builder = DiagramBuilder()
        self._plant, _ = AddMultibodyPlantSceneGraph(builder, scenes.TIME_STEP)
        plant = self._plant
        plant.set_contact_model(ContactModel.kHydroelastic)
        plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
        plant.SetUseSampledOutputPorts(False)
        plant.set_stiction_tolerance(1e-4)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -scenes.GRAVITY])
        start = self._add_grasp(hint) if name == "grasp" else self._add_flat(hint)
        plant.Finalize()
        self._simulator = Simulator(builder.Build())
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        for body, position in start.items():
            plant.SetFreeBodyPose(self._context, plant.GetBodyByName(body), _at(position))
        if name == "grasp":
            at = scenes.RADIUS - scenes.exact_depth("grasp")
            for finger, side in scenes.SIDES.items():
                plant.GetJointByName(f"{finger}_joint").set_translation(self._context, side * at)
            effort = np.array([1.0, -1.0]) * scenes.GRIP
            plant.get_actuation_input_port().FixValue(self._context, effort)
        self._simulator.Initialize()
        self._steps = 0

    def _add_flat(self, hint: float) -> dict[str, Any]:
        plant, depth = self._plant, scenes.exact_depth(self._name)
        half, weight = scenes.SLAB, scenes.LOADS[self._name]
        size = 0.5 * scenes.CUBE if self._name == "punch" else scenes.BALL
        body = plant.AddRigidBody("body", _inertia(weight / scenes.GRAVITY, 0.4 * size**2))
        slab = Box(*(2.0 * side for side in half))
        below = _at([0.0, 0.0, -half[2]])
        if self._name == "punch":
            soft = _compliant(ANY_HINT, scenes.SLAB_STIFFNESS * half[2])
            plant.RegisterCollisionGeometry(plant.world_body(), below, slab, "flat", soft)
            cube = Box(scenes.CUBE, scenes.CUBE, scenes.CUBE)
            plant.RegisterCollisionGeometry(body, RigidTransform(), cube, "cube", _rigid(ANY_HINT))
        else:
            plant.RegisterCollisionGeometry(plant.world_body(), below, slab, "flat", _rigid(ANY_HINT))
            soft = _compliant(hint, scenes.BALL_STIFFNESS * scenes.BALL)
            plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(size), "ball", soft)
        return {"body": [0.0, 0.0, size - depth]}

    def _add_grasp(self, hint: float) -> dict[str, Any]:
        plant = self._plant
        across = (3.0 * scenes.RADIUS**2 + scenes.LENGTH**2) / 12.0
        unit = UnitInertia(across, across, 0.5 * scenes.RADIUS**2)
        held = plant.AddRigidBody("held", SpatialInertia(scenes.MASS, _vector([0.0, 0.0, 0.0]), unit))
        shape = Cylinder(scenes.RADIUS, scenes.LENGTH)
        plant.RegisterCollisionGeometry(held, RigidTransform(), shape, "cylinder", _rigid(hint))
        soft = _compliant(ANY_HINT, scenes.PAD_STIFFNESS * scenes.PAD[1])
        box = Box(*(2.0 * half for half in scenes.PAD))
        for name, side in scenes.SIDES.items():
            pad: RigidBody = plant.AddRigidBody(name, _inertia(scenes.PAD_MASS, 1e-4 / scenes.PAD_MASS))
            at = _at([0.0, side * scenes.PAD[1], 0.0])
            plant.RegisterCollisionGeometry(pad, at, box, name, soft)
            joint = PrismaticJoint(
                f"{name}_joint", plant.world_frame(), pad.body_frame(), _vector([0.0, 1.0, 0.0])
            )
            plant.AddJointActuator(f"{name}_motor", plant.AddJoint(joint))
        return {"held": [0.0, 0.0, 0.0]}

    def step(self, number: int) -> None:
        """Take steps."""
        self._steps += number
        self._simulator.AdvanceTo(self._steps * scenes.TIME_STEP)

    def wait(self) -> None:
        """Nothing to wait for."""

    def contacts(self) -> tuple[float, int]:
        """Force along the load, N, of the grasp the mean of both pads; contact faces."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        number = results.num_hydroelastic_contacts()
        infos = [results.hydroelastic_contact_info(i) for i in range(number)]
        axis = 1 if self._name == "grasp" else 2
        forces = [abs(float(info.F_Ac_W().translational()[axis])) for info in infos]
        return sum(forces) / number, sum(info.contact_surface().num_faces() for info in infos)

    def depth(self) -> float:
        """Depth of the contact, m; of the grasp, the mean of both."""
        plant, context = self._plant, self._context
        if self._name == "grasp":
            left, right = (
                plant.GetJointByName(f"{finger}_joint").get_translation(context) for finger in scenes.SIDES
            )
            return float(scenes.RADIUS - 0.5 * (right - left))
        size = 0.5 * scenes.CUBE if self._name == "punch" else scenes.BALL
        pose = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("body"))
        return float(size - pose.translation()[2])

    def sunk(self) -> float:
        """How far the cylinder has sunk, m."""
        pose = self._plant.EvalBodyPoseInWorld(self._context, self._plant.GetBodyByName("held"))
        return float(abs(pose.translation()[2]))


def _vector(values: Any) -> Any:
    """(3,) array; the stubs of pydrake know no type of NumPy for it."""
    return np.array(values)


def _at(place: Any) -> RigidTransform:
    return RigidTransform(_vector(place))


def _inertia(mass: float, of_one: float) -> SpatialInertia:
    return SpatialInertia(mass, _vector([0.0, 0.0, 0.0]), UnitInertia(of_one, of_one, of_one))


def _rigid(hint: float) -> ProximityProperties:
    properties = ProximityProperties()
    AddRigidHydroelasticProperties(hint, properties)
    return _with_friction(properties)


def _compliant(hint: float, modulus: float) -> ProximityProperties:
    properties = ProximityProperties()
    AddCompliantHydroelasticProperties(hint, modulus, properties)
    return _with_friction(properties)


def _with_friction(properties: ProximityProperties) -> ProximityProperties:
    AddContactMaterial(
        dissipation=scenes.DISSIPATION,
        friction=CoulombFriction(scenes.FRICTION, scenes.FRICTION),
        properties=properties,
    )
    return properties


def force_errors(backend: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the error of the force."""
    cases = [("punch", ANY_HINT), *(("ball", hint) for hint in BALL_HINTS)]
    for name, hint in [*cases, *(("grasp", hint) for hint in CYLINDER_HINTS)]:
        yield partial(_force_error, name, hint)


def _force_error(name: str, hint: float) -> dict[str, Any]:
    world, load = DrakeWorld(name, hint), scenes.LOADS[name]
    world.step(SETTLE)
    depth = world.depth()
    force, faces = world.contacts()
    return {
        "scene": name,
        "hint": hint,
        "faces": faces,
        "depth_at_rest": depth,
        "error_at_rest": scenes.error_at_rest(name, depth),
        "unrest": force / load - 1.0,
    }


def rates(backend: str, worlds: list[int], seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the rate of the grasp, of one world on one core whatever ``worlds`` says; ours beside it."""
    for hint in CYLINDER_HINTS:
        yield partial(_rate, hint, seconds)
    yield from one_core(seconds)


def _rate(hint: float, seconds: float) -> dict[str, Any]:
    world = DrakeWorld("grasp", hint)
    row: dict[str, Any] = {
        "engine": "Drake",
        "scene": "grasp",
        "hint": hint,
        "worlds": 1,
        "cores": 1,
    } | timed(world, seconds)
    return row | {"faces": world.contacts()[1], "sunk": world.sunk()}
