"""Impedance controller: the tool of an arm goes to a pose and yields there, like a mass on damped springs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.twist import chain_of
from hydro_sim.hil.link import Action
from hydro_sim.parameters import Parameters
from hydro_sim.simulation_control.conversions import pose_matrix
from hydro_sim.simulation_control.refusals import Refused
from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import Impedance, ImpedanceControl
from hydro_sim_core.rotations import matrix_of, twist_between
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.realtime.plan import Plan

Array = NDArray[np.float64]
_SOURCE = "impedance"
#: Time in which the middle of the springs comes to within 37 % of a pose, s, and its largest speeds, rad/s and m/s.
_LAG, _QUICKEST, _FASTEST = 0.1, 1.0, 0.25
#: What is farther away is a slip, m; far beyond it numbers would overflow.
_MOST = 1e3


class ImpedanceController(Controller):
    """Gives joints the efforts with which a link is on springs, whose middle goes where messages say.

    Args:
        tool: The link.
        joints: Joints that commands may move.
        world_frame: Name of the world in headers.
        world: The World.
        arbiter: Arbiter of the joints.
        hold: Hold controller, which stops the remaining joints of an arm that loses one.
        parameters: ``impedance_*``, followed live.
    """

    interface = "impedance"

    def __init__(
        self,
        tool: str,
        joints: Sequence[str],
        world_frame: str,
        world: World,
        arbiter: Arbiter,
        hold: HoldController,
        parameters: Parameters,
    ) -> None:
        self._tool, self._may_move, self._world_frame = tool, tuple(joints), world_frame
        self._arbiter, self._hold, self._parameters = arbiter, hold, parameters
        self._target: Array | None = None
        self._middle = np.eye(4)
        self._stopping: tuple[str, ...] = ()
        self._how: tuple[float, ...] = ()
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world
        is_present = self._tool in world.frame_names
        self._joints = chain_of(world, self._tool, self._may_move) if is_present else ()
        self._control: ImpedanceControl | None = None
        if not is_present:
            self._target = None

    # --- called in the executor's thread

    def check(self, message: PoseStamped) -> Action:
        """Check a message in the axes of its frame (empty for the world); return the action that carries it out.

        Raises:
            InputError: The pose is none, the frame is unknown, or the tool is no longer in the scene.
        """
        self._check_tool()
        frame = message.header.frame_id
        if frame == self._world_frame:
            frame = ""
        self._check_frame(frame)
        try:
            X_FT = pose_matrix(message.pose)
        except Refused as refused:
            raise InputError(_SOURCE, "pose", str(refused), "send a pose") from None
        if (away := float(np.abs(X_FT[:3, 3]).max())) > _MOST:
            raise InputError(_SOURCE, "pose", f"is {away:g} m away", f"send one within {_MOST:g} m")
        self._world.check_joint_commands(dict.fromkeys(self._joints, JointCommand(effort=0.0)))

        def apply(world: World) -> None:
            self._check_tool()
            self._check_frame(frame)
            self._arbiter.take(self, self._joints, world.time)
            if self._target is None:
                self._middle = world.frame_pose(self._tool)
            self._target = product(world.frame_pose(frame), X_FT) if frame else X_FT

        return apply

    def _check_tool(self) -> None:
        if not self._joints:
            raise InputError(
                _SOURCE, f"link '{self._tool}'", "is no longer in the scene", "reset the simulation"
            )

    def _check_frame(self, frame: str) -> None:
        if frame and frame not in self._world.frame_names:
            mend = did_you_mean(frame, self._world.frame_names)
            raise InputError(_SOURCE, "header.frame_id", f"'{frame}' is not in the scene", mend)

    # --- called in the stepping thread

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``: the compiled loop knows no springs."""
        return math.inf if self._target is None and not self._stopping else 0.0

    def advance(self, world: World) -> None:
        """Command the efforts of the coming step."""
        if self._stopping:
            joints, self._stopping = self._stopping, ()
            self._hold.assume(world, joints, "hold")
        if self._target is None:
            return
        twist = self._move_middle(self._target, world.time_step)
        efforts = self._springs(world).efforts(self._middle, twist)
        world.command_joints({joint: JointCommand(effort=effort) for joint, effort in efforts.items()})

    def _move_middle(self, target: Array, duration: float) -> Array:
        """Take the middle of the springs closer to a pose (4, 4) in a time (s), and tell its twist (6,)."""
        twist = twist_between(self._middle, target, _LAG)
        fastest = max(
            float(np.linalg.norm(twist[:3])) / _QUICKEST, float(np.linalg.norm(twist[3:])) / _FASTEST, 1.0
        )
        twist /= fastest
        half = 0.5 * duration * twist[:3]
        # The tangent of half an angle that is small; what it lacks is told in the next step.
        self._middle[:3, :3] = product(matrix_of(np.array([*half, 1.0])), self._middle[:3, :3])
        self._middle[:3, 3] += duration * twist[3:]
        return twist

    def _springs(self, world: World) -> ImpedanceControl:
        p = self._parameters
        how = (*3 * [p.impedance_angular_stiffness], *3 * [p.impedance_stiffness], p.impedance_damping_ratio)
        if self._control is None or self._how != how:
            impedance = Impedance(how[:6], how[6])
            self._how, self._control = (
                how,
                ImpedanceControl(world, self._tool, impedance, joints=self._joints),
            )
        return self._control

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``: an arm that loses a joint stops."""
        self._target = None
        rest = set(self._arbiter.joints_of(self)) | set(self._stopping)
        self._stopping = tuple(joint for joint in self._joints if joint in rest - joints)

    def forget(self) -> None:
        """See ``Controller``."""
        self._target, self._stopping = None, ()
