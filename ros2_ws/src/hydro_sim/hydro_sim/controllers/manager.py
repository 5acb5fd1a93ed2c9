"""Controller manager: makes the controllers of a World from the table, and calls them before every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.clients import ClientJoints
from hydro_sim.controllers.gripper import GripperController
from hydro_sim.controllers.hold import HoldController, HoldMode
from hydro_sim.controllers.kind import ControllerContext
from hydro_sim.controllers.kinds import controller_kinds, gripper_controllers
from hydro_sim.controllers.timeouts import CommandTimeouts
from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.realtime.plan import Plan
from hydro_sim_core.simulation.running.sources import whole_steps


class Control:
    """Makes the controllers of the table, with their topics and actions, and advances them before every step.

    With ``builtin_controllers`` they also listen under the names of ros2_control's controllers.

    Args:
        node: Owner of subscriptions, servers and services.
        world: The first World.
        runner: Runner of the World.
        link: Command link.
        parameters: Parameters of the node.
        rejections: Counter of bad messages.
        joints: Joints that arrays, twists and hold modes address, in the order of arrays.

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
        self._epoch = runner.snapshot().epoch
        self._arbiter = Arbiter()
        self._hold = HoldController(world, self._arbiter)
        parts = self._arbiter, self._hold, runner, link, rejections, self._in_order
        self._context = context = ControllerContext(node, world, joints, parameters, *parts)
        self._servers = context.servers
        self._watched = [one for kind in controller_kinds().values() for one in kind.made(context)]
        # Who takes a joint in the shared memory is known first, so that nobody else commands it in the same step.
        clients = ClientJoints(runner, self._arbiter)
        self._controllers: list[Controller] = [clients, self._hold, *self._watched]
        self._timeouts = CommandTimeouts(
            parameters, self._watched, self._arbiter, self._hold, link, node.get_logger()
        )
        for mode in ("hold", "float"):
            self._add_mode(mode)
        runner.add_command_source(self._before_step, self._idle_steps, self)

    def close(self) -> None:
        """Destroy the action servers; the node destroys everything else."""
        for server in self._servers:
            server.close()

    @property
    def open_goals(self) -> int:
        """Number of action goals whose clients do not have a result yet."""
        return sum(server.open_goals for server in self._servers)

    def abort_goals(self, reason: str) -> None:
        """Abort all action goals and their motions; the runner is stopped."""
        for server in self._servers:
            server.abort(reason)

    def serve_new_grippers(self, world: World) -> None:
        """Make controllers for grippers that have come with an exchanged World; called in the executor's thread.

        Those of grippers that have gone stay, refuse commands, and serve them again if they come back.
        """
        served = {one.name for one in self._watched if isinstance(one, GripperController)}
        new = [name for name in world.gripper_names if name not in served]
        for controller in gripper_controllers(replace(self._context, world=world), new):
            self._watched.append(controller)
            self._controllers.append(controller)

    # --- hold modes of all joints

    def _add_mode(self, mode: HoldMode) -> None:
        def assume(request: Any, response: Any) -> Any:
            response.success, response.message = self._request_mode(mode)
            return response

        self._node.create_service(Trigger, f"~/{mode}", assume)

    def _request_mode(self, mode: HoldMode) -> tuple[bool, str]:
        """Request a hold mode; return whether it succeeds, and the joints or the reason."""
        joints = self._present_joints(self._runner.world)
        if not self._runner.running:
            return False, "the node is not active: activate it first"
        if not joints:
            return False, f"no joint to {mode}: none of command_joints is in the scene"
        # The caller gets a positive answer, so the request must not pass the link, which may lose commands.
        self._runner.submit(self._in_order(self._assume_mode, mode))
        return True, f"{mode}: {', '.join(joints)}"

    def _assume_mode(self, mode: HoldMode, world: World) -> None:
        self._hold.assume(world, self._present_joints(world), mode)

    def _present_joints(self, world: World) -> list[str]:
        return [joint for joint in self._joints if joint in world.actuated_joint_names]

    # --- the stepping thread

    def _in_order(self, action: Callable[..., None], *first: Any) -> Callable[..., None]:
        """Wrap ``action`` so that it first handles an earlier reset or exchange of the World."""

        def act(world: World, *more: Any) -> None:
            self._notice_epoch(world)
            action(*first, world, *more)

        return act

    def _before_step(self, world: World) -> None:
        self._notice_epoch(world)
        for controller in self._controllers:
            controller.advance(world)
        self._timeouts.advance(world)

    def _idle_steps(self, world: World) -> float:
        """For how many steps no time-out may come, unless a command does."""
        if self._runner.snapshot().epoch != self._epoch:
            return 0.0
        return whole_steps(self._timeouts.left(world), world)

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Planner``: what all controllers command."""
        free = math.inf
        for controller in self._controllers:
            free = min(free, controller.hand_over(world, plan))
            if free < 1.0:
                break
        return free

    def take_back(self, world: World, plan: Plan) -> None:
        """See ``Planner``."""
        for controller in self._controllers:
            controller.take_back(world, plan)

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
        """Continue with another World: commands to joints that it lacks end; others continue if time does."""
        self._epoch = self._runner.snapshot().epoch
        if world.time < self._world.time:
            self._forget()
        self._world = world
        self._arbiter.keep_only(world.actuated_joint_names)
        for controller in self._controllers:
            controller.world_changed(world)
