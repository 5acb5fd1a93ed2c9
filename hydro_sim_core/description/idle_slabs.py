"""Slab thicknesses of what has no slab: they say how deep a half space is, and robots and objects have none."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import CollisionSpec, LinkSpec, RobotSpec
from hydro_sim_core.errors import InputError

_LOG = logging.getLogger(__name__)


def refuse_idle_slabs(models: Sequence[ModelSpec], robots: Sequence[RobotSpec], source: Path) -> None:
    """Refuse a slab thickness that a scene gives a model without slabs.

    Args:
        models: Models of the scene.
        robots: One robot per model.
        source: The scene file.

    Raises:
        InputError: There is one.
    """
    for i, (model, robot) in enumerate(zip(models, robots, strict=True)):
        shapes = [one for link in robot.links for one in link.collisions]
        if model.proximity.slab_thickness is not None and not any(map(_has_slab, shapes)):
            problem = f"does nothing, as no shape of '{model.name}' is a half space"
            mend = "leave it out, or give it to a half space of the environment"
            raise InputError(source, f"models.{i}.proximity.slab_thickness", problem, mend)


def warn_of_idle_slabs(links: Iterable[LinkSpec], source: Path) -> None:
    """Warn of slab thicknesses that a description gives shapes without slabs.

    Args:
        links: Links of the description.
        source: The file.
    """
    idle = [
        f"'{one.name}' of link '{link.name}'"
        for link in links
        for one in link.collisions
        if one.proximity.slab_thickness is not None and not _has_slab(one)
    ]
    if idle:
        others = f" (and {len(idle) - 1} more)" if len(idle) > 1 else ""
        told = "%s: a slab_thickness does nothing on what is no half space: %s%s; leave it out"
        _LOG.warning(told, source, idle[0], others)


def _has_slab(collision: CollisionSpec) -> bool:
    kind = shape_types().get(collision.shape.kind)
    return kind is not None and "slab_thickness" in kind.options
