"""Sections of a scene file for shapes: one for every row of the table of shapes, and one for mesh files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model, model_validator

from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.scene_fields import FileName, Flag, Positive, Vector3, only_choice, unit
from hydro_sim_core.description.shape_types import ShapeType, shape_types
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.description.yaml_source import Section


class MeshShape(Section):
    """A mesh file."""

    path: FileName = Field(description="Relative to the scene file, or package://.")
    scale: Vector3 = Field((1.0, 1.0, 1.0), description="Factor an axis.")
    declare_convex: Flag = Field(False, description="Take the convex hull.")


def _shape_description(kind: str) -> str:
    if kind == "mesh":
        return "A mesh file."
    shape = shape_types()[kind]
    return shape.description if shape.lengths else shape.description.rstrip(".") + "; written ``{}``."


class _OnlyOneShape(Section):
    """Base class of choices of a shape, which checks that there is exactly one."""

    @model_validator(mode="after")
    def _exactly_one(self) -> _OnlyOneShape:
        only_choice(self)
        return self


def _shape_section(shape: ShapeType) -> type[Section]:
    """Section for one kind of shape."""
    keys: dict[str, Any] = {
        length.name: (
            Positive if length.count == 1 else tuple[(Positive,) * length.count],  # type: ignore[misc]
            Field(description=length.description, json_schema_extra=unit("m")),
        )
        for length in shape.lengths
    }
    name = f"{shape.kind}_shape"
    section = create_model(name, __base__=Section, __doc__=shape.description, __module__=__name__, **keys)
    globals()[name] = section  # pickle looks the class up here
    return section


#: Section of a scene file for each kind of shape.
SHAPE_SECTIONS: dict[str, type[Section]] = {
    **{kind: _shape_section(shape) for kind, shape in shape_types().items()},
    "mesh": MeshShape,
}
if TYPE_CHECKING:
    ShapeChoice = _OnlyOneShape
else:
    ShapeChoice = create_model(
        "ShapeChoice",
        __base__=_OnlyOneShape,
        __doc__="Exactly one shape.",
        __module__=__name__,
        **{
            kind: (section | None, Field(None, description=_shape_description(kind)))
            for kind, section in SHAPE_SECTIONS.items()
        },
    )


def chosen_shape(choice: ShapeChoice) -> tuple[str, Section]:
    """The kind of a chosen shape, and its section."""
    return next((kind, section) for kind, section in choice if section is not None)


def shape_spec(choice: ShapeChoice, where: str, resolver: PackageResolver) -> ShapeSpec:
    """Convert a shape of a scene file to a ``ShapeSpec``.

    Args:
        choice: Shape section.
        where: Name of a mesh file's place in error messages.
        resolver: Resolver of mesh file names.

    Raises:
        InputError: The mesh file does not exist.
    """
    kind, section = chosen_shape(choice)
    if isinstance(section, MeshShape):
        path = resolver.resolve_mesh(section.path, where)
        return ShapeSpec("mesh", (), path, section.scale, section.declare_convex)
    size: list[float] = []
    for _, numbers in section:
        size += numbers if isinstance(numbers, tuple) else [numbers]
    return ShapeSpec(kind, tuple(size))
