"""The arm on its own base in Drake, with all its defaults: links without hydroelastic properties touch at points."""

from __future__ import annotations

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import PdControllerGains, RevoluteJoint
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from hydro_sim_core.experiments.rigid_pairs import arm
from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY


class DrakeArm:
    """The arm in Drake."""

    def __init__(self) -> None:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, arm.TIME_STEP)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
        (self._instance,) = Parser(plant).AddModelsFromString(arm.urdf_text(), "urdf")
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base_link"), RigidTransform())
        self._joints: dict[str, RevoluteJoint] = {}
        for name in (*arm.HELD, arm.ELBOW):
            joint = plant.GetJointByName(name)
            actuator = plant.AddJointActuator(name, joint)
            if name != arm.ELBOW:
                actuator.set_controller_gains(PdControllerGains(p=arm.KP, d=arm.KD))
            self._joints[name] = joint
        plant.Finalize()
        self._plant = plant
        self._simulator = Simulator(builder.Build())
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        for name, angle in arm.FOLDED.items():
            self._joints[name].set_angle(self._context, angle)
        # Both ports are in the order of the drives, with the one that is an effort alone last.
        n = len(self._joints)
        goals = [arm.FOLDED.get(name, 0.0) for name in self._joints]
        plant.get_desired_state_input_port(self._instance).FixValue(
            self._context, np.array(goals + n * [0.0])
        )
        plant.get_actuation_input_port(self._instance).FixValue(
            self._context, np.array((n - 1) * [0.0] + [arm.EFFORT])
        )
        self._simulator.Initialize()
        self._steps = 0

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self._steps += n
        self._simulator.AdvanceTo(self._steps * arm.TIME_STEP)

    def speed(self) -> float:
        """Largest speed of a joint, rad/s."""
        return float(np.abs(self._plant.GetVelocities(self._context)).max())

    def depth(self) -> float:
        """Depth of the links in each other, m."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        pairs = range(results.num_point_pair_contacts())
        return max((results.point_pair_contact_info(i).point_pair().depth for i in pairs), default=0.0)

    def moments(self) -> tuple[float, float]:
        """Moment of the contact about the elbow, and the one that gravity and drive leave to it, N m."""
        plant, context, elbow = self._plant, self._context, self._joints[arm.ELBOW].velocity_start()
        contact = plant.get_generalized_contact_forces_output_port(self._instance).Eval(context)
        bias = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
        return float(contact[elbow]), float(bias[elbow]) - arm.EFFORT
