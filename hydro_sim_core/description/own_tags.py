"""Our own tags and attributes in URDFs, and where they count: one that is misspelt or elsewhere changes the physics.

Ours is what has the prefix ``hydro``, whatever that is bound to (as Drake's tags need no declaration either), and what
is in the namespace ``urn:hydro-sim`` under any prefix.
"""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.xml_source import XmlDocument, XmlElement, attribute_name, tag_of
from hydro_sim_core.errors import InputError, shortened

_PREFIX = "hydro:"
_OF_COLLISION = "robot/link/collision/drake:proximity_properties"
#: Elements: where they count, and their attributes.
_ELEMENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hydro:contact_pair": ("robot", ("link1", "link2", "law", "friction_ellipsoid", "pieces")),
    "hydro:srdf": ("robot", ("filename",)),
    "hydro:slab_thickness": (_OF_COLLISION, ("value",)),
    "hydro:pressure_field": (_OF_COLLISION, ("value",)),
    "hydro:surface_velocity": (_OF_COLLISION, ("value",)),
    "hydro:grain": (_OF_COLLISION, ("value",)),
}
#: Attributes: the elements on which they count.
_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "hydro:type": ("robot/joint",),
    "hydro:stiffness": ("robot/joint/limit",),
    "hydro:gloss": ("robot/material/color", "robot/link/visual/material/color"),
}
#: What is written elsewise than others may guess.
_MENDS = {
    "hydro:margin": "write <drake:hydroelastic_margin>",
    "hydro:compliance": "write <drake:rigid_hydroelastic/> or <drake:compliant_hydroelastic/>",
    "hydro:modulus": "write <drake:hydroelastic_modulus>",
    "hydro:exclude": 'write <hydro:contact_pair link1="…" link2="…" law="none"/>',
    "hydro:point_stiffness": "write <drake:point_contact_stiffness>",
}


def refuse_misplaced(document: XmlDocument) -> None:
    """Refuse tags and attributes of ours that are unknown, or where they are not read.

    Raises:
        InputError: There is one, also within blocks for other programs.
    """
    known = {tag for kind in shape_types().values() for tag in kind.urdf_tags}
    for element in document.root.lxml.iter(etree.Element):
        tag = tag_of(element)
        if tag.startswith(_PREFIX) and tag not in known:
            _check_element(element, tag, document)
        elif tag.rpartition(":")[2] == "contact_pair" and _path_above(element) == "robot":
            raise XmlElement(element, document).error(f"unknown tag <{tag}>", "write <hydro:contact_pair …>")
        for name in map(str, element.attrib):
            _check_attribute(element, tag, attribute_name(element, name), document)


def _check_element(element: etree._Element, tag: str, document: XmlDocument) -> None:
    place, _ = _ELEMENTS.get(tag, (None, ()))
    if place is None:
        mend = _MENDS.get(tag) or did_you_mean(shortened(tag), _ELEMENTS)
        raise XmlElement(element, document).error(f"unknown tag <{shortened(tag)}>", mend)
    if _path_above(element) != place:
        raise _elsewhere(XmlElement(element, document), f"<{tag}>", element.getparent(), place)


def _check_attribute(element: etree._Element, tag: str, name: str, document: XmlDocument) -> None:
    if tag in _ELEMENTS:
        own = _ELEMENTS[tag][1]
        plain = name.removeprefix(_PREFIX)
        if name not in own and (plain != name or ":" not in name):
            mend = f"write {plain}" if plain in own else did_you_mean(shortened(plain), own)
            raise XmlElement(element, document).error(f"unknown attribute '{shortened(name)}'", mend)
        return
    if not name.startswith(_PREFIX):
        return
    if name not in _ATTRIBUTES:
        mend = did_you_mean(shortened(name), _ATTRIBUTES)
        raise XmlElement(element, document).error(f"unknown attribute '{shortened(name)}'", mend)
    places = _ATTRIBUTES[name]
    if f"{_path_above(element)}/{tag}" not in places:
        raise _elsewhere(XmlElement(element, document), f"attribute {name}", element, places[0])


def _elsewhere(where: XmlElement, what: str, parent: etree._Element | None, place: str) -> InputError:
    """An error about what is read in another element only."""
    inside = "at the top" if parent is None else f"in <{tag_of(parent)}>"
    *above, last = place.split("/")
    of = f" of a <{above[1]}>" if len(above) > 1 else ""
    article = "" if last == "robot" else "the "
    wanted = f"{article}<{last}>{of}"
    return where.error(f"{what} {inside} is not read: it counts in {wanted} only", f"move it into {wanted}")


def _path_above(element: etree._Element) -> str:
    return "/".join(reversed([tag_of(one) for one in element.iterancestors()]))
