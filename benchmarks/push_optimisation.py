"""Simulator steps by which ``hydro-sim optimize push`` reaches its goals, beside those of the cross-entropy method.

The method searches in the pressure field alone, from a straight path through the T towards the goal or from the closed
forms that the other search begins with. It ends with the first draw that is within the tolerance, or with 2000 pushes.
A smooth step with its derivatives counts as one. Goals that are drawn are searched by gradients alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import make_parser, write
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hydro_sim_core.optimisation.push import GOALS, PushResult, PushSearch

MOST = 2000
STARTS = {"straight path": False, "closed forms": True}


def main() -> None:
    """Search for all goals, print the table and write the results."""
    parser = make_parser(__doc__.splitlines()[0], "push_optimisation")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--drawn", type=int, default=16, help="number of goals that are drawn besides")
    arguments = parser.parse_args()
    console, search = Console(width=120), PushSearch()
    rows: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    for number, goal in enumerate(_drawn(arguments.drawn), start=1):
        drawn.append({"goal": goal.tolist(), "gradients": _told(search.find(goal))})
        reached = "reached" if drawn[-1]["gradients"]["reached"] else "not reached"
        console.print(f"drawn goal {number}: {reached} in {drawn[-1]['gradients']['steps']} steps")
    for number, goal in enumerate(GOALS, start=1):
        console.print(f"goal {number}")
        row: dict[str, Any] = {"goal": goal.tolist(), "gradients": _told(search.find(goal))}
        for name, informed in STARTS.items():
            row[f"cross-entropy, {name}"] = _told(
                search.by_cross_entropy(goal, arguments.seed, MOST, informed)
            )
        rows.append(row)
        told = {"seed": arguments.seed, "most_pushes": MOST, "goals": rows, "drawn": drawn}
        write(arguments.out, told, quiet=True)
    console.print(_table(rows))


def _drawn(count: int) -> list[NDArray[np.float64]]:
    """Goals (3,), m and rad: 8 to 15 cm away in any direction, turned by up to 60 degrees."""
    rng = np.random.default_rng(7)
    goals = []
    for _ in range(count):
        distance, direction = rng.uniform(0.08, 0.15), rng.uniform(-math.pi, math.pi)
        turn = rng.uniform(-math.pi / 3.0, math.pi / 3.0)
        goals.append(np.array([distance * math.cos(direction), distance * math.sin(direction), turn]))
    return goals


def _told(result: PushResult) -> dict[str, Any]:
    effort = result.effort
    return {
        "reached": result.is_reached,
        "pushes": len(result.paths),
        "distance_cm": 100.0 * result.distance,
        "angle_deg": math.degrees(result.angle),
        "smooth_rollouts": effort.smooth_rollouts,
        "rollouts": effort.rollouts,
        "steps": effort.steps,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    """Steps of each search, and how many times those by gradients; ">" where the goal was not reached."""
    table = Table(title="simulator steps")
    for name in ("goal", "by gradients", *(f"cross-entropy, {name}" for name in STARTS)):
        table.add_column(name, justify="right")
    for number, row in enumerate(rows, start=1):
        table.add_row(str(number), str(row["gradients"]["steps"]), *(_ratio([row], name) for name in STARTS))
    together = str(sum(row["gradients"]["steps"] for row in rows))
    table.add_row("together", together, *(_ratio(rows, name) for name in STARTS))
    return table


def _ratio(rows: list[dict[str, Any]], start: str) -> str:
    others = [row[f"cross-entropy, {start}"] for row in rows]
    steps, ours = (sum(one["steps"] for one in some) for some in (others, [r["gradients"] for r in rows]))
    more = "" if all(other["reached"] for other in others) else "> "
    return f"{more}{steps}, {more}{steps / ours:.1f} times"


if __name__ == "__main__":
    main()
