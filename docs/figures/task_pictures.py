"""Draws a trial of a task: ``python task_pictures.py NAME OUT.png``. Takes half a minute to two."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import Trial, find_task, run_trial
from hydro_sim_core.tasks.peg_in_hole import DEEP
from hydro_sim_core.tasks.screwing import MOST_OVERLAP, PITCH
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

#: What is rendered, and the part of it that is drawn, pixels: left, top, right, bottom. The page's clock is below it.
RENDERED, SHOWN = PictureSize(1200, 1000), (50, 60, 1150, 910)
BLUE, RED, GREEN, GREY = "#1f5fa8", "#c44e24", "#23774f", "#5b6472"

Course = Sequence[Mapping[str, float]]
Ends = Mapping[str, float]
Moments = list[tuple[str, float]]


@dataclass(frozen=True)
class Curve:
    """What the task follows, over time.

    Attributes:
        followed: Its name there.
        label: Its name and unit in the drawing.
        factor: From its unit there.
        bound: A value of the drawing to compare it with, and what this is.
    """

    followed: str
    label: str
    factor: float = 1.0
    bound: tuple[float, str] | None = None


@dataclass(frozen=True)
class Story:
    """What is drawn of a task.

    Attributes:
        moments: What is seen, and when (s), of the trial and of when (s) each phase of its controller ended.
        links: Links that fill each picture, where they are then; without any, those that fill the films of the task
            fill the first picture, and the others are taken from the same place.
        curves: What is drawn below.
        view: From where the pictures are seen.
        advance: Whether depth is drawn over turns too.
    """

    moments: Callable[[Trial, Ends], Moments]
    curves: tuple[Curve, ...]
    links: tuple[str, ...] = ()
    view: Any = "iso"
    advance: bool = False


def first(course: Course, name: str, beyond: float) -> float:
    """Time (s) at which a number is first beyond a bound."""
    return next(point["time, s"] for point in course if point[name] > beyond)


def at_ends(**shown: str) -> Callable[[Trial, Ends], Moments]:
    """Moments at the ends of phases of the controller, whose names have ``_`` for spaces here."""

    def moments(_: Trial, ends: Ends) -> Moments:
        return [(word, ends[phase.replace("_", " ")]) for phase, word in shown.items()]

    return moments


def peg_moments(trial: Trial, _: Ends) -> Moments:
    """The first touch, the tip on the face before the mouth, and the end."""
    touched, inside = first(trial.course, "force, N", 1.0), first(trial.course, "depth, mm", 0.2)
    return [("touch the face", touched), ("find the hole", inside - 0.1), ("inserted", trial.time)]


def thread_moments(start: str, end: str) -> Callable[[Trial, Ends], Moments]:
    """The first touch, the thread that leads, and the end."""

    def moments(trial: Trial, _: Ends) -> Moments:
        touched, led = first(trial.course, "force, N", 1.0), first(trial.course, "depth, mm", 2.5)
        return [(start, touched), ("the thread has caught", led), (end, trial.time)]

    return moments


def spoon_moments(trial: Trial, _: Ends) -> Moments:
    """Grasped, lifted, rolled, and where it shall be."""
    held = first(trial.course, "grip, N", 11.0)
    begin, end = (first(trial.course, "rolled, deg", angle) for angle in (1.0, 78.0))
    return [("grasp", held), ("lift", begin - 0.1), ("roll", end), ("carry", trial.time)]


def chopsticks_moments(trial: Trial, _: Ends) -> Moments:
    """The first thing picked and let go, the last one carried, and the end."""
    picked = first(trial.course, "force, N", 0.58)
    inside, third = (first(trial.course, "in the bowl, pieces", count) for count in (0.5, 2.5))
    return [("pick", picked), ("let go", inside), ("carry the last", third - 0.6), ("done", trial.time)]


def thread_story(start: str, end: str) -> Story:
    """What is drawn of a task with a thread."""
    most = (1e6 * MOST_OVERLAP * PITCH, f"{100 * MOST_OVERLAP:g} % of the pitch")
    curves = (
        Curve("force, N", "force [N]"),
        Curve("moment, N m", "moment [N cm]", 1e2),
        Curve("overlap, um", "overlap [µm]", bound=most),
    )
    return Story(thread_moments(start, end), curves, advance=True)


STORIES = {
    "mug_pick": Story(
        at_ends(
            take_the_mug="grasped",
            lift_the_mug="lifted",
            carry_the_mug="over the plate",
            let_go_of_the_mug="set down",
        ),
        (Curve("height, m", "height [mm]", 1e3),),
    ),
    "pencil_turn": Story(
        at_ends(
            hold_the_pencil="held", turn_the_pencil="turned on the edge", raise_the_pencil="off the edge"
        ),
        (
            Curve("pitch in the hand, rad", "pitch [rad]"),
            Curve("scrubbing torque, N m", "torque [mN m]", 1e3),
        ),
        view="side",
    ),
    "two_box_spoon": Story(
        spoon_moments,
        (
            Curve("rolled, deg", "rolled [deg]"),
            Curve("grip, N", "grip [N]"),
            Curve("off the place, m", "off the place [mm]", 1e3),
        ),
        links=("spoon", "left_box", "right_box"),
    ),
    "chopsticks": Story(
        chopsticks_moments,
        (Curve("force, N", "force [N]"), Curve("in the bowl, pieces", "in the bowl")),
    ),
    "peg_in_hole": Story(
        peg_moments,
        (
            Curve("force, N", "force [N]"),
            Curve("depth, mm", "depth [mm]", bound=(1e3 * DEEP, f"{1e3 * DEEP:g} mm")),
        ),
    ),
    "m16_nut": thread_story("on the end of the bolt", "screwed on"),
    "bolt_in_nut": thread_story("on the end of the nut", "screwed in"),
}


def tried(name: str) -> tuple[Trial, list[World], dict[str, float]]:
    """A trial, copies of its world every twentieth of a second, and when (s) each phase of the controller ended."""
    task = find_task(name)
    controllers: list[Any] = []
    worlds: list[World] = []
    ends: dict[str, float] = {}

    def controller(*arguments: Any) -> Any:
        controllers.append(task.controller(*arguments))
        return controllers[-1]

    def watch(world: World) -> None:
        ends[controllers[0].robot.phase] = world.time
        if not worlds or world.time > worlds[-1].time + 0.0499:
            worlds.append(world.copy())

    trial = run_trial(replace(task, controller=controller), watch=watch)
    if not trial.succeeded:
        raise SystemExit(f"it did not go as it should: {trial.reason}")
    return trial, worlds, ends


def pictures(name: str, worlds: list[World], times: list[float]) -> list[Image.Image]:
    """Pictures at some times, without contacts."""
    story = STORIES[name]
    scene = scene_of_world(worlds[0], PressureScale(), takes_commands=False)
    shown = [min(worlds, key=lambda one: abs(one.time - time)) for time in times]
    found = []
    for together in [[world] for world in shown] if story.links else [shown]:
        with PageCamera(RENDERED, story.view, story.links or find_task(name).shows, solid=True) as camera:
            for world in together:
                frame = replace(frame_of_world(world, scene), patches=())
                picture = Image.open(BytesIO(camera.picture(scene, frame))).convert("RGB")
                found.append(picture.crop(SHOWN))
    return found


def draw_curve(axes: Any, course: Course, curve: Curve, moments: Moments) -> None:
    """One curve over time, with the moments of the pictures."""
    time = np.array([point["time, s"] for point in course])
    axes.plot(time, curve.factor * np.array([point[curve.followed] for point in course]), color=BLUE, lw=1.1)
    if curve.bound is not None:
        value, word = curve.bound
        axes.axhline(value, color=GREEN, lw=1.0)
        axes.annotate(
            word,
            (time[0], value),
            (4.0, -4.0),
            textcoords="offset points",
            va="top",
            color=GREEN,
            fontsize="small",
        )
    axes.set_ylabel(curve.label, fontsize="small")
    axes.set_xlim(time[0], time[-1])
    for _, when in moments:
        axes.axvline(when, color="#9aa3af", lw=0.6, ls=":")


def draw_advance(axes: Any, course: Course) -> None:
    """Depth over turns, with the pitch of the thread beside the last of them."""
    turns = np.unwrap([point["heading, turns"] for point in course], period=1.0)
    turns -= turns[0]
    depth = np.array([point["depth, mm"] for point in course])
    axes.plot(turns, depth, color=BLUE, lw=1.2)
    axes.plot(
        turns[-1] + np.array([-1.0, 0.0]), depth[-1] + 1e3 * PITCH * np.array([-1.0, 0.0]), "k--", lw=0.8
    )
    axes.text(
        turns[-1], depth[-1] - 2.9, f"{1e3 * PITCH:g} mm a turn", color=GREY, ha="right", fontsize="small"
    )
    axes.set_ylabel("depth [mm]", fontsize="small")
    axes.set_xlabel("turns")
    axes.set_ylim(0.0, None)
    axes.grid(alpha=0.3)


def draw(name: str, path: Path) -> None:
    """Pictures above, what the task follows below them."""
    story = STORIES[name]
    trial, worlds, ends = tried(name)
    moments = story.moments(trial, ends)
    shown = pictures(name, worlds, [when for _, when in moments])
    below = 1.15 * len(story.curves)
    above = 10.3 / len(moments) * shown[0].height / shown[0].width
    with figure(path, 11.0, above + below + 1.0) as canvas:
        rows = canvas.add_gridspec(2, 1, height_ratios=(above, below), hspace=0.08)
        columns = rows[0].subgridspec(1, len(moments), wspace=0.03)
        for column, ((word, when), picture) in enumerate(zip(moments, shown, strict=True)):
            axes = canvas.add_subplot(columns[column])
            axes.imshow(picture)
            axes.set_axis_off()
            axes.set_title(f"{word}, {when:.1f} s", loc="left", fontsize=10, color=GREY)
        parts = (
            rows[1].subgridspec(1, 2, width_ratios=(2.0, 1.0), wspace=0.15) if story.advance else (rows[1],)
        )
        curves = parts[0].subgridspec(len(story.curves), 1, hspace=0.15)
        for row, curve in enumerate(story.curves):
            axes = canvas.add_subplot(curves[row])
            draw_curve(axes, trial.course, curve, moments)
            axes.grid(alpha=0.3)
            axes.tick_params(labelbottom=row + 1 == len(story.curves))
        axes.set_xlabel("time [s]")
        if story.advance:
            draw_advance(canvas.add_subplot(parts[1]), trial.course)


if __name__ == "__main__":
    draw(sys.argv[1], Path(sys.argv[2]))
