"""Pictures of a world, for programs that step it themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from types import TracebackType
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import as_path
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError, excerpt, whole_number
from hydro_sim_core.pictures.files import check_picture_file, pillow, write_picture
from hydro_sim_core.pictures.page_camera import LARGEST_SIDE, LEAST_SIDE, CameraName, PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world


class WorldCamera:
    """Takes pictures of a world, one after the other. A context manager, for one thread.

    Args:
        world: The world.
        size: Width and height, pixels.
        view: View of the camera; ``contact`` faces the contacts of the first picture that has any.
        full_scale: Pressure (Pa) of the brightest colour; by default chosen from the scene.
        links: As in ``PageCamera``.
        solid: As in ``PageCamera``.

    Raises:
        InputError: There is no such view, or the size is invalid. On entering: there is no browser.
    """

    def __init__(
        self,
        world: World,
        size: tuple[int, int] = PictureSize(),
        view: CameraName = "iso",
        full_scale: float | None = None,
        links: Sequence[str] = (),
        solid: bool = False,
    ) -> None:
        self._world = world
        self._scene = scene_of_world(
            world,
            scale_of_world(world) if full_scale is None else PressureScale(full_scale),
            takes_commands=False,
        )
        self._page = PageCamera(_checked_size(size), _checked_camera(view), links, solid)

    def __enter__(self) -> WorldCamera:
        self._page.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._page.__exit__(kind, error, trace)

    def png(self) -> bytes:
        """Take a picture of the world as it is now, as PNG.

        Raises:
            InputError: The page does not draw.
        """
        return self._page.picture(self._scene, frame_of_world(self._world, self._scene))

    def picture(self) -> NDArray[np.uint8]:
        """Take a picture of the world as it is now: (height, width, 3) red, green, blue.

        Raises:
            InputError: The page does not draw, or Pillow is missing.
        """
        return np.asarray(pillow("a picture").open(BytesIO(self.png())).convert("RGB"))


def render(
    world: World,
    path: str | os.PathLike[str] | None,
    view: CameraName,
    size: tuple[int, int],
    full_scale: float | None,
) -> NDArray[np.uint8]:
    """Take one picture; see ``World.render``."""
    file = None if path is None else as_path(path, "render")
    if file is not None:
        check_picture_file(file, (".png",))
    with WorldCamera(world, size, view, full_scale) as camera:
        picture = camera.picture()
        if file is not None:
            write_picture(file, camera.png())
    return picture


def _checked_size(size: tuple[int, int]) -> PictureSize:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise InputError("render", "size", f"{excerpt(size)} is none", "give width and height") from None
    sides = [whole_number("render", "size", side, least=LEAST_SIDE) for side in (width, height)]
    if max(sides) > LARGEST_SIDE:
        raise InputError("render", "size", f"{max(sides)} is too large", f"give {LARGEST_SIDE} or less")
    return PictureSize(*sides)


def _checked_camera(view: str) -> CameraName:
    for known in get_args(CameraName):
        if view == known:
            return known
    raise InputError("render", "camera", f"'{view}' is none", did_you_mean(str(view), get_args(CameraName)))
