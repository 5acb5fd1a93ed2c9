"""A gripper scene in Drake, from the same scene file and the same robot descriptions."""

from __future__ import annotations

import math

import numpy as np
import xacro
from pydrake.geometry import HydroelasticContactRepresentation
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    DiscreteContactApproximation,
)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from hydro_sim_core.description import LoadedScene

APPROXIMATIONS = {
    "lagged": DiscreteContactApproximation.kLagged,
    "SAP": DiscreteContactApproximation.kSap,
    "TAMSI": DiscreteContactApproximation.kTamsi,
}


class DrakeScene:
    """A scene of fixed or floating models and one gripper under a scripted force.

    Contact is pressure-field contact on polygons, as in ours, with point contact switched off. Outputs are not
    sampled: nobody reads them between steps, and sampling would cost Drake time.

    Args:
        scene: The scene.
        approximation: Key of ``APPROXIMATIONS``.
    """

    def __init__(self, scene: LoadedScene, approximation: str) -> None:
        spec = scene.spec
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, spec.time_step)
        plant.set_discrete_contact_approximation(APPROXIMATIONS[approximation])
        plant.set_contact_model(ContactModel.kHydroelastic)
        plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        plant.set_stiction_tolerance(spec.solver.stiction_speed)
        plant.SetUseSampledOutputPorts(False)
        plant.mutable_gravity_field().set_gravity_vector(spec.gravity)
        parser = Parser(plant)
        for model, robot in zip(spec.models, scene.robots, strict=True):
            parser.AddModelsFromString(xacro.process_file(robot.source).toxml(), "urdf")
            if model.base == "fixed":
                root = plant.GetFrameByName(robot.root)
                plant.WeldFrames(plant.world_frame(), root, RigidTransform(model.pose.X))
        (gripper,), (command,) = spec.grippers, spec.commands
        self._signal = command.signal
        self._closing = np.array([sign for _, sign in gripper.joints.items()], dtype=float)
        for name in gripper.joints:
            plant.AddJointActuator(name, plant.GetJointByName(name))
        plant.Finalize()

        diagram = builder.Build()
        self._simulator = Simulator(diagram)
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._plant = plant
        for model, robot in zip(spec.models, scene.robots, strict=True):
            for name, position in model.positions.items():
                plant.GetJointByName(name).set_translation(self._context, position)
            if model.base == "floating":
                body = plant.GetBodyByName(robot.root)
                plant.SetFreeBodyPose(self._context, body, RigidTransform(model.pose.X))
        self._set_force(0.0)
        self._simulator.Initialize()

    def _set_force(self, time: float) -> None:
        self._plant.get_actuation_input_port().FixValue(self._context, self._closing * self._signal.at(time))

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._simulator.get_context().get_time())

    def advance(self, steps: int, pieces: int) -> None:
        """Take ``steps`` steps in ``pieces`` calls; the grip force stays what the script says at the beginning."""
        begin = self.time
        self._set_force(begin + 1e-9)
        length = steps / pieces * self._plant.time_step()
        for piece in range(pieces):
            self._simulator.AdvanceTo(begin + (piece + 1) * length)

    def faces(self) -> int:
        """Contact faces at the present state."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        return sum(
            results.hydroelastic_contact_info(i).contact_surface().num_faces()
            for i in range(results.num_hydroelastic_contacts())
        )

    def roll(self, body: str) -> float:
        """First of a body's roll, pitch and yaw, rad."""
        R_WB = (
            self._plant.EvalBodyPoseInWorld(self._context, self._plant.GetBodyByName(body))
            .rotation()
            .matrix()
        )
        return math.atan2(R_WB[2, 1], R_WB[2, 2])
