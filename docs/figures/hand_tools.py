"""Draws trials of what simple hands do: ``python hand_tools.py NAME OUT.png``. Takes half a minute to two."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from PIL import Image

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import Trial, find_task, run_trial
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

Course = Sequence[Mapping[str, float]]
SIZE = PictureSize(1000, 900)


@dataclass(frozen=True)
class Story:
    """What is shown of a task.

    Attributes:
        links: That fill the pictures, where they are then.
        moments: Name and time (s) of each picture.
        curves: What is drawn over time, by name and unit.
    """

    links: tuple[str, ...]
    moments: Callable[[Course], list[tuple[str, float]]]
    curves: tuple[str, ...]


def first(course: Course, name: str, beyond: float) -> float:
    """Time (s) at which a number is first beyond a bound."""
    return next(point["time, s"] for point in course if point[name] > beyond)


def spoon_moments(course: Course) -> list[tuple[str, float]]:
    """Grasped, lifted, rolled, and where it shall be."""
    begin, end = (first(course, "rolled, deg", angle) for angle in (1.0, 78.0))
    held = first(course, "grip, N", 11.0)
    return [("grasp", held), ("lift", begin - 0.1), ("roll", end), ("carry", course[-1]["time, s"] - 1.0)]


def chopsticks_moments(course: Course) -> list[tuple[str, float]]:
    """The first thing picked and let go, the last one carried, and the end."""
    picked, inside, last = (
        first(course, "force, N", 0.58),
        first(course, "in the bowl, pieces", 0.5),
        first(course, "in the bowl, pieces", 2.5),
    )
    end = course[-1]["time, s"]
    return [("pick", picked), ("let go", inside), ("carry the last", last - 0.6), ("done", end - 1.0)]


STORIES = {
    "two_box_spoon": Story(
        ("spoon", "left_box", "right_box"), spoon_moments, ("rolled, deg", "grip, N", "off the place, m")
    ),
    "chopsticks": Story(
        ("tomato", "tofu", "radish", "bowl", "still_stick"),
        chopsticks_moments,
        ("force, N", "in the bowl, pieces"),
    ),
}


def tried(name: str) -> tuple[Trial, list[World]]:
    """A trial, and copies of its world every twentieth of a second."""
    worlds: list[World] = []

    def watch(world: World) -> None:
        if not worlds or world.time > worlds[-1].time + 0.0499:
            worlds.append(world.copy())

    trial = run_trial(find_task(name), watch=watch)
    if not trial.succeeded:
        raise SystemExit(f"it did not go as it should: {trial.reason}")
    return trial, worlds


def picture(world: World, links: tuple[str, ...]) -> Image.Image:
    """Picture of a world."""
    scene = scene_of_world(world, PressureScale(), takes_commands=False)
    frame = replace(frame_of_world(world, scene), patches=())
    with PageCamera(SIZE, "iso", links, solid=True) as camera:
        return Image.open(BytesIO(camera.picture(scene, frame))).convert("RGB")


def draw(name: str, path: Path) -> None:
    """Pictures above, curves below them."""
    story = STORIES[name]
    trial, worlds = tried(name)
    moments = story.moments(trial.course)
    time = [point["time, s"] for point in trial.course]
    with figure(path, 11.0, 2.6 + 1.1 * len(story.curves)) as canvas:
        rows = canvas.add_gridspec(2, 1, height_ratios=(2.4, 1.1 * len(story.curves)), hspace=0.1)
        above = rows[0].subgridspec(1, len(moments), wspace=0.03)
        for column, (word, when) in enumerate(moments):
            world = min(worlds, key=lambda one: abs(one.time - when))
            axes = canvas.add_subplot(above[column])
            axes.imshow(picture(world, story.links))
            axes.set_axis_off()
            axes.set_title(f"{word}, {when:.1f} s", loc="left", fontsize=10, color="#5b6472")
        below = rows[1].subgridspec(len(story.curves), 1, hspace=0.15)
        for row, curve in enumerate(story.curves):
            axes = canvas.add_subplot(below[row])
            axes.plot(time, [point[curve] for point in trial.course], color="#1f5fa8", lw=1.1)
            what, unit = curve.rsplit(", ", 1)
            axes.set_ylabel(f"{what} [{unit}]", fontsize=9)
            axes.set_xlim(0.0, time[-1])
            axes.grid(alpha=0.3)
            axes.tick_params(labelbottom=row + 1 == len(story.curves))
            for _, when in moments:
                axes.axvline(when, color="#9aa3af", lw=0.6, ls=":")
        axes.set_xlabel("time [s]")


if __name__ == "__main__":
    draw(sys.argv[1], Path(sys.argv[2]))
