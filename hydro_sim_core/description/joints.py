"""Reader of ``<joint>`` and ``<transmission>`` elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hydro_sim_core.arithmetic import norm
from hydro_sim_core.description.gazebo import GazeboTags
from hydro_sim_core.description.joint_types import STANDARD_TYPES, JointType, joint_types
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.shapes import read_origin
from hydro_sim_core.description.spec import Array, JointSpec, LimitSpec, MimicSpec
from hydro_sim_core.description.topology import PlacedJoint
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import InputError

JOINT_TAGS = ("joint", "drake:joint")
#: Ends of a prismatic joint whose file gives none, m: URDF has no such joint without ends.
FAR = 1e4
_FAR_LIMITS = {"lower": repr(-FAR), "upper": repr(FAR)}
#: Effort or velocity that stands for none, as URDF readers need some.
UNBOUNDED = 1e9
_FAR_IN_WORDS = f"took {-FAR:g} m and {FAR:g} m"
#: Limits that planners and controllers keep to, and nothing that moves.
_OF_CONTROLLERS = ("acceleration", "deceleration", "jerk", "drake:acceleration", "drake:jerk")
#: What Drake's gains of a drive change, and their mend.
_GAINS = (
    "has the motor hold a position by gains, which are not read",
    "write an actuator with kp and kd in the scene",
)


def read_joints(robot: XmlElement, gazebo: GazeboTags) -> Iterator[PlacedJoint]:
    """Every joint of the file, in file order, with the reflected inertia of its drive.

    Args:
        robot: The ``<robot>``.
        gazebo: What its ``<gazebo>`` blocks say; the joint's own springs and stops outrank these.

    Raises:
        InputError: A joint is malformed.
    """
    rotor_inertias = _read_rotor_inertias(robot)
    for raw in robot.children(*JOINT_TAGS):
        name = raw.required_text("name")
        element = raw.named(f"joint '{name}'")
        yield PlacedJoint(_read_joint(element, name, rotor_inertias.get(name, 0.0), gazebo), element)


def _read_joint(element: XmlElement, name: str, rotor_inertia: float, gazebo: GazeboTags) -> JointSpec:
    kind = _with_ends(_read_type(element), element)
    for tag in ("calibration", "safety_controller"):
        for ignored in element.children(tag):
            ignored.ignore()
    dynamics = element.child("dynamics")
    stiffness, reference = _read_spring(dynamics, gazebo.springs.get(name, (0.0, 0.0)))
    limits = _read_limits(element, kind)
    if limits.stiffness is None:
        limits = replace(limits, stiffness=gazebo.stops.get(name))
    return JointSpec(
        name=name,
        type=kind.name,
        parent=element.required_child("parent").required_text("link"),
        child=element.required_child("child").required_text("link"),
        X_PJ=read_origin(element),
        axis=_read_axis(element, kind),
        limits=limits,
        damping=0.0 if dynamics is None else dynamics.non_negative("damping", default=0.0),
        friction=0.0 if dynamics is None else dynamics.non_negative("friction", default=0.0),
        rotor_inertia=rotor_inertia,
        spring_stiffness=stiffness,
        spring_reference=reference,
        mimic=_read_mimic(element, kind),
    )


def _read_spring(dynamics: XmlElement | None, otherwise: tuple[float, float]) -> tuple[float, float]:
    """Stiffness of a joint's spring and the position at which it is slack; the names are those of SDF."""
    if dynamics is None or dynamics.text("spring_stiffness") is None:
        if dynamics is not None and dynamics.text("spring_reference") is not None:
            raise dynamics.error("spring_reference without spring_stiffness", "give both, or neither")
        return otherwise
    return dynamics.non_negative("spring_stiffness"), dynamics.number("spring_reference", default=0.0)


def _read_type(element: XmlElement) -> JointType:
    known, written = joint_types(), element.required_text("type")
    # ``hydro:type`` outranks ``type``, which holds a standard type for other readers, see ``scene_urdf``.
    written = element.text("hydro:type") or written
    if written not in known:
        raise element.error(f"unknown joint type '{written}'", did_you_mean(written, known))
    return known[written]


def _with_ends(kind: JointType, element: XmlElement) -> JointType:
    """The type, or continuous for a revolute joint without any limits, which turns without ends."""
    limit = element.child("limit")
    if kind.name != "revolute" or (limit is not None and (limit.text("lower") or limit.text("upper"))):
        return kind
    error = (
        element.error("a revolute joint without <limit>", "add <limit lower=… upper=…>")
        if limit is None
        else limit.error("a revolute joint without lower and upper limits", "add lower=… and upper=…")
    )
    element.mend(error, "took it for continuous", lambda: element.write(type="continuous"))
    return joint_types()["continuous"]


def _read_axis(element: XmlElement, kind: JointType) -> Array:
    axis_element = element.child("axis")
    if axis_element is not None and axis_element.text("xyz") is None:
        if kind.axis != "unused":
            error = axis_element.error("attribute 'xyz' of <axis> is missing", 'write xyz="…"')
            axis_element.mend(error, "took 1 0 0, as without <axis>")
        axis_element = None
    axis = np.array([1.0, 0.0, 0.0]) if axis_element is None else axis_element.vector("xyz", 3)
    if axis_element is not None and kind.axis == "unused" and kind.name not in STANDARD_TYPES:
        raise axis_element.error(
            f"a {kind.name} joint has no axis to choose", "turn its frame by <origin> instead"
        )
    if axis_element is None or kind.axis == "unused":
        return np.array([1.0, 0.0, 0.0])
    return unit_axis(axis, axis_element)


def unit_axis(axis: Array, place: Place) -> Array:
    """Unit vector (3,) along an axis.

    Raises:
        InputError: The axis is zero or not finite.
    """
    largest = np.abs(axis).max()
    if largest == 0.0:
        raise place.error("the axis has no direction", "write an axis other than 0 0 0")
    if not 1e-100 < largest < 1e100:  # squares of such numbers overflow or underflow
        axis = axis / largest
    return np.asarray(axis / norm(axis))


def _read_limits(element: XmlElement, kind: JointType) -> LimitSpec:
    limit = element.child("limit")
    needed = kind.ends == "required"
    if limit is None:
        if needed:
            error = element.error(f"a {kind.name} joint without <limit>", "add <limit lower=… upper=…>")
            unbounded = {"effort": repr(UNBOUNDED), "velocity": repr(UNBOUNDED)}
            element.mend(error, _FAR_IN_WORDS, lambda: element.add("limit", **_FAR_LIMITS, **unbounded))
        return LimitSpec(-FAR, FAR) if needed else LimitSpec()
    ends = [limit.text(name) is not None for name in ("lower", "upper")]
    if needed and not any(ends):
        error = limit.error(f"a {kind.name} joint without lower and upper limits", "add lower=… and upper=…")
        limit.mend(error, _FAR_IN_WORDS, lambda: limit.write(**_FAR_LIMITS))
    lower, upper = (-FAR, FAR) if needed else (-np.inf, np.inf)
    if kind.ends != "none" and any(ends):
        # URDF: a limit that is not given is 0.
        lower, upper = limit.number("lower", default=0.0), limit.number("upper", default=0.0)
        try:
            check_range(lower, upper, limit)
        except InputError as error:
            lower, upper = upper, lower
            words = {"lower": repr(lower), "upper": repr(upper)}
            limit.mend(error, "swapped them", lambda: limit.write(**words))
    elif any(ends):
        # Many exporters write these for continuous joints, where they have no meaning.
        has_ends = limit.number("lower", default=0.0) < limit.number("upper", default=0.0)
        if kind.name == "planar" and has_ends:
            mend = "leave lower and upper out, or write two prismatic joints"
            problem = limit.error("a planar joint has no ends", mend)
            limit.mend(problem, "took none", lambda: limit.write(lower="0", upper="0"))
    for name in _OF_CONTROLLERS:
        limit.text(name)
    return LimitSpec(
        lower=lower,
        upper=upper,
        # Files write 0 where they know no speed, as a joint that never moves would be fixed.
        velocity=_read_bound(limit, "velocity") or np.inf,
        effort=_read_bound(limit, "effort"),
        stiffness=None if limit.text("hydro:stiffness") is None else limit.positive("hydro:stiffness"),
    )


def _read_bound(limit: XmlElement, attribute: str) -> float:
    """A bound of at least 0; infinite where there is none, or what other readers need there for none."""
    try:
        bound = limit.non_negative(attribute, default=np.inf)
        return bound if bound < UNBOUNDED else np.inf
    except InputError as error:
        limit.number(attribute)  # what is no number has no repair
        limit.mend(error, "took none", lambda: limit.write(**{attribute: repr(UNBOUNDED)}))
        return np.inf


def check_range(lower: float, upper: float, place: Place) -> None:
    """Check that the limits leave an admissible position.

    Raises:
        InputError: The lower limit is above the upper one.
    """
    if lower > upper:
        raise place.error(f"lower limit {lower:g} is above upper limit {upper:g}", "swap or correct them")


def _read_mimic(element: XmlElement, kind: JointType) -> MimicSpec | None:
    plain, of_drake = element.child("mimic"), element.child("drake:mimic")
    mimic = plain if of_drake is None else of_drake  # as in Drake, whose own tag outranks the standard one
    if mimic is not plain and plain is not None:
        plain.ignore()
    if mimic is None:
        return None
    multiplier, offset = mimic.number("multiplier", default=1.0), mimic.number("offset", default=0.0)
    try:
        check_mimic(kind, multiplier, mimic)
    except InputError as error:
        if kind.name != "fixed":
            raise
        mimic.ignore()
        mimic.mend(error, "left its mimic out, as it does not move")
        return None
    return MimicSpec(mimic.required_text("joint"), multiplier, offset)


def check_mimic(kind: JointType, multiplier: float, place: Place) -> None:
    """Check that a mimic joint can follow its master.

    Raises:
        InputError: The joint does not have exactly one coordinate, or the multiplier is 0.
    """
    if not kind.is_scalar:
        raise place.error(f"a {kind.name} joint cannot mimic another", "remove its mimic")
    if multiplier == 0.0:
        raise place.error("multiplier 0 couples nothing", "make the joint fixed or write another multiplier")


def _read_rotor_inertias(robot: XmlElement) -> dict[str, float]:
    """Reflected inertia of each joint's drive: rotor inertia times gear ratio squared."""
    joint_names = {joint.text("name") for joint in robot.children(*JOINT_TAGS)}
    reflected: dict[str, float] = {}
    for transmission in robot.children("transmission"):
        for joint_name, inertia in _reflected_inertias(transmission):
            if joint_name not in joint_names:
                raise transmission.error(
                    f"rotor inertia for the unknown joint '{joint_name}'", "correct its name"
                )
            reflected[joint_name] = inertia
        transmission.ignore()
    return reflected


def _reflected_inertias(transmission: XmlElement) -> Iterator[tuple[str, float]]:
    for actuator in transmission.children("actuator"):
        gains = actuator.child("drake:controller_gains")
        if gains is not None:
            gains.drop("drake:controller_gains", *_GAINS)
        rotor = actuator.child("drake:rotor_inertia")
        gear = actuator.child("drake:gear_ratio")
        if rotor is None:
            continue
        ratio = 1.0 if gear is None else gear.number("value")
        joint = transmission.required_child("joint").required_text("name")
        yield joint, rotor.non_negative("value") * ratio**2
