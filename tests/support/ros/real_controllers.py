"""The simulation launched with the real programs of ros2_control, and a client of both."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from builtin_interfaces.msg import Duration
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from support.ros.launch_process import LaunchProcess
from support.ros.ros_client import stamp_of

#: What has to be installed beside launch.
PACKAGES = (
    "controller_manager",
    "forward_command_controller",
    "joint_state_broadcaster",
    "joint_state_topic_hardware_interface",
    "joint_trajectory_controller",
    "robot_state_publisher",
)
#: Wall time between two questions for the states of controllers, s.
_ASKING_PERIOD = 0.5
#: Runs a program of the checkout.
_PROGRAM = """#!/bin/bash
exec {python} -m {module} "$@"
"""


def absent() -> list[str]:
    """Packages that are not installed."""
    found = []
    for package in PACKAGES:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            found.append(package)
    return found


def install_checkout(prefix: Path) -> Path:
    """Install the node of this checkout; the prefix."""
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "hydro_sim"
    programs = prefix / "lib" / "hydro_sim"
    for folder in (marker.parent, programs):
        folder.mkdir(parents=True)
    marker.touch()
    for name, module in (
        ("hydro_sim", "hydro_sim"),
        ("wait_for_simulation", "hydro_sim.wait_for_simulation"),
        ("task_controller", "hydro_sim.task_control"),
    ):
        program = programs / name
        program.write_text(_PROGRAM.format(module=module, python=sys.executable))
        program.chmod(0o755)
    return prefix


class RealControllers:
    """A client of the simulation and of the controllers beside it."""

    def __init__(self, launch: LaunchProcess) -> None:
        from control_msgs.action import FollowJointTrajectory
        from control_msgs.msg import JointTrajectoryControllerState
        from controller_manager_msgs.srv import ListControllers, SwitchController

        self.launch = launch
        self._goal_type = FollowJointTrajectory
        self._context = rclpy.Context()
        self._context.init(domain_id=launch.domain)
        self.node = rclpy.create_node("client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.states: list[JointState] = []
        self.commands: list[JointState] = []
        self.errors: list[float] = []
        """Largest distance of a joint of the arm from its trajectory, rad, as its controller tells it."""
        self.node.create_subscription(JointState, "joint_states", self.states.append, 1000)
        # The list above may be long behind on a busy machine.
        self._fresh: list[JointState] = []
        self.node.create_subscription(JointState, "joint_states", self._fresh.append, 1)
        self.node.create_subscription(JointState, "joint_commands", self.commands.append, 1000)
        self.node.create_subscription(
            JointTrajectoryControllerState,
            "joint_trajectory_controller/controller_state",
            lambda state: self.errors.append(max(map(abs, state.error.positions), default=0.0)),
            1000,
        )
        self._list = self.node.create_client(ListControllers, "/controller_manager/list_controllers")
        self._switch = self.node.create_client(SwitchController, "/controller_manager/switch_controller")
        self._reset = self.node.create_client(Trigger, "/hydro_sim/reset")
        self._set_parameters = self.node.create_client(SetParameters, "/hydro_sim/set_parameters")
        self._actions: dict[str, ActionClient] = {}

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.shutdown()

    def wait_until(self, condition: Callable[[], Any], what: str, timeout: float = 60.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.launch.process.poll() is None, self.launch.output
            assert time.monotonic() < deadline, f"{what}\n{self.launch.output}"
            self._executor.spin_once(timeout_sec=0.05)

    def run_for(self, seconds: float) -> None:
        """Listen for this long, wall time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def now(self) -> JointState:
        """A state that was published after the call."""
        self._fresh.clear()
        self.wait_until(lambda: len(self._fresh) > 1, "a state")
        return self._fresh[-1]

    @property
    def time(self) -> float:
        return stamp_of(self.now())

    def position(self, joint: str) -> float:
        state = self.now()
        return state.position[list(state.name).index(joint)]

    def _call(self, client: Any, request: Any, timeout: float = 60.0) -> Any:
        self.wait_until(client.service_is_ready, client.srv_name, timeout)
        future = client.call_async(request)
        self.wait_until(future.done, f"an answer of {client.srv_name}", timeout)
        return future.result()

    def controllers(self) -> dict[str, str]:
        """State of every controller, by its name."""
        answer = self._call(self._list, self._list.srv_type.Request())
        return {controller.name: controller.state for controller in answer.controller}

    def wait_for_controllers(self, *names: str, timeout: float = 400.0) -> None:
        """Wait until these are active; the first start compiles."""
        self.wait_until(lambda: self.states, "a state", timeout)
        self._wait_for_state("active", names, timeout)

    def wait_for_inactive(self, name: str, timeout: float = 60.0) -> None:
        """Wait until a controller could be activated."""
        self._wait_for_state("inactive", (name,), timeout)

    def _wait_for_state(self, state: str, names: Iterable[str], timeout: float) -> None:
        """Ask now and then: all clients of a service get every answer, so many answers push those to spawners out."""
        asked = -math.inf

        def reached() -> bool:
            nonlocal asked
            if time.monotonic() - asked < _ASKING_PERIOD:
                return False
            states = self.controllers()
            asked = time.monotonic()
            return all(states.get(name) == state for name in names)

        self.wait_until(reached, f"{state} {', '.join(names)}", timeout)

    def activate(self, name: str) -> None:
        self.wait_for_inactive(name)
        self._switch_controllers(activate_controllers=[name])

    def deactivate(self, name: str) -> None:
        self._switch_controllers(deactivate_controllers=[name])

    def _switch_controllers(self, **controllers: list[str]) -> None:
        request = self._switch.srv_type.Request(**controllers, strictness=2)
        request.timeout = Duration(sec=10)
        assert self._call(self._switch, request).ok

    def set_pace(self, factor: float) -> None:
        """Set the real-time factor."""
        value = Parameter("real_time_factor", value=factor).to_parameter_msg()
        answer = self._call(self._set_parameters, SetParameters.Request(parameters=[value]))
        assert answer.results[0].successful, answer

    def reset(self) -> None:
        answer = self._call(self._reset, Trigger.Request())
        assert answer.success, answer.message

    def begin(self, controller: str, seconds: float, **positions: float) -> Any:
        """Send a goal, at rest at its end; a future of its result."""
        name = f"/{controller}/follow_joint_trajectory"
        if name not in self._actions:
            self._actions[name] = ActionClient(self.node, self._goal_type, name)
        action = self._actions[name]
        self.wait_until(action.server_is_ready, name)
        goal = self._goal_type.Goal()
        goal.trajectory.joint_names = list(positions)
        goal.trajectory.points = [
            JointTrajectoryPoint(
                positions=list(positions.values()),
                velocities=[0.0] * len(positions),
                time_from_start=Duration(sec=int(seconds), nanosec=round(seconds % 1.0 * 1e9)),
            )
        ]
        sent = action.send_goal_async(goal)
        self.wait_until(sent.done, "an answer to the goal")
        assert sent.result().accepted, self.launch.output
        return sent.result().get_result_async()

    def go(self, controller: str, seconds: float, **positions: float) -> Any:
        """Send a goal and wait for its result."""
        result = self.begin(controller, seconds, **positions)
        self.wait_until(result.done, "the result of the goal")
        return result.result().result

    def move_arm(self, seconds: float, joint: str, by: float) -> Any:
        """Move a joint of the arm, the others staying; the result."""
        arm = {f"joint_{i}": self.position(f"joint_{i}") for i in range(1, 8)}
        return self.go("joint_trajectory_controller", seconds, **(arm | {joint: arm[joint] + by}))
