"""All controllers of a World: made from the table, and called before every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.hold import HoldController, Stance
from hydro_sim.controllers.kind import ControllerContext
from hydro_sim.controllers.kinds import controller_kinds
from hydro_sim.controllers.timeouts import CommandTimeouts
from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.simulation import FixedRateRunner, World


class Control:
    """Makes the controllers of the table, with their topics and actions, and has them act before every step.

    Where ``builtin_controllers`` is true they listen under the names of ros2_control's controllers too.

    Args:
        node: Owner of subscriptions, servers and services.
        world: The World to begin with.
        runner: Steps it.
        link: Brings commands.
        parameters: Of the node; controllers read theirs.
        rejections: Where bad messages are counted.
        joints: Joints that arrays, twists and holding address, in the order of arrays.

    Raises:
        InputError: A parameter does not fit the scene.
    """

    def __init__(
        self,
        node: Node,
        world: World,
        runner: FixedRateRunner,
        link: CommandLink,
        parameters: Parameters,
        rejections: Rejections,
        joints: tuple[str, ...],
    ) -> None:
        self._node = node
        self._world = world
        self._runner = runner
        self._joints = joints
        self._epoch, self._time = runner.snapshot().epoch, world.time
        self._arbiter = Arbiter()
        self._hold = HoldController(world, self._arbiter)
        parts = self._arbiter, self._hold, runner, link, rejections, self._in_order
        context = ControllerContext(node, world, joints, parameters, *parts)
        self._doors = context.doors
        watched = [one for kind in controller_kinds().values() for one in kind.made(context)]
        self._controllers: list[Controller] = [self._hold, *watched]
        self._timeouts = CommandTimeouts(
            parameters, watched, self._arbiter, self._hold, link, node.get_logger()
        )
        for stance in ("hold", "float"):
            self._add_stance(stance)
        runner.add_command_source(self._before_step)

    def close(self) -> None:
        """Take the action servers off the node; the rest is the node's to destroy."""
        for door in self._doors:
            door.close()

    @property
    def open_goals(self) -> int:
        """Number of goals of actions whose clients have not heard of their end."""
        return sum(door.open_goals for door in self._doors)

    def abort_goals(self, reason: str) -> None:
        """End all goals of actions and their motions; the runner is stopped."""
        for door in self._doors:
            door.abort(reason)

    # --- what all joints can be told

    def _add_stance(self, stance: Stance) -> None:
        def assume(request: Any, response: Any) -> Any:
            response.success, response.message = self._ask_for_stance(stance)
            return response

        self._node.create_service(Trigger, f"~/{stance}", assume)

    def _ask_for_stance(self, stance: Stance) -> tuple[bool, str]:
        """Whether the joints will assume a stance, and which they are or why not."""
        joints = self._present_joints(self._runner.world)
        if not self._runner.running:
            return False, "the node is not active: activate it first"
        if not joints:
            return False, f"no joint to {stance}: none of command_joints is in the scene"
        # Whoever calls has the answer: that is no command for the link to lose.
        self._runner.submit(self._in_order(self._take_stance, stance))
        return True, f"{stance}: {', '.join(joints)}"

    def _take_stance(self, stance: Stance, world: World) -> None:
        self._hold.assume(world, self._present_joints(world), stance)

    def _present_joints(self, world: World) -> list[str]:
        return [joint for joint in self._joints if joint in world.actuated_joint_names]

    # --- the stepping thread

    def _in_order(self, action: Callable[..., None], *first: Any) -> Callable[..., None]:
        """``action``, after what a reset or an exchange of the World before it asks for."""

        def act(world: World, *more: Any) -> None:
            self._notice_epoch(world)
            action(*first, world, *more)

        return act

    def _before_step(self, world: World) -> None:
        self._notice_epoch(world)
        for controller in self._controllers:
            controller.advance(world)
        self._timeouts.advance(world)
        self._time = world.time

    def _notice_epoch(self, world: World) -> None:
        epoch = self._runner.snapshot().epoch
        if epoch == self._epoch:
            return
        self._epoch = epoch
        if world is self._world:
            self._forget()
        else:
            self.world_changed(world)

    def _forget(self) -> None:
        for controller in self._controllers:
            controller.forget()
        self._arbiter.forget()

    def world_changed(self, world: World) -> None:
        """Go on with another World: commands to joints that it lacks end; the others continue if time does."""
        self._epoch = self._runner.snapshot().epoch
        if world.time < self._time:
            self._forget()
        self._world = world
        self._arbiter.keep_only(world.actuated_joint_names)
        for controller in self._controllers:
            controller.world_changed(world)
