"""The table of shapes: what a scene, a URDF and a program may write, and what the other rooms need to know of each.

A shape is added by a row here, or by a plug-in's entry point in the group ``hydro_sim.shapes``, and the function that
makes its mesh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.plugins import load_plugins

Array = NDArray[np.float64]
#: Volume, m^3, and inertia (3, 3) about the centre, per mass, m^2, of a solid of some lengths.
Solid = Callable[..., tuple[float, Array]]


@dataclass(frozen=True)
class Length:
    """A dimension of a shape.

    Attributes:
        name: Its key in a scene and its keyword in a program.
        description: What it measures.
        count: How many numbers it has.
        is_radius: Whether the surface bends around it.
    """

    name: str
    description: str
    count: int = 1
    is_radius: bool = False


@dataclass(frozen=True)
class ShapeType:
    """A kind of shape that lengths alone define, centred in its frame.

    Attributes:
        kind: Its name.
        description: What it is, as a sentence.
        lengths: Its dimensions, m, in the order of ``ShapeSpec.size``.
        make: Function that makes its ``Geometry``, ``module:name``: called with the numbers of all lengths, and
            ``modulus`` (None for the rigid surface), ``margin`` and the options.
        options: Which of ``resolution`` and ``slab_thickness`` that function takes from the contact properties.
        solid: Its volume and inertia; None for what has none.
        urdf_tags: Elements of a URDF that describe it.
        urdf_attributes: The attributes that hold its lengths, a number each; without them, those are named as here.
        is_standard_urdf: Whether every reader of URDF knows the first of the tags.
        urdf_parts: Standard shapes of which others consist: kind, size and height of the centre, m. Without them, other
            readers of URDF get a mesh.
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

    @property
    def num_lengths(self) -> int:
        """How many numbers its size has."""
        return sum(length.count for length in self.lengths)

    @property
    def maker(self) -> Callable[..., Any]:
        """The function that ``make`` names."""
        module, _, name = self.make.partition(":")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]

    def surface(self, size: Sequence[float], segments: int = 48) -> tuple[Array, NDArray[np.int64]]:
        """Its surface, finely, for looking at it.

        Args:
            size: Its lengths, m.
            segments: Edges around the circle of its largest radius.

        Returns:
            Vertices (V, 3), m, and triangles (T, 3), outwards.
        """
        is_radius = np.repeat(
            [length.is_radius for length in self.lengths], [length.count for length in self.lengths]
        )
        radii = np.asarray(size)[is_radius] if is_radius.any() else np.asarray(size)
        fine = 2.0 * math.pi * float(radii.max()) / segments
        options = {"resolution": fine} if "resolution" in self.options else {}
        rigid = self.maker(*size, modulus=None, margin=0.0, **options)
        return rigid.vertices, rigid.elements


def shape_types() -> dict[str, ShapeType]:
    """Every kind of shape by its name, those of plug-ins too.

    Raises:
        InputError: A plug-in cannot be loaded, is no shape, or has the name of another shape.
    """
    return dict(_all_types())


@cache
def _all_types() -> dict[str, ShapeType]:
    rows = (*_SHAPES, *load_plugins("hydro_sim.shapes", ShapeType, _SHAPES, key="kind"))
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
    # Each cap's centre of mass is 3/8 of the radius from the end of the cylinder: Steiner, there and back.
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
