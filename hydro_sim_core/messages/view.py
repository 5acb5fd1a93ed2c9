"""How a world is seen by those who read its messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hydro_sim_core.drawing.pressure_scale import PressureScale


@dataclass(frozen=True)
class Bubble:
    """A finger whose membrane a camera looks at from within.

    Attributes:
        link: The finger.
        frame: Its camera's frame: z forward, x to the right, y down.
        cap_height: Of the membrane above its rim, m.
        image_size: Width and height, pixels.
        field_of_view: Horizontal, rad.
        depth_encoding: Whole mm, 0 where there is no depth (16UC1), or m and NaN (32FC1).
    """

    link: str
    frame: str
    cap_height: float = 0.030
    image_size: tuple[int, ...] = (320, 240)
    field_of_view: float = 1.2
    depth_encoding: Literal["16UC1", "32FC1"] = "16UC1"


@dataclass(frozen=True)
class View:
    """How a world is seen.

    Attributes:
        world_frame: Frame id of the world, in everything recorded.
        scale: Colours of pressure.
        legend_position: Lower left corner of the legend, m.
        bubbles: Soft-bubbles that have cameras.
    """

    world_frame: str = "world"
    scale: PressureScale = field(default_factory=PressureScale)
    legend_position: tuple[float, float, float] = (0.0, 0.0, 0.6)
    bubbles: tuple[Bubble, ...] = ()
