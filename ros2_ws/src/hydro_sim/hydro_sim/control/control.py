"""All built-in controllers of a World, and where they take their commands from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from hydro_sim import optional
from hydro_sim.control.arbiter import Arbiter, Controller
from hydro_sim.control.follow_action import ControllerState, FollowJointTrajectory
from hydro_sim.control.forward import ForwardController
from hydro_sim.control.goals import ActionDoor
from hydro_sim.control.gripper import GripperController
from hydro_sim.control.gripper_action import GripperCommandGoals, ParallelGripperCommandGoals
from hydro_sim.control.hold import HoldController, Stance
from hydro_sim.control.joint_commands import JointCommandsController
from hydro_sim.control.joint_trajectory import JointTrajectoryController
from hydro_sim.control.timeouts import CommandTimeouts
from hydro_sim.control.tolerances import check_tolerances, default_tolerances
from hydro_sim.control.twist import TwistController, find_tool
from hydro_sim.hil.link import Action, CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.simulation import FixedRateRunner, World

_MODES = ("position", "velocity", "effort")


def gripper_interface(world: World, name: str) -> str:
    """What topics and reports call a gripper: where there is only one, its name in the scene does not matter."""
    return "gripper" if len(world.gripper_names) == 1 else name


class Control:
    """Connects the controllers to topics, actions and services, and has them act before every step.

    Where ``builtin_controllers`` is true they listen under the names of ros2_control's controllers too.

    Args:
        node: Owner of subscriptions, servers and services.
        world: The World to begin with.
        runner: Steps it.
        link: Brings commands.
        parameters: ``command_*``, ``timeout_policy``, ``trajectory_*``, ``gripper_*``, ``twist_link``.
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
        self._link = link
        self._parameters = parameters
        self._rejections = rejections
        self._joints = joints
        self._epoch, self._time = runner.snapshot().epoch, world.time
        self._arbiter = Arbiter()
        check_tolerances(parameters, joints)
        self._doors: list[ActionDoor] = []
        self._hold = HoldController(world, self._arbiter)
        self._controllers: list[Controller] = [self._hold]
        self._add_forward()
        self._add_joint_commands()
        self._add_trajectory()
        self._add_twist()
        for name in world.gripper_names:
            self._add_gripper(name, gripper_interface(world, name))
        watched = [controller for controller in self._controllers if controller is not self._hold]
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

    # --- making the controllers

    def _add_forward(self) -> None:
        for mode in _MODES:
            controller = ForwardController(mode, self._joints, self._world, self._arbiter)
            self._controllers.append(controller)
            names = f"~/{mode}_commands", f"forward_{mode}_controller/commands"
            self._subscribe(Float64MultiArray, names, mode, controller.check)

    def _add_joint_commands(self) -> None:
        controller = JointCommandsController(self._world, self._arbiter)
        self._controllers.append(controller)
        self._subscribe(JointState, ("joint_commands",), controller.interface, controller.check)

    def _add_trajectory(self) -> None:
        names = ("~/{}", "joint_trajectory_controller/{}")
        where = names[-1] if self._parameters.builtin_controllers else names[0]
        state = (
            ControllerState(self._node, where.format("controller_state"))
            if optional.control_actions
            else None
        )
        controller = JointTrajectoryController(
            self._world,
            self._arbiter,
            now=lambda: self._runner.snapshot().time,
            refuse=partial(self._rejections.count, "~/joint_trajectory"),
            publish=state,
        )
        self._controllers.append(controller)
        topics = tuple(name.format("joint_trajectory") for name in names)
        # Its stamp says when the trajectory begins, not when it was made.
        self._subscribe(JointTrajectory, topics, controller.interface, controller.check, stamped=False)
        if optional.control_actions is not None:
            goals = FollowJointTrajectory(
                controller, lambda: default_tolerances(self._parameters, self._joints)
            )
            action = optional.control_actions.FollowJointTrajectory
            self._open(action, where.format("follow_joint_trajectory"), controller.interface, goals)

    def _add_twist(self) -> None:
        tool = find_tool(self._world, self._parameters.twist_link, self._joints)
        if tool is None:
            return
        frame = self._parameters.world_frame
        controller = TwistController(tool, self._joints, frame, self._world, self._arbiter, self._hold)
        self._controllers.append(controller)
        names = "~/{}", "twist_controller/{}"
        plain, stamped = names[0].format("twist_commands"), names[0].format("twist_commands_stamped")
        self._subscribe(Twist, (plain, names[1].format("commands")), "twist", controller.check)
        stamped_names = stamped, names[1].format("commands_stamped")
        self._subscribe(TwistStamped, stamped_names, "twist", controller.check_stamped)

    def _add_gripper(self, name: str, prefix: str) -> None:
        controller = GripperController(name, prefix, self._world, self._arbiter, self._parameters)
        self._controllers.append(controller)
        for quantity in ("force", "position"):
            self._subscribe(Float64, (f"{prefix}/{quantity}_command",), prefix, controller.checker(quantity))
        actions = optional.control_actions
        if actions is not None:
            built_in = self._parameters.builtin_controllers
            where = f"{prefix}_controller/gripper_cmd" if built_in else f"{prefix}/gripper_cmd"
            self._open(actions.GripperCommand, where, prefix, GripperCommandGoals(controller))
        if actions is not None and self._parameters.builtin_controllers:
            where = f"parallel_{prefix}_controller/gripper_cmd"
            self._open(actions.ParallelGripperCommand, where, prefix, ParallelGripperCommandGoals(controller))

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

    def _subscribe(
        self,
        message_type: type,
        topics: tuple[str, ...],
        interface: str,
        check: Callable[[Any], Action],
        stamped: bool = True,
    ) -> None:
        def checked(message: Any) -> Action:
            return self._in_order(check(message))

        for topic in topics if self._parameters.builtin_controllers else topics[:1]:
            self._link.subscribe(message_type, topic, interface, checked, stamped=stamped)

    def _open(self, action_type: Any, name: str, interface: str, goals: Any) -> None:
        def checked(request: Any) -> Any:
            return self._in_order(goals.check(request))

        parts = checked, goals.cancel, goals.aborted, self._runner, self._link, self._rejections
        self._doors.append(ActionDoor(self._node, action_type, name, interface, *parts))

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
