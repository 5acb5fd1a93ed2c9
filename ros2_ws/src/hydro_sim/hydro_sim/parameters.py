"""Parameters of the node: type, default, description, range, and whether they may change at run time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import FileLimits
from hydro_sim_core.simulation.running.realtime import check_realtime
from hydro_sim_core.simulation.running.runner import SLOWEST

#: Remedy for a file that exists.
REPLACE = "give another name, or start the node with overwrite:=true"
FREE_RUNNING, LOCK_STEP = "free_running", "lock_step"
_SOURCE = "parameters"
_SIM_TIME = "use_sim_time"
#: Parameters declared by rclpy itself.
_FOREIGN = (_SIM_TIME, "start_type_description_service", "qos_overrides")


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
    duration: float = _parameter(0.0, "Simulated time to run, s; 0 runs until stopped.", low=0.0, high=1e9)
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
        "Interface whose commands permit steps in lock-step: position, velocity, effort, joint, twist.",
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
        0.002, "Goals of grippers are reached this close to the opening, m.", low=0.0, high=1.0, live=True
    )
    gripper_stall_velocity: float = _parameter(
        0.001, "A gripper that opens or closes more slowly stands, m/s.", low=0.0, high=1.0, live=True
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
        "Link that twists move; '' for tool_frame, end_effector_link, tool0 or what the last joint carries.",
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
        0, "SCHED_FIFO priority of the stepping thread; 0 for none.", low=0, high=99
    )
    realtime_cpus: tuple[int, ...] = _parameter(
        (-1,), "Processors that the stepping thread may run on; [-1] for any."
    )
    lock_memory: bool = _parameter(False, "Keep all of the process in memory (mlockall).")
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

    def require_scene(self) -> None:
        """Raise an ``InputError`` if there is nothing to simulate."""
        if not self.scene:
            mend = "pass -p scene:=FILE with a scene YAML or URDF file, or the name of a shipped scene"
            raise InputError(_SOURCE, "scene", "is not set", mend)


def declare_parameters(
    node: Node, configured: Callable[[], bool], changed: Callable[[set[str]], None]
) -> Parameters:
    """Declare every parameter on ``node`` and keep the values up to date from then on.

    Args:
        node: Node made with ``automatically_declare_parameters_from_overrides``, to detect unknown overrides.
        configured: Whether only live parameters may change.
        changed: Called with the names of the parameters that were set.

    Returns:
        The values; the object changes when parameters are set.

    Raises:
        InputError: An override is unknown, of the wrong type, out of range or not among the choices, or the node would
            follow the clock that it publishes.
    """
    fields = {f.name: f for f in dataclasses.fields(Parameters)}
    overrides = {name: node.get_parameter(name).value for name in node.get_parameters_by_prefix("")}
    for name in overrides:
        if name in fields:
            node.undeclare_parameter(name)
        elif not name.startswith(_FOREIGN):
            raise InputError(_SOURCE, name, "no such parameter", f"use one of {', '.join(fields)}")

    values = Parameters()
    for name, spec in fields.items():
        default = getattr(values, name)
        value = _as_type_of(default, overrides[name], name) if name in overrides else default
        setattr(values, name, _declare(node, spec, value))
    _check_contents(values)
    _check_clock(values, node.get_parameter_or(_SIM_TIME).value)

    rules = _Rules(node, values, configured, changed)
    # rclpy checks types before any callback, and `ros2 param set` makes a whole number an integer.
    node.add_pre_set_parameters_callback(rules.converted)
    node.add_on_set_parameters_callback(rules.judge)
    node.add_post_set_parameters_callback(rules.store)
    return values


class _Rules:
    """Rules for setting parameters; arguments as for ``declare_parameters``."""

    def __init__(
        self,
        node: Node,
        values: Parameters,
        configured: Callable[[], bool],
        changed: Callable[[set[str]], None],
    ) -> None:
        self._node, self._values = node, values
        self._configured, self._changed = configured, changed
        self._fields = {f.name: f for f in dataclasses.fields(Parameters)}

    def converted(self, parameters: list[Parameter]) -> list[Parameter]:
        """Parameters converted to their declared types."""
        return [
            Parameter(p.name, value=_as_float(getattr(self._values, p.name), p.value))
            if p.name in self._fields
            else p
            for p in parameters
        ]

    def _ours(self, parameters: list[Parameter]) -> dict[str, Any]:
        return {
            p.name: _as_type_of(getattr(self._values, p.name), p.value, p.name)
            for p in parameters
            if p.name in self._fields
        }

    def judge(self, parameters: list[Parameter]) -> SetParametersResult:
        """Whether parameters may be set, or why not."""
        try:
            wanted = self._ours(parameters)
            for name, value in wanted.items():
                is_live = self._fields[name].metadata["live"]
                if self._configured() and not is_live and value != getattr(self._values, name):
                    mend = "deactivate and clean up the node first, or start it with this value"
                    raise InputError(_SOURCE, name, "is read when the node is configured", mend)
            merged = dataclasses.replace(self._values, **wanted)
            _check_contents(merged)
            own = self._node.get_parameter_or(_SIM_TIME)
            _check_clock(merged, {p.name: p.value for p in (own, *parameters)}[_SIM_TIME])
        except InputError as error:
            reason = f"{error.element}: {error.problem}; {error.mend}"
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def store(self, parameters: list[Parameter]) -> None:
        """Store new values."""
        wanted = self._ours(parameters)
        for name, value in wanted.items():
            setattr(self._values, name, value)
        self._changed(set(wanted))


def _as_float(default: Any, value: Any) -> Any:
    """Convert whole numbers to floats if the default has floats; leave other values unchanged."""
    wanted, given = Parameter.Type.from_parameter_value(default), Parameter.Type.from_parameter_value(value)
    if wanted is Parameter.Type.DOUBLE and given is Parameter.Type.INTEGER:
        return float(value)
    if wanted is Parameter.Type.DOUBLE_ARRAY and given is Parameter.Type.INTEGER_ARRAY:
        return tuple(float(v) for v in value)
    return value


def _as_type_of(default: Any, value: Any, name: str) -> Any:
    """Return ``value`` if it has the default's type; whole numbers are accepted for floats."""
    value = _as_float(default, value)
    wanted, given = Parameter.Type.from_parameter_value(default), Parameter.Type.from_parameter_value(value)
    if wanted is not given:
        problem = f"{value!r} is of type {given.name.lower()}"
        raise InputError(_SOURCE, name, problem, f"give a value of type {wanted.name.lower()}")
    return tuple(value) if isinstance(default, tuple) else value


def _declare(node: Node, spec: dataclasses.Field[Any], value: Any) -> Any:
    low, high, choices = (spec.metadata[key] for key in ("low", "high", "choices"))
    constraints = [f"one of {', '.join(choices)}"] if choices else []
    constraints += [] if spec.metadata["live"] else ["read when the node is configured"]
    descriptor = ParameterDescriptor(
        description=spec.metadata["description"],
        additional_constraints="; ".join(constraints),
        read_only=spec.metadata["fixed"],
    )
    if isinstance(value, float) and low is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    elif isinstance(value, int) and low is not None:
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
    try:
        # The value already has the converted override; rclpy would take the unconverted one.
        node.declare_parameter(spec.name, value, descriptor, ignore_override=True)
    except InvalidParameterValueException:
        mend = f"give a value from {low:g} to {high:g}"
        raise InputError(_SOURCE, spec.name, f"{value!r} is out of range", mend) from None
    return value


def _check_clock(values: Parameters, sim_time: Any) -> None:
    """Refuse a node that would read the time from its own clock topic."""
    if sim_time is True and values.publish_clock:
        problem = "true is for those who follow /clock, and this node publishes it"
        mend = "leave it out, or set publish_clock false where another node publishes /clock"
        raise InputError(_SOURCE, _SIM_TIME, problem, mend)


def _check_contents(values: Parameters) -> None:
    """Check conditions that a range cannot express."""
    for spec in dataclasses.fields(Parameters):
        choices = spec.metadata["choices"]
        if choices and getattr(values, spec.name) not in choices:
            problem = f"{getattr(values, spec.name)!r} is unknown"
            raise InputError(_SOURCE, spec.name, problem, f"use {' or '.join(choices)}")
    position = values.legend_position
    if position != (0.0,) and (len(position) != 3 or not all(math.isfinite(p) for p in position)):
        mend = "give finite x, y and z, or [0.0]"
        raise InputError(_SOURCE, "legend_position", f"{position} is no point", mend)
    if 0.0 < values.real_time_factor < SLOWEST:
        problem = f"{values.real_time_factor} is out of range"
        raise InputError(_SOURCE, "real_time_factor", problem, f"give 0 or {SLOWEST:g} to 1000")
    for name in ("trajectory_path_tolerances", "trajectory_goal_tolerances"):
        if not all(math.isfinite(value) and value >= 0.0 for value in getattr(values, name)):
            raise InputError(
                _SOURCE, name, "holds a negative or infinite tolerance", "give 0 for any deviation"
            )
    if not values.world_frame.strip():
        raise InputError(_SOURCE, "world_frame", "is empty", "give the frame a name, such as world")
    if values.link_outage_length > values.link_outage_period:
        problem = f"{values.link_outage_length:g} s is longer than link_outage_period"
        raise InputError(
            _SOURCE, "link_outage_length", problem, "give a shorter one, or link_loss 1 for no link"
        )
    try:
        _ = values.file_limits
    except InputError as error:
        raise InputError(_SOURCE, f"record_max_{error.element}", error.problem, error.mend) from None
    try:
        check_realtime(values.realtime_priority, values.processors)
    except InputError as error:
        raise InputError(_SOURCE, f"realtime_{error.element}", error.problem, error.mend) from None
