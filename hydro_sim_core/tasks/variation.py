"""Draws of the values of a scene."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.scene import ModelSpec


def model_of(scene: LoadedScene, name: str) -> ModelSpec:
    """The section of a model in a scene that has it."""
    (found,) = (model for model in scene.spec.models if model.name == name)
    return found


def drawn(
    rng: np.random.Generator, scene: LoadedScene, name: str, links: Iterable[tuple[str, str]], share: float
) -> dict[str, float]:
    """A contact property, drawn for each of some links within a share of what the scene has.

    Args:
        rng: Draws once a link.
        scene: The scene.
        name: Of the property, such as ``mu_dynamic``.
        links: Models, and links of these, all of whose geometries have the same value.
        share: Largest change, as a share of the value.

    Returns:
        Values by path, as ``LoadedScene.with_`` takes them.
    """
    values = {}
    for model, link in links:
        path, value = _found(scene, model, link, name)
        values[path] = value * float(rng.uniform(1.0 - share, 1.0 + share))
    return values


def _found(scene: LoadedScene, model: str, link: str, name: str) -> tuple[str, float]:
    """Path and value of a contact property."""
    section = model_of(scene, model)
    of_all = getattr(section.proximity, name)
    if of_all is not None:  # comes before what its links have
        return f"models.{model}.proximity.{name}", float(of_all)
    robot = scene.robots[scene.spec.models.index(section)]
    (described,) = (one for one in robot.links if one.name == link)
    defaults = scene.spec.contact.defaults
    (value,) = {getattr(defaults.complete(one.proximity), name) for one in described.collisions}
    return f"models.{model}.links.{link}.{name}", float(value)
