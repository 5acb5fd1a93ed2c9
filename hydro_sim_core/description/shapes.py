"""Reader of the geometry, contact and material elements of a link."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from hydro_sim_core.description.other_programs import read_surface
from hydro_sim_core.description.paths import MissingPackage, PackageResolver
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.shape_types import ShapeType, shape_types
from hydro_sim_core.description.spec import (
    Array,
    CollisionSpec,
    Compliance,
    PressureField,
    ProximitySpec,
    ShapeSpec,
    VisualSpec,
)
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import InputError, MissingFile

Rgba = tuple[float, float, float, float]


#: A visual shape with its element.
SeenShape = tuple[VisualSpec, XmlElement]


class NoMesh(Exception):
    """A mesh file that a description names cannot be had.

    Args:
        reason: Why not, as it is told where nothing takes its place.
    """

    def __init__(self, reason: InputError) -> None:
        super().__init__(reason)
        self.reason = reason


class Material(NamedTuple):
    """Look of a visual.

    Attributes:
        rgba: Colour, in [0, 1]; None when the file gives none.
        gloss: 0 for matt, 1 for polished.
    """

    rgba: Rgba | None = None
    gloss: float = 0.0


#: Tag, field of ``ProximitySpec``, and whether 0 is allowed.
_PROXIMITY_TAGS = (
    ("drake:hydroelastic_modulus", "modulus", False),
    ("drake:mesh_resolution_hint", "resolution_hint", False),
    ("drake:hydroelastic_margin", "margin", True),
    ("drake:hunt_crossley_dissipation", "dissipation", True),
    ("drake:relaxation_time", "relaxation_time", True),
    ("drake:mu_static", "mu_static", True),
    ("drake:mu_dynamic", "mu_dynamic", True),
    ("drake:point_contact_stiffness", "point_stiffness", False),
    ("hydro:slab_thickness", "slab_thickness", False),
)


#: Thickness of a shape with a length of 0, as a share of its largest length.
_THIN = 0.01


def read_origin(parent: XmlElement) -> Array:
    """(4, 4) pose in the child element ``<origin>``; identity without one."""
    origin = parent.child("origin")
    if origin is None:
        return np.eye(4)
    return pose(
        origin.vector("xyz", 3, default=(0.0, 0.0, 0.0)), origin.vector("rpy", 3, default=(0.0, 0.0, 0.0))
    )


def read_collision(
    element: XmlElement,
    name: str,
    resolver: PackageResolver,
    of_link: ProximitySpec,
    visuals: Sequence[SeenShape] = (),
) -> CollisionSpec | None:
    """Read a ``<collision>``; None for a shape without extent, which is left out.

    Args:
        element: The element.
        name: Its name if the file gives none.
        resolver: Resolver of mesh file names.
        of_link: Contact properties of the link, where the geometry has none of its own.
        visuals: What the link looks like, which takes the place of a mesh file that cannot be had; with its elements.
    """
    try:
        shape = _read_shape(element.required_child("geometry"), resolver)
    except NoMesh as missing:
        if not visuals:
            raise missing.reason from None
        seen, written = visuals[0]
        edit = partial(_copy_shape, written, element)
        element.mend(missing.reason, f"took the shape of the visual '{seen.name}'", edit)
        shape, X_LG = seen.shape, seen.X_LG
    else:
        X_LG = read_origin(element)
    if shape is None:
        element.ignore()
        return None
    properties = element.child("drake:proximity_properties")
    proximity = ProximitySpec() if properties is None else _read_proximity(properties)
    proximity = completed(completed(proximity, read_surface(element)), of_link)
    where = element.error("", "")
    return CollisionSpec(element.text("name") or name, shape, X_LG, proximity, where.source, where.element)


def read_visual(
    element: XmlElement, name: str, resolver: PackageResolver, materials: dict[str, Material]
) -> VisualSpec | None:
    """Read a ``<visual>``; None for a shape without extent. ``materials`` are the named materials of the whole file.

    Raises:
        NoMesh: Its mesh file cannot be had.
    """
    shape = _read_shape(element.required_child("geometry"), resolver)
    if shape is None:
        element.ignore()
        return None
    material = _material_of(element)
    look = Material() if material is None else _read_material(material, materials)
    return VisualSpec(element.text("name") or name, shape, read_origin(element), look.rgba, look.gloss)


def read_materials(robot: XmlElement) -> dict[str, Material]:
    """All named materials, defined at the top of the file or inside a visual."""
    materials: dict[str, Material] = {}
    for material in robot.children("material"):
        name = material.required_text("name")
        look = _read_look(material)
        # Macro files that are included twice define their materials twice.
        if materials.setdefault(name, look) != look:
            raise material.error(f"a second material '{name}' of another look", "give it another name")
    for link in robot.children("link"):
        for visual in link.children("visual"):
            inline = next(visual.children("material"), None)
            inline_name = None if inline is None else inline.text("name")
            if inline is not None and inline_name and _is_defined(inline):
                materials.setdefault(inline_name, _read_look(inline))
    return materials


def _read_shape(geometry: XmlElement, resolver: PackageResolver) -> ShapeSpec | None:
    types = {tag: known for known in shape_types().values() for tag in known.urdf_tags}
    shape = geometry.required_child(*types, "mesh")
    if shape.tag == "mesh":
        return _read_mesh(shape, resolver)
    return _read_lengths(shape, types[shape.tag])


def _read_lengths(shape: XmlElement, known: ShapeType) -> ShapeSpec | None:
    try:
        return _read_positive_lengths(shape, known)
    except InputError as error:
        size = _read_any_lengths(shape, known)
        if min(size) < 0.0:
            raise
        thin = _THIN * max(size)
        if thin == 0.0:
            shape.mend(error, "left it out", partial(_remove_owner, shape))
            return None
        found = ShapeSpec(known.kind, tuple(length or thin for length in size))
        shape.mend(error, f"took {thin:g} m for 0", partial(_write_lengths, shape, known, found.size))
        return found


def _read_any_lengths(shape: XmlElement, known: ShapeType) -> list[float]:
    if known.urdf_attributes:
        return [shape.number(name) for name in known.urdf_attributes]
    return [number for length in known.lengths for number in shape.vector(length.name, length.count).tolist()]


def _write_lengths(shape: XmlElement, known: ShapeType, size: Sequence[float]) -> None:
    words = [repr(float(length)) for length in size]
    if known.urdf_attributes:
        shape.write(**dict(zip(known.urdf_attributes, words, strict=True)))
        return
    for length in known.lengths:
        shape.write(**{length.name: " ".join(words[: length.count])})
        words = words[length.count :]


def _remove_owner(shape: XmlElement) -> None:
    """Remove the visual or collision element that a shape is the only one of."""
    owner = shape.lxml.getparent().getparent()
    owner.getparent().remove(owner)


def _copy_shape(visual: XmlElement, collision: XmlElement) -> None:
    """Write the shape and the place of a visual to a collision element."""
    for tag in ("origin", "geometry"):
        for old in collision.lxml.findall(tag):
            collision.lxml.remove(old)
        for new in visual.lxml.findall(tag):
            collision.lxml.append(deepcopy(new))


def _read_positive_lengths(shape: XmlElement, known: ShapeType) -> ShapeSpec:
    if known.urdf_attributes:
        return ShapeSpec(known.kind, tuple(shape.positive(name) for name in known.urdf_attributes))
    size: list[float] = []
    for length in known.lengths:
        if length.count == 1:
            size.append(shape.positive(length.name))
            continue
        numbers = shape.vector(length.name, length.count).tolist()
        if min(numbers) <= 0.0:
            problem = f"{known.kind} {length.name} {tuple(numbers)} is not above 0"
            raise shape.error(problem, "write positive lengths")
        size += numbers
    return ShapeSpec(known.kind, tuple(size))


def _read_mesh(mesh: XmlElement, resolver: PackageResolver) -> ShapeSpec:
    path = _find_mesh(mesh, resolver)
    words = (mesh.text("scale") or "1").split()
    scale = np.broadcast_to(mesh.vector("scale", len(words) if len(words) == 1 else 3, default=(1.0,)), 3)
    if not np.all(scale):
        raise mesh.error("the mesh is scaled to nothing", "write a scale other than 0 for every axis")
    convex = mesh.child("drake:declare_convex") is not None
    return ShapeSpec("mesh", (), path, (float(scale[0]), float(scale[1]), float(scale[2])), convex)


def _find_mesh(mesh: XmlElement, resolver: PackageResolver) -> Path:
    uri = mesh.required_text("filename")
    try:
        return resolver.resolve_mesh(uri, mesh.error("", "").element)
    except InputError as error:
        is_gone = isinstance(error, MissingFile | MissingPackage)
        found = resolver.find_moved_mesh(uri) if is_gone else None
        if found is None or mesh.document.repairs.policy == "strict":
            raise NoMesh(error) from None
        mesh.mend(error, f"took {found}", lambda: mesh.write(filename=found.as_uri()))
        return found


def _read_proximity(properties: XmlElement) -> ProximitySpec:
    rigid = properties.child("drake:rigid_hydroelastic")
    compliant = properties.child("drake:compliant_hydroelastic")
    if rigid is not None and compliant is not None:
        raise properties.error("both rigid and compliant", "keep one of the two tags")
    compliance: Compliance | None = "rigid" if rigid else "compliant" if compliant else None
    numbers = {name: _read_value(properties, tag, zero) for tag, name, zero in _PROXIMITY_TAGS}
    mu_static, mu_dynamic = numbers["mu_static"], numbers["mu_dynamic"]
    if mu_dynamic is None:
        numbers["mu_dynamic"] = mu_static  # as in Drake
    if mu_static is not None and mu_dynamic is not None and mu_static < mu_dynamic:
        raise properties.error(
            f"static friction {mu_static:g} is below dynamic friction {mu_dynamic:g}",
            "make drake:mu_static at least drake:mu_dynamic",
        )
    if mu_static is not None and mu_dynamic is not None and mu_static > mu_dynamic:
        above = f"static friction {mu_static:g} is above dynamic friction {mu_dynamic:g}"
        problem = f"{above}, and friction has one coefficient here"
        mend = "make drake:mu_static the same as drake:mu_dynamic"
        properties.required_child("drake:mu_static").drop("drake:mu_static", problem, mend)
    return ProximitySpec(
        compliance=compliance,
        pressure_field=_read_field(properties),
        surface_velocity=_read_vector(properties, "hydro:surface_velocity"),
        grain=_read_grain(properties),
        **numbers,
    )


def completed(proximity: ProximitySpec, of_link: ProximitySpec) -> ProximitySpec:
    """Contact properties of a geometry, with those of its link where it has none; its modulus is its stiffness."""
    own = {name for name, value in vars(proximity).items() if value is not None}
    if "modulus" in own:
        own.add("point_stiffness")
    if "mu_dynamic" in own:
        own.add("mu_static")
    given = {name: value for name, value in vars(of_link).items() if value is not None and name not in own}
    return replace(proximity, **given)


def _read_vector(properties: XmlElement, tag: str) -> tuple[float, float, float] | None:
    element = properties.child(tag)
    if element is None:
        return None
    x, y, z = element.vector("value", 3).tolist()
    return x, y, z


def _read_grain(properties: XmlElement) -> tuple[float, float, float] | None:
    grain = _read_vector(properties, "hydro:grain")
    if grain is not None and not sum(x * x for x in grain) < 1.0:
        raise properties.error(
            "a grain of length 1 or more", "its length is a share of the friction: give less"
        )
    return grain


def _read_field(properties: XmlElement) -> PressureField | None:
    element = properties.child("hydro:pressure_field")
    if element is None:
        return None
    name = element.required_text("value")
    for known in get_args(PressureField):
        if name == known:
            return known
    raise element.error(f"'{name}' is no pressure field", f"write {' or '.join(get_args(PressureField))}")


def _read_value(properties: XmlElement, tag: str, zero_allowed: bool) -> float | None:
    element = properties.child(tag)
    if element is None:
        return None
    return element.non_negative("value") if zero_allowed else element.positive("value")


def _read_material(material: XmlElement, materials: dict[str, Material]) -> Material:
    if _is_defined(material):
        return _read_look(material)
    name = material.required_text("name")
    if name not in materials:
        error = material.error(
            f"material '{name}' is defined nowhere", "add a <color> to it or define it in <robot>"
        )
        material.mend(error, "took grey")
        return Material()
    return materials[name]


def _material_of(visual: XmlElement) -> XmlElement | None:
    """The material of a visual: the first one, where a file has several."""
    try:
        return visual.child("material")
    except InputError as error:
        first, *others = visual.children("material")
        visual.mend(error, "took the first", partial(_remove_all, others))
        for other in others:
            other.ignore()
        return first


def _remove_all(elements: Sequence[XmlElement]) -> None:
    for element in elements:
        element.remove()


def _is_defined(material: XmlElement) -> bool:
    return any(True for _ in material.children("color", "texture"))


def _read_look(material: XmlElement) -> Material:
    for texture in material.children("texture"):
        texture.ignore()
    color = material.child("color")
    if color is None:
        return Material()
    red, green, blue, alpha = color.vector("rgba", 4).tolist()
    if not all(0.0 <= channel <= 1.0 for channel in (red, green, blue, alpha)):
        raise color.error("rgba is outside 0 … 1", "write four numbers from 0 to 1")
    gloss = color.non_negative("hydro:gloss", default=0.0)
    if gloss > 1.0:
        raise color.error("hydro:gloss is outside 0 … 1", "write 0 for matt to 1 for polished")
    return Material((red, green, blue, alpha), gloss)
