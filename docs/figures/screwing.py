"""Draws a trial of a task with a thread: ``python screwing.py NAME OUT.png``. Takes half a minute to two."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from peg_in_hole import frames, tried

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.tasks import Trial
from hydro_sim_core.tasks.screwing import BOLT, MOST_OVERLAP, NUT, PITCH

#: What is told of the first moment and of the last, by task.
WORDS = {
    "m16_nut": ("on the end of the bolt", "screwed on"),
    "bolt_in_nut": ("on the end of the nut", "screwed in"),
}


def moments(name: str, trial: Trial) -> list[tuple[str, float]]:
    """What is shown when, s: the first touch, the thread that leads, and the end."""
    touched = next(point["time, s"] for point in trial.course if point["force, N"] > 1.0)
    led = next(point["time, s"] for point in trial.course if point["depth, mm"] > 2.5)
    first, last = WORDS[name]
    return [(first, touched), ("the thread has caught", led), (last, trial.time)]


def draw(name: str, path: Path) -> None:
    """Frames above, and force, depth by turns and overlap below them."""
    trial, worlds = tried(name)
    wanted = moments(name, trial)
    course = {name: np.array([point[name] for point in trial.course]) for name in trial.course[0]}
    time, turns = course["time, s"], np.unwrap(course["heading, turns"], period=1.0)
    with figure(path, 11.0, 7.0) as canvas:
        rows = canvas.add_gridspec(2, 1, height_ratios=(1.5, 1.0), hspace=0.15)
        above = rows[0].subgridspec(1, len(wanted), wspace=0.03)
        for column, (word, when, picture) in enumerate(frames(worlds, wanted, (BOLT, NUT))):
            axes = canvas.add_subplot(above[column])
            axes.imshow(picture)
            axes.set_axis_off()
            axes.set_title(f"{word}, {when:.1f} s", loc="left", fontsize=10, color="#5b6472")
        below = rows[1].subgridspec(1, 3, wspace=0.3)
        force, way, off = (canvas.add_subplot(below[column]) for column in range(3))
        force.plot(time, course["force, N"], color="#1f5fa8", lw=1.0, label="force [N]")
        force.plot(time, 1e2 * course["moment, N m"], color="#c44e24", lw=1.0, label="moment [N cm]")
        way.plot(turns - turns[0], course["depth, mm"], color="#1f5fa8", lw=1.2, label="depth [mm]")
        last = np.array([turns[-1] - 1.0, turns[-1]])
        way.plot(
            last - turns[0], course["depth, mm"][-1] + 1e3 * PITCH * np.array([-1.0, 0.0]), "k--", lw=0.8
        )
        way.text(
            last[1] - turns[0],
            course["depth, mm"][-1] - 2.9,
            f"{1e3 * PITCH:g} mm a turn",
            color="#5b6472",
            ha="right",
        )
        way.set_ylim(0.0, None)
        off.plot(time, course["overlap, um"], color="#c44e24", lw=1.0, label="overlap of the threads [µm]")
        off.axhline(1e6 * MOST_OVERLAP * PITCH, color="#30a46c", lw=1.0)
        off.text(0.1, 1e6 * MOST_OVERLAP * PITCH - 2.0, "2 % of the pitch", color="#23774f", va="top")
        for axes, along in ((force, "time [s]"), (way, "turns"), (off, "time [s]")):
            axes.set_xlabel(along)
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="small")


if __name__ == "__main__":
    draw(sys.argv[1], Path(sys.argv[2]))
