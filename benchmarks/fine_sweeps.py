"""Ten thousand fine steps of bodies through each other: how much wrenches change, over what stiffness allows.

Five hundred sweeps of twelve kinds of pairs, each from a random pose; the body goes on in ten steps of 0.75 mrad and
75 um, and the step that changes most is cut in ten (``hydro_sim_core/experiments/patch_sweeps.py``): a ratio that grows
from step to part is of a jump. With all polygons, as ``compute_patch`` has them, and, in a tenth of the sweeps, with
Drake's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core.experiments.patch_moments import KINDS
from hydro_sim_core.experiments.patch_sweeps import PARTS, STEPS, TURN, sweeps

#: Sweeps of all kinds together, and of how many one is repeated with Drake's polygons.
SWEEPS, DRAKES = 500, 10
#: Largest changes of steps and parts, and the largest ratio of both in a sweep.
COLUMNS = "steps", "parts", "growth"


def row(kind: str, count: int) -> dict[str, Any]:
    """Largest changes of a kind, over what stiffness allows."""
    found: dict[str, Any] = {"pair": kind, "sweeps": count}
    for name, every_polygon, number in (("all", True, count), ("drakes", False, -(-count // DRAKES))):
        changes = np.array(
            [(s.of_steps, s.of_parts) for s in sweeps(kind, number, every_polygon=every_polygon)]
        )
        found[f"{name}_steps"], found[f"{name}_parts"] = changes.max(axis=0).tolist()
        found[f"{name}_growth"] = float((changes[:, 1] / changes[:, 0]).max())
    return found


def main() -> None:
    """Sweep, print a table and write the numbers."""
    parser = make_parser(__doc__.splitlines()[0], "fine_sweeps")
    parser.add_argument("--sweeps", type=int, default=SWEEPS, help="number of sweeps of all kinds together")
    arguments = parser.parse_args()
    count = -(-arguments.sweeps // len(KINDS))
    rows: list[dict[str, Any]] = []
    for kind in track(KINDS, "kinds of pairs"):
        rows.append(row(kind, count))
        write(arguments.out, {"turn": TURN, "steps": STEPS, "parts": PARTS, "rows": rows}, quiet=True)
    table = Table(title=f"largest change of a wrench over what stiffness allows, {count} sweeps of each kind")
    for heading in ("pair", *(f"{whose}, {what}" for whose in ("all", "Drake's") for what in COLUMNS)):
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    for r in rows:
        cells = (f"{r[f'{whose}_{what}']:.3g}" for whose in ("all", "drakes") for what in COLUMNS)
        table.add_row(r["pair"], *cells)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
