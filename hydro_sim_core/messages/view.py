"""How a world is seen by those who read its messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hydro_sim_core.drawing.pressure_scale import PressureScale


@dataclass(frozen=True)
class Bubble:
    """A Soft-bubble finger with a camera behind its membrane.

    Attributes:
        link: Link of the finger.
        frame: Frame of the camera: z forward, x to the right, y down.
        cap_height: Height of the membrane above its rim, m.
        image_size: Width and height, pixels.
        field_of_view: Horizontal field of view, rad.
        depth_encoding: ``16UC1``, integer mm with 0 for no depth, or ``32FC1``, m with NaN for no depth.
        depth_noise: Standard deviation of the depth of each pixel, m, as of each image: white noise.
        noise_seed: Of the noise; the same seed gives the same noise in the same step.
    """

    link: str
    frame: str
    cap_height: float = 0.030
    image_size: tuple[int, ...] = (320, 240)
    field_of_view: float = 1.2
    depth_encoding: Literal["16UC1", "32FC1"] = "16UC1"
    depth_noise: float = 0.0
    noise_seed: int = 0


@dataclass(frozen=True)
class View:
    """Settings of how a world is shown.

    Attributes:
        world_frame: Frame id of the world in messages.
        scale: Colour scale of pressures.
        legend_position: (3,) lower left corner of the legend, m; None puts it beside what the scene handles.
        bubbles: Soft-bubble fingers with cameras.
        wrench_topics: Pairs of bodies with wrench topics of their own, each ``A_on_B``, or ``all``; empty for those of
            ``report.wrenches``.
    """

    world_frame: str = "world"
    scale: PressureScale = field(default_factory=PressureScale)
    legend_position: tuple[float, float, float] | None = None
    bubbles: tuple[Bubble, ...] = ()
    wrench_topics: tuple[str, ...] = ()
