"""Forward controller: arrays of positions, velocities or efforts, as in forward_command_controller."""

from __future__ import annotations

from std_msgs.msg import Float64MultiArray

from hydro_sim.controllers.arbiter import Arbiter
from hydro_sim.controllers.direct import DirectController
from hydro_sim.controllers.position_clamp import PositionClamp
from hydro_sim.hil.link import Action
from hydro_sim_core.simulation import JointCommand, World


class ForwardController(DirectController):
    """Passes one value per joint on to the drives: positions within the limits, and velocities through a servo.

    Args:
        mode: ``position``, ``velocity`` or ``effort``.
        joints: Joints that arrays address, in their order.
        world: World that checks commands.
        arbiter: Arbiter of the joints.
        clamp: Clamp of positions.
    """

    def __init__(
        self,
        mode: str,
        joints: tuple[str, ...],
        world: World,
        arbiter: Arbiter,
        clamp: PositionClamp | None = None,
    ) -> None:
        super().__init__(world, arbiter, clamp)
        self.interface = mode
        self._joints = joints

    # --- called in the executor's thread

    def check(self, message: Float64MultiArray) -> Action:
        """Check a message; return the action that carries it out.

        Raises:
            InputError: Wrong length, or not finite.
        """
        values = message.data.tolist()
        wanted = dict(zip(self._joints, values, strict=False)) if self.interface == "position" else {}
        if len(wanted) == len(values):  # the World refuses another number of values
            values = [self._clamp.inside(joint, value) for joint, value in wanted.items()]
        self._world.check_command(values, mode=self.interface, joints=self._joints)
        self._clamp.tell(wanted)

        def apply(world: World) -> None:
            if self.interface == "velocity":
                pairs = zip(self._joints, values, strict=True)
                self._servo.command(world, {joint: JointCommand(velocity=value) for joint, value in pairs})
            else:
                world.set_command(values, mode=self.interface, joints=self._joints)
            self._arbiter.take(self, self._joints, world.time)

        return apply
