"""A whole step of the welded spatula scene, ours against Drake's, 6 s at 1 kHz.

Every simulator runs the same scene file, in turns of 0.5 s each so that all see the same load of the machine. Two
ways to step: one call a step, and one call for the whole turn. CPU time of the one thread that steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from drake_scene import APPROXIMATIONS, DrakeScene
from measure import output_argument, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core import load_scene
from hydro_sim_core.experiments.scenes import shipped_scenes
from hydro_sim_core.experiments.spatula_slip import roll

SCENE = "spatula_slip_welded"
TURN = 0.5
DURATION = 6.0


@dataclass
class Contestant:
    """A simulator and one way to step it.

    Attributes:
        simulator: Which.
        stepping: How.
        advance: Takes one turn.
        faces: Contact faces now.
        roll: Roll of the spatula now, rad.
        turn_times: CPU time of every turn, s.
        turn_faces: Faces at the end of every turn.
    """

    simulator: str
    stepping: str
    advance: Callable[[int], None]
    faces: Callable[[], int]
    roll: Callable[[], float]
    turn_times: list[float] = field(default_factory=list)
    turn_faces: list[int] = field(default_factory=list)

    def take_turn(self, steps: int) -> None:
        """Advance and keep the CPU time."""
        began = time.thread_time()
        self.advance(steps)
        self.turn_times.append(time.thread_time() - began)
        self.turn_faces.append(self.faces())


def ours(stepping: str) -> Contestant:
    """Our world, compiled and reset."""
    world = load_scene(shipped_scenes()[SCENE])
    world.step()
    world.reset()

    def one_call_a_step(steps: int) -> None:
        for _ in range(steps):
            world.step()

    return Contestant(
        "hydro-sim",
        stepping,
        world.step if stepping == "one call a turn" else one_call_a_step,
        lambda: int(world.diagnostics()["faces"]),
        lambda: roll(world),
    )


def drake(approximation: str, stepping: str) -> Contestant:
    """Drake's plant with one of its contact approximations."""
    scene = DrakeScene(load_scene(shipped_scenes()[SCENE]).scene, approximation)
    whole = stepping == "one call a turn"
    return Contestant(
        f"Drake {approximation}",
        stepping,
        lambda steps: scene.advance(steps, pieces=1 if whole else steps),
        scene.faces,
        lambda: scene.roll("spatula"),
    )


def main() -> None:
    """Run all contestants, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "spatula_slip")
    ways = ("one call a turn", "one call a step")
    contestants = [ours(way) for way in ways]
    contestants += [drake(name, way) for name in APPROXIMATIONS for way in ways]
    time_step = load_scene(shipped_scenes()[SCENE]).time_step
    steps = round(TURN / time_step)
    for _ in range(round(DURATION / TURN)):
        for contestant in contestants:
            contestant.take_turn(steps)
    rows = [_row(contestant, steps, time_step) for contestant in contestants]
    best = {name: min((r for r in rows if r["simulator"] == name), key=_cost) for name in _names(rows)}
    ratios = {
        name: _cost(row) / _cost(best["hydro-sim"]) for name, row in best.items() if name != "hydro-sim"
    }
    _print(rows, best, ratios)
    write(output, {"scene": SCENE, "time_step": time_step, "rows": rows, "ratios_of_best_ways": ratios})


def _row(contestant: Contestant, steps: int, time_step: float) -> dict[str, float | str]:
    step_times = np.array(contestant.turn_times) / steps
    return {
        "simulator": contestant.simulator,
        "stepping": contestant.stepping,
        "ms_per_step_mean": 1e3 * float(step_times.mean()),
        "ms_per_step_fastest_turn": 1e3 * float(step_times.min()),
        "ms_per_step_slowest_turn": 1e3 * float(step_times.max()),
        "mean_faces": float(np.mean(contestant.turn_faces)),
        "real_time_factor": time_step / float(step_times.mean()),
        "final_roll": contestant.roll(),
    }


def _cost(row: dict[str, float | str]) -> float:
    return float(row["ms_per_step_mean"])


def _names(rows: list[dict[str, float | str]]) -> list[str]:
    return list(dict.fromkeys(str(row["simulator"]) for row in rows))


def _print(
    rows: list[dict[str, float | str]], best: dict[str, dict[str, float | str]], ratios: dict[str, float]
) -> None:
    table = Table(title=f"{SCENE}, {DURATION:g} s", caption="ratio: faster way of each, Drake over hydro-sim")
    for heading in (
        "simulator",
        "stepping",
        "ms a step",
        "fastest turn",
        "faces",
        "x real time",
        "ratio",
        "final roll",
    ):
        table.add_column(heading, justify="left" if heading in ("simulator", "stepping") else "right")
    for row in rows:
        name = str(row["simulator"])
        ratio = f"{ratios[name]:.1f}" if name in ratios and row is best[name] else ""
        table.add_row(
            name,
            str(row["stepping"]),
            f"{row['ms_per_step_mean']:.4f}",
            f"{row['ms_per_step_fastest_turn']:.4f}",
            f"{row['mean_faces']:.0f}",
            f"{row['real_time_factor']:.1f}",
            ratio,
            f"{row['final_roll']:.4f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
