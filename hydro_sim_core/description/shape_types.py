"""Table of shapes: names and lengths in scenes, URDFs and programs, and properties that other packages need.

To add a shape, add a row here, or a plug-in's entry point in the group ``hydro_sim.shapes``, and a function that makes
its mesh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import is_key
from hydro_sim_core.description.spec import ProximitySpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import guarded, is_reference, load_plugins, referred

Array = NDArray[np.float64]
#: Function from the lengths of a solid to its volume, m^3, and its inertia (3, 3) about the centre, per mass, m^2.
Solid = Callable[..., tuple[float, Array]]
_GROUP = "hydro_sim.shapes"
#: Names that lengths cannot have: keywords of ``LinkBuilder.add_shape``.
_TAKEN = {"name", "kind", "xyz", "rpy", "rgba", "visual", "collision", "friction"} | {
    field.name for field in fields(ProximitySpec)
}


@dataclass(frozen=True)
class Length:
    """A dimension of a shape.

    Attributes:
        name: Key in a scene and keyword in a program.
        description: Description of the dimension.
        count: Number of components.
        is_radius: Whether it is a radius of a curved surface.
    """

    name: str
    description: str
    count: int = 1
    is_radius: bool = False

    def __post_init__(self) -> None:
        if not is_key(self.name) or self.name in _TAKEN:
            raise InputError("Length", f"{self.name!r}", "cannot be the key of a length", "call it otherwise")
        if self.count < 1:
            raise InputError("Length", self.name, f"has {self.count} numbers", "give it one at least")


@dataclass(frozen=True)
class ShapeType:
    """A kind of shape defined by lengths alone, centred in its frame.

    Attributes:
        kind: Name of the kind.
        description: Description, as a sentence.
        lengths: Its dimensions, m, in the order of ``ShapeSpec.size``.
        make: Reference ``module:name`` to the function that makes its ``Geometry``: called with the components of all
            lengths, and ``modulus`` (None for the rigid surface), ``margin`` and the options.
        options: Those of ``resolution`` and ``slab_thickness`` that the function takes from the contact properties.
        solid: Function for volume and inertia; None for a shape without volume.
        urdf_tags: URDF elements of the shape.
        urdf_attributes: URDF attributes of its lengths, one number each; if empty, they have the names of the lengths.
        is_standard_urdf: Whether the first of the tags belongs to the URDF standard.
        urdf_parts: Function that divides the shape into standard URDF shapes: kind, size and height of the centre, m.
            Without it, the shape is exported as a mesh.
    """

    kind: str
    description: str
    lengths: tuple[Length, ...]
    make: str
    options: tuple[str, ...] = ("resolution",)
    solid: Solid | None = None
    urdf_tags: tuple[str, ...] = ()
    urdf_attributes: tuple[str, ...] = ()
    is_standard_urdf: bool = False
    urdf_parts: Callable[..., list[tuple[str, tuple[float, ...], float]]] | None = None

    def __post_init__(self) -> None:
        def refuse(attribute: str, mend: str) -> None:
            value = getattr(self, attribute)
            raise InputError("ShapeType", f"{self.kind!r}, {attribute}", f"{value!r} does not fit", mend)

        if not is_key(self.kind) or self.kind == "mesh":
            refuse("kind", "give a name of letters, digits and _, other than mesh")
        lengths, tags = self.lengths, self.urdf_tags
        if not isinstance(lengths, tuple) or not all(isinstance(length, Length) for length in lengths):
            refuse("lengths", "give a tuple of Length")
        if len({length.name for length in lengths}) != len(lengths):
            refuse("lengths", "give each its own name")
        if not is_reference(self.make):
            refuse("make", "write module:function")
        if not set(self.options) <= {"resolution", "slab_thickness"}:
            refuse("options", "name resolution, slab_thickness or both")
        if not isinstance(tags, tuple) or not all(isinstance(tag, str) for tag in tags) or "mesh" in tags:
            refuse("urdf_tags", "give a tuple of names other than mesh")
        if self.urdf_attributes and len(self.urdf_attributes) != self.num_lengths:
            refuse("urdf_attributes", f"name {self.num_lengths}")

    @property
    def num_lengths(self) -> int:
        """Number of components of all lengths."""
        return sum(length.count for length in self.lengths)

    def geometry(self, size: Sequence[float], **options: Any) -> Any:
        """Call ``make`` for given lengths, m.

        Raises:
            InputError: A length does not fit, or the code of a plug-in fails.
        """
        where = f"shape '{self.kind}'"
        make = referred(self.make, where)
        return guarded(lambda: make(*size, **options), self.make, where)

    def volume_and_inertia(self, size: Sequence[float]) -> tuple[float, Array]:
        """Call ``solid`` for given lengths, m.

        Raises:
            InputError: The code of a plug-in fails.
        """
        solid = self.solid
        if solid is None:
            raise ValueError(f"a {self.kind} has no solid")

        def measured() -> tuple[float, Array]:
            volume, inertia = solid(*size)
            return float(volume), np.asarray(inertia, dtype=float).reshape(3, 3)

        return guarded(measured, self.make, f"shape '{self.kind}'")

    def largest_radius(self, size: Sequence[float]) -> float | None:
        """Largest radius of a curved surface of given lengths, m; None without one."""
        is_radius = np.repeat(
            [length.is_radius for length in self.lengths], [length.count for length in self.lengths]
        ).astype(bool)
        radii = np.asarray(size, dtype=float)[is_radius]
        return float(radii.max()) if len(radii) else None

    def surface(self, size: Sequence[float], segments: int = 48) -> tuple[Array, NDArray[np.int64]]:
        """Finely meshed surface for display.

        Args:
            size: Lengths, m.
            segments: Edges around the circle of its largest radius.

        Returns:
            Vertices (V, 3), m, and triangles (T, 3), oriented outwards.
        """
        radius = self.largest_radius(size) or float(np.max(size))
        fine = 2.0 * math.pi * radius / segments
        options = {"resolution": fine} if "resolution" in self.options else {}
        rigid = self.geometry(size, modulus=None, margin=0.0, **options)
        return rigid.vertices, rigid.elements


def shape_types() -> dict[str, ShapeType]:
    """All kinds of shapes by name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a shape, or has the name of another shape.
    """
    return dict(_all_types())


@cache
def _all_types() -> dict[str, ShapeType]:
    rows = (*_SHAPES, *load_plugins(_GROUP, ShapeType, _SHAPES, key="kind"))
    described: dict[str, str] = {}
    for shape in rows:
        for tag in shape.urdf_tags:
            if described.setdefault(tag, shape.kind) != shape.kind:
                problem = f"<{tag}> describes a {described[tag]} already"
                raise InputError(shape.make, f"{_GROUP}, {shape.kind}", problem, "give it another tag")
    return {shape.kind: shape for shape in rows}


def _sphere(radius: float) -> tuple[float, Array]:
    return _ellipsoid(radius, radius, radius)


def _ellipsoid(a: float, b: float, c: float) -> tuple[float, Array]:
    return 4.0 / 3.0 * math.pi * a * b * c, np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 5.0


def _box(x: float, y: float, z: float) -> tuple[float, Array]:
    return x * y * z, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0


def _cylinder(radius: float, length: float) -> tuple[float, Array]:
    across = radius**2 / 4.0 + length**2 / 12.0
    return math.pi * radius**2 * length, np.diag([across, across, radius**2 / 2.0])


def _capsule(radius: float, length: float) -> tuple[float, Array]:
    middle, I_middle = _cylinder(radius, length)
    caps, I_caps = _sphere(radius)
    # Each cap's centre of mass is 3/8 of the radius from the end of the cylinder; parallel-axis theorem applied twice.
    away = (0.5 * length) ** 2 + 2.0 * (0.5 * length) * 0.375 * radius
    I_caps = I_caps + np.diag([away, away, 0.0])
    return middle + caps, (middle * I_middle + caps * I_caps) / (middle + caps)


def _capsule_parts(radius: float, length: float) -> list[tuple[str, tuple[float, ...], float]]:
    ends = [("sphere", (radius,), sign * 0.5 * length) for sign in (1.0, -1.0)]
    return [("cylinder", (radius, length), 0.0), *ends]


_RADIUS = Length("radius", "Radius.", is_radius=True)
_GEOMETRY = "hydro_sim_core.geometry."
_SHAPES = (
    ShapeType(
        "half_space",
        "Everything below z = 0 of its frame.",
        (),
        _GEOMETRY + "half_spaces:half_space",
        options=("slab_thickness",),
    ),
    ShapeType(
        "sphere",
        "A sphere.",
        (_RADIUS,),
        _GEOMETRY + "spheres:sphere",
        solid=_sphere,
        urdf_tags=("sphere",),
        is_standard_urdf=True,
    ),
    ShapeType(
        "box",
        "A box centred in its frame.",
        (Length("size", "Full lengths.", 3),),
        _GEOMETRY + "boxes:box",
        options=(),
        solid=_box,
        urdf_tags=("box",),
        is_standard_urdf=True,
    ),
    ShapeType(
        "cylinder",
        "A cylinder along z, centred in its frame.",
        (_RADIUS, Length("length", "Along z.")),
        _GEOMETRY + "cylinders:cylinder",
        solid=_cylinder,
        urdf_tags=("cylinder",),
        is_standard_urdf=True,
    ),
    ShapeType(
        "capsule",
        "A capsule along z, centred in its frame.",
        (_RADIUS, Length("length", "Without the caps.")),
        _GEOMETRY + "capsules:capsule",
        solid=_capsule,
        urdf_tags=("capsule", "drake:capsule"),
        urdf_parts=_capsule_parts,
    ),
    ShapeType(
        "ellipsoid",
        "An ellipsoid centred in its frame.",
        (Length("semi_axes", "Half lengths along x, y and z.", 3, is_radius=True),),
        _GEOMETRY + "spheres:ellipsoid",
        solid=_ellipsoid,
        urdf_tags=("drake:ellipsoid",),
        urdf_attributes=("a", "b", "c"),
    ),
)
