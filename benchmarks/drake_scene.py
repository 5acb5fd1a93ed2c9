"""A scene in Drake, from the same scene file and the same robot descriptions as ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xacro
from pydrake.geometry import (
    CollisionFilterDeclaration,
    GeometrySet,
    HydroelasticContactRepresentation,
    SceneGraph,
)
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from pydrake.multibody.tree import ModelInstanceIndex, PdControllerGains
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder

from hydro_sim_core.description import LoadedScene

#: Drake's discrete steps.
APPROXIMATIONS = {
    "lagged": DiscreteContactApproximation.kLagged,
    "SAP": DiscreteContactApproximation.kSap,
    "TAMSI": DiscreteContactApproximation.kTamsi,
}
#: Drake's convex integrator (CENIC) of the continuous plant, held at a fixed step: the lagged approximation again, and
#: Drake's fastest.
CONVEX_INTEGRATOR = "convex integrator"
METHODS = (*APPROXIMATIONS, CONVEX_INTEGRATOR)


class DrakeScene:
    """A scene of fixed and floating models, with joints that hold their position and grippers under scripted forces.

    Contact is pressure-field contact on polygons, as in ours, with point contact switched off. Outputs are not
    sampled: nobody reads them between steps, and sampling would cost Drake time. Gravity does not act on models whose
    weight our drives carry.

    Args:
        scene: The scene.
        method: One of ``METHODS``.
    """

    def __init__(self, scene: LoadedScene, method: str) -> None:
        spec = scene.spec
        is_continuous = method == CONVEX_INTEGRATOR
        builder = DiagramBuilder()
        plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0 if is_continuous else spec.time_step)
        plant.set_contact_model(ContactModel.kHydroelastic)
        plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        plant.set_stiction_tolerance(spec.solver.stiction_speed)
        plant.mutable_gravity_field().set_gravity_vector(spec.gravity)
        if not is_continuous:
            plant.set_discrete_contact_approximation(APPROXIMATIONS[method])
            plant.SetUseSampledOutputPorts(False)
        instances = _add_models(plant, scene)
        _add_actuators(plant, scene)
        plant.Finalize()
        _ignore_rigid_pairs(plant, scene_graph, scene)

        self._plant = plant
        self._spec = spec
        self._simulator = Simulator(builder.Build())
        if is_continuous:
            config = SimulatorConfig(
                integration_scheme="cenic", max_step_size=spec.time_step, use_error_control=False
            )
            ApplySimulatorConfig(config, self._simulator)
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._set_start(scene, instances)
        self._set_force(0.0)
        self._simulator.Initialize()

    def _set_start(self, scene: LoadedScene, instances: Sequence[ModelInstanceIndex]) -> None:
        """Put everything where the scene says, and have the drives hold it there."""
        plant, context = self._plant, self._context
        for model, robot, instance in zip(scene.spec.models, scene.robots, instances, strict=True):
            q = plant.GetPositions(context)
            for name, position in model.positions.items():
                q[plant.GetJointByName(name).position_start()] = position
            plant.SetPositions(context, q)
            if model.base == "floating":
                body = plant.GetBodyByName(robot.root)
                plant.SetFreeBodyPose(context, body, _transform(model.pose.X))
            actuated = [plant.get_joint_actuator(i).joint() for i in plant.GetJointActuatorIndices(instance)]
            held = [q[joint.position_start()] for joint in actuated]
            plant.get_desired_state_input_port(instance).FixValue(context, [*held, *np.zeros(len(held))])

    def _set_force(self, time: float) -> None:
        """Close the gripper with the force of ``time``; drives under position control get no effort besides."""
        effort = np.zeros(self._plant.num_actuators())
        for gripper, command in zip(self._spec.grippers, self._spec.commands, strict=True):
            for name, sign in gripper.joints.items():
                actuator = self._plant.GetJointActuatorByName(name)
                effort[actuator.input_start()] = sign * command.signal.at(time)
        self._plant.get_actuation_input_port().FixValue(self._context, effort)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._simulator.get_context().get_time())

    def advance(self, steps: int, pieces: int) -> None:
        """Take ``steps`` steps in ``pieces`` calls; the grip force stays what the script says at the beginning."""
        begin = self.time
        self._set_force(begin + 1e-9)
        length = steps / pieces * self._spec.time_step
        for piece in range(pieces):
            self._simulator.AdvanceTo(begin + (piece + 1) * length)

    def faces(self) -> int:
        """Contact faces at the present state."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        return sum(
            results.hydroelastic_contact_info(i).contact_surface().num_faces()
            for i in range(results.num_hydroelastic_contacts())
        )

    def pose(self, body: str) -> np.ndarray:
        """Pose (4, 4) of a body in the world."""
        X_WB = self._plant.EvalBodyPoseInWorld(self._context, self._plant.GetBodyByName(body))
        return np.asarray(X_WB.GetAsMatrix4())


def _transform(X: Any) -> RigidTransform:
    """That of a matrix (4, 4); the stubs of pydrake know no type of NumPy for it."""
    return RigidTransform(X)


def _add_models(plant: MultibodyPlant, scene: LoadedScene) -> list[ModelInstanceIndex]:
    """Add every model of the scene, welded down where the scene says so; returns their instances."""
    parser = Parser(plant)
    instances = []
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        arguments = {name: str(value) for name, value in model.xacro_args.items()}
        description = xacro.process_file(robot.source, mappings=arguments)
        for visual in description.getElementsByTagName("visual"):  # names meshes beside the file
            visual.parentNode.removeChild(visual)
        (instance,) = parser.AddModelsFromString(description.toxml(), "urdf")
        instances.append(instance)
        if model.base == "fixed":
            root = plant.GetFrameByName(robot.root)
            plant.WeldFrames(plant.world_frame(), root, _transform(model.pose.X))
        if model.gravity_compensation:
            plant.set_gravity_enabled(instance, False)
    return instances


def _add_actuators(plant: MultibodyPlant, scene: LoadedScene) -> None:
    """Add position control where the scene has it and bare effort to the gripper's joints."""
    limits = {joint.name: joint.limits.effort for robot in scene.robots for joint in robot.joints}
    for drive in scene.spec.actuators:
        for name in drive.joints:
            actuator = plant.AddJointActuator(name, plant.GetJointByName(name), limits[name])
            actuator.set_controller_gains(PdControllerGains(p=drive.kp, d=drive.kd))
    for gripper in scene.spec.grippers:
        for name in gripper.joints:
            plant.AddJointActuator(name, plant.GetJointByName(name))


def _ignore_rigid_pairs(plant: MultibodyPlant, scene_graph: SceneGraph, scene: LoadedScene) -> None:
    """Two rigid geometries have no pressure-field contact: ours never asks for it, and Drake refuses to be asked."""
    rigid = []
    for robot in scene.robots:
        for link in robot.links:
            geometries = plant.GetCollisionGeometriesForBody(plant.GetBodyByName(link.name))
            rigid += [
                geometry
                for geometry, collision in zip(geometries, link.collisions, strict=True)
                if collision.proximity.compliance == "rigid"
            ]
    together = CollisionFilterDeclaration().ExcludeWithin(GeometrySet(rigid))
    scene_graph.collision_filter_manager().Apply(together)
