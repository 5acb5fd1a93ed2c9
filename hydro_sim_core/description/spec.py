"""Data structures for descriptions: links, joints, shapes, robots.

They have no behaviour and no file access: loaders fill them, and the model builder reads them. Lengths in m, angles in
rad, masses in kg. ``X_PC`` is the (4, 4) pose of frame C in frame P.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.joint_types import JointType, Unit, joint_type

Array = NDArray[np.float64]
Compliance = Literal["rigid", "compliant"]
PressureField = Literal["distance", "laplace"]
ContactLaw = Literal["pressure_field", "equivalent_point", "none"]
Representation = Literal["polygon", "triangle"]

#: Default depth at which a compliant half space reaches its modulus, m.
DEFAULT_SLAB_THICKNESS = 0.1


@dataclass(frozen=True)
class ShapeSpec:
    """A shape as written in the file, not yet meshed.

    Attributes:
        kind: ``mesh``, or one of ``shape_types``.
        size: Lengths in the order of its type, m; () for a mesh.
        path: Absolute path of the mesh file, for ``mesh``.
        scale: Scale factors of a mesh along the axes; negative ones mirror it.
        declare_convex: Use the mesh's convex hull.
    """

    kind: str
    size: tuple[float, ...] = ()
    path: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    declare_convex: bool = False


@dataclass(frozen=True)
class ProximitySpec:
    """Contact properties of one collision geometry; ``None`` means that the scene's default applies.

    Attributes:
        compliance: Rigid (surface only) or compliant (pressure field).
        modulus: Hydroelastic modulus, Pa.
        resolution_hint: Wanted edge length of the mesh, m.
        margin: Hydroelastic margin, m.
        dissipation: Hunt-Crossley dissipation, s/m.
        relaxation_time: Linear damping's relaxation time, s.
        mu_static: Coefficient of static friction: friction has one coefficient, and files may give it twice.
        mu_dynamic: Coefficient of friction.
        point_stiffness: Stiffness of a flat as large as the mean side of its box, N/m.
        slab_thickness: Depth at which a compliant half space reaches its modulus, m.
        pressure_field: Kind of pressure field of a compliant mesh; see ``docs/geometry.md``.
        surface_velocity: Velocity of the surface relative to its body, like a conveyor belt's, in the axes of the
            shape, m/s.
        grain: Direction of reduced friction, in the axes of the shape; its length, below 1, is the fraction by which
            friction is reduced.
    """

    compliance: Compliance | None = None
    modulus: float | None = None
    resolution_hint: float | None = None
    margin: float | None = None
    dissipation: float | None = None
    relaxation_time: float | None = None
    mu_static: float | None = None
    mu_dynamic: float | None = None
    point_stiffness: float | None = None
    slab_thickness: float | None = None
    pressure_field: PressureField | None = None
    surface_velocity: tuple[float, float, float] | None = None
    grain: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class CollisionSpec:
    """One collision geometry of a link; ``X_LG`` places the shape's frame G in the link frame L.

    Attributes:
        source: File of the description, for error messages; empty if there is none.
        element: Place in that file.
    """

    name: str
    shape: ShapeSpec
    X_LG: Array
    proximity: ProximitySpec = field(default_factory=ProximitySpec)
    source: str = ""
    element: str = ""


@dataclass(frozen=True, eq=False)
class VisualSpec:
    """One visual geometry of a link.

    Attributes:
        name: Its name.
        shape: Its shape.
        X_LG: (4, 4) pose in the link.
        rgba: Colour, in [0, 1]; None when the file gives none.
        gloss: 0 for matt, 1 for polished.
    """

    name: str
    shape: ShapeSpec
    X_LG: Array
    rgba: tuple[float, float, float, float] | None = None
    gloss: float = 0.0


@dataclass(frozen=True, eq=False)
class InertialSpec:
    """Mass properties of a link.

    Attributes:
        mass: kg.
        p_LCo: Centre of mass in the link frame, (3,), m.
        I_LCo: Inertia about the centre of mass, in link axes, (3, 3), kg m^2.
    """

    mass: float
    p_LCo: Array
    I_LCo: Array


@dataclass(frozen=True, eq=False)
class LinkSpec:
    """A rigid body with its collision and visual geometry.

    Attributes:
        name: Its name.
        inertial: Its mass properties; None for massless frames.
        collisions: What it touches with.
        visuals: What is seen of it.
        has_weight: Whether gravity pulls it.
    """

    name: str
    inertial: InertialSpec | None
    collisions: tuple[CollisionSpec, ...] = ()
    visuals: tuple[VisualSpec, ...] = ()
    has_weight: bool = True


@dataclass(frozen=True)
class LimitSpec:
    """Joint limits, infinite where the joint has none.

    Attributes:
        lower: rad or m.
        upper: rad or m.
        velocity: Largest speed, rad/s or m/s.
        effort: Largest torque or force, N m or N.
        stiffness: Stiffness of the stops, N m/rad or N/m; None means as stiff as the time step allows.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    stiffness: float | None = None


@dataclass(frozen=True)
class MimicSpec:
    """This joint's coordinate is ``multiplier`` times that of ``joint`` plus ``offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class JointSpec:
    """A joint; ``X_PJ`` is the pose of its frame (that of the child at zero) in the parent link's frame.

    Attributes:
        type: One of ``joint_types``.
        axis: Unit vector in the joint frame: axis of rotation, direction of translation, or normal of a plane.
        limits: Limits of each coordinate.
        damping: Viscous damping, N m s/rad or N s/m.
        friction: Coulomb friction, N m or N.
        rotor_inertia: Reflected inertia of the drive, kg m^2 or kg.
        spring_stiffness: Stiffness of a spring, N m/rad or N/m.
        spring_reference: Position at which the spring is slack, rad or m.
    """

    name: str
    type: str
    parent: str
    child: str
    X_PJ: Array
    axis: Array
    limits: LimitSpec = field(default_factory=LimitSpec)
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    spring_stiffness: float = 0.0
    spring_reference: float = 0.0
    mimic: MimicSpec | None = None

    @property
    def traits(self) -> JointType:
        """Row of the joint's type in the table of joint types."""
        return joint_type(self.type)

    @property
    def units(self) -> dict[str, Unit]:
        """Units of the joint's lengths and angles by name: the joint's name, or ``joint/x`` and so on for several."""
        return {
            f"{self.name}/{one.suffix}" if one.suffix else self.name: one.unit
            for one in self.traits.coordinates
        }

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the joint's lengths and angles."""
        return tuple(self.units)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The joint's name, followed by the names of its coordinates if they differ."""
        return tuple(dict.fromkeys((self.name, *self.coordinate_names)))


@dataclass(frozen=True)
class PointSpec:
    """How two links touch at equivalent contact points.

    Attributes:
        ellipsoid: Semi-axes e_t, e_o (1) and e_r (m) of friction, in units of mu times the normal force; None for a
            circle with e_r from the patch.
        is_of_pieces: Whether every collision geometry touches at a point of its own, instead of the convex hull of all
            that a link has.
    """

    ellipsoid: tuple[float, float, float] | None = None
    is_of_pieces: bool = False


@dataclass(frozen=True)
class PairLaw:
    """The contact law that a robot's description gives two of its links.

    Attributes:
        links: The two links.
        law: Their law.
        source: File of the description, for error messages.
        element: Place in that file.
        point: With law ``equivalent_point``, how they touch.
    """

    links: tuple[str, str]
    law: ContactLaw
    source: str
    element: str
    point: PointSpec = PointSpec()


@dataclass(frozen=True)
class EndEffectorSpec:
    """An end effector that an SRDF names.

    Attributes:
        name: Its name.
        joints: Joints of its group, fixed ones and mimic joints too.
        closed: Positions of joints (rad or m) in the group's state with ``close`` in its name; empty without one.
    """

    name: str
    joints: tuple[str, ...]
    closed: Mapping[str, float]


@dataclass(frozen=True)
class SrdfSpec:
    """What an SRDF says about contact and end effectors, as MoveIt reads it.

    Attributes:
        disabled: Pairs of links that do not touch, with the reason that the file gives for each.
        quiet: Links that touch nothing in the scene, but for pairs in ``enabled``.
        enabled: Pairs that touch although one of the two is quiet.
        end_effectors: End effectors.
    """

    disabled: tuple[tuple[tuple[str, str], str], ...] = ()
    quiet: tuple[str, ...] = ()
    enabled: tuple[tuple[str, str], ...] = ()
    end_effectors: tuple[EndEffectorSpec, ...] = ()


@dataclass(frozen=True)
class DriveSpec:
    """How a joint is driven, as the ``<ros2_control>`` block of its robot says.

    Attributes:
        joint: Name of the joint.
        commands: What it can be commanded: of position, velocity and effort.
        initial: Its position at the start, rad or m; None if none is given.
    """

    joint: str
    commands: tuple[str, ...]
    initial: float | None = None


@dataclass(frozen=True)
class Repair:
    """A change to a description because nothing can be as it says.

    Attributes:
        element: Place in the file.
        was: What it says there.
        became: What was taken instead.
    """

    element: str
    was: str
    became: str

    def __str__(self) -> str:
        return f"{self.element}: {self.was}: {self.became}"


@dataclass(frozen=True)
class DescribedSensor:
    """A force-torque sensor of a ``<ros2_control>`` block, between its link and the parent of that."""

    name: str
    link: str


class DescriptionValue(NamedTuple):
    """A value of a link or a joint of a model, by its path.

    Attributes:
        path: The path as it was given.
        model: Index of the model.
        what: ``links`` or ``joints``.
        rest: Parts of the path below these.
        value: The value.
    """

    path: str
    model: int
    what: str
    rest: list[str]
    value: Any


@dataclass(frozen=True, eq=False)
class RobotSpec:
    """A robot: a tree of links. ``links[0]`` is the root; joints are ordered with parents first.

    Attributes:
        drives: What its description says of drives.
        sensors: Its force-torque sensors.
        pair_laws: Contact laws of pairs of its links; they outrank what follows.
        apart: Pairs of links that do not touch as other programs are told in its description, with the tag that says
            so; they outrank the SRDF.
        srdf: What an SRDF says about contact of its links.
        repairs: What was changed in it.
        overrides: Values of links and joints that it was given after it was read, and gets again if it is read anew.
    """

    name: str
    links: tuple[LinkSpec, ...]
    joints: tuple[JointSpec, ...]
    source: str
    pair_laws: tuple[PairLaw, ...] = ()
    apart: tuple[tuple[tuple[str, str], str], ...] = ()
    srdf: SrdfSpec = SrdfSpec()
    drives: tuple[DriveSpec, ...] = ()
    sensors: tuple[DescribedSensor, ...] = ()
    repairs: tuple[Repair, ...] = ()
    overrides: tuple[DescriptionValue, ...] = ()

    @property
    def root(self) -> str:
        """Name of the root link."""
        return self.links[0].name
