"""Small robots and scenes, put together as a program does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydro_sim_core as hs
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.model_builder import LinkBuilder, ModelBuilder

G = 9.81
CONFIG = Path(__file__).parents[3] / "config" / "scenes"
URDF = Path(__file__).parents[3] / "urdf"
#: Rigid ground: everything below z = 0. Keywords of ``SceneBuilder.add_static``.
GROUND: dict[str, Any] = {"name": "ground", "kind": "half_space", "compliance": "rigid", "friction": 0.5}


@dataclass(frozen=True)
class Robot:
    """A robot or object that any number of models can be made of.

    Attributes:
        name: Its model is called this and its place in the scene, ``ball_0``.
        describe: Adds its links and joints to a model.
    """

    name: str
    describe: Callable[[ModelBuilder], object]


def add_solid(
    model: ModelBuilder,
    name: str,
    kind: str,
    mass: float | None,
    *,
    inertia: Any = None,
    center_of_mass: Any = None,
    modulus: float | None = 1e6,
    mu: float = 0.5,
    dissipation: float = 10.0,
    hint: float = 0.02,
    **values: Any,
) -> LinkBuilder:
    """Add a link with one shape, rigid without a modulus, and no inertia without a mass."""
    contact = {"friction": mu, "dissipation": dissipation, "resolution_hint": hint}
    if modulus is None:
        contact |= {"compliance": "rigid"}
    else:
        contact |= {"compliance": "compliant", "modulus": modulus}
    link = model.add_link(name, mass, center_of_mass=center_of_mass, inertia=inertia)
    return link.add_shape(kind, **contact, **values)


def solid(name: str, kind: str, mass: float | None, **values: Any) -> Robot:
    """An object of one link and one shape; see ``add_solid``."""
    return Robot(name, lambda model: add_solid(model, name, kind, mass, **values))


def box(name: str, size: tuple[float, float, float], mass: float | None, **contact: Any) -> Robot:
    """A solid box."""
    return solid(name, "box", mass, size=size, **contact)


def sphere(name: str, radius: float, mass: float, **contact: Any) -> Robot:
    """A solid sphere."""
    return solid(name, "sphere", mass, radius=radius, **contact)


def slider(
    mass: float | None = 2.0, kind: str = "prismatic", joint: str = "rail_joint", **limits: Any
) -> Robot:
    """A cart of ``mass`` on a rail along x (or a wheel of that moment of inertia about x)."""
    ends = {"lower": -1000.0, "upper": 1000.0} if kind == "prismatic" else {}

    def describe(model: ModelBuilder) -> None:
        model.add_link("rail")
        model.add_link("cart", mass, inertia=None if mass is None else (mass, mass, mass))
        wide = {} if kind == "fixed" else {"effort": 1e9, "velocity": 1e9}
        values = {**ends, **wide, **limits}
        model.add_joint(joint, kind, "rail", "cart", axis=(1, 0, 0), **values)

    return Robot("slider", describe)


def snake() -> Robot:
    """A free body with a wheel whose drive knows no limit."""

    def describe(model: ModelBuilder) -> None:
        for link in ("base", "wheel"):
            model.add_link(link, 1.0, inertia=(0.1, 0.1, 0.1))
        model.add_joint("axle", "continuous", "base", "wheel", axis=(1, 0, 0))

    return Robot("snake", describe)


def add_fingers(model: ModelBuilder, sign: float = 1.0, **mimics: dict[str, Any]) -> None:
    """Add two rigid pads on rails along y, 35 mm from the middle; the right one closes along ``-sign``.

    Args:
        model: What has the link ``hand``.
        sign: Of the direction in which the right one closes.
        **mimics: What ``left`` and ``right`` mimic, if anything.
    """
    for side, direction in (("left", 1.0), ("right", -1.0)):
        pad = {"size": (0.04, 0.02, 0.09), "inertia": 3 * (1e-4,), "modulus": None, "mu": 0.6}
        add_solid(model, side, "box", 0.1, **pad)
        model.add_joint(
            f"{side}_joint",
            "prismatic",
            "hand",
            side,
            xyz=(0, -0.035 * direction, 0),
            axis=(0, direction * (1.0 if side == "left" else sign), 0),
            lower=-0.02,
            upper=0.02,
            effort=100,
            velocity=10,
            **mimics.get(side, {}),
        )


def free(robot: Robot, xyz: Any = (0, 0, 0), rpy: Any = (0, 0, 0), **more: Any) -> dict[str, Any]:
    """A floating model for ``make_world``."""
    return {"robot": robot, "base": "floating", "xyz": xyz, "rpy": rpy, **more}


def fixed(robot: Robot, **more: Any) -> dict[str, Any]:
    """A model for ``make_world`` that is welded to the world, unless ``base`` says otherwise."""
    return {"robot": robot, **more}


def make_scene(
    *models: dict[str, Any],
    environment: Any = (),
    actuators: Any = (),
    grippers: Any = (),
    commands: Any = (),
    exclude: Any = (),
    **settings: Any,
) -> LoadedScene:
    """A scene of models as ``free`` and ``fixed`` give them.

    Args:
        *models: In the scene's order.
        environment: Keywords of ``SceneBuilder.add_static`` for each static shape.
        actuators: Keywords of ``add_actuators``.
        grippers: Keywords of ``add_gripper``.
        commands: Keywords of ``add_command``.
        exclude: Pairs of bodies that never touch.
        **settings: Those of the builder itself.
    """
    scene = hs.SceneBuilder("made", **settings)
    for i, model in enumerate(models):
        values = {"name": f"{model['robot'].name}_{i}", **model}
        robot = values.pop("robot")
        robot.describe(scene.add_model(**values))
    for add, items in (
        (scene.add_static, environment),
        (scene.add_actuators, actuators),
        (scene.add_gripper, grippers),
        (scene.add_command, commands),
    ):
        for item in items:
            add(**item)
    for a, b in exclude:
        scene.exclude_contact(a, b)
    return scene.build()


def make_world(*models: dict[str, Any], **parts: Any) -> hs.World:
    """The world of such a scene."""
    return hs.World(make_scene(*models, **parts))
