"""Frames of a running world for pictures and films."""

from __future__ import annotations

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.pictures.film import AddFrame
from hydro_sim_core.simulation import World
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world


class WorldFilm:
    """Film of a running world, at a frame rate in simulated time.

    Args:
        world: The world.
        scale: Colours of pressure.
        rate: Frames per simulated second.
        add: Called with scene and frame of every picture.
    """

    def __init__(self, world: World, scale: PressureScale, rate: float, add: AddFrame) -> None:
        self._scene = scene_of_world(world, scale, takes_commands=False)
        self._rate = rate
        self._add = add
        self._schedule = Schedule()

    def observe(self, world: World) -> None:
        """Add a frame of the world's current state, if one is due."""
        if self._schedule.due(world.time, self._rate):
            self._add(self._scene, frame_of_world(world, self._scene))
