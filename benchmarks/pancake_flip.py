"""A trial of the pancake task: how fast it runs on one core, and what its steps spend their time on.

Time is that of the processor, of the controller as well as of the steps, without the start of the program. Every tenth
period is taken a second time by a copy of the world, to tell what the steps alone cost, and its stages are repeated as
in ``step_profile.py``; neither counts. What is left of a step beside its stages is look-ahead, and steps taken in
pieces.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.table import Table
from step_profile import STAGES, profile_stages

from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import TASKS, run_trial

TASK = TASKS["pancake_flip"]
#: Periods between two that are looked at closely, and how often the stages are repeated.
INTERVAL, REPEATS = 10, 5
#: Simulated time of a row of the table, s.
ROW = 2.0
STAGE_NAMES = tuple(STAGES)


@dataclass
class Course:
    """A trial, period by period.

    Attributes:
        time: Simulated time at the end of each, s.
        taken: Processor time of each, s.
        faces: Contact faces at its end.
        parted: Steps that had been taken in pieces by then.
        close: Index of each period looked at closely, with the time of a step and of its stages, s.
    """

    time: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    faces: list[int] = field(default_factory=list)
    parted: list[int] = field(default_factory=list)
    close: dict[int, list[float]] = field(default_factory=dict)
    _began: float = 0.0
    _is_warm: bool = False

    def watch(self, world: World) -> None:
        """Note a period that has ended."""
        now, report = time.process_time(), world.diagnostics()
        if not self._is_warm:
            _look_closely(world.copy())  # compiles
            self._is_warm = True
        if self._began:
            self.time.append(world.time)
            self.taken.append(now - self._began)
            self.faces.append(int(report["faces"]))
            self.parted.append(int(report["fast_steps"] + report["cut_steps"]))
            if len(self.time) % INTERVAL == 0:
                self.close[len(self.time) - 1] = _look_closely(world.copy())
        self._began = time.process_time()


def _look_closely(world: World) -> list[float]:
    """Processor time of a step of the next period and of its stages, s."""
    steps = round(TASK.period / world.time_step)
    stages = profile_stages(world, REPEATS)
    began = time.process_time()
    world.step(steps)
    return [(time.process_time() - began) / steps, *stages.values()]


def summary(course: Course, steps_a_period: int) -> dict[str, float]:
    """The whole trial in numbers."""
    # Compiled code is loaded in the first.
    simulated, taken = course.time[-1] - course.time[0], sum(course.taken[1:])
    close = np.mean(list(course.close.values()), axis=0)
    steps = steps_a_period * (len(course.time) - 1)
    stages = dict(zip(STAGE_NAMES, close[1:], strict=True))
    return {
        "simulated, s": simulated,
        "processor, s": taken,
        "factor": simulated / taken,
        "mean faces": float(np.mean(course.faces)),
        "most faces": float(max(course.faces)),
        "a step, ms": 1e3 * close[0],
        "share of the controller": 1.0 - close[0] * steps / taken,
        **{f"share of {name} in a step": value / close[0] for name, value in stages.items()},
        "share of look-ahead and pieces in a step": 1.0 - sum(stages.values()) / close[0],
        "share of steps taken in pieces": course.parted[-1] / steps,
    }


def rows(course: Course) -> list[list[float]]:
    """For each ``ROW``: its end (s), mean and most faces, factor, steps taken in pieces."""
    periods, result = round(ROW / TASK.period), []
    for begin in range(0, len(course.time), periods):
        span = slice(begin, begin + periods)
        faces, taken, parted = course.faces[span], course.taken[span], course.parted[span]
        before = course.parted[begin - 1] if begin else 0
        factor = len(taken) * TASK.period / sum(taken)
        result.append([course.time[span][-1], float(np.mean(faces)), max(faces), factor, parted[-1] - before])
    return result


def main() -> None:
    """Run a trial, print the tables, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "pancake_flip")
    parser.add_argument("--seed", type=int, help="of the variation; the scene as it is without")
    arguments = parser.parse_args()
    course = Course()
    trial = run_trial(TASK, arguments.seed, watch=course.watch)
    numbers = summary(course, round(trial.steps * TASK.period / course.time[-1]))
    table = Table(title="pancake_flip" + ("" if arguments.seed is None else f", seed {arguments.seed}"))
    for heading in ("until, s", "mean faces", "most", "factor", "steps in pieces"):
        table.add_column(heading, justify="right")
    for end, mean, most, factor, parted in rows(course):
        table.add_row(f"{end:.1f}", f"{mean:.0f}", f"{most:.0f}", f"{factor:.2f}", f"{parted:.0f}")
    console = Console(width=120)
    console.print(table)
    for name, value in numbers.items():
        console.print(
            f"{name}: {value:.3g}" if "faces" not in name else f"{name}: {value:.0f}", highlight=False
        )
    console.print(f"succeeded: {trial.succeeded} {trial.reason}", highlight=False)
    write(arguments.out, {"trial": trial.as_dict(), "summary": numbers, "rows": rows(course)})


if __name__ == "__main__":
    main()
