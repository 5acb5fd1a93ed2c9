"""Plain data that every description file becomes: links, joints, shapes, scenes.

No behaviour and no file access here: loaders fill these, the model builder reads them. Lengths in m, angles
in rad, masses in kg. ``X_PC`` is the (4, 4) pose of frame C in frame P.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.joint_types import JointType, Unit, joint_type

Array = NDArray[np.float64]
Compliance = Literal["rigid", "compliant"]
PressureField = Literal["distance", "laplace"]

#: Depth at which a compliant half space reaches its modulus where nobody gives one, m.
DEFAULT_SLAB_THICKNESS = 0.1


@dataclass(frozen=True)
class ShapeSpec:
    """A shape as written in the file, not yet meshed.

    Attributes:
        kind: ``mesh``, or one of ``shape_types``.
        size: All numbers of the lengths of its type, m; () for a mesh.
        path: Absolute path of the mesh file, for ``mesh``.
        scale: Mesh scale an axis; a negative one mirrors.
        declare_convex: Take the mesh's convex hull.
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
        mu_static: Coefficient of static friction; read so that files load, the solver uses ``mu_dynamic``.
        mu_dynamic: Coefficient of friction.
        point_stiffness: Stiffness of point contact, N/m.
        slab_thickness: Depth at which a compliant half space reaches its modulus, m.
        pressure_field: How the pressure of a compliant mesh grows with depth; see ``docs/geometry.md``.
        surface_velocity: With which the surface runs over its body, as a belt does, in the axes of the shape, m/s.
        grain: Direction along which friction is less, in the axes of the shape; its length, below 1, is the share by
            which.
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
        source: File that it stands in, for errors; empty when it comes from no file.
        element: Where in that file.
    """

    name: str
    shape: ShapeSpec
    X_LG: Array
    proximity: ProximitySpec = field(default_factory=ProximitySpec)
    source: str = ""
    element: str = ""


@dataclass(frozen=True, eq=False)
class VisualSpec:
    """One visual geometry of a link; ``rgba`` in [0, 1] or None when the file gives none."""

    name: str
    shape: ShapeSpec
    X_LG: Array
    rgba: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class InertialSpec:
    """How a link resists motion.

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
    """A rigid body and what hangs on it. ``inertial`` is None for massless frames."""

    name: str
    inertial: InertialSpec | None
    collisions: tuple[CollisionSpec, ...] = ()
    visuals: tuple[VisualSpec, ...] = ()


@dataclass(frozen=True)
class LimitSpec:
    """Joint limits, infinite where the joint has none.

    Attributes:
        lower: rad or m.
        upper: rad or m.
        velocity: Largest speed, rad/s or m/s.
        effort: Largest torque or force, N m or N.
        stiffness: Of the stops, N m/rad or N/m; None means as stiff as the time step allows.
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
    """A joint; ``X_PJ`` places its frame (that of the child at zero) in the parent link's frame.

    Attributes:
        type: One of ``joint_types``.
        axis: Unit vector in the joint frame: of rotation, of translation, or the normal of a plane.
        limits: They hold for each coordinate.
        damping: Viscous, N m s/rad or N s/m.
        friction: Coulomb, N m or N.
        rotor_inertia: Reflected inertia of the drive, kg m^2 or kg.
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
    mimic: MimicSpec | None = None

    @property
    def traits(self) -> JointType:
        """What is known of its type."""
        return joint_type(self.type)

    @property
    def units(self) -> dict[str, Unit]:
        """Unit of every length and angle that the joint has, by name: its own, or ``joint/x`` where it has several."""
        return {
            f"{self.name}/{one.suffix}" if one.suffix else self.name: one.unit
            for one in self.traits.coordinates
        }

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of its lengths and angles."""
        return tuple(self.units)

    @property
    def all_names(self) -> tuple[str, ...]:
        """Its name, and the names of its coordinates where they are others."""
        return tuple(dict.fromkeys((self.name, *self.coordinate_names)))


@dataclass(frozen=True, eq=False)
class RobotSpec:
    """One URDF: a tree of links. ``links[0]`` is the root; joints stand so that parents come first."""

    name: str
    links: tuple[LinkSpec, ...]
    joints: tuple[JointSpec, ...]
    source: str

    @property
    def root(self) -> str:
        """Name of the link that is nobody's child."""
        return self.links[0].name
