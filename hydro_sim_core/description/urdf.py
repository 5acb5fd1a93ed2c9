"""Reader of URDF and xacro files, to a :class:`~hydro_sim_core.description.spec.RobotSpec`.

It reads standard URDF, the ``drake:`` contact tags, and eight extensions of our own: ``hydro:type`` on ``<joint>``,
which outranks ``type``, for types that other readers do not have; ``hydro:stiffness`` on ``<limit>``, the stiffness of
the stops (N m/rad or N/m), and, beside the ``drake:`` tags, ``<hydro:slab_thickness value=…/>`` (m),
``<hydro:pressure_field value=…/>`` (distance or laplace), ``<hydro:surface_velocity value="x y z"/>`` (m/s) and
``<hydro:grain value="x y z"/>``, the direction of least friction; in the robot itself ``<hydro:contact_pair link1=…
link2=… law=…/>``, the contact law of two links, and ``<hydro:srdf filename=…/>``, its SRDF. Any other tag or
attribute of that prefix, or one of these elsewhere, is an error; see ``own_tags``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import get_args

from hydro_sim_core.description import foreign
from hydro_sim_core.description.degrees import angles_of_robot, ends_of_joints, warn_of_degrees
from hydro_sim_core.description.dropped import checked_words, settle_dropped
from hydro_sim_core.description.gazebo import GazeboTags, read_gazebo
from hydro_sim_core.description.idle_slabs import warn_of_idle_slabs
from hydro_sim_core.description.inertia import read_inertial
from hydro_sim_core.description.joints import JOINT_TAGS, read_joints
from hydro_sim_core.description.links_apart import read_links_apart
from hydro_sim_core.description.mimic_limits import with_room
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.other_programs import drop_ties, read_bullet_contact, read_surface
from hydro_sim_core.description.own_tags import refuse_misplaced
from hydro_sim_core.description.paths import PackageResolver, absolute, as_path
from hydro_sim_core.description.repair import Policy, Repairs
from hydro_sim_core.description.ros2_control import read_drives
from hydro_sim_core.description.ros2_control_sensors import read_sensors
from hydro_sim_core.description.shapes import (
    Material,
    NoMesh,
    SeenShape,
    completed,
    read_collision,
    read_materials,
    read_visual,
)
from hydro_sim_core.description.spec import (
    CollisionSpec,
    ContactLaw,
    DescribedSensor,
    JointSpec,
    LinkSpec,
    PairLaw,
    PointSpec,
    ProximitySpec,
    RobotSpec,
    SrdfSpec,
    VisualSpec,
)
from hydro_sim_core.description.srdf import read_srdf
from hydro_sim_core.description.xacro_source import expand_xacro
from hydro_sim_core.description.xml_source import XmlDocument, XmlElement, read_bytes
from hydro_sim_core.errors import InputError, UnknownFormat, excerpt

_LOG = logging.getLogger(__name__)

#: Elements for other programs, without information on the mechanics.
_IGNORED_BLOCKS = ("sensor", "mujoco", "frame", "drake:frame")


def load_robot(
    path: str | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    xacro_args: Mapping[str, object] | None = None,
    prefix: str = "",
    srdf: str | os.PathLike[str] | None = None,
    repair: Policy = "warn",
    ignore: Sequence[str] | None = (),
) -> RobotSpec:
    """Read a robot description.

    Mesh files are located here and read later, by ``geometry``. What other programs are told that changes the physics
    is used, or refused, or ignored if ``ignore`` says so. One logged warning lists tags and attributes that nobody is
    known to read, another one what was repaired; visual meshes that cannot be had never refuse a robot.

    Args:
        path: A ``.urdf`` or ``.xacro`` file.
        package_dirs: Packages, or folders that hold packages, for ``package://`` and ``$(find …)``.
        xacro_args: Values for the file's ``<xacro:arg>`` declarations.
        prefix: Put before every link and joint name.
        srdf: SRDF file, or xacro of one, with pairs of links that do not touch. It names links without the prefix; of
            ``xacro_args`` it takes those that it declares. It replaces the one that the URDF names.
        repair: Whether what cannot be, such as an impossible inertia, is refused (``strict``), or repaired with one
            warning or silently; ``docs/robots.md`` has the rules.
        ignore: Words of what is to be ignored although it changes the physics, as errors give them, such as
            ``gazebo:static``; None for whatever there is, where the robot is not simulated.

    Returns:
        The robot, lengths in m, angles in rad, masses in kg.

    Raises:
        InputError: The file is missing or malformed, or describes something that cannot exist.
    """
    robot, _ = read_with_document(path, package_dirs, xacro_args, prefix, srdf, repair, ignore)
    return robot


def read_with_document(
    path: str | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    xacro_args: Mapping[str, object] | None = None,
    prefix: str = "",
    srdf: str | os.PathLike[str] | None = None,
    repair: Policy = "warn",
    ignore: Sequence[str] | None = (),
) -> tuple[RobotSpec, XmlDocument]:
    """Read a robot description as ``load_robot`` does, and return its document too, which is unchanged by repairs."""
    given = as_path(path, "load_robot")
    if str(path).lstrip().startswith("<"):
        raise InputError(
            excerpt(path), "", "is XML text and no path", "write it to a .urdf file, and name that"
        )
    source = absolute(given)
    _check_options(source, package_dirs, xacro_args, prefix)
    if not isinstance(repair, str) or repair not in get_args(Policy):
        mend = f"give {', '.join(get_args(Policy)[:-1])} or {get_args(Policy)[-1]}"
        raise InputError(source, "repair", f"{excerpt(repair)} does not fit", mend)
    resolver = PackageResolver(source, package_dirs)
    named = None if srdf is None else as_path(srdf, "srdf")
    words = checked_words(source, ignore)
    document = _read_document(source, resolver, xacro_args or {})
    document.repairs = Repairs(repair)
    robot = _read_robot(document, resolver, named, xacro_args or {}, words)
    return with_prefix(robot, prefix) if prefix else robot, document


def _check_options(source: Path, package_dirs: object, xacro_args: object, prefix: object) -> None:
    """Check the types of the arguments, such as a single folder in place of a list."""
    if not isinstance(package_dirs, list | tuple):
        raise InputError(
            source, "package_dirs", f"{excerpt(package_dirs)} does not fit", "give a list of folders"
        )
    for folder in package_dirs:
        as_path(folder, f"{source}: package_dirs")
    is_mapping = xacro_args is None or isinstance(xacro_args, Mapping)
    if not is_mapping or not all(isinstance(name, str) for name in xacro_args or ()):  # type: ignore[attr-defined]
        problem = f"{excerpt(xacro_args)} does not fit"
        raise InputError(source, "xacro_args", problem, "give a mapping of names to values")
    if not isinstance(prefix, str) or not prefix.isprintable():
        raise InputError(source, "prefix", f"{excerpt(prefix)} does not fit", "give text")


def parse_robot(
    text: str,
    source: str,
    prefix: str = "",
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    repair: Policy = "warn",
    ignore: Sequence[str] | None = (),
) -> RobotSpec:
    """Read a robot description from URDF text.

    Args:
        text: The URDF; the files that it names must be ``package://`` or ``file://`` URIs, as relative paths have no
            base folder.
        source: Name of the text in error messages.
        prefix: Put before every link and joint name.
        package_dirs: Packages, or folders that hold packages, for ``package://``.
        repair: As for :func:`load_robot`.
        ignore: As for :func:`load_robot`.

    Raises:
        InputError: As :func:`load_robot`, or it names a file by a relative path.
    """
    resolver = PackageResolver(Path(source), package_dirs, placeless=True)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InputError(source, "", "is not Unicode text", "write UTF-8") from None
    document = XmlDocument(data, Path(source))
    document.repairs = Repairs(repair)
    robot = _read_robot(document, resolver, ignore=checked_words(source, ignore))
    return with_prefix(robot, prefix) if prefix else robot


def _read_robot(
    document: XmlDocument,
    resolver: PackageResolver,
    srdf: Path | None = None,
    xacro_args: Mapping[str, object] | None = None,
    ignore: Sequence[str] | None = (),
) -> RobotSpec:
    robot, source = document.root, document.source
    if robot.tag in foreign.XML_FORMATS:
        found = foreign.XML_FORMATS[robot.tag]
        raise robot.error(f"is {found.what}, and no URDF", found.mend)
    if robot.tag != "robot":
        raise robot.error(
            f"the outermost element is <{robot.tag}>", "name a URDF file: it starts with <robot>"
        )
    refuse_misplaced(document)
    for block in robot.children(*_IGNORED_BLOCKS):
        block.ignore()
    name = _name_of(robot)
    robot.text("version")
    model = ModelBuilder(name, place=robot, resolver=resolver)
    names = {tag: {one.text("name") or "" for one in robot.children(tag)} for tag in ("link", *JOINT_TAGS)}
    gazebo = read_gazebo(robot, names["link"], names["joint"] | names["drake:joint"])
    joints = list(read_joints(robot, gazebo))
    welded = {placed.joint.child for placed in joints if placed.joint.type == "fixed"}
    _read_links(robot, model, welded, gazebo)
    for placed in joints:
        model.insert_joint(placed)
    _read_pair_laws(robot, model)
    spec = model.build(str(source))
    spec = replace(spec, joints=with_room(spec.joints, {placed.joint.name: placed for placed in joints}))
    spec = replace(
        spec,
        drives=read_drives(robot, {joint.name: joint for joint in spec.joints}),
        sensors=read_sensors(robot, spec.joints, {link.name for link in spec.links} - {"world"}),
        apart=read_links_apart(robot, spec.links, gazebo),
    )
    srdf = _srdf_of(robot, resolver, srdf)
    if srdf is not None:
        spec = replace(spec, srdf=read_srdf(srdf, spec, resolver.package_dirs, xacro_args))
    drop_ties(robot)
    settle_dropped(document, ignore)
    spec = replace(spec, repairs=document.repairs.done)
    document.repairs.tell(source)
    document.warn_about_unread()
    _warn_of_frames(robot, spec.links, source)
    _warn_of_idle_moduli(spec.links, source)
    warn_of_idle_slabs(spec.links, source)
    _warn_of_fixed_joints(robot, spec.joints, source)
    warn_of_degrees(source, [*angles_of_robot(robot), *ends_of_joints(spec.joints)])
    return spec


def _name_of(robot: XmlElement) -> str:
    try:
        return robot.required_text("name")
    except InputError as error:
        name = robot.document.source.stem
        robot.mend(error, f"took '{name}'", lambda: robot.write(name=name))
        return name


def _read_document(source: Path, resolver: PackageResolver, xacro_args: Mapping[str, object]) -> XmlDocument:
    suffix = source.suffix.lower()
    if suffix not in (".urdf", ".xacro"):
        found = foreign.format_of(source) if source.exists() else None
        if found is not None:
            raise UnknownFormat(source, "", f"is {found.what}, and no URDF", found.mend)
        raise UnknownFormat(source, "", f"unknown file type '{suffix}'", "name a .urdf or .xacro file")
    if suffix == ".xacro":
        return expand_xacro(source, xacro_args, resolver)
    if xacro_args:
        raise InputError(
            source, "xacro_args", "a plain URDF takes no arguments", "remove them or name a .xacro file"
        )
    return XmlDocument(read_bytes(source), source)


def _read_links(robot: XmlElement, model: ModelBuilder, welded: Set[str], gazebo: GazeboTags) -> None:
    materials = read_materials(robot)
    for raw in robot.children("link"):
        name = raw.required_text("name")
        element = raw.named(f"link '{name}'")
        link = _read_link(element, name, model.resolver, materials, name in welded, gazebo)
        model.insert_link(link, element)


def _read_link(
    element: XmlElement,
    name: str,
    resolver: PackageResolver,
    materials: dict[str, Material],
    welded: bool,
    gazebo: GazeboTags,
) -> LinkSpec:
    inertial = element.child("inertial")
    of_link = completed(gazebo.contact.get(name, ProximitySpec()), read_surface(element))
    of_link = completed(of_link, read_bullet_contact(element))
    element.text("type")
    seen, is_whole = _read_visuals(element, name, resolver, materials)
    collisions: list[CollisionSpec] = []
    for i, raw in enumerate(element.children("collision")):
        collision = read_collision(raw, f"{name}_collision_{i}", resolver, of_link, seen)
        if collision is not None:
            collisions.append(_with_name_of_its_own(collision, raw, collisions))
    return LinkSpec(
        name=name,
        inertial=None if inertial is None else read_inertial(inertial, welded=welded),
        collisions=tuple(collisions),
        visuals=tuple(visual for visual, _ in seen) if is_whole else collisions_as_visuals(collisions),
        has_weight=name not in gazebo.weightless,
    )


def _with_name_of_its_own(
    collision: CollisionSpec, raw: XmlElement, others: Sequence[CollisionSpec]
) -> CollisionSpec:
    taken = {other.name for other in others}
    if collision.name not in taken:
        return collision
    name = next(name for i in count(2) if (name := f"{collision.name}_{i}") not in taken)
    problem = f"two collisions of a link are named '{collision.name}'"
    error = raw.error(problem, "give every collision of a link its own name")
    raw.mend(error, f"took '{name}' for the second", lambda: raw.write(name=name))
    return replace(collision, name=name)


def _read_visuals(
    element: XmlElement, link: str, resolver: PackageResolver, materials: dict[str, Material]
) -> tuple[list[SeenShape], bool]:
    """Visual shapes of a link that can be had, and whether those are all."""
    visuals: list[SeenShape] = []
    problem = ""
    for i, visual in enumerate(element.children("visual")):
        try:
            found = read_visual(visual, f"{link}_visual_{i}", resolver, materials)
        except NoMesh as missing:
            visual.ignore()
            problem = missing.reason.problem
            continue
        if found is not None:
            visuals.append((found, visual))
    if problem:
        element.document.repairs.undrawn[link] = problem
    return visuals, not problem


def collisions_as_visuals(collisions: Iterable[CollisionSpec]) -> tuple[VisualSpec, ...]:
    """What a link looks like that is drawn as its collision shapes."""
    return tuple(
        VisualSpec(collision.name, collision.shape, collision.X_LG)
        for collision in collisions
        if collision.shape.kind != "half_space"
    )


def _read_pair_laws(robot: XmlElement, model: ModelBuilder) -> None:
    known: dict[str, ContactLaw] = {law: law for law in get_args(ContactLaw)}
    for element in robot.children("hydro:contact_pair"):
        links = element.required_text("link1"), element.required_text("link2")
        law = element.required_text("law")
        if law not in known:
            raise element.error(f"unknown law '{law}'", did_you_mean(law, known))
        place = element.error("", "")
        point = _read_point(element, known[law])
        model.insert_pair_law(PairLaw(links, known[law], place.source, place.element, point), element)


def _read_point(element: XmlElement, law: ContactLaw) -> PointSpec:
    """What a pair says of contact at equivalent points."""
    given = element.text("friction_ellipsoid") is not None
    ellipsoid = element.vector("friction_ellipsoid", 3) if given else None
    pieces = element.text("pieces")
    if law != "equivalent_point":
        for name, value in (("friction_ellipsoid", ellipsoid), ("pieces", pieces)):
            if value is not None:
                raise element.error(
                    f"{name} with law {law}", f"leave {name} out, or take law equivalent_point"
                )
    if ellipsoid is not None and min(ellipsoid) <= 0.0:
        raise element.error("friction_ellipsoid is not positive", "give three semi-axes above 0")
    if pieces not in (None, "true", "false"):
        raise element.error(f"pieces is '{pieces}'", "give true or false")
    e_t, e_o, e_r = ellipsoid if ellipsoid is not None else (0.0, 0.0, 0.0)
    axes = None if ellipsoid is None else (float(e_t), float(e_o), float(e_r))
    return PointSpec(axes, pieces == "true")


def _srdf_of(robot: XmlElement, resolver: PackageResolver, given: Path | None) -> Path | None:
    """The SRDF that is given, else the one that the URDF names, if any; the latter is then not looked for."""
    element = robot.child("hydro:srdf")
    if element is None:
        return given
    filename = element.required_text("filename")
    return resolver.resolve(filename, element.error("", "").element) if given is None else given


def _warn_of_frames(robot: XmlElement, links: Iterable[LinkSpec], source: Path) -> None:
    written = {raw.text("name") for raw in robot.children("link") if raw.child("inertial") is not None}
    repaired = {repair.element.partition(",")[0] for repair in robot.document.repairs.done}
    frames = [
        link.name
        for link in links
        if link.inertial is None and link.name in written and f"link '{link.name}'" not in repaired
    ]
    if frames:
        _LOG.warning(
            "%s: links of mass 0 are taken for frames: %s; remove their <inertial>", source, ", ".join(frames)
        )


def _warn_of_idle_moduli(links: Iterable[LinkSpec], source: Path) -> None:
    """Warn of rigid bodies with a modulus of their own, as Drake does, which leaves it out too."""
    idle = [
        link.name
        for link in links
        if any(c.proximity.compliance == "rigid" and c.proximity.modulus is not None for c in link.collisions)
    ]
    if idle:
        _LOG.warning(
            "%s: drake:hydroelastic_modulus does nothing beside drake:rigid_hydroelastic: %s; remove it, or write "
            "drake:compliant_hydroelastic",
            source,
            ", ".join(idle),
        )


def _warn_of_fixed_joints(robot: XmlElement, joints: Iterable[JointSpec], source: Path) -> None:
    """Warn of losses and limits of joints that do not move, where they are other than the zeros of exporters."""
    fixed = {joint.name for joint in joints if joint.type == "fixed"}
    idle = [
        f"<{child.tag}> of {name}"
        for raw in robot.children(*JOINT_TAGS)
        if (name := raw.text("name")) in fixed
        for child in raw.children("dynamics", "limit")
        if any(value.strip(" +-.0") for value in child.lxml.attrib.values())
    ]
    if idle:
        _LOG.warning(
            "%s: ignored, as fixed joints do not move: %s; remove it, or correct the type of the joint",
            source,
            ", ".join(idle),
        )


def with_prefix(robot: RobotSpec, prefix: str) -> RobotSpec:
    """The robot with ``prefix`` before every link and joint name."""

    def prefixed(joint: JointSpec) -> JointSpec:
        mimic = joint.mimic and replace(joint.mimic, joint=prefix + joint.mimic.joint)
        return replace(
            joint,
            name=prefix + joint.name,
            parent=prefix + joint.parent,
            child=prefix + joint.child,
            mimic=mimic,
        )

    def pair(links: tuple[str, str]) -> tuple[str, str]:
        return prefix + links[0], prefix + links[1]

    srdf = SrdfSpec(
        disabled=tuple((pair(links), reason) for links, reason in robot.srdf.disabled),
        quiet=tuple(prefix + link for link in robot.srdf.quiet),
        enabled=tuple(map(pair, robot.srdf.enabled)),
        end_effectors=tuple(
            replace(
                one,
                joints=tuple(prefix + joint for joint in one.joints),
                closed={prefix + joint: value for joint, value in one.closed.items()},
            )
            for one in robot.srdf.end_effectors
        ),
    )
    return replace(
        robot,
        links=tuple(replace(link, name=prefix + link.name) for link in robot.links),
        joints=tuple(prefixed(joint) for joint in robot.joints),
        pair_laws=tuple(replace(law, links=pair(law.links)) for law in robot.pair_laws),
        apart=tuple((pair(links), who) for links, who in robot.apart),
        srdf=srdf,
        drives=tuple(replace(drive, joint=prefix + drive.joint) for drive in robot.drives),
        sensors=tuple(
            DescribedSensor(prefix + sensor.name, prefix + sensor.link) for sensor in robot.sensors
        ),
    )
