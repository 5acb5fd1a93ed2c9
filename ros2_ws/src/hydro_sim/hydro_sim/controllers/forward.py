"""Forward controller: arrays of positions, velocities or efforts, as in forward_command_controller."""

from __future__ import annotations

from std_msgs.msg import Float64MultiArray

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.hil.link import Action
from hydro_sim_core.simulation import World


class ForwardController(Controller):
    """Passes one value per joint on to the drives.

    Args:
        mode: ``position``, ``velocity`` or ``effort``.
        joints: Joints that arrays address, in their order.
        world: World that checks commands.
        arbiter: Arbiter of the joints.
    """

    def __init__(self, mode: str, joints: tuple[str, ...], world: World, arbiter: Arbiter) -> None:
        self.interface = mode
        self._joints = joints
        self._world = world
        self._arbiter = arbiter

    def check(self, message: Float64MultiArray) -> Action:
        """Check a message; return the action that carries it out.

        Raises:
            InputError: Wrong length, not finite, or outside the limits of the joints.
        """
        values = message.data.tolist()
        self._world.check_command(values, mode=self.interface, joints=self._joints)

        def apply(world: World) -> None:
            world.set_command(values, mode=self.interface, joints=self._joints)
            self._arbiter.take(self, self._joints, world.time)

        return apply

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world
