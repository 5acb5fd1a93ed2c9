"""The arm on its own base in MuJoCo: contact with all its defaults, the integrator chosen for the stiff drives."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from hydro_sim_core.experiments.rigid_pairs import arm
from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY


class MuJoCoArm:
    """The arm in MuJoCo."""

    def __init__(self) -> None:
        self._mujoco: Any = import_module("mujoco")
        spec = self._mujoco.MjSpec.from_string(arm.urdf_text())
        spec.option.timestep = arm.TIME_STEP
        spec.option.gravity = (0.0, 0.0, -GRAVITY)
        # With the default the drives' damping is explicit, and the wrist bursts.
        spec.option.integrator = self._mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # A base that is part of the world would touch the link next to it.
        spec.compiler.fusestatic = False
        for geometry in spec.geoms:
            geometry.friction[0] = arm.FRICTION
        for joint in (*arm.HELD, arm.ELBOW):
            drive = spec.add_actuator(name=joint, target=joint, trntype=self._mujoco.mjtTrn.mjTRN_JOINT)
            if joint == arm.ELBOW:
                drive.set_to_motor()
            else:
                drive.set_to_position(kp=arm.KP, kv=arm.KD)
        self._model = spec.compile()
        self._data = self._mujoco.MjData(self._model)
        for joint, angle in arm.FOLDED.items():
            self._data.joint(joint).qpos[:] = angle
        for joint in arm.HELD:
            self._data.actuator(joint).ctrl[:] = arm.FOLDED.get(joint, 0.0)
        self._data.actuator(arm.ELBOW).ctrl[:] = arm.EFFORT

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self._mujoco.mj_step(self._model, self._data, nstep=n)

    def speed(self) -> float:
        """Largest speed of a joint, rad/s."""
        return float(np.abs(self._data.qvel).max())

    def depth(self) -> float:
        """Depth of the links in each other, m."""
        return max((-float(contact.dist) for contact in self._data.contact), default=0.0)

    def moments(self) -> tuple[float, float]:
        """Moment of the contact about the elbow, and the one that gravity and drive leave to it, N m."""
        self._mujoco.mj_forward(self._model, self._data)
        (elbow,) = self._model.joint(arm.ELBOW).dofadr
        return float(self._data.qfrc_constraint[elbow]), float(self._data.qfrc_bias[elbow]) - arm.EFFORT
