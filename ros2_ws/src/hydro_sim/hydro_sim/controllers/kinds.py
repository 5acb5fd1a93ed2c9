"""Table of controllers, with their topics and actions.

A controller is added by its class and a row, or a plug-in's entry point in the group ``hydro_sim.controllers``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim import optional
from hydro_sim.controllers.arbiter import Controller
from hydro_sim.controllers.follow_action import ControllerState, FollowJointTrajectory
from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.gripper import GripperController, gripper_interface
from hydro_sim.controllers.gripper_action import GripperCommandGoals, ParallelGripperCommandGoals
from hydro_sim.controllers.impedance import ImpedanceController
from hydro_sim.controllers.joint_commands import JointCommandsController
from hydro_sim.controllers.joint_trajectory import JointTrajectoryController
from hydro_sim.controllers.kind import ControllerContext, ControllerKind
from hydro_sim.controllers.pull import PullController
from hydro_sim.controllers.tolerances import check_tolerances, default_tolerances
from hydro_sim.controllers.twist import TwistController, find_tool
from hydro_sim_core.plugins import load_plugins

_MODES = ("position", "velocity", "effort")


def controller_kinds() -> dict[str, ControllerKind]:
    """Every kind of controller by its name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a ``ControllerKind``, or has a name that exists already.
    """
    return dict(_all_kinds())


@cache
def _all_kinds() -> dict[str, ControllerKind]:
    rows = (*_KINDS, *load_plugins("hydro_sim.controllers", ControllerKind, _KINDS))
    return {kind.name: kind for kind in rows}


def _forward(context: ControllerContext) -> Iterable[Controller]:
    for mode in _MODES:
        names = f"~/{mode}_commands", f"forward_{mode}_controller/commands"
        clamp = context.clamp(names[0])
        controller = ForwardController(mode, context.joints, context.world, context.arbiter, clamp)
        context.subscribe(Float64MultiArray, names, mode, controller.check)
        yield controller


def _joint_commands(context: ControllerContext) -> Iterable[Controller]:
    controller = JointCommandsController(context.world, context.arbiter, context.clamp("joint_commands"))
    context.subscribe(JointState, ("joint_commands",), controller.interface, controller.check)
    yield controller


def _trajectory(context: ControllerContext) -> Iterable[Controller]:
    parameters, joints = context.parameters, context.joints
    check_tolerances(parameters, joints)
    names = ("~/{}", "joint_trajectory_controller/{}")
    where = names[-1] if parameters.builtin_controllers else names[0]
    state = (
        ControllerState(context.node, where.format("controller_state")) if optional.control_actions else None
    )
    controller = JointTrajectoryController(
        context.world,
        context.arbiter,
        now=context.now,
        refuse=context.refuse("~/joint_trajectory"),
        publish=state,
    )
    topics = tuple(name.format("joint_trajectory") for name in names)
    # The stamp of a trajectory is its start time, not the time at which it was made.
    context.subscribe(JointTrajectory, topics, controller.interface, controller.check, stamped=False)
    if optional.control_actions is not None:
        goals = FollowJointTrajectory(controller, lambda: default_tolerances(parameters, joints))
        action = optional.control_actions.FollowJointTrajectory
        context.open(action, where.format("follow_joint_trajectory"), controller.interface, goals)
    yield controller


def _twist(context: ControllerContext) -> Iterable[Controller]:
    world, joints, parameters = context.world, context.joints, context.parameters
    tool = find_tool(world, parameters.twist_link, joints)
    if tool is None:
        return
    frame = parameters.world_frame
    controller = TwistController(tool, joints, frame, world, context.arbiter, context.hold)
    names = "~/twist_{}", "twist_controller/{}"
    plain, stamped = (tuple(name.format(kind) for name in names) for kind in ("commands", "commands_stamped"))
    context.subscribe(Twist, plain, controller.interface, controller.check)
    context.subscribe(TwistStamped, stamped, controller.interface, controller.check_stamped)
    yield controller


def _impedance(context: ControllerContext) -> Iterable[Controller]:
    world, joints, parameters = context.world, context.joints, context.parameters
    tool = find_tool(world, parameters.twist_link, joints)
    if tool is None:
        return
    parts = world, context.arbiter, context.hold, parameters
    controller = ImpedanceController(tool, joints, parameters.world_frame, *parts)
    names = "~/target_pose", "cartesian_compliance_controller/target_frame"
    context.subscribe(PoseStamped, names, controller.interface, controller.check)
    yield controller


def _grippers(context: ControllerContext) -> Iterable[Controller]:
    return gripper_controllers(context, context.world.gripper_names)


def gripper_controllers(context: ControllerContext, names: Iterable[str]) -> Iterable[GripperController]:
    """Controllers of some grippers of a World, with their topics and actions."""
    return [_gripper(name, context) for name in names]


def _gripper(name: str, context: ControllerContext) -> GripperController:
    interface = gripper_interface(context.world, name)
    built_in, actions = context.parameters.builtin_controllers, optional.control_actions
    controller = GripperController(name, interface, context.world, context.arbiter, context.parameters)
    for quantity in ("force", "position"):
        topics = (f"{interface}/{quantity}_command",)
        context.subscribe(Float64, topics, interface, controller.checker(quantity))
    if actions is not None:
        where = f"{interface}_controller/gripper_cmd" if built_in else f"{interface}/gripper_cmd"
        context.open(actions.GripperCommand, where, interface, GripperCommandGoals(controller))
    if actions is not None and built_in:
        where = f"parallel_{interface}_controller/gripper_cmd"
        context.open(
            actions.ParallelGripperCommand, where, interface, ParallelGripperCommandGoals(controller)
        )
    return controller


def _pull(context: ControllerContext) -> Iterable[Controller]:
    controller = PullController(context.world)
    context.subscribe(Float64MultiArray, ("~/pull",), controller.interface, controller.check)
    yield controller


_KINDS = (
    ControllerKind("forward", _forward),
    ControllerKind("joint_commands", _joint_commands),
    ControllerKind("trajectory", _trajectory),
    ControllerKind("twist", _twist),
    ControllerKind("impedance", _impedance),
    ControllerKind("gripper", _grippers),
    ControllerKind("pull", _pull),
)
