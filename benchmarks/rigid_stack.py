"""Step time of ten rigid boxes in contact, beside MuJoCo and Drake's contact points.

Cubes of 50 mm, 1 kg, 1 ms steps, everything else by each one's defaults. "flush" stacks them edge above edge, "turned"
by seven degrees each, "row" sets them on the table apart from each other.
All simulators take turns in the same process; a figure is the fastest of its turns, CPU time
of the one thread that steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack

from measure import output_argument, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core.experiments.rigid_pairs.bodies import Body, BodyScene, box, pose
from hydro_sim_core.experiments.rigid_pairs.simulators import OurBodies, Simulator, others, simulated

SIDE = 0.05
BOXES = 10
SETTLING_STEPS = 1000
TURNS = 20
STEPS = 200


def _scene(name: str, place: Callable[[int], tuple[tuple[float, float, float], float]]) -> BodyScene:
    table = Body("table", [box(2.0, 2.0, 0.1)], X_WB=pose((0.0, 0.0, -0.05)))
    boxes = []
    for i in range(BOXES):
        xyz, yaw = place(i)
        boxes.append(Body(f"box_{i}", [box(SIDE, SIDE, SIDE)], 1.0, pose(xyz, (0.0, 0.0, yaw))))
    return BodyScene(name, [table, *boxes], friction=0.5, time_step=1e-3)


def scenes() -> list[BodyScene]:
    """Ten boxes in three arrangements."""
    return [
        _scene("flush", lambda i: ((0.0, 0.0, (i + 0.5) * SIDE), 0.0)),
        _scene("turned", lambda i: ((0.0, 0.0, (i + 0.5) * SIDE), math.radians(7.0 * i))),
        _scene("row", lambda i: ((2.0 * SIDE * (i - 4.5), 0.0, 0.5 * SIDE), math.radians(7.0 * i))),
    ]


def measure(scene: BodyScene) -> dict[str, float | str]:
    """Fastest time a step (us) of every simulator that is installed."""
    makers = {
        "hydro-sim": OurBodies,
        **{name: other.bodies for name, other in others().items() if other is not None},
    }
    with ExitStack() as made:
        running: dict[str, Simulator] = {
            name: made.enter_context(simulated(make, scene)) for name, make in makers.items()
        }
        for simulator in running.values():
            simulator.step(SETTLING_STEPS)
        fastest = dict.fromkeys(running, math.inf)
        for _ in range(TURNS):
            for name, simulator in running.items():
                began = time.thread_time()
                simulator.step(STEPS)
                fastest[name] = min(fastest[name], 1e6 * (time.thread_time() - began) / STEPS)
        ours = running["hydro-sim"]
        assert isinstance(ours, OurBodies)
        faces = ours.world.diagnostics()["faces"]
    ratios = {
        f"share of {name}": fastest["hydro-sim"] / fastest[name] for name in running if name != "hydro-sim"
    }
    return {
        "boxes": scene.name,
        "faces": str(faces),
        **{f"{name}, us": t for name, t in fastest.items()},
        **ratios,
    }


def main() -> None:
    """Measure all arrangements, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "rigid_stack")
    rows = [measure(scene) for scene in scenes()]
    table = Table(title=f"{BOXES} rigid boxes of {SIDE:g} m, 1 ms steps")
    for heading in rows[0]:
        table.add_column(heading.replace("us", "µs"), justify="right")
    for row in rows:
        table.add_row(*(f"{value:.2f}" if isinstance(value, float) else value for value in row.values()))
    Console(width=120).print(table)
    write(output, {"rows": rows})


if __name__ == "__main__":
    main()
