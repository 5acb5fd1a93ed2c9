"""Step time against the number of free bodies: a tower (one island, a chain) and a row apart (an island each).

Boxes of 0.1 m that have settled, 1 ms steps, CPU time of the one thread that steps.
"""

from __future__ import annotations

import time

from measure import output_argument, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core import SceneBuilder, World

SIZE = 0.1
BODIES = (5, 10, 20, 40, 80)
SETTLING_STEPS = 300
STEPS = 200


def make_world(bodies: int, apart: bool) -> World:
    """Boxes in a tower, or beside each other."""
    scene = SceneBuilder("islands", contact={"modulus": 1e7, "margin": 1e-4})
    scene.add_ground()
    for i in range(bodies):
        xyz = (2.0 * SIZE * i, 0.0, 0.5 * SIZE) if apart else (0.0, 0.0, (i + 0.5) * SIZE)
        scene.add_body(f"box_{i}", mass=1.0, xyz=xyz).add_shape("box", size=3 * (SIZE,))
    return World(scene.build())


def measure(bodies: int, apart: bool) -> dict[str, float | str]:
    """Step a settled world."""
    world = make_world(bodies, apart)
    world.step(SETTLING_STEPS)
    began = time.thread_time()
    world.step(STEPS)
    step_time = (time.thread_time() - began) / STEPS
    done = world.diagnostics()
    return {
        "arrangement": "apart" if apart else "tower",
        "bodies": bodies,
        "faces": int(done["faces"]),
        "iterations": int(done["iterations"]),
        "us_a_step": 1e6 * step_time,
        "us_a_body": 1e6 * step_time / bodies,
    }


def main() -> None:
    """Measure all sizes, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "islands")
    measure(2, apart=True)  # compiles
    rows = [measure(bodies, apart) for apart in (False, True) for bodies in BODIES]
    table = Table(title=f"boxes of {SIZE:g} m, 1 ms steps")
    for heading in rows[0]:
        table.add_column(heading.replace("us", "µs").replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=100).print(table)
    write(output, {"rows": rows})


if __name__ == "__main__":
    main()
