"""Draws six moments of the pancake task: ``python pancake_flip.py OUT.png``. Takes one to three minutes."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import TASKS, run_trial
from hydro_sim_core.tasks.trial import scene_of
from hydro_sim_core.viewer.scene import scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

TASK = TASKS["pancake_flip"]
#: What has happened when the controller leaves a phase.
AT_THE_END_OF = {
    "touch the stove": "touches the stove",
    "get under the pancake": "under the pancake",
    "lift the pancake": "lifted",
    "turn the pancake over": "on the other face",
}
GRASPED, FALLS = "grasped", "falls over"
#: Pixels that are rendered, and the part of them around stove and spatula that is shown.
RENDERED = PictureSize(2560, 1440)
SHOWN = (1040, 510, 1789, 1045)
#: Of a panel, in rows of three; between panels; of the line under each, and of its letters.
PANEL, GAP, LINE, LETTERS = (546, 390), 8, 34, 20


def moments() -> list[tuple[str, World]]:
    """Captions and copies of the world at these moments of a trial, in order."""
    controllers = []

    def controller(model, period):
        controllers.append(TASK.controller(model, period))
        return controllers[-1]

    found: dict[str, World] = {}
    phase, height = "", 0.0

    def watch(world: World) -> None:
        nonlocal phase, height
        now = controllers[0].robot.phase
        if now != phase and phase in AT_THE_END_OF:
            found[AT_THE_END_OF[phase]] = world.copy()
        phase = now
        now_at = world.frame_pose("spatula")[2, 3]
        height = height or now_at
        if GRASPED not in found and now_at > height + 0.003:  # it leaves the rack
            found[GRASPED] = world.copy()
        # Its axis was upright before, and is level now.
        if FALLS not in found and world.frame_pose("pancake")[2, 2] < 0.0:
            found[FALLS] = world.copy()

    trial = run_trial(replace(TASK, controller=controller), watch=watch)
    if not trial.succeeded or len(found) != len(AT_THE_END_OF) + 2:
        raise SystemExit(f"the task did not go as it should: {trial.reason}, {list(found)}")
    return list(found.items())


def strip(shown: list[tuple[str, World]]) -> Image.Image:
    """The moments side by side, in two rows."""
    start = World(scene_of(TASK, None))
    scene = scene_of_world(start, PressureScale(), takes_commands=False)
    width, height = 3 * (PANEL[0] + GAP) - GAP, 2 * (PANEL[1] + LINE)
    picture = Image.new("RGB", (width, height), "white")
    with PageCamera(RENDERED, "iso") as camera:
        camera.picture(scene, frame_of_world(start, scene))  # the view is chosen by the first one
        for number, (caption, world) in enumerate(shown):
            # Bodies that touch would be drawn as glass around their patches.
            frame = replace(frame_of_world(world, scene), patches=())
            png = camera.picture(scene, frame)
            panel = Image.open(BytesIO(png)).convert("RGB").crop(SHOWN)
            row, column = divmod(number, 3)
            corner = (column * (PANEL[0] + GAP), row * (PANEL[1] + LINE))
            picture.paste(panel.resize(PANEL, Image.Resampling.LANCZOS), corner)
            write_below(picture, corner, f"{number + 1}  {caption}", f"{world.time:.1f} s")
    return picture


def write_below(picture: Image.Image, corner: tuple[int, int], caption: str, time: str) -> None:
    """A caption under the left of a panel and the time under its right."""
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(LETTERS)
    x, y = corner[0], corner[1] + PANEL[1] + 5
    draw.text((x + 4, y), caption, fill="#1d2430", font=font)
    draw.text((x + PANEL[0] - 4, y), time, fill="#5b6472", font=font, anchor="ra")


if __name__ == "__main__":
    # A quarter of the size, and rare colours such as the pancake's stay.
    colours = strip(moments()).quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    colours.save(Path(sys.argv[1]), optimize=True)
