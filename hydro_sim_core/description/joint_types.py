"""The table of joint types: what URDFs, scenes and programs may write, and what other rooms need to know of each.

A type is added by a row here, or by a plug-in's entry point in the group ``hydro_sim.joints``, and the kernels that
move its child.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Literal

from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import load_plugins

Unit = Literal["rad", "m"]
#: Types that every reader of URDF knows.
STANDARD_TYPES = frozenset({"revolute", "continuous", "prismatic", "fixed", "floating", "planar"})
_GROUP = "hydro_sim.joints"
#: A body has no more ways to move.
_MOST = 6


@dataclass(frozen=True)
class Coordinate:
    """A length or an angle of a joint, whose rate is one of its velocities.

    Attributes:
        unit: ``rad`` or ``m``.
        suffix: What is put after the joint's name and a slash, to name it; nothing where it is the only one.
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
    """A kind of joint.

    It has coordinates that are lengths and angles, or ``num_velocities``, or neither, and then moves nothing.

    Attributes:
        name: Its name, as ``type`` of a URDF's ``<joint>``. Other readers get a type of which they do not know as a
            floating one, whose child is where its transform says.
        description: What it is, as a sentence.
        coordinates: The lengths and angles. A type with one can mimic another joint, and be mimicked; each takes
            commands and has the limits of speed and effort.
        num_velocities: Number of velocities of a type with other coordinates: a unit quaternion (w, x, y, z), then
            lengths; one more in all than velocities.
        kernels: Its ``JointKernels``, ``module:name``.
        axis: What ``<axis>`` says: nothing; a direction, as which kernels get it; or the normal of a plane, and then
            the frame J that kernels see is turned the shortest way that takes z to it.
        ends: Whether a joint has a lowest and a highest position, which hold for each of its coordinates.
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
        # A quaternion stands for three of the velocities.
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
        """Number of its coordinates, those of a quaternion included."""
        return len(self.coordinates) or self.num_velocities + (self.num_velocities > 0)

    @property
    def num_v(self) -> int:
        """Number of its velocities."""
        return len(self.coordinates) or self.num_velocities

    @property
    def start(self) -> tuple[float, ...]:
        """Coordinates (num_q,) of the joint's zero."""
        return (0.0,) * self.num_q if self.coordinates else (1.0, *[0.0] * self.num_q)[: self.num_q]

    @property
    def is_free(self) -> bool:
        """Whether it lets its child move in every way."""
        return self.num_v == _MOST

    @property
    def is_scalar(self) -> bool:
        """Whether it has one length or angle, so that it can mimic and be mimicked."""
        return len(self.coordinates) == 1

    @property
    def is_slide(self) -> bool:
        """Whether it has one coordinate, a length."""
        return self.is_scalar and self.coordinates[0].unit == "m"

    @property
    def urdf_type(self) -> str:
        """Type that is written for other readers of URDF."""
        return self.name if self.name in STANDARD_TYPES else "floating"


def joint_types() -> dict[str, JointType]:
    """Every type of joint by its name, those of plug-ins too.

    Raises:
        InputError: A plug-in cannot be loaded, is no joint type, or has the name of another one.
    """
    return dict(_all_types())


def joint_type(name: str) -> JointType:
    """The type of this name, which there has to be."""
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
