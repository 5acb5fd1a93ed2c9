"""Draws of the values of a scene."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hydro_sim_core.description import LoadedScene


def link_value(scene: LoadedScene, model: str, link: str, name: str) -> float:
    """A contact property of a link as the scene has it, such as ``modulus``."""
    numbers = [one.name for one in scene.spec.models]
    robot = scene.robots[numbers.index(model)]
    (found,) = (one for one in robot.links if one.name == link)
    given = [getattr(collision.proximity, name) for collision in found.collisions]
    values = {value if value is not None else getattr(scene.spec.contact.defaults, name) for value in given}
    (value,) = values
    return float(value)


def friction_within(
    rng: np.random.Generator, scene: LoadedScene, links: Iterable[tuple[str, str]], share: float
) -> dict[str, float]:
    """Dynamic friction of links (model, link), each drawn within a share of what the scene has, by path."""
    return {
        f"models.{model}.links.{link}.mu_dynamic": link_value(scene, model, link, "mu_dynamic")
        * float(rng.uniform(1.0 - share, 1.0 + share))
        for model, link in links
    }
