"""Parameters of the node: type, default, description, range, and whether they may change at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hydro_sim_core.description.paths import is_xacro_argument
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.recording import FileLimits
from hydro_sim_core.simulation.scenes import RobotOptions

#: Remedy for a file that exists.
REPLACE = "give another name, or start the node with overwrite:=true"
#: Value of ``realtime_priority`` for what the system permits.
AS_PERMITTED = -1
FREE_RUNNING, LOCK_STEP = "free_running", "lock_step"
SOURCE = "parameters"


def _parameter(
    default: Any,
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    live: bool = False,
    fixed: bool = False,
) -> Any:
    """A field of ``Parameters``.

    Args:
        default: Value without an override; its type is the parameter's.
        description: Shown by ``ros2 param describe``.
        low: Smallest allowed number.
        high: Largest allowed number.
        choices: Allowed strings.
        live: Whether it may be set while the node runs; others are read when the node is configured.
        fixed: Whether it is given when the process starts, and by nobody over the network.
    """
    metadata = {
        "description": description,
        "low": low,
        "high": high,
        "choices": choices,
        "live": live,
        "fixed": fixed,
    }
    return field(default=default, metadata=metadata)


def _timeout(interface: str, default: float = 0.0) -> Any:
    description = (
        f"Silence on interface {interface} that timeout_policy ends, s of simulated time; 0 for any."
    )
    return _parameter(default, description, low=0.0, high=1e3, live=True)


@dataclass
class Parameters:
    """Current values, changed by ``ros2 param set``; those that are not live only while the node is unconfigured."""

    autostart: bool = _parameter(True, "Configure and activate at once, without a lifecycle manager.")
    scene: str = _parameter("", "Scene YAML, URDF or xacro file to simulate, or the name of a shipped scene.")
    scene_values: tuple[str, ...] = _parameter(
        ("",), "Other values in the scene, each PATH=VALUE as for --set of the command line; [''] for none."
    )
    xacro_args: tuple[str, ...] = _parameter(
        ("",), "Arguments of a xacro file, each NAME:=VALUE, or several with blanks between; [''] for none."
    )
    package_dirs: tuple[str, ...] = _parameter(
        ("",),
        "Packages, or folders of packages, that a robot file names, beside those of ROS; [''] for none.",
    )
    srdf: str = _parameter("", "SRDF of a robot file, or xacro of one; '' for the one that it names.")
    ignore: tuple[str, ...] = _parameter(
        ("",),
        "What in a robot file is ignored although it changes the physics, in the words of the error, each quoted, "
        "['gazebo:joint']; [''] for none.",
    )
    ground: bool = _parameter(False, "Put a robot file on a ground: a robot stands, an object falls to it.")
    repair: Literal["strict", "warn", "silent"] = _parameter(
        "warn",
        "What cannot be in a robot file, such as an impossible inertia: 'strict' refuses it, 'warn' repairs it with "
        "one warning, 'silent' without.",
        choices=("strict", "warn", "silent"),
    )
    duration: float = _parameter(
        0.0, "Simulated time to run, s, a step at least; 0 runs until stopped.", low=0.0, high=1e9
    )
    real_time_factor: float = _parameter(
        1.0,
        "Simulated over wall time to hold, 0.001 or more; 0 steps as fast as possible.",
        low=0.0,
        high=1000.0,
        live=True,
    )
    overrun: Literal["skip", "catch_up"] = _parameter(
        "catch_up",
        "After a late step: 'catch_up' steps faster until the time is regained, 'skip' gives it up.",
        choices=("skip", "catch_up"),
        live=True,
    )
    max_backlog: float = _parameter(
        0.1,
        "What 'catch_up' regains at most, s of wall time: steps follow each other at full speed for as long as that.",
        low=1e-3,
        high=3600.0,
        live=True,
    )
    mode: Literal["free_running", "lock_step"] = _parameter(
        FREE_RUNNING,
        "'free_running' steps at its rate, 'lock_step' when the controller's command for the step has arrived.",
        choices=(FREE_RUNNING, LOCK_STEP),
    )
    lock_step_interface: str = _parameter(
        "effort",
        "Interface whose commands permit steps in lock-step: position, velocity, effort, joint, twist, impedance.",
    )
    lock_step_steps: int = _parameter(
        1, "Steps that one command permits in lock-step.", low=1, high=1_000_000, live=True
    )
    lock_step_period: float = _parameter(
        0.0,
        "Lock-step with a controller that sleeps by /clock: its period, s, a multiple of the time step; 0 for answers.",
        low=0.0,
        high=10.0,
    )
    start_paused: bool = _parameter(False, "Wait for ~/pause false before the first step.")
    reset_time: bool = _parameter(
        True,
        "Whether a full reset sets the time to zero; false lets it go on, as controllers that sleep by /clock need.",
        live=True,
    )
    step_count: int = _parameter(1, "Steps that one call of ~/step takes.", low=1, high=1_000_000, live=True)
    joint_state_rate: float = _parameter(
        250.0,
        "joint_states and multi_dof_joint_states a second of simulated time.",
        low=1.0,
        high=1000.0,
        live=True,
    )
    clock_rate: float = _parameter(
        0.0, "/clock a second of simulated time; 0 publishes after every step.", low=0.0, high=1e5, live=True
    )
    publish_clock: bool = _parameter(
        True, "Publish /clock; of several nodes that share it only one may, whatever their namespaces."
    )
    contact_rate: float = _parameter(
        30.0, "~/contacts a second of simulated time.", low=1.0, high=1000.0, live=True
    )
    wrench_topics: tuple[str, ...] = _parameter(
        ("",),
        "Pairs with topics ~/wrench/A_on_B, each A_on_B, or 'all'; [''] for those that the scene names in "
        "report.wrenches.",
    )
    wrench_rate: float = _parameter(
        100.0, "~/wrench/... a second of simulated time.", low=1.0, high=1000.0, live=True
    )
    tf_rate: float = _parameter(60.0, "/tf a second of simulated time.", low=1.0, high=1000.0, live=True)
    marker_rate: float = _parameter(
        30.0, "~/contact_markers a second of wall time.", low=1.0, high=120.0, live=True
    )
    world_frame: str = _parameter("world", "Frame id of the world in every header.")
    pressure_full_scale: float = _parameter(
        0.0, "Pressure at the upper end of the colour scale, kPa; 0 chooses it.", low=0.0, high=1e9
    )
    legend_position: tuple[float, ...] = _parameter(
        (0.0,),
        "Lower left corner of the pressure legend in the world, m; [0.0] puts it beside what the scene handles.",
    )
    command_joints: tuple[str, ...] = _parameter(
        ("",), "Joints that command arrays address, in order; [''] means all but fingers."
    )
    external_models: tuple[str, ...] = _parameter(
        ("",),
        "Models that robot_state_publisher describes and transforms; the node leaves both to it. [''] means none.",
    )
    builtin_controllers: bool = _parameter(
        True,
        "Serve the topics and actions of ros2_control's usual controllers; false leaves their names to ros2_control.",
    )
    trajectory_path_tolerances: tuple[float, ...] = _parameter(
        (0.0,),
        "A goal fails when a joint is off its trajectory by more, rad or m; one for all or one a joint, 0 for any.",
    )
    trajectory_goal_tolerances: tuple[float, ...] = _parameter(
        (0.01,),
        "A goal is reached when joints are off by no more, rad or m; one for all or one a joint, 0 for any.",
    )
    trajectory_goal_time: float = _parameter(
        1.0, "Time after its end to reach a trajectory's goal, s; 0 for ever.", low=0.0, high=1e6, live=True
    )
    trajectory_stopped_velocity_tolerance: float = _parameter(
        0.01,
        "Speed of joints at which a goal counts as reached, rad/s or m/s; 0 for any.",
        low=0.0,
        high=1e6,
        live=True,
    )
    gripper_goal_tolerance: float = _parameter(
        0.002,
        "Goals of grippers are reached this close to the opening, or joint of a linkage, m or rad.",
        low=0.0,
        high=1.0,
        live=True,
    )
    gripper_stall_velocity: float = _parameter(
        0.001,
        "A gripper that opens or closes more slowly stands, m/s or rad/s.",
        low=0.0,
        high=1.0,
        live=True,
    )
    gripper_stall_timeout: float = _parameter(
        1.0,
        "A gripper that stands for longer short of its goal has stalled, s.",
        low=0.0,
        high=100.0,
        live=True,
    )
    gripper_allow_stalling: bool = _parameter(
        True, "Whether a goal of a gripper that stalls, as on what it holds, succeeds.", live=True
    )
    twist_link: str = _parameter(
        "",
        "Link that twists and poses move; '' for tool_frame, end_effector_link, tool0 or what the last joint "
        "carries.",
    )
    impedance_stiffness: float = _parameter(
        500.0,
        "Stiffness of the springs on which target_pose puts the tool, N/m.",
        low=0.0,
        high=1e5,
        live=True,
    )
    impedance_angular_stiffness: float = _parameter(
        30.0, "The same against turns of the tool, N m/rad.", low=0.0, high=1e4, live=True
    )
    impedance_damping_ratio: float = _parameter(
        1.0, "Share of critical damping of these springs.", low=0.0, high=10.0, live=True
    )
    timeout_policy: Literal["hold", "float", "zero_effort"] = _parameter(
        "hold",
        "What joints do whose interface falls silent: keep their place, float under borne weight, or give no effort.",
        choices=("hold", "float", "zero_effort"),
        live=True,
    )
    command_timeout_position: float = _timeout("position")
    command_timeout_velocity: float = _timeout("velocity")
    command_timeout_effort: float = _timeout("effort")
    command_timeout_joint: float = _timeout("joint")
    command_timeout_twist: float = _timeout("twist", 0.1)
    command_timeout_impedance: float = _timeout("impedance")
    command_timeout_trajectory: float = _timeout("trajectory, after the end of one,")
    command_timeout_gripper: float = _timeout("gripper, after the end of a move,")
    max_command_age: float = _parameter(
        0.0,
        "Stamped commands older than this are dropped, s; 0 takes them all.",
        low=0.0,
        high=1e3,
        live=True,
    )
    link_delay: float = _parameter(
        0.0, "Delay of every command, s of simulated time.", low=0.0, high=10.0, live=True
    )
    link_jitter: float = _parameter(
        0.0, "Further delay, drawn evenly from 0 to this, s of simulated time.", low=0.0, high=10.0, live=True
    )
    link_loss: float = _parameter(0.0, "Share of commands that are lost.", low=0.0, high=1.0, live=True)
    link_outage_period: float = _parameter(
        0.0, "Time from one outage of the link to the next, s; 0 for none.", low=0.0, high=1e6, live=True
    )
    link_outage_length: float = _parameter(
        0.0, "How long an outage loses every command, s.", low=0.0, high=1e6, live=True
    )
    link_seed: int = _parameter(0, "Seed of what the link loses and delays.", low=0, high=2**31 - 1)
    realtime_priority: int = _parameter(
        AS_PERMITTED,
        "SCHED_FIFO priority of the stepping thread; 0 for none, -1 for what is permitted.",
        low=-1,
        high=99,
    )
    realtime_cpus: tuple[int, ...] = _parameter(
        (-1,), "Processors that the stepping thread may run on; [-1] for any."
    )
    lock_memory: bool = _parameter(False, "Keep all of the process in memory (mlockall).")
    shared_memory: str = _parameter(
        "", "Name of the shared memory for controllers of other processes; '' for none."
    )
    record: str = _parameter(
        "",
        "MCAP file to record to what is published and commanded; a new one after every reset. '' for none.",
    )
    record_max_size: float = _parameter(
        0.0, "Size at which the recording goes on in another file, MB; 0 for any.", low=0.0, high=1e9
    )
    record_max_duration: float = _parameter(
        0.0, "Simulated time after which it does, s; 0 for any.", low=0.0, high=1e9
    )
    replay: str = _parameter("", "MCAP file whose commands are obeyed in simulated time; '' for none.")
    replay_joint_states: bool = _parameter(
        False, "Replay the joint_states of the recording as position commands of command_joints."
    )
    report_file: str = _parameter(
        "", "JSON file to write the report on timing and commands to at the end; '' for none."
    )
    overwrite: bool = _parameter(
        False,
        "Let record and report_file replace files that exist; given when the process starts.",
        fixed=True,
    )
    bubbles: tuple[str, ...] = _parameter(
        ("",),
        "Links that are Soft-bubbles with cameras: topics bubble_1/..., bubble_2/..., in order; [''] for none.",
    )
    bubble_cameras: tuple[str, ...] = _parameter(
        ("",), "Links in whose frames the cameras of the bubbles look: z forward, x to the right, y down."
    )
    bubble_cap_height: float = _parameter(
        0.030, "Height of a bubble's membrane above its rim, m.", low=1e-4, high=1.0
    )
    bubble_rate: float = _parameter(
        0.0, "Images of the bubbles a second of simulated time; 0 for marker_rate.", low=0.0, high=1e5
    )
    bubble_image_size: tuple[int, ...] = _parameter((320, 240), "Width and height of the images, pixels.")
    bubble_field_of_view: float = _parameter(
        1.082, "Angle from the left to the right border of the images, rad.", low=0.05, high=3.0
    )
    bubble_depth_encoding: Literal["16UC1", "32FC1"] = _parameter(
        "16UC1",
        "Depth images in whole mm (16UC1, as the real camera's) or in m (32FC1).",
        choices=("16UC1", "32FC1"),
    )
    bubble_depth_noise: float = _parameter(
        0.0, "White noise of each pixel of the depth images, standard deviation, m.", low=0.0, high=0.1
    )
    bubble_noise_seed: int = _parameter(0, "Seed of that noise.", low=0, high=2**31 - 1)
    viewer: bool = _parameter(False, "Serve a web page that shows the simulation; its address is printed.")
    viewer_address: str = _parameter("127.0.0.1", "Address that the page is served on.")
    viewer_port: int = _parameter(
        8008, "Port that the page is served on, or the next free one.", low=1, high=65535
    )
    viewer_token: str = _parameter(
        "",
        "Token of the page's address; '' for your own (beyond this machine, a new one), 'none' to let everybody in.",
    )
    viewer_open: bool = _parameter(False, "Open the page in a browser where there is a display.")
    status_line: bool = _parameter(True, "Print simulated time, real-time factor, faces and grip force.")

    @property
    def pace(self) -> float:
        """Real-time factor, infinite for as fast as possible."""
        return self.real_time_factor or math.inf

    @property
    def file_limits(self) -> FileLimits:
        """Limits of each file of the recording."""
        return FileLimits(1e6 * self.record_max_size or math.inf, self.record_max_duration or math.inf)

    @property
    def processors(self) -> tuple[int, ...]:
        """Processors of the stepping thread; empty for any."""
        return tuple(cpu for cpu in self.realtime_cpus if cpu >= 0)

    @property
    def robot_options(self) -> RobotOptions:
        """Options of a robot file that is simulated alone.

        Raises:
            InputError: An argument is no ``NAME:=VALUE``.
        """
        arguments = [word for text in self.xacro_args for word in text.split()]
        for argument in arguments:
            if not is_xacro_argument(argument):
                mend = "write NAME:=VALUE, such as dof:=7"
                raise InputError(SOURCE, "xacro_args", f"'{shortened(argument)}' is no argument", mend)
        folders = tuple(Path(folder) for folder in self.package_dirs if folder)
        words = tuple(word for text in self.ignore for word in text.replace(",", " ").split())
        srdf = Path(self.srdf) if self.srdf else None
        return RobotOptions(folders, tuple(arguments), srdf, self.ground, self.repair, words)

    def require_scene(self) -> None:
        """Raise an ``InputError`` if there is nothing to simulate."""
        if not self.scene:
            mend = "pass -p scene:=FILE with a scene YAML or URDF file, or the name of a shipped scene"
            raise InputError(SOURCE, "scene", "is not set", mend)
