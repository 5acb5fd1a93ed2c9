"""The push of ``planar_push`` with any number of points, and what a step costs beside what it cannot do without.

2048 points on each body are the 4k of Beker 2025, table 7. Two floors stand beside the time of a step: to write and
read the matrix of all points and planes once, which whoever holds it must do in every evaluation, and to take as many
exponentials, as the smooth minimum has one for each of its entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core.experiments.planar_push.bodies import soft_pushing
from hydro_sim_core.experiments.planar_push.experiment import Variant, run

PAPER = {"rk4": ((1.2, 10.8), (2.1, 6.8)), "euler": ((6.7, 42.3), (11.2, 46.2))}
"""Mean distance, cm, and angle, degrees, at 2 ms with 4k and with 26 points."""
TIME_STEP = 2e-3
#: Entries of a block that stays in the processor's cache while exponentials are taken.
_BLOCK = 1 << 13


def main() -> None:
    """Measure all numbers of points, print the table and write the results."""
    parser = make_parser(__doc__.splitlines()[0], "pushing_points")
    parser.add_argument("--points", type=int, nargs="+", default=[26, 2048], help="on each body")
    parser.add_argument("--scheme", choices=PAPER, default="rk4")
    parser.add_argument("--times", action="store_true", help="no pushes, only what a step costs")
    arguments = parser.parse_args()
    rows = [
        _row(points, arguments.scheme, not arguments.times)
        for points in track(arguments.points, "numbers of points")
    ]
    Console(width=110).print(_table(rows, arguments.scheme))
    write(arguments.out, {"scheme": arguments.scheme, "rows": rows})


def _row(points: int, scheme: str, pushes: bool) -> dict[str, Any]:
    misses = _misses(points, scheme) if pushes else {}
    return {"points": points, **misses, "stage_ms": _stage(points), **_floors(points)}


def _misses(points: int, scheme: str) -> dict[str, float]:
    """Mean distance, cm, and angle, degrees, of the T at the end from MuJoCo's."""
    nothing = (0.0, 0.0)
    name = f"2 ms, {scheme}, {points} points each"
    report = run((Variant(name, TIME_STEP, scheme, points, nothing, nothing, 0.0),))
    return {what: float(np.mean(report.series[f"{what}, {name}"])) for what in ("distance", "angle")}


def _stage(points: int) -> float:
    """Milliseconds of a step by Euler's method, which evaluates the forces once, while the finger touches the T."""
    world = soft_pushing(points, "euler", TIME_STEP).world
    world.step(20)
    steps = max(3, 200_000 // points**2)
    return _best(lambda: world.step(steps)) / steps


def _floors(points: int) -> dict[str, float]:
    """Milliseconds to write and read a matrix of all points and planes, and to take exponentials of its entries."""
    matrix, block = np.zeros((points, points)), np.linspace(-1.0, 0.0, min(_BLOCK, points**2))
    powers, blocks = np.empty_like(block), points**2 / len(block)
    repeat = max(1, round(blocks))

    def exponentials() -> None:
        for _ in range(repeat):
            np.exp(block, out=powers)

    def fill_and_read() -> None:
        matrix.fill(1.0)
        matrix.sum()

    return {
        "matrix_ms": _best(fill_and_read),
        "exponentials_ms": _best(exponentials) * blocks / repeat,
    }


def _best(call: Callable[[], object]) -> float:
    """Least processor time of a call in milliseconds, of seven."""
    times = []
    for _ in range(7):
        started = time.thread_time()
        call()
        times.append(time.thread_time() - started)
    return 1e3 * min(times)


def _table(rows: list[dict[str, Any]], scheme: str) -> Table:
    many, few = ("{} cm, {}°".format(*figures) for figures in PAPER[scheme])
    table = Table(title=f"2 ms, {scheme}; the paper: {many} with 4k points, {few} with 26")
    for name in (
        "points on each",
        "distance, cm",
        "angle, deg",
        "evaluation, ms",
        "matrix, ms",
        "exponentials, ms",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        names = ("distance", "angle", "stage_ms", "matrix_ms", "exponentials_ms")
        table.add_row(str(row["points"]), *(f"{row[name]:.3g}" if name in row else "" for name in names))
    return table


if __name__ == "__main__":
    main()
