"""Geometries of the collision elements in descriptions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace

from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.geometry import Geometry
from hydro_sim_core.geometry.margins import MarginRule
from hydro_sim_core.geometry.shapes import SurfaceError, make_geometry
from hydro_sim_core.geometry.skins import SLOPE, mean_side, skin_slope, with_slope
from hydro_sim_core.mesh_files import EmptyMesh

#: How far corners of such a mesh may be outside of the hull that replaces it, as a share of its diagonal: a link of
#: 0.3 m then has some sixty corners in place of hundreds.
HULL_TOLERANCE = 0.003


def make_collision_geometry(
    collision: CollisionSpec, proximity: ProximitySpec, margin_rule: MarginRule | None = None
) -> tuple[Geometry, bool]:
    """Make the geometry of a collision element.

    A mesh without compliance in its description was not made for pressure-field contact; if its triangles cannot be
    used unchanged, its convex hull replaces them; one of many corners only up to ``HULL_TOLERANCE``. Where the element
    has a stiffness and no modulus of its own, a compliant body's modulus follows from that: a flat as large as the mean
    side of its box yields by it.

    Args:
        collision: The element.
        proximity: Contact properties, completed by the scene's defaults.
        margin_rule: Rule for the margin where these give none.

    Returns:
        The geometry, and whether it is a convex hull that the description did not request.

    Raises:
        EmptyMesh: Its mesh file holds nothing that takes up room.
        InputError: As :func:`make_geometry`; names the description file and the element.
    """
    if _is_by_stiffness(collision, proximity):
        return _by_stiffness(collision, proximity, margin_rule)
    tagged = collision.proximity.compliance is not None
    with _located(collision):
        try:
            return make_geometry(collision.shape, proximity, fill=tagged, margin_rule=margin_rule), False
        except SurfaceError:
            if tagged:
                raise
            hull = replace(collision.shape, declare_convex=True)
            return make_geometry(
                hull, proximity, margin_rule=margin_rule, hull_tolerance=HULL_TOLERANCE
            ), True


def has_idle_stiffness(collision: CollisionSpec, proximity: ProximitySpec) -> bool:
    """Whether a collision element has a stiffness that is for nothing, as it is compliant and has its own modulus.

    Args:
        collision: The element.
        proximity: Contact properties, completed by the scene's defaults.
    """
    is_given = collision.proximity.point_stiffness is not None
    return is_given and proximity.compliance == "compliant" and not _is_by_stiffness(collision, proximity)


def _is_by_stiffness(collision: CollisionSpec, proximity: ProximitySpec) -> bool:
    """Whether the modulus of a collision element follows from its stiffness; arguments as above."""
    own, is_bounded = collision.proximity, collision.shape.kind != "half_space"
    is_compliant = proximity.compliance == "compliant"
    return is_compliant and is_bounded and own.modulus is None and own.point_stiffness is not None


def _by_stiffness(
    collision: CollisionSpec, proximity: ProximitySpec, margin_rule: MarginRule | None
) -> tuple[Geometry, bool]:
    plain = replace(collision, proximity=replace(collision.proximity, point_stiffness=None))
    # The modulus is known only when the mesh is: the margin is that of a stiff body, with which a soft one rests too.
    rule = None if margin_rule is None else lambda vertices, _: margin_rule(vertices, math.inf)
    geometry, is_hull = make_collision_geometry(plain, proximity, rule)
    slope = min(skin_slope(collision.proximity, mean_side(geometry)), SLOPE)
    return with_slope(geometry, slope), is_hull


@contextlib.contextmanager
def _located(collision: CollisionSpec) -> Iterator[None]:
    """Make an ``InputError`` name the file and the element before the shape."""
    try:
        yield
    except InputError as error:
        if not collision.source:
            raise
        shape = f"{error.source}: {error.element}".removesuffix(": ")
        kind = EmptyMesh if isinstance(error, EmptyMesh) else InputError
        located = kind(collision.source, collision.element, f"{shape}: {error.problem}", error.mend)
        if isinstance(located, EmptyMesh):
            located.collision = collision.name
        raise located from None
