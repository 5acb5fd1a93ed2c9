"""A mug on a plate on the ground, flat on flat: figure 3 of Drake's page on the margin, as a shipped scene."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hydro_sim_core.description import load_scene
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import shipped_scene

SCENE = "mug_on_plate"
SETTLING_TIME, MEASURING_TIME = 1.0, 3.0
#: Heights from which the mug falls, m, and angles by which it leans, rad: whether it rattles without a margin depends
#: on how it begins.
STARTS = ((0.0, 0.0), (0.003, 0.0), (0.02, 0.05), (0.03, 0.05), (0.04, 0.0), (0.08, 0.0))


@dataclass(frozen=True)
class Rest:
    """Residual motion of a settled scene.

    Attributes:
        speed: Largest entry of the velocities during the measurement, m/s or rad/s.
        drift: Distance that the mug moved in that time, m.
    """

    speed: float
    drift: float


def measure(margin: float | None = None, drop: float = 0.0, lean: float = 0.0) -> Rest:
    """Measure the motion of mug and plate after settling.

    Args:
        margin: Margin, m; None for the scene's own.
        drop: Height that the mug falls onto the plate, m.
        lean: Angle by which it leans at the beginning, rad.

    Raises:
        InputError: The scene is missing.
    """
    world = make_world(margin)
    q = world.q.copy()
    q[-1] += drop
    q[-7:-3] = math.cos(lean / 2.0), math.sin(lean / 2.0), 0.0, 0.0
    world.set_state(q, world.v)
    world.step(round(SETTLING_TIME / world.time_step))
    start, speed = world.frame_pose("mug")[:3, 3], 0.0
    for _ in range(round(MEASURING_TIME / world.time_step)):
        world.step()
        speed = max(speed, float(np.abs(world.v).max()))
    return Rest(speed, float(np.linalg.norm(world.frame_pose("mug")[:3, 3] - start)))


def worst(margin: float | None = None) -> Rest:
    """The largest motion of those after the mug has fallen as ``STARTS`` tells; as ``measure``."""
    return max((measure(margin, *start) for start in STARTS), key=lambda rest: rest.speed)


def make_world(margin: float | None = None) -> World:
    """Make the world of the scene, with another margin (m) if one is given."""
    scene = load_scene(shipped_scene(SCENE))
    contact = scene.spec.contact
    defaults = contact.defaults if margin is None else contact.defaults.model_copy(update={"margin": margin})
    contact = contact.model_copy(update={"defaults": defaults})
    return World(replace(scene, spec=scene.spec.model_copy(update={"contact": contact})))
