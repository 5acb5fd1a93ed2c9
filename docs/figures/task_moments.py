"""Draws moments of a task: ``python task_moments.py mug_pick OUT.png``. Takes half a minute to two."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import Trial, find_task, run_trial
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

RENDERED = PictureSize(1200, 1000)


@dataclass(frozen=True)
class Story:
    """What is drawn of a task.

    Attributes:
        moments: What is seen at the end of each phase of the controller, of those that are shown.
        links: Links that fill the frames.
        view: From where they are seen.
        shown: Part of the frames that is drawn, pixels: left, top, right, bottom.
        curves: What the task follows, with its label and the factor to its unit there.
    """

    moments: dict[str, str]
    links: tuple[str, ...]
    view: str
    shown: tuple[int, int, int, int]
    curves: dict[str, tuple[str, float]]


STORIES = {
    "mug_pick": Story(
        {
            "take the mug": "grasped",
            "lift the mug": "lifted",
            "carry the mug": "over the plate",
            "let go of the mug": "set down",
        },
        ("mug", "plate", "gripper"),
        "iso",
        (0, 60, 1200, 920),
        {"height, m": ("height [mm]", 1e3)},
    ),
    "pencil_turn": Story(
        {
            "hold the pencil": "held",
            "turn the pencil": "turned on the edge",
            "raise the pencil": "off the edge",
        },
        ("pencil", "spatula_stand", "gripper"),
        "side",
        (150, 60, 1100, 940),
        {
            "pitch in the hand, rad": ("pitch [rad]", 1.0),
            "scrubbing torque, N m": ("torque [mN m]", 1e3),
        },
    ),
}


def tried(name: str) -> tuple[Trial, dict[str, World]]:
    """A trial, and copies of its world at the end of the controller's phases."""
    task = find_task(name)
    controllers = []

    def controller(model, period):
        controllers.append(task.controller(model, period))
        return controllers[-1]

    found: dict[str, World] = {}

    def watch(world: World) -> None:
        found[controllers[0].robot.phase] = world.copy()

    trial = run_trial(replace(task, controller=controller), watch=watch)
    if not trial.succeeded:
        raise SystemExit(f"it did not go as it should: {trial.reason}")
    return trial, found


def frames(story: Story, worlds: dict[str, World]) -> list[tuple[str, float, Image.Image]]:
    """Name, time and picture of the moments."""
    scene = scene_of_world(next(iter(worlds.values())), PressureScale(), takes_commands=False)
    found = []
    with PageCamera(RENDERED, story.view, story.links, solid=True) as camera:
        for phase, name in story.moments.items():
            world = worlds[phase]
            frame = replace(frame_of_world(world, scene), patches=())
            picture = Image.open(BytesIO(camera.picture(scene, frame))).convert("RGB")
            found.append((name, world.time, picture.crop(story.shown)))
    return found


def draw(name: str, path: Path) -> None:
    """Frames above, what the task follows over time below them."""
    story = STORIES[name]
    trial, worlds = tried(name)
    shown = frames(story, worlds)
    time = np.array([point["time, s"] for point in trial.course])
    count = len(story.curves)
    with figure(path, 11.0, 2.8 + 1.6 * count) as canvas:
        rows = canvas.add_gridspec(1 + count, 1, height_ratios=(1.5, *(count * [0.9])), hspace=0.12)
        above = rows[0].subgridspec(1, len(shown), wspace=0.03)
        for column, (caption, when, picture) in enumerate(shown):
            axes = canvas.add_subplot(above[column])
            axes.imshow(picture)
            axes.set_axis_off()
            axes.set_title(f"{caption}, {when:.1f} s", loc="left", fontsize=10, color="#5b6472")
        for row, (followed, (label, factor)) in enumerate(story.curves.items(), 1):
            axes = canvas.add_subplot(rows[row])
            axes.plot(
                time, factor * np.array([point[followed] for point in trial.course]), color="#1f5fa8", lw=1.2
            )
            axes.set_ylabel(label)
            axes.set_xlim(time[0], time[-1])
            axes.grid(alpha=0.3)
            axes.tick_params(labelbottom=row == count)
            for _, when, _ in shown:
                axes.axvline(when, color="#9aa3af", lw=0.6, ls=":")
        axes.set_xlabel("time [s]")


if __name__ == "__main__":
    draw(sys.argv[1], Path(sys.argv[2]))
