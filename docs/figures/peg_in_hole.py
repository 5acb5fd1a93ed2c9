"""Draws a trial of the peg in hole task: ``python peg_in_hole.py OUT.png``. Takes half a minute to two."""

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
from hydro_sim_core.tasks.peg_in_hole import DEEP, HARDEST
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

NAME = "peg_in_hole"
#: Links that fill the frames.
LINKS = ("block", "peg")
RENDERED, SHOWN = PictureSize(1200, 1000), (50, 130, 1150, 930)


def tried(name: str) -> tuple[Trial, list[World]]:
    """A trial of a task, and copies of its world about every twentieth of a second."""
    worlds: list[World] = []

    def watch(world: World) -> None:
        if world.step_count % 12 == 0:
            worlds.append(world.copy())

    trial = run_trial(find_task(name), watch=watch)
    if not trial.succeeded:
        raise SystemExit(f"it did not go as it should: {trial.reason}")
    return trial, worlds


def moments(trial: Trial) -> list[tuple[str, float]]:
    """What is shown when, s: the first touch, the tip on the face before the mouth, and the end."""
    touched = next(point["time, s"] for point in trial.course if point["force, N"] > 1.0)
    inside = next(point["time, s"] for point in trial.course if point["depth, mm"] > 0.2)
    return [("touch the face", touched), ("find the hole", inside - 0.1), ("inserted", trial.time)]


def frames(
    worlds: list[World], wanted: list[tuple[str, float]], links: tuple[str, ...] = LINKS
) -> list[tuple[str, float, Image.Image]]:
    """Name, time and picture of the moments, filled by some links."""
    scene = scene_of_world(worlds[0], PressureScale(), takes_commands=False)
    found = []
    with PageCamera(RENDERED, "iso", links, solid=True) as camera:
        for name, time in wanted:
            world = min(worlds, key=lambda one: abs(one.time - time))
            frame = replace(frame_of_world(world, scene), patches=())
            picture = Image.open(BytesIO(camera.picture(scene, frame))).convert("RGB")
            found.append((name, world.time, picture.crop(SHOWN)))
    return found


def draw(path: Path) -> None:
    """Frames above, force and depth over time below them."""
    trial, worlds = tried(NAME)
    wanted = moments(trial)
    course = [point for point in trial.course if point["time, s"] <= trial.time + 0.2]
    time = np.array([point["time, s"] for point in course])
    with figure(path, 11.0, 7.0) as canvas:
        rows = canvas.add_gridspec(3, 1, height_ratios=(1.6, 1.0, 0.8), hspace=0.12)
        above = rows[0].subgridspec(1, len(wanted), wspace=0.03)
        for column, (name, when, picture) in enumerate(frames(worlds, wanted)):
            axes = canvas.add_subplot(above[column])
            axes.imshow(picture)
            axes.set_axis_off()
            axes.set_title(f"{name}, {when:.1f} s", loc="left", fontsize=10, color="#5b6472")
        upper = canvas.add_subplot(rows[1])
        lower = canvas.add_subplot(rows[2], sharex=upper)
        upper.plot(time, [point["force, N"] for point in course], color="#1f5fa8", lw=1.0)
        upper.set_ylabel("force [N]")
        upper.text(0.01, 0.9, f"at most {HARDEST:g} N", transform=upper.transAxes, va="top", color="#5b6472")
        upper.tick_params(labelbottom=False)
        depth = [point["depth, mm"] if point["time, s"] > wanted[1][1] - 0.3 else np.nan for point in course]
        lower.plot(time, depth, color="#c44e24", lw=1.2)
        lower.axhline(1e3 * DEEP, color="#30a46c", lw=1.0)
        lower.text(0.1, 1e3 * DEEP - 0.6, f"{1e3 * DEEP:g} mm", color="#23774f", va="top")
        lower.set_ylabel("depth [mm]")
        lower.set_xlabel("time [s]")
        lower.set_xlim(0.0, time[-1])
        for axes in (upper, lower):
            axes.grid(alpha=0.3)
            for _, when in wanted:
                axes.axvline(when, color="#9aa3af", lw=0.6, ls=":")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
