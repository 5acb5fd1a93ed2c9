"""Reader of ``<gazebo>`` blocks: what they say of links and joints, as Gazebo reads it (``docs/robots.md``).

Friction, contact stiffness, weight and contact within the robot are used, and springs and stops of joints. Looks,
sensors, plug-ins and settings of Gazebo's own solver change no physics here. Everything else is refused, unless it is
to be ignored (``dropped.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from lxml import etree

from hydro_sim_core.description.limits import RANGES
from hydro_sim_core.description.spec import ProximitySpec
from hydro_sim_core.description.xml_source import XmlElement, tag_of
from hydro_sim_core.errors import shortened

_LOG = logging.getLogger(__name__)

_YES, _NO = ("true", "1", "yes"), ("false", "0", "no")
#: Gazebo's words for whether gravity pulls a link, and what says that it does not.
_GRAVITY = {"turnGravityOff": True, "gravity": False}
_SELF_COLLIDE = ("selfCollide", "self_collide")
#: Numbers of links and of joints that are used.
_OF_LINKS, _OF_JOINTS = ("mu", "mu1", "mu2", "kp", "kd"), ("springStiffness", "springReference", "stopKp")
#: Flags that change nothing where they say no: the word's meaning where they say yes.
_FLAGS = {
    "static": "keeps the whole model from moving",
    "kinematic": "has the link move whatever pushes against it",
    "enable_wind": "lets Gazebo's wind push the link",
}
#: Numbers that change nothing at one value, with that value and the word's meaning at others.
_NUMBERS = {"dampingFactor": (0.0, "takes speed from a link wherever it is")}
#: What else changes the physics, with its meaning.
_MEANINGS = {
    "joint": "adds a joint to the robot",
    "link": "adds a link to the robot",
    "gripper": "fixes what the robot grasps to its palm",
}
#: Looks, sensors, programs, what is told of the state, and settings of Gazebo's solver and reader.
_QUIET = {
    *("material", "visual", "projector", "laserRetro", "laser_retro", "genTexCoord", "light", "transparency"),
    *(
        "sensor",
        "plugin",
        "controller",
        "provideFeedback",
        "provide_feedback",
        "initial_joint_position",
        "canonicalBody",
    ),
    *("fdir1", "maxVel", "max_vel", "minDepth", "min_depth", "maxContacts", "max_contacts", "fudgeFactor"),
    *("stopKd", "stopCfm", "stopErp", "cfmDamping", "implicitSpringDamper"),
    *("preserveFixedJoint", "disableFixedJointLumping"),
}


@dataclass(frozen=True)
class GazeboTags:
    """What a file's ``<gazebo>`` blocks say.

    Attributes:
        contact: Contact properties of links.
        weightless: Links that gravity does not pull.
        apart: Links that touch no other of their robot.
        all_apart: Whether no two links of the robot touch.
        springs: Stiffness of each joint's spring, N m/rad or N/m, and position at which it is slack, rad or m.
        stops: Stiffness of each joint's stops, N m/rad or N/m.
    """

    contact: dict[str, ProximitySpec] = field(default_factory=dict)
    weightless: Set[str] = frozenset()
    apart: Set[str] = frozenset()
    all_apart: bool = False
    springs: dict[str, tuple[float, float]] = field(default_factory=dict)
    stops: dict[str, float] = field(default_factory=dict)


def read_gazebo(robot: XmlElement, links: Set[str], joints: Set[str]) -> GazeboTags:
    """Read every ``<gazebo>`` block of a robot.

    Args:
        robot: The ``<robot>``.
        links: Names of its links.
        joints: Names of its joints.

    Raises:
        InputError: A value is malformed, or a link or joint is given two values.
    """
    told: dict[str, dict[str, XmlElement]] = {}
    whole: dict[str, XmlElement] = {}
    lost: dict[str, None] = {}
    known_names = links | joints
    alone = {
        str(joint.get("name"))
        for joint in robot.lxml.iterchildren("joint")
        if joint.find("mimic") is None and joint.get("type") != "fixed"
    }
    for block in robot.children("gazebo"):
        reference = block.text("reference")
        here = whole if reference is None else told.setdefault(reference, {})
        for element in _effective(block, reference):
            known = here.setdefault(element.tag, element)
            if known is not element and _text_of(known) != _text_of(element):
                raise element.error(f"a second <{element.tag}> of another value", "keep one of the two")
            if reference is not None and reference not in known_names:
                lost[shortened(reference, 60)] = None
        _drop_mimics(block, alone)
        block.ignore()
    _warn_of_lost(lost, robot)
    of_links = {name: said for name, said in told.items() if name in links}
    of_joints = {name: said for name, said in told.items() if name in joints}
    return GazeboTags(
        contact={name: contact_of(said) for name, said in of_links.items()},
        weightless={name for name, said in of_links.items() if _is_weightless(said)},
        apart={name for name, said in of_links.items() if _is_apart(said)},
        all_apart=_is_apart(whole),
        springs={name: _spring(said) for name, said in of_joints.items() if "springStiffness" in said},
        stops={name: _positive(said["stopKp"]) for name, said in of_joints.items() if "stopKp" in said},
    )


def _effective(block: XmlElement, reference: str | None) -> Iterator[XmlElement]:
    """Elements of a block that are used here; reports those that are not and change the physics."""
    label = "<gazebo>" if reference is None else f"<gazebo> of '{shortened(reference, 60)}'"
    for child in block.lxml.iterchildren(etree.Element):
        tag = tag_of(child)
        kind = tag.partition(":")[0]  # "sensor:camera" and the like are of Gazebo before 1.0
        if kind in _QUIET:
            continue
        element = XmlElement(child, block.document, label)
        is_used = tag in (*_OF_LINKS, *_OF_JOINTS, *_GRAVITY) and reference is not None
        if tag in _GRAVITY or tag in _SELF_COLLIDE:
            _flag(element)
        if is_used or tag in _SELF_COLLIDE:
            yield element
        elif not _says_nothing(element):
            meaning = _MEANINGS.get(kind) or _FLAGS.get(kind) or _NUMBERS.get(kind, (0.0, ""))[1]
            problem = f"{meaning or 'is part of the robot in Gazebo'}, and is not used here"
            element.drop(f"gazebo:{shortened(kind, 60)}", problem, "leave it out")


def _drop_mimics(block: XmlElement, alone: Set[str]) -> None:
    """Report joints among those without <mimic> that a plug-in has follow others: it is a program, and not run."""
    for follower in block.lxml.iterfind("plugin/mimicJoint"):
        name = (follower.text or "").strip()
        if name in alone:
            element = XmlElement(follower, block.document, "<gazebo>")
            problem = f"has joint '{shortened(name, 60)}' follow another, and is not used here"
            element.drop("gazebo:mimicJoint", problem, "write <mimic joint=…> in that joint")


def _says_nothing(element: XmlElement) -> bool:
    """Whether an element has the value with which it changes nothing."""
    if element.tag in _FLAGS:
        return not _flag(element)
    if element.tag in _GRAVITY:
        return _flag(element) != _GRAVITY[element.tag]
    return element.tag in _NUMBERS and element.value_number() == _NUMBERS[element.tag][0]


def _text_of(element: XmlElement) -> str:
    value = element.text("value")
    return ((element.lxml.text or "") if value is None else value).strip()


def _flag(element: XmlElement) -> bool:
    text = _text_of(element).lower()
    if text not in (*_YES, *_NO):
        raise element.error(f"<{element.tag}> is '{shortened(text, 60)}'", "write true or false")
    return text in _YES


def _is_weightless(said: Mapping[str, XmlElement]) -> bool:
    return any(_flag(said[tag]) == off for tag, off in _GRAVITY.items() if tag in said)


def _is_apart(said: Mapping[str, XmlElement]) -> bool:
    return any(not _flag(said[tag]) for tag in _SELF_COLLIDE if tag in said)


def _non_negative(element: XmlElement) -> float:
    value = element.value_number()
    if value < 0.0:
        raise element.error(f"{value:g} is negative", "write a number of at least 0")
    return value


def _positive(element: XmlElement) -> float:
    value = element.value_number()
    if value <= 0.0:
        raise element.error(f"{value:g} is not above 0", "write a positive number")
    return value


def contact_of(said: Mapping[str, XmlElement]) -> ProximitySpec:
    """Contact properties that ODE's ``mu``, ``mu1``, ``mu2``, ``kp`` and ``kd`` say; the relaxation time is kd / kp.

    Raises:
        InputError: A value is malformed.
    """
    # Files write numbers such as 1e14 for what never slips.
    most = RANGES["mu_dynamic"].most
    friction = [min(_non_negative(said[tag]), most) for tag in ("mu", "mu1", "mu2") if tag in said]
    if friction and max(friction) != min(friction):
        last = next(said[tag] for tag in ("mu2", "mu1") if tag in said)
        problem = f"friction {friction[0]:g} one way and {friction[-1]:g} across, where it is the same both ways here"
        mend = "give both one value, or write <hydro:grain> and take friction elliptic"
        last.drop("gazebo:mu2", problem, mend)
    stiffness = _positive(said["kp"]) if "kp" in said else None
    damping = _non_negative(said["kd"]) if "kd" in said and stiffness is not None else None
    return spring_and_damper(friction[0] if friction else None, stiffness, damping)


def spring_and_damper(mu: float | None, stiffness: float | None, damping: float | None) -> ProximitySpec:
    """Contact properties of a friction, and of a spring (N/m) with a damper (N s/m) beside it."""
    relaxation_time = None if stiffness is None or damping is None else damping / stiffness
    return ProximitySpec(mu_dynamic=mu, point_stiffness=stiffness, relaxation_time=relaxation_time)


def _spring(said: dict[str, XmlElement]) -> tuple[float, float]:
    reference = said["springReference"].value_number() if "springReference" in said else 0.0
    return _non_negative(said["springStiffness"]), reference


def _warn_of_lost(lost: dict[str, None], robot: XmlElement) -> None:
    if lost:
        _LOG.warning(
            "%s: <gazebo> is for neither a link nor a joint of the robot, and left out: %s",
            robot.document.source,
            ", ".join(list(lost)[:5] + ([f"{len(lost) - 5} more"] if len(lost) > 5 else [])),
        )
