"""Starts the simulation of an arm and what belongs to it, as far as it is installed.

robot_state_publisher, RViz and, on request, the controllers of ros2_control. docs/ros_launch.md tells how they meet.
"""

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, LogInfo, OpaqueFunction, Shutdown, TimerAction
from launch.events.process import ShutdownProcess
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hydro_sim_bringup.plan import ARMS, AUTO, CONTROLLERS, GRIPPERS, plan_bringup
from hydro_sim_bringup.rviz import rviz_config
from hydro_sim_core import assets
from hydro_sim_core.errors import InputError

CONFIG = assets.folder("config")

BOOLEAN = ("true", "false", "True", "False")
LEVELS = ("debug", "info", "warn", "error", "fatal")

#: name: (default, meaning, allowed values)
ARGUMENTS = {
    "scene": (
        AUTO,
        "Scene YAML, URDF or xacro file, or a shipped scene; auto: that of arm and gripper.",
        None,
    ),
    "arm": (AUTO, f"Arm of a shipped scene; auto: {ARMS[0]}, or whatever scene holds.", (AUTO, *ARMS)),
    "gripper": (
        AUTO,
        f"Gripper of a shipped scene; auto: {GRIPPERS[0]}, or whatever scene holds.",
        (AUTO, *GRIPPERS),
    ),
    "description_file": (
        "",
        "URDF or xacro of the scene's robot, in place of the shipped description.",
        None,
    ),
    "params_file": (str(CONFIG / "node.yaml"), "Parameters of the node.", None),
    "controllers": (
        "none",
        "none: the node's own controllers; ros2_control: a controller manager through topics.",
        CONTROLLERS,
    ),
    "controllers_file": ("", "Parameters of the controller manager, in place of the shipped ones.", None),
    "lock_step": ("false", "Step only when the controller manager has commanded, period by period.", BOOLEAN),
    "namespace": ("", "Namespace of all nodes, and of /tf; /clock and /diagnostics stay shared.", None),
    "publish_clock": ("true", "Whether the node publishes /clock; of several only one may.", BOOLEAN),
    "use_sim_time": ("true", "Whether everything beside the node follows /clock.", BOOLEAN),
    "respawn": (
        "false",
        "Start another simulation, with its controllers, where one was killed or crashed.",
        BOOLEAN,
    ),
    "duration": ("0.0", "Simulated time to run, s, a step at least; 0 runs until stopped.", None),
    "rviz": ("false", "Start RViz.", BOOLEAN),
    "viewer": ("false", "Serve a web page that shows the simulation.", BOOLEAN),
    "headless": ("false", "Neither RViz nor a status line.", BOOLEAN),
    "log_level": ("info", "Log level of every node.", LEVELS),
}

#: Of every node in a namespace, so that the frames of two robots do not mix; nav2 and others do the same.
TRANSFORMS = (("/tf", "tf"), ("/tf_static", "tf_static"))
#: Seconds of a spawner for a switch of controllers, which a busy machine holds up, and for a call, which may be lost
#: and is repeated then.
SPAWNER_PATIENCE = ("--switch-timeout", "15", "--service-call-timeout", "20")
#: Seconds between the end of a program and the start of another in its place.
RESPAWN_DELAY = 1.0
#: What controllers:=ros2_control takes.
ROS2_CONTROL = (
    "controller_manager",
    "joint_state_broadcaster",
    "joint_state_topic_hardware_interface",
    "joint_trajectory_controller",
    "robot_state_publisher",
)


def generate_launch_description():
    """The arguments, and everything else once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)
        for name, (default, description, choices) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context):
    """The simulation and its company; all end when the simulation does."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    check_values(given)
    names = ("scene", "arm", "gripper", "description_file", "controllers", "controllers_file")
    bringup = plan_bringup(**{name: given[name] for name in names})
    external = given["controllers"] == "ros2_control"
    if is_true(given["lock_step"]) and not external:
        mend = "add controllers:=ros2_control, or set the node's parameter mode"
        raise InputError("launch arguments", "lock_step", "is with a controller manager", mend)
    lacking = missing(*ROS2_CONTROL) if external else []
    actions = []
    if lacking:
        external = False
        actions.append(say(f"not installed: {', '.join(lacking)}; going on with the node's own controllers"))
    published = bringup.description is not None and not missing("robot_state_publisher")
    leaders = Leaders(given, bringup) if external else None
    actions.append(simulation(given, bringup, published, leaders))
    if published:
        actions.append(robot_state_publisher(given, bringup))
    elif bringup.description is not None:
        actions.append(
            say("robot_state_publisher is not installed; the node describes and transforms the robot")
        )
    if leaders is not None:
        actions += leaders.begin()
    if is_true(given["rviz"]):
        actions.append(rviz(given, bringup))
    return actions


def check_values(given):
    """What launch itself would let pass, or complain of without a name."""
    if not Path(given["params_file"]).is_file():
        raise InputError(
            "launch arguments", "params_file", f"no file '{given['params_file']}'", "correct the path"
        )
    try:
        float(given["duration"])
    except ValueError:
        mend = "give simulated seconds"
        raise InputError(
            "launch arguments", "duration", f"'{given['duration']}' is no number", mend
        ) from None


def simulation(given, bringup, published, leaders):
    """The node, told what it can leave to others."""
    external = leaders is not None
    parameters = {
        # A scene may have a name that YAML would read as a number.
        "scene": ParameterValue(bringup.scene, value_type=str),
        "duration": float(given["duration"]),
        "builtin_controllers": not external,
        "publish_clock": is_true(given["publish_clock"]),
    }
    if external:
        # The manager sleeps by the clock: it needs time that never goes back, and in lock-step its own period.
        parameters |= {
            "reset_time": False,
            "lock_step_interface": "joint",
            "lock_step_period": bringup.control_period,
        }
        if is_true(given["lock_step"]):
            parameters["mode"] = "lock_step"
    if is_true(given["viewer"]):
        parameters["viewer"] = True
    if published:
        parameters["external_models"] = list(bringup.models)
    if is_true(given["headless"]):
        parameters["status_line"] = False

    def ended(event, context):
        if not calls_for_another(event, context, given):
            return end(event, context)
        return [told(event, "the simulation"), *(leaders.end() if external else ())]

    return node(
        given,
        "hydro_sim",
        "hydro_sim",
        name="hydro_sim",
        parameters=[given["params_file"], parameters],
        output="screen",
        on_exit=ended,
        respawn=is_true(
            given["respawn"]
        ),  # whatever the status, unless what ``ended`` says ends the launch before
        respawn_delay=RESPAWN_DELAY,
    )


def end(event, context):
    """Ends everything with the simulation; a failed one gives ``ros2 launch`` a status other than 0."""
    if event.returncode:
        raise RuntimeError(f"the simulation ended with status {event.returncode}")
    return [Shutdown(reason="the simulation has ended")]


def robot_state_publisher(given, bringup):
    """Publishes the description, with the <ros2_control> block where there is one, and the robot's transforms."""
    description = {"robot_description": ParameterValue(bringup.description, value_type=str)}
    return node(
        given,
        "robot_state_publisher",
        "robot_state_publisher",
        parameters=[description, sim_time(given)],
        respawn=is_true(given["respawn"]),
        respawn_delay=RESPAWN_DELAY,
    )


class Leaders:
    """The controller manager, and the spawners of its controllers once the simulation runs.

    With respawn, others follow those that were killed, and those whose simulation was: a manager that outlives it
    sleeps until ``/clock`` is again where it was, and would then lead the arm to where that was.

    Args:
        given: The launch arguments.
        bringup: Plan with the controllers.
    """

    def __init__(self, given, bringup):
        self._given = given
        self._bringup = bringup
        self._present = []

    def begin(self):
        """Starts a manager, and what loads its controllers."""
        files = [str(path) for path in self._bringup.controllers_files]
        manager = node(
            self._given,
            "controller_manager",
            "ros2_control_node",
            parameters=[*files, sim_time(self._given)],
            output="both",
            on_exit=self._follow,
        )
        self._present = [manager]
        return [manager, self._spawners(self._present)]

    def end(self):
        """Ends the manager; spawners that still talk to it have no say any more."""
        ends = self._present
        self._present = []
        return [EmitEvent(event=ShutdownProcess(process_matcher=lambda program: program in ends))]

    def _follow(self, event, context):
        """Others in place of a manager that was ended here, or killed."""
        begin = TimerAction(
            period=RESPAWN_DELAY, actions=[OpaqueFunction(function=lambda context: self.begin())]
        )
        if not self._present and not context.is_shutdown:
            return [begin]
        if not calls_for_another(event, context, self._given):
            return []
        return [told(event, "the controller manager"), *self.end(), begin]

    def _spawners(self, members):
        """The first of a chain: spawners, which lock each other out, after the compilation that none would survive."""
        following = None
        for names, flags in (
            (self._bringup.inactive_controllers, ["--inactive"]),
            (self._bringup.active_controllers, []),
        ):
            if names:
                following = node(
                    self._given,
                    "controller_manager",
                    "spawner",
                    arguments=[*names, *flags, *SPAWNER_PATIENCE],
                    on_exit=self._then(members, following, f"the spawner of {', '.join(names)}"),
                )
                members.append(following)
        wait = node(
            self._given,
            "hydro_sim",
            "wait_for_simulation",
            on_exit=self._then(members, following, "the wait for the simulation"),
        )
        members.append(wait)
        return wait

    def _then(self, members, following, program):
        """Starts what follows a program, or ends all if that failed: a robot that nobody leads looks well."""

        def after(event, context):
            if context.is_shutdown or members is not self._present:
                return []
            if event.returncode:
                raise RuntimeError(f"{program} ended with status {event.returncode}; its lines above say why")
            return [following] if following else []

        return after


def calls_for_another(event, context, given):
    """Whether a program was killed, or has crashed; one that failed by itself would do so again."""
    return is_true(given["respawn"]) and event.returncode < 0 and not context.is_shutdown


def told(event, program):
    return say(f"{program} was ended by signal {-event.returncode}; starting another")


def rviz(given, bringup):
    """RViz on the scene, or a line that says why not."""
    if is_true(given["headless"]):
        return say("headless: RViz is not started")
    if missing("rviz2"):
        return say("rviz2 is not installed; going on without it")
    folder = Path(mkdtemp(prefix="hydro_sim_rviz_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config = folder / "scene.rviz"
    config.write_text(rviz_config(bringup.scene, given["namespace"]))
    return node(given, "rviz2", "rviz2", parameters=[sim_time(given)], arguments=["-d", str(config)])


def node(given, package, executable, arguments=(), remappings=(), **options):
    """A node in the namespace, with transforms of its own there, at the log level."""
    transforms = TRANSFORMS if given["namespace"].strip("/") else ()
    return Node(
        package=package,
        executable=executable,
        namespace=given["namespace"],
        remappings=[*transforms, *remappings],
        arguments=[*arguments, "--ros-args", "--log-level", given["log_level"]],
        **options,
    )


def sim_time(given):
    return {"use_sim_time": is_true(given["use_sim_time"])}


def missing(*packages):
    """Those that are not installed."""
    absent = []
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            absent.append(package)
    return absent


def say(text):
    return LogInfo(msg=text)


def is_true(text):
    return text.lower() == "true"
