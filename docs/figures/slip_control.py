"""Draws the step response of the slip control task: ``python slip_control.py OUT.png``. Takes half a minute to two."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import Trial, find_task, run_trial
from hydro_sim_core.tasks.slip_control import BEFORE, NEAR
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

NAME = "slip_control"
FEEDBACKS = {
    "wrench": ("from the wrenches", "#1f5fa8"),
    "membrane": ("from the membranes' images", "#c44e24"),
}
#: Links that fill the frames.
LINKS = ("spatula", "handle", "gripper", "left_finger", "right_finger")
#: Times of the frames, s, or None for the end; the part of what is rendered that is shown.
MOMENTS = (0.25, 1.3, None)
RENDERED, SHOWN = PictureSize(1400, 1200), (100, 220, 1400, 1080)


def tried(feedback: str) -> tuple[Trial, list[World]]:
    """A trial, and copies of its world every tenth of a second."""
    worlds: list[World] = []

    def watch(world: World) -> None:
        if round(100.0 * world.time) % 5 == 0:
            worlds.append(world.copy())

    trial = run_trial(find_task(NAME, {"feedback": feedback}), watch=watch)
    if not trial.succeeded:
        raise SystemExit(f"from the {feedback} it did not go as it should: {trial.reason}")
    return trial, worlds


def frames(worlds: list[World]) -> list[tuple[float, Image.Image]]:
    """Time and picture of the moments."""
    shown = [
        worlds[-1] if time is None else min(worlds, key=lambda world: abs(world.time - time))
        for time in MOMENTS
    ]
    scene = scene_of_world(worlds[0], PressureScale(), takes_commands=False)
    found = []
    with PageCamera(RENDERED, "side", LINKS, solid=True) as camera:
        for world in shown:
            frame = replace(frame_of_world(world, scene), patches=())
            picture = Image.open(BytesIO(camera.picture(scene, frame))).convert("RGB")
            found.append((world.time, picture.crop(SHOWN)))
    return found


def draw(path: Path) -> None:
    """Frames above, pitch and grip over time below them."""
    trials = {feedback: tried(feedback) for feedback in FEEDBACKS}
    set_pitch = find_task(NAME).settings["pitch"]
    with figure(path, 11.0, 7.2) as canvas:
        rows = canvas.add_gridspec(3, 1, height_ratios=(1.45, 1.25, 0.8), hspace=0.12)
        above = rows[0].subgridspec(1, len(MOMENTS), wspace=0.03)
        for column, (time, picture) in enumerate(frames(trials["wrench"][1])):
            axes = canvas.add_subplot(above[column])
            axes.imshow(picture)
            axes.set_axis_off()
            axes.text(0.03, 0.92, f"{time:.2f} s", transform=axes.transAxes, va="top", color="#5b6472")
        upper = canvas.add_subplot(rows[1])
        lower = canvas.add_subplot(rows[2], sharex=upper)
        upper.axhspan(set_pitch - NEAR, set_pitch + NEAR, color="#30a46c", alpha=0.25, lw=0)
        upper.step([0.0, BEFORE, 9.0], [np.nan, set_pitch, set_pitch], where="post", color="#30a46c", lw=1.2)
        upper.text(BEFORE, set_pitch + 0.03, f"set pitch, ±{NEAR:g} rad", color="#23774f", va="bottom")
        for feedback, (label, colour) in FEEDBACKS.items():
            course = trials[feedback][0].course
            time = [point["time, s"] for point in course]
            upper.plot(time, [point["pitch, rad"] for point in course], color=colour, label=label)
            lower.plot(time, [point["grip, N"] for point in course], color=colour)
        upper.legend(frameon=False, loc="upper right")
        upper.set_ylabel("pitch [rad]")
        upper.tick_params(labelbottom=False)
        lower.set_ylabel("grip a finger [N]")
        lower.set_xlabel("time [s]")
        lower.set_ylim(0.0, 32.0)
        lower.set_xlim(0.0, 3.0)
        for axes in (upper, lower):
            axes.grid(alpha=0.3)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
