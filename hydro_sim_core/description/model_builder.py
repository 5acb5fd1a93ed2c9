"""Builder of a robot or object, used by the URDF reader and by programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.description.degrees import ends_of_joints, warn_of_degrees
from hydro_sim_core.description.inertia import check_inertia, check_mass
from hydro_sim_core.description.joint_types import STANDARD_TYPES, JointType, joint_types
from hydro_sim_core.description.joints import check_mimic, check_range, unit_axis
from hydro_sim_core.description.limits import check_joint, check_link, check_that_it_moves
from hydro_sim_core.description.mass_properties import mass_properties
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.places import CallSite, Place, call_site
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene import idle_property
from hydro_sim_core.description.shapes import Rgba
from hydro_sim_core.description.spec import (
    Array,
    CollisionSpec,
    InertialSpec,
    JointSpec,
    LimitSpec,
    LinkSpec,
    MimicSpec,
    PairLaw,
    RobotSpec,
    VisualSpec,
)
from hydro_sim_core.description.topology import PlacedJoint, order_tree, resolve_mimics
from hydro_sim_core.description.values import finite_number, flag, proximity_of, shape_of, text, vector
from hydro_sim_core.errors import excerpt

_ORIGIN = (0.0, 0.0, 0.0)


class LinkBuilder:
    """Builder of a rigid body, made by ``ModelBuilder.add_link`` and ``SceneBuilder.add_body``.

    Attributes:
        name: Name of the link.
        model: Builder of the model that the link belongs to.
    """

    def __init__(self, name: str, model: ModelBuilder, place: Place) -> None:
        self.name = name
        self.model = model
        self._place = place
        self._collisions: list[CollisionSpec] = []
        self._visuals: list[VisualSpec] = []
        self._mass: float | None = None
        self._density: float | None = None
        self._p_LCo: Array | None = None
        self._I_LCo: Array | None = None

    def set_inertia(
        self,
        mass: float | None = None,
        density: float | None = None,
        center_of_mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
    ) -> LinkBuilder:
        """Set mass properties; those never given are computed from the shapes, as solids of uniform density.

        Arguments that are left out keep their earlier values; a density replaces a mass, and a mass a density.

        Args:
            mass: kg.
            density: kg/m^3, instead of the mass.
            center_of_mass: p_LCo (3,), m.
            inertia: About the centre of mass in link axes, kg m^2: (3, 3), or three principal moments (3,).

        Raises:
            InputError: A value does not fit, or mass and density are both given. The link is then unchanged.
        """
        place = call_site(f"link '{self.name}'")
        if mass is not None and density is not None:
            raise place.error("mass and density are both given", "give one of them")
        new_mass, new_density = (
            (self._mass, self._density) if mass is None and density is None else (None, None)
        )
        if mass is not None:
            new_mass = finite_number(mass, "mass", place)
            check_mass(new_mass, place)
        if density is not None:
            new_density = finite_number(density, "density", place, above=0.0)
        p_LCo = self._p_LCo if center_of_mass is None else vector(center_of_mass, 3, "center_of_mass", place)
        I_LCo = self._I_LCo if inertia is None else _inertia(inertia, place)
        if I_LCo is not None and new_mass is None:
            raise place.error("an inertia without a mass", "give the mass too")
        self._mass, self._density, self._p_LCo, self._I_LCo = new_mass, new_density, p_LCo, I_LCo
        return self

    def add_shape(
        self,
        kind: str,
        *,
        name: str | None = None,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        rgba: Rgba | None = None,
        visual: bool = True,
        collision: bool = True,
        **values: Any,
    ) -> LinkBuilder:
        """Add a shape for contact and display.

        Args:
            kind: ``sphere``, ``box``, ``cylinder``, ``capsule``, ``ellipsoid`` or ``mesh``, or a kind from a plug-in.
            name: Name of the shape in the link.
            xyz: Origin of the shape in the link frame, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the shape, (3,), rad.
            rgba: Colour, four numbers in 0 … 1.
            visual: Whether the shape is drawn.
            collision: Whether the shape takes part in contact.
            **values: Lengths, by the keys of a scene file (``radius=0.1``), or a mesh's ``path``, text or ``Path``;
                and contact properties (``modulus``, ``friction``, …; ``friction`` sets both coefficients).

        Raises:
            InputError: The kind or a keyword is unknown, or a value does not fit.
        """
        place = call_site(f"link '{self.name}', {kind}")
        name = (
            f"{self.name}_{len(self._collisions) + len(self._visuals)}"
            if name is None
            else text(name, "name", place)
        )
        touches, is_seen = flag(collision, "collision", place), flag(visual, "visual", place)
        colour = None if rgba is None else _colour(rgba, place)
        X_LG = _pose(xyz, rpy, place)
        shape, contact = shape_of(kind, values, place, self.model.resolver)
        if shape.kind == "half_space":
            raise place.error(
                "a half space cannot move", "add it to the scene, with add_static or add_ground"
            )
        if not (touches or is_seen):
            raise place.error("neither touches nor is seen", "leave it out")
        if touches:
            proximity = proximity_of(contact, place)
            idle = idle_property(kind, proximity)
            if idle is not None:
                raise place.error(*idle)
            self.insert_collision(
                CollisionSpec(name, shape, X_LG, proximity, place.source, place.element), place
            )
        if is_seen:
            self._visuals.append(VisualSpec(name, shape, X_LG, colour))
        return self

    def insert_collision(self, collision: CollisionSpec, place: Place) -> None:
        """Add a collision geometry from its specification.

        Raises:
            InputError: The link has a collision geometry of this name.
        """
        if any(other.name == collision.name for other in self._collisions):
            problem = f"two collisions are named '{collision.name}'"
            raise place.error(problem, "give every collision of a link its own name")
        self._collisions.append(collision)

    def build(self) -> LinkSpec:
        """The link as specified so far.

        Raises:
            InputError: The mass properties are incomplete or cannot be computed from the shapes.
        """
        return LinkSpec(self.name, self._inertial(), tuple(self._collisions), tuple(self._visuals))

    def _inertial(self) -> InertialSpec | None:
        if self._mass is None and self._density is None:
            return None
        if self._mass is not None and self._I_LCo is not None:
            p_LCo = np.zeros(3) if self._p_LCo is None else self._p_LCo
            return InertialSpec(self._mass, p_LCo, self._I_LCo)
        shapes = [(item.shape, item.X_LG) for item in self._collisions or self._visuals]
        if not shapes:
            raise self._place.error("has a mass, but no inertia and no shape", "give inertia, or add a shape")
        volume, p_LCo, unit_inertia = mass_properties(shapes, self._place)
        mass = self._mass if self._mass is not None else (self._density or 0.0) * volume
        check_mass(mass, self._place)
        return InertialSpec(mass, p_LCo if self._p_LCo is None else self._p_LCo, mass * unit_inertia)


class ModelBuilder:
    """Builder of a robot or object.

    Example:
        ``arm.add_link("upper", mass=1.0).add_shape("capsule", radius=0.03, length=0.3)`` and
        ``arm.add_joint("shoulder", "revolute", parent="base", child="upper", axis=(0, 1, 0), lower=-2, upper=2)``

    Args:
        name: Name of the model.
        place: Place of the description, for errors; the calling line by default.
        resolver: Resolver of mesh file names; paths are relative to the working folder by default.
    """

    def __init__(
        self, name: str, place: Place | None = None, resolver: PackageResolver | None = None
    ) -> None:
        self.name = name
        self._place: Place = place or call_site(f"model '{name}'")
        self.resolver = resolver or PackageResolver(Path.cwd() / "scene", confined=False)
        self._links: dict[str, LinkSpec | LinkBuilder] = {}
        self._joints: dict[str, PlacedJoint] = {}
        self._pair_laws: dict[frozenset[str], tuple[PairLaw, Place]] = {}

    def add_link(
        self,
        name: str,
        mass: float | None = None,
        density: float | None = None,
        center_of_mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
    ) -> LinkBuilder:
        """Add a link; without mass and density it is a massless frame. See ``LinkBuilder.set_inertia``.

        Raises:
            InputError: A link of this name exists, or a value does not fit.
        """
        place = call_site(f"link '{name}'")
        name = text(name, "name", place)
        link = LinkBuilder(name, self, place).set_inertia(mass, density, center_of_mass, inertia)
        self._insert(link, place)
        return link

    def insert_link(self, link: LinkSpec, place: Place) -> None:
        """Add a link from its specification.

        Raises:
            InputError: A link of this name exists, or one of its numbers is absurd."""
        check_link(link, place)
        self._insert(link, place)

    def _insert(self, link: LinkSpec | LinkBuilder, place: Place) -> None:
        if link.name in self._links:
            raise place.error("a second link of this name", "give every link its own name")
        self._links[link.name] = link

    def add_joint(
        self,
        name: str,
        type: str,
        parent: str,
        child: str,
        *,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        axis: ArrayLike | None = None,
        lower: float | None = None,
        upper: float | None = None,
        velocity: float = np.inf,
        effort: float = np.inf,
        stiffness: float | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        rotor_inertia: float = 0.0,
        mimic: str | None = None,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> ModelBuilder:
        """Add a joint between two links.

        Args:
            name: Name of the joint.
            type: Type of the joint, as in a URDF (``revolute``, ``planar``, ...), or another of ``joint_types``.
            parent: Parent link.
            child: Child link.
            xyz: Origin of the joint, and of the child at zero, in the parent's frame, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the joint frame, (3,), rad.
            axis: (3,) in the joint's frame: of rotation, translation, or normal of the plane; x by default.
            lower: Lowest position of each coordinate, rad or m; revolute and prismatic joints need both ends.
            upper: Highest position.
            velocity: Largest speed, rad/s or m/s.
            effort: Largest torque or force, N m or N.
            stiffness: Stiffness of the stops, N m/rad or N/m; by default as stiff as the time step allows.
            damping: Viscous damping, N m s/rad or N s/m.
            friction: Coulomb friction, N m or N.
            rotor_inertia: Reflected inertia of the drive, kg m^2 or kg.
            mimic: Joint whose position this one follows.
            multiplier: Factor on that position.
            offset: Offset added to the product, rad or m.

        Raises:
            InputError: A joint of this name exists, or a value does not fit. ``build`` checks that the links exist.
        """
        place = call_site(f"joint '{name}'")
        kind = _joint_type(type, place)
        joint = JointSpec(
            **_texts(place, name=name, type=kind.name, parent=parent, child=child),
            X_PJ=_pose(xyz, rpy, place),
            axis=_axis(kind, axis, place),
            limits=_limits(kind, lower, upper, velocity, effort, stiffness, place),
            **_losses(place, damping=damping, friction=friction, rotor_inertia=rotor_inertia),
            mimic=_mimic(kind, mimic, multiplier, offset, place),
        )
        _check_moves(joint, place)
        self.insert_joint(PlacedJoint(joint, place))
        return self

    def add_spring(self, joint: str, stiffness: float, reference: float = 0.0) -> ModelBuilder:
        """Give a joint a linear spring, beside its drive.

        Args:
            joint: The joint, added before.
            stiffness: N m/rad or N/m.
            reference: Position at which the spring is slack, rad or m.

        Raises:
            InputError: There is no such joint, it has no coordinate, or a value does not fit.
        """
        place = call_site(f"spring of '{joint}'")
        if text(joint, "joint", place) not in self._joints:
            raise place.error("there is no such joint", did_you_mean(joint, self._joints))
        placed = self._joints[joint]
        sprung = replace(
            placed.joint,
            spring_stiffness=finite_number(stiffness, "stiffness", place, least=0.0),
            spring_reference=finite_number(reference, "reference", place),
        )
        check_that_it_moves(sprung, place)
        check_joint(sprung, place)
        self._joints[joint] = PlacedJoint(sprung, placed.place)
        return self

    def insert_joint(self, placed: PlacedJoint) -> None:
        """Add a joint from its specification.

        Raises:
            InputError: A joint of this name exists, or one of its numbers is absurd."""
        check_joint(placed.joint, placed.place)
        if placed.joint.name in self._joints:
            raise placed.place.error("a second joint of this name", "give every joint its own name")
        self._joints[placed.joint.name] = placed

    def insert_pair_law(self, law: PairLaw, place: Place) -> None:
        """Add the contact law of two links.

        Raises:
            InputError: A link is paired with itself, or the pair has another law, or the same with other options.
        """
        if law.links[0] == law.links[1]:
            raise place.error(f"pairs '{law.links[0]}' with itself", "name two links")
        known, _ = self._pair_laws.setdefault(frozenset(law.links), (law, place))
        if (known.law, known.point) != (law.law, law.point):
            two = "two laws" if known.law != law.law else f"law {law.law} with two sets of options"
            problem = f"'{law.links[0]}' and '{law.links[1]}' have {two}"
            raise place.error(problem, f"keep one; the other is in {known.element}")

    @property
    def links(self) -> dict[str, LinkSpec]:
        """Links as specified so far, by name, in the order in which they were added."""
        return {
            name: link.build() if isinstance(link, LinkBuilder) else link
            for name, link in self._links.items()
        }

    def build(self, source: str = "") -> RobotSpec:
        """Build the robot as a tree, parents first.

        Args:
            source: Name of the description in later error messages; by default the place of the description.

        Raises:
            InputError: The links do not form one tree, a joint refers to an unknown link or joint, or the mass
                properties of a link are incomplete.
        """
        links = self.links
        if any(placed.joint.parent == "world" for placed in self._joints.values()):
            # Descriptions that are fixed to a link ``world`` often do not declare it.
            links.setdefault("world", LinkSpec("world", inertial=None))
        ordered, joints = order_tree(self._place, links, self._joints)
        for law, place in self._pair_laws.values():
            for name in law.links:
                if name not in links:
                    raise place.error(f"unknown link '{name}'", did_you_mean(name, links))
        return RobotSpec(
            self.name,
            ordered,
            resolve_mimics(joints, self._joints),
            source or self._place.error("", "").source,
            tuple(law for law, _ in self._pair_laws.values()),
        )


def _check_moves(joint: JointSpec, place: CallSite) -> None:
    """Check that what is said of a joint acts, and tell of ends that look like degrees."""
    check_that_it_moves(joint, place)
    warn_of_degrees(place.source, ends_of_joints([joint]))


def _pose(xyz: ArrayLike, rpy: ArrayLike, place: CallSite) -> Array:
    angles = vector(rpy, 3, "rpy", place)
    warn_of_degrees(place.source, [(f"{place.element}: rpy", angles.tolist())])
    return pose(vector(xyz, 3, "xyz", place), angles)


def _texts(place: CallSite, **values: str) -> dict[str, Any]:
    return {key: text(value, key, place) for key, value in values.items()}


def _losses(place: CallSite, **values: float) -> dict[str, Any]:
    return {key: finite_number(value, key, place, least=0.0) for key, value in values.items()}


def _joint_type(name: str, place: CallSite) -> JointType:
    known = joint_types()
    if not isinstance(name, str) or name not in known:
        raise place.error(f"unknown joint type {excerpt(name)}", did_you_mean(str(name), known))
    return known[name]


def _axis(kind: JointType, axis: ArrayLike | None, place: CallSite) -> Array:
    if axis is None or (kind.axis == "unused" and kind.name in STANDARD_TYPES):
        return np.array([1.0, 0.0, 0.0])
    if kind.axis == "unused":
        raise place.error(
            f"a {kind.name} joint has no axis to choose", "leave axis out, and turn its frame by rpy"
        )
    return unit_axis(vector(axis, 3, "axis", place), place)


def _mimic(
    kind: JointType, mimic: str | None, multiplier: float, offset: float, place: CallSite
) -> MimicSpec | None:
    if mimic is None:
        if multiplier != 1.0 or offset != 0.0:
            raise place.error("multiplier and offset are of a mimic joint", "give mimic, or leave them out")
        return None
    factor = finite_number(multiplier, "multiplier", place)
    follows = MimicSpec(text(mimic, "mimic", place), factor, finite_number(offset, "offset", place))
    check_mimic(kind, factor, place)
    return follows


def _limits(
    kind: JointType,
    lower: float | None,
    upper: float | None,
    velocity: float,
    effort: float,
    stiffness: float | None,
    place: CallSite,
) -> LimitSpec:
    given = [end is not None for end in (lower, upper)]
    if kind.ends == "required" and not all(given):
        mend = "give lower and upper" + (", or make it continuous" if kind.name == "revolute" else "")
        raise place.error(f"a {kind.name} joint without limits", mend)
    if kind.ends == "none" and any(given):
        raise place.error(f"a {kind.name} joint has no limits", "leave lower and upper out")
    if any(given) and not all(given):
        raise place.error("one limit alone", "give lower and upper, or none")
    ends = (
        [-np.inf, np.inf]
        if lower is None or upper is None
        else [finite_number(lower, "lower", place), finite_number(upper, "upper", place)]
    )
    check_range(ends[0], ends[1], place)
    speed, force = (
        np.inf
        if isinstance(value, float) and value == np.inf
        else finite_number(value, key, place, least=0.0)
        for key, value in (("velocity", velocity), ("effort", effort))
    )
    stops = None if stiffness is None else finite_number(stiffness, "stiffness", place, above=0.0)
    if stops is not None and not any(given):
        raise place.error("a stiffness of stops without ends", "give lower and upper, or leave stiffness out")
    return LimitSpec(ends[0], ends[1], speed, force, stops)


def _inertia(values: ArrayLike, place: CallSite) -> Array:
    """Inertia (3, 3) from a matrix or three principal moments."""
    given = np.array(values, dtype=object)
    if given.shape == (3,):
        I_LCo = np.diag(vector(values, 3, "inertia", place))
    elif given.shape == (3, 3):
        I_LCo = vector(np.ravel(given), 9, "inertia", place).reshape(3, 3)
    else:
        problem = f"inertia: {excerpt(values)} does not fit"
        raise place.error(problem, "give (3, 3) numbers, or three principal moments")
    if not np.array_equal(I_LCo, I_LCo.T):
        raise place.error("the inertia is not symmetric", "correct it")
    check_inertia(I_LCo, place)
    return I_LCo


def _colour(rgba: Sequence[float], place: CallSite) -> Rgba:
    red, green, blue, alpha = vector(rgba, 4, "rgba", place).tolist()
    if not all(0.0 <= channel <= 1.0 for channel in (red, green, blue, alpha)):
        raise place.error("rgba is outside 0 … 1", "give four numbers from 0 to 1")
    return red, green, blue, alpha
