"""From the collision geometry of a description to the geometry that collides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.geometry import Geometry
from hydro_sim_core.geometry.shapes import SurfaceError, make_geometry


def make_collision_geometry(collision: CollisionSpec, proximity: ProximitySpec) -> tuple[Geometry, bool]:
    """Make the geometry of a collision element.

    A mesh whose compliance the description leaves open was not made for pressure-field contact; where its
    triangles cannot be used as they are, its convex hull takes their place.

    Args:
        collision: The element.
        proximity: Its contact properties, completed by the scene's defaults.

    Returns:
        The geometry, and whether it is a hull that nobody asked for.

    Raises:
        InputError: As :func:`make_geometry`; names the description file and the element.
    """
    tagged = collision.proximity.compliance is not None
    with _located(collision):
        try:
            return make_geometry(collision.shape, proximity, fill=tagged), False
        except SurfaceError:
            if tagged:
                raise
            return make_geometry(replace(collision.shape, declare_convex=True), proximity), True


@contextlib.contextmanager
def _located(collision: CollisionSpec) -> Iterator[None]:
    """Let an ``InputError`` name the element and its file before the shape."""
    try:
        yield
    except InputError as error:
        if not collision.source:
            raise
        shape = f"{error.source}: {error.element}".removesuffix(": ")
        raise InputError(
            collision.source, collision.element, f"{shape}: {error.problem}", error.mend
        ) from None
