"""Rules of the node's parameters: how they are declared, what may be set, and when."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from hydro_sim.parameters import SOURCE, Parameters
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.running.realtime import check_realtime
from hydro_sim_core.simulation.running.settings import SLOWEST

_SIM_TIME = "use_sim_time"


def is_of_ros(name: str) -> bool:
    """Whether rclpy itself declares a parameter."""
    return name in (_SIM_TIME, "start_type_description_service") or name.startswith("qos_overrides.")


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
        elif not is_of_ros(name):
            raise InputError(SOURCE, name, "no such parameter", f"use one of {', '.join(fields)}")

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
                    raise InputError(SOURCE, name, "is read when the node is configured", mend)
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
        raise InputError(SOURCE, name, problem, f"give a value of type {wanted.name.lower()}")
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
        raise InputError(SOURCE, spec.name, f"{value!r} is out of range", mend) from None
    return value


def _check_clock(values: Parameters, sim_time: Any) -> None:
    """Refuse a node that would read the time from its own clock topic."""
    if sim_time is True and values.publish_clock:
        problem = "true is for those who follow /clock, and this node publishes it"
        mend = "leave it out, or set publish_clock false where another node publishes /clock"
        raise InputError(SOURCE, _SIM_TIME, problem, mend)


def _check_contents(values: Parameters) -> None:
    """Check conditions that a range cannot express."""
    for spec in dataclasses.fields(Parameters):
        choices = spec.metadata["choices"]
        if choices and getattr(values, spec.name) not in choices:
            problem = f"{getattr(values, spec.name)!r} is unknown"
            raise InputError(SOURCE, spec.name, problem, f"use {' or '.join(choices)}")
    position = values.legend_position
    if position != (0.0,) and (len(position) != 3 or not all(math.isfinite(p) for p in position)):
        mend = "give finite x, y and z, or [0.0]"
        raise InputError(SOURCE, "legend_position", f"{position} is no point", mend)
    if 0.0 < values.real_time_factor < SLOWEST:
        problem = f"{values.real_time_factor} is out of range"
        raise InputError(SOURCE, "real_time_factor", problem, f"give 0 or {SLOWEST:g} to 1000")
    for name in ("trajectory_path_tolerances", "trajectory_goal_tolerances"):
        if not all(math.isfinite(value) and value >= 0.0 for value in getattr(values, name)):
            raise InputError(
                SOURCE, name, "holds a negative or infinite tolerance", "give 0 for any deviation"
            )
    if not values.world_frame.strip():
        raise InputError(SOURCE, "world_frame", "is empty", "give the frame a name, such as world")
    if values.link_outage_length > values.link_outage_period:
        problem = f"{values.link_outage_length:g} s is longer than link_outage_period"
        raise InputError(
            SOURCE, "link_outage_length", problem, "give a shorter one, or link_loss 1 for no link"
        )
    try:
        _ = values.file_limits
    except InputError as error:
        raise InputError(SOURCE, f"record_max_{error.element}", error.problem, error.mend) from None
    try:
        check_realtime(max(0, values.realtime_priority), values.processors)
    except InputError as error:
        raise InputError(SOURCE, f"realtime_{error.element}", error.problem, error.mend) from None
