"""Table of joint types: names and attributes in URDFs and programs, and properties that other packages need.

To add a type, add a row here, or a plug-in's entry point in the group ``hydro_sim.joints``, and the kernels of its
kinematics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Literal

from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import load_plugins

Unit = Literal["rad", "m"]
#: Types of the URDF standard.
STANDARD_TYPES = frozenset({"revolute", "continuous", "prismatic", "fixed", "floating", "planar"})
_GROUP = "hydro_sim.joints"
#: Number of degrees of freedom of a free body.
_MOST = 6


@dataclass(frozen=True)
class Coordinate:
    """A length or an angle of a joint, whose rate is one of the joint's velocities.

    Attributes:
        unit: ``rad`` or ``m``.
        suffix: Suffix of its name after the joint's name and a slash; empty if it is the only one.
    """

    unit: Unit
    suffix: str = ""

    def __post_init__(self) -> None:
        if self.unit not in ("rad", "m"):
            raise InputError("Coordinate", f"{self.unit!r}", "is no unit of a coordinate", "write rad or m")
        if self.suffix != "" and not _is_word(self.suffix):
            raise InputError(
                "Coordinate", f"{self.suffix!r}", "cannot be a name", "give letters, digits and _"
            )


@dataclass(frozen=True)
class JointType:
    """A type of joint.

    A type has either coordinates that are lengths and angles, or ``num_velocities``, or neither, and is then fixed.

    Attributes:
        name: Name, as ``type`` of a URDF's ``<joint>``. For other readers, types that URDF does not have are exported
            as floating joints.
        description: Description, as a sentence.
        coordinates: Lengths and angles. A type with exactly one can mimic another joint, and be mimicked. Each
            coordinate takes commands and has limits of velocity and effort.
        num_velocities: Number of velocities of a type whose coordinates are a unit quaternion (w, x, y, z) followed by
            lengths; there is one more coordinate than velocities.
        kernels: Reference ``module:name`` to its ``JointKernels``.
        axis: Meaning of ``<axis>``: unused; a direction, which is passed to the kernels; or the normal of a plane, and
            then the frame J of the kernels is rotated by the smallest rotation that takes z to it.
        ends: Whether position limits, which apply to each coordinate, are allowed or required.
    """

    name: str
    description: str
    coordinates: tuple[Coordinate, ...] = ()
    num_velocities: int = 0
    kernels: str = ""
    axis: Literal["unused", "direction", "normal"] = "unused"
    ends: Literal["none", "optional", "required"] = "none"

    def __post_init__(self) -> None:
        def refuse(attribute: str, mend: str) -> None:
            value = getattr(self, attribute)
            raise InputError("JointType", f"{self.name!r}, {attribute}", f"{value!r} does not fit", mend)

        if not _is_word(self.name):
            refuse("name", "give a name of letters, digits and _")
        named = self.coordinates
        if not isinstance(named, tuple) or not all(isinstance(one, Coordinate) for one in named):
            refuse("coordinates", "give a tuple of Coordinate")
        suffixes = {one.suffix for one in named}
        if len(suffixes) != len(named) or len(named) > _MOST or (len(named) > 1 and "" in suffixes):
            refuse("coordinates", f"give at most {_MOST}, and several each its own suffix")
        # A quaternion belongs to three of the velocities.
        if self.num_velocities not in ((0,) if named else (0, *range(3, _MOST + 1))):
            refuse("num_velocities", f"give 3 to {_MOST}, or coordinates")
        if not isinstance(self.kernels, str) or (":" in self.kernels) != (self.num_v > 0):
            refuse("kernels", "write module:name" if self.num_v else "leave it out: nothing moves")
        if self.axis not in ("unused", "direction", "normal"):
            refuse("axis", "write unused, direction or normal")
        if self.ends not in ("none", "optional", "required") or (self.ends != "none" and not named):
            refuse("ends", "write none, or optional or required beside coordinates")

    @property
    def num_q(self) -> int:
        """Number of coordinates, including the four of a quaternion."""
        return len(self.coordinates) or self.num_velocities + (self.num_velocities > 0)

    @property
    def num_v(self) -> int:
        """Number of velocities."""
        return len(self.coordinates) or self.num_velocities

    @property
    def start(self) -> tuple[float, ...]:
        """Zero position (num_q,), at which the child's frame coincides with that of the joint."""
        return (0.0,) * self.num_q if self.coordinates else (1.0, *[0.0] * self.num_q)[: self.num_q]

    @property
    def is_free(self) -> bool:
        """Whether the child has all six degrees of freedom."""
        return self.num_v == _MOST

    @property
    def is_scalar(self) -> bool:
        """Whether the type has one length or angle, so that it can mimic and be mimicked."""
        return len(self.coordinates) == 1

    @property
    def is_slide(self) -> bool:
        """Whether the only coordinate is a length."""
        return self.is_scalar and self.coordinates[0].unit == "m"

    @property
    def urdf_type(self) -> str:
        """Standard URDF type for export to other readers."""
        return self.name if self.name in STANDARD_TYPES else "floating"


def joint_types() -> dict[str, JointType]:
    """All joint types by name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a joint type, or has the name of another one.
    """
    return dict(_all_types())


def joint_type(name: str) -> JointType:
    """The type of this name, which must exist."""
    return _all_types()[name]


@cache
def _all_types() -> dict[str, JointType]:
    return {row.name: row for row in (*_JOINTS, *load_plugins(_GROUP, JointType, _JOINTS))}


def _is_word(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)


_KERNELS = "hydro_sim_core.dynamics.joint_kernels:"
_JOINTS = (
    JointType(
        "revolute",
        "A turn about an axis, between two ends.",
        (Coordinate("rad"),),
        kernels=_KERNELS + "TURN",
        axis="direction",
        ends="required",
    ),
    JointType(
        "continuous",
        "A turn about an axis, without ends.",
        (Coordinate("rad"),),
        kernels=_KERNELS + "TURN",
        axis="direction",
    ),
    JointType(
        "prismatic",
        "A slide along an axis, between two ends.",
        (Coordinate("m"),),
        kernels=_KERNELS + "SLIDE",
        axis="direction",
        ends="required",
    ),
    JointType("fixed", "None: the child is part of its parent."),
    JointType(
        "floating",
        "Any motion: coordinates are the quaternion (w, x, y, z) of the child and its origin.",
        num_velocities=6,
        kernels=_KERNELS + "FLOAT",
    ),
    JointType(
        "planar",
        "First moved to (x, y) in a plane, along axes that the parent carries, then turned by yaw about its normal.",
        (Coordinate("m", "x"), Coordinate("m", "y"), Coordinate("rad", "yaw")),
        kernels=_KERNELS + "MOVE_IN_PLANE",
        axis="normal",
    ),
    JointType(
        "universal",
        "First turned about x of the joint's frame, then about the y axis that this turns along.",
        (Coordinate("rad", "x"), Coordinate("rad", "y")),
        kernels=_KERNELS + "TURN_TWICE",
        ends="optional",
    ),
)
