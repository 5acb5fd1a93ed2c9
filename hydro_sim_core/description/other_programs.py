"""What other programs than Gazebo add to URDFs: Drake's constraints and filters of contact, PyBullet's contact."""

from __future__ import annotations

import difflib

from hydro_sim_core.description.gazebo import contact_of, spring_and_damper
from hydro_sim_core.description.names import mend_of_absent
from hydro_sim_core.description.spec import ProximitySpec
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import shortened

_DRAKE = "drake:"
_OF_PROXIMITY = "<drake:proximity_properties> of a <collision>"
#: Tags of Drake's that are read, and where: one that is misspelt or elsewhere may be meant for one of these.
_READ_OF_DRAKE = {
    "drake:proximity_properties": "<collision>",
    **dict.fromkeys(("drake:rigid_hydroelastic", "drake:compliant_hydroelastic"), _OF_PROXIMITY),
    **dict.fromkeys(("drake:hydroelastic_modulus", "drake:hydroelastic_margin"), _OF_PROXIMITY),
    **dict.fromkeys(("drake:mesh_resolution_hint", "drake:point_contact_stiffness"), _OF_PROXIMITY),
    **dict.fromkeys(("drake:hunt_crossley_dissipation", "drake:relaxation_time"), _OF_PROXIMITY),
    **dict.fromkeys(("drake:mu_static", "drake:mu_dynamic"), _OF_PROXIMITY),
    "drake:declare_convex": "<mesh>",
    **dict.fromkeys(("drake:capsule", "drake:ellipsoid"), "<geometry>"),
    **dict.fromkeys(("drake:rotor_inertia", "drake:gear_ratio"), "<actuator> of a <transmission>"),
    "drake:mimic": "<joint>",
    "drake:collision_filter_group": "<robot>",
}
#: How alike names are of which one is the other misspelt.
_ALIKE = 0.85
#: What Drake says of looks and of planning.
_QUIET_OF_DRAKE = {
    *("drake:illustration_properties", "drake:perception_properties", "drake:accepting_renderer"),
    *("drake:diffuse_map", "drake:visual"),
}
#: Elements that tie links together beside the joints, by their meaning.
_TIES = {
    "drake:linear_bushing_rpy": "holds two links by springs and dampers",
    "drake:ball_constraint": "holds a point of a link on another",
    "drake:weld_constraint": "holds a link on another",
    "drake:distance_constraint": "holds points of two links at a distance",
    "drake:tendon_constraint": "couples joints by a tendon",
    "drake:coupler_constraint": "couples two joints",
    "drake:linear_spring_damper": "ties two links by a spring",
    "loop_joint": "closes a loop",
    "force_element": "is a spring or a damper",
    "cable": "is a tendon",
}
_TIE_MEND = (
    "couple joints by <mimic>, give a joint a spring by <dynamics spring_stiffness=…>, or leave it out"
)
#: Numbers of PyBullet's <contact> that are not used, with the value that changes nothing, and their meaning.
_OF_BULLET = {
    "restitution": (0.0, "has the link bounce"),
    "rolling_friction": (0.0, "keeps the link from rolling"),
    "spinning_friction": (0.0, "keeps the link from spinning on a spot"),
    "inertia_scaling": (1.0, "scales the link's inertia"),
}
#: Settings of its solver.
_QUIET_OF_BULLET = ("contact_cfm", "contact_erp", "friction_anchor")

#: Settings of ODE in a <surface>.
_QUIET_OF_ODE = (
    *("soft_cfm", "soft_erp", "min_depth", "minDepth", "max_vel", "maxVel", "max_contacts", "fdir1"),
)


def read_bullet_contact(link: XmlElement) -> ProximitySpec:
    """Contact properties of a link in the ``<contact>`` that PyBullet reads.

    Raises:
        InputError: A value is malformed.
    """
    block = link.child("contact")
    if block is None:
        return ProximitySpec()
    for tag, (nothing, meaning) in _OF_BULLET.items():
        element = block.child(tag)
        if element is not None and element.value_number() != nothing:
            mend = mend_of_absent(tag) or "leave it out"
            element.drop(f"contact:{tag}", f"{meaning}, and is not used here", mend)
    for element in block.children(*_QUIET_OF_BULLET):
        element.ignore()
    friction, stiffness, damping = (block.child(tag) for tag in ("lateral_friction", "stiffness", "damping"))
    k = None if stiffness is None else stiffness.positive("value")
    d = None if damping is None else damping.non_negative("value")
    return spring_and_damper(None if friction is None else friction.non_negative("value"), k, d)


def read_surface(parent: XmlElement) -> ProximitySpec:
    """Contact properties in the ``<surface>`` of SDF, which some write into links and collisions of URDFs.

    Raises:
        InputError: A value is malformed.
    """
    surface = parent.child("surface")
    if surface is None:
        return ProximitySpec()
    said: dict[str, XmlElement] = {}
    for group in surface.children("friction", "contact"):
        for ode in group.children("ode"):
            said.update({one.tag: one for one in ode.children("mu", "mu1", "mu2", "kp", "kd")})
            for one in ode.children(*_QUIET_OF_ODE):
                one.ignore()
    return contact_of(said)


def drop_ties(robot: XmlElement) -> None:
    """Report what ties links beside the joints, and Drake's elements of which nothing was read."""
    for element in robot.children(*_TIES):
        element.drop(element.tag, f"{_TIES[element.tag]}, and is not used here", _TIE_MEND)
    for element in robot.document.unread(_DRAKE):
        if element.tag in _QUIET_OF_DRAKE:
            element.ignore()
        else:
            element.drop(
                shortened(element.tag, 60), "is Drake's, and is not used here", _mend_of_drake(element.tag)
            )


def _mend_of_drake(tag: str) -> str:
    """What to do about a tag of Drake's of which nothing was read."""
    close = difflib.get_close_matches(tag[:60], _READ_OF_DRAKE, n=1, cutoff=_ALIKE)
    if close:
        return f"write <{close[0]}> in {_READ_OF_DRAKE[close[0]]} if that is meant"
    return mend_of_absent(tag) or "leave it out"
