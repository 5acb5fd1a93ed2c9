"""Draws of the values of a scene."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.errors import InputError, shortened


class Draws:
    """Draws values of a scene, and notes what it has drawn.

    Args:
        rng: What it draws with, once a value.
        scene: The scene.
        mirrored: Number of a draw, from 0 on, that is as far on the other side of its middle; None for none.

    Attributes:
        values: Of the scene by path, as ``LoadedScene.with_`` takes them.
        drawn: What was drawn, by name and unit, each told as it is drawn: a change of the start, or a share.
        count: Of the draws.
    """

    def __init__(self, rng: np.random.Generator, scene: LoadedScene, mirrored: int | None = None) -> None:
        self._rng, self.scene, self._mirrored = rng, scene, mirrored
        self.count = 0
        self.values: dict[str, Any] = {}
        self.drawn: dict[str, float] = {}

    def between(self, name: str, least: float, most: float, per_unit: float = 1.0) -> float:
        """Draw a number.

        Args:
            name: Name with the unit in which it is noted.
            least: Least number, in SI units.
            most: Largest.
            per_unit: Number of those units in one of SI, such as 1e3 for mm.
        """
        number = self._uniform(least, most)
        self.drawn[name] = per_unit * number
        return number

    def moved(self, name: str) -> None:
        """Draw where a model starts within 1 cm of its place, along x and y."""
        x, y, z = model_of(self.scene, name).pose.xyz
        x += self.between(f"{name} along x, mm", -0.01, 0.01, 1e3)
        y += self.between(f"{name} along y, mm", -0.01, 0.01, 1e3)
        self.values[f"models.{name}.pose.xyz"] = [x, y, z]

    def turned(self, name: str) -> None:
        """Draw how a model starts within 5 degrees of its yaw."""
        roll, pitch, yaw = model_of(self.scene, name).pose.rpy
        yaw += math.radians(self.between(f"{name} about z, deg", -5.0, 5.0))
        self.values[f"models.{name}.pose.rpy"] = [roll, pitch, yaw]

    def properties(self, word: str, name: str, links: Iterable[tuple[str, str]], share: float) -> None:
        """Draw a contact property for each of some links within a share of what the scene has.

        Friction that a scene gives twice, as that of rest too, stays one.

        Args:
            word: Of the property, such as ``friction``, for what is noted.
            name: Of the property, such as ``mu_dynamic``.
            links: Models, and links of these, all of whose geometries have the same value.
            share: Largest change, as a share of the value.
        """
        for model, link in links:
            path, value = _found(self.scene, model, link, name)
            factor = self._uniform(1.0 - share, 1.0 + share)
            self.values[path] = value * factor
            if name == "mu_dynamic" and model_of(self.scene, model).proximity.mu_static is not None:
                self.values[f"models.{model}.proximity.mu_static"] = value * factor
            self.drawn[f"{word} of {link.replace('_', ' ')}, %"] = 100.0 * (factor - 1.0)

    def _uniform(self, least: float, most: float) -> float:
        number = float(self._rng.uniform(least, most))
        self.count += 1
        return least + most - number if self.count - 1 == self._mirrored else number


def model_of(scene: LoadedScene, name: str) -> ModelSpec:
    """The section of a model in a scene.

    Raises:
        InputError: The scene has no such model.
    """
    found = {model.name: model for model in scene.spec.models}
    if name not in found:
        raise _missing(scene, "model", name, found)
    return found[name]


def _found(scene: LoadedScene, model: str, link: str, name: str) -> tuple[str, float]:
    """Path and value of a contact property.

    Raises:
        InputError: The scene has no such model, link or property, or the link's geometries differ in it.
    """
    section = model_of(scene, model)
    links = {one.name: one for one in scene.robots[scene.spec.models.index(section)].links}
    if link not in links:
        raise _missing(scene, "link", link, links)
    of_all = getattr(section.proximity, name, None)
    if of_all is not None:  # comes before what its links have
        return f"models.{model}.proximity.{name}", float(of_all)
    defaults = scene.spec.contact.defaults
    values = {getattr(defaults.complete(one.proximity), name, None) for one in links[link].collisions}
    value = values.pop() if len(values) == 1 else None
    if value is None:
        problem = f"the geometries of '{link}' have no {name} that they share"
        mend = "draw one that they share, or give them the same"
        raise InputError(scene.spec.name, f"models.{model}.links.{link}", problem, mend)
    return f"models.{model}.links.{link}.{name}", float(value)


def _missing(scene: LoadedScene, kind: str, name: str, known: Iterable[str]) -> InputError:
    problem = f"the scene has no {kind} '{shortened(str(name))}'"
    return InputError(scene.spec.name, f"{kind}s", problem, did_you_mean(str(name), known))
