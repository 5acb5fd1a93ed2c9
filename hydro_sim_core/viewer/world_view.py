"""A page that shows a world, for programs that step it themselves."""

from __future__ import annotations

import math
import time

from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import ViewFrame, frame_of_snapshot
from hydro_sim_core.viewer.scene import ViewScene, scene_of_world
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

#: Highest frame rate, Hz of real time; more is not visible.
_FRAME_RATE = 30.0


class WorldView:
    """Shows a world on a page, as of the last ``sync``. Usable as a context manager.

    Example:
        ``with world.view() as view:`` and in it ``while view.is_open: world.step(10); view.sync()``

    Args:
        world: The world; only ``sync`` reads it, in the calling thread.
        full_scale: Pressure (Pa) of the brightest colour; by default chosen from the scene.
        options: Options of the server.

    Attributes:
        url: Address of the page.

    Raises:
        InputError: The page cannot be served there.
    """

    def __init__(
        self, world: World, full_scale: float | None = None, options: ViewerOptions | None = None
    ) -> None:
        self._world = world
        self._scene = scene_of_world(
            world,
            scale_of_world(world) if full_scale is None else PressureScale(full_scale),
            takes_commands=False,
        )
        self._viewer = Viewer(options or ViewerOptions())
        self.url = self._viewer.start()
        self._viewer.show_scene(self._scene)
        self._next = -math.inf
        self.sync()

    @property
    def is_open(self) -> bool:
        """Whether the page is still served."""
        return self._viewer.alive

    @property
    def watching(self) -> int:
        """Number of connected pages."""
        return self._viewer.watching

    def sync(self) -> None:
        """Show the world as it is now, unless the last call was less than a thirtieth of a second ago."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 1.0 / _FRAME_RATE
        self._viewer.show(frame_of_world(self._world, self._scene))

    def open_browser(self) -> WorldView:
        """Open the page in the user's browser."""
        self._viewer.open_browser()
        return self

    def close(self) -> None:
        """Stop serving the page."""
        self._viewer.close()

    def __enter__(self) -> WorldView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<WorldView of '{self._world.name}' at {self.url}>"


def frame_of_world(world: World, scene: ViewScene) -> ViewFrame:
    """The frame of a world as it is now, with the problems of its contacts.

    Args:
        world: The world.
        scene: Its scene.
    """
    snapshot = take_snapshot(world, epoch=0)
    warnings = reversed(snapshot.contact_summary.warnings)  # the most serious come first and stay
    problems = {warning.bodies: warning.problem for warning in warnings}
    return frame_of_snapshot(snapshot, scene, problems=problems)
