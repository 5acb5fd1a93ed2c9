"""Queries in lanes with kept pairs (decision 34) against the walk of one pair after another (decision 7), in turns.

The pairs, poses and speeds are those of ``geometry.py``. Both find the same faces in one process, so that neither what
else the machine does nor the compiler's version counts.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core.compilation import Float2D, Float3D, entry
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer
from hydro_sim_core.contact.pressure_field.query import QueryScratch, find_faces
from hydro_sim_core.experiments.geometry_bench.ours import OurPair
from hydro_sim_core.experiments.geometry_bench.pairs import SPEEDS, BenchPair, all_pairs

#: Faces of both in one turn, about, smallest and largest number of poses of a turn, and number of turns.
FACES, POSES, TURNS = 40_000, (24, 200), 8


@entry
def _walk_poses(
    geometries: GeometrySet, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    total = 0
    for i in range(p_BA.shape[0]):
        total += find_faces(geometries, 0, 1, R_BA[i], p_BA[i], False, scratch, faces, 0)
    return total


def main() -> None:
    """Measure all pairs, print the table and write the results."""
    arguments = make_parser(__doc__.splitlines()[0], "lanes").parse_args()
    rows = [_row(pair) for pair in track(all_pairs(), "pairs of bodies")]
    Console(width=110).print(_table(rows))
    write(arguments.out, {"rows": rows})


def _row(pair: BenchPair) -> dict[str, Any]:
    ours = OurPair(*pair.make(), pair.X_BA)
    faces = ours.count_faces(pair.X_BA[None])
    poses = int(np.clip(FACES // max(faces, 1), *POSES))
    found = {f"{speed:g} m/s": _ratio(ours, pair.poses(speed, TURNS * poses), poses) for speed in SPEEDS}
    return {"family": pair.family, "faces": faces, **found}


def _ratio(ours: OurPair, X_BA: Any, poses: int) -> dict[str, float]:
    """Median ratio of the processor times of turns over the same poses, and microseconds a query in lanes."""
    ratios, times = [], []
    for turn in np.split(X_BA, TURNS):
        began = time.thread_time()
        in_lanes = ours.count_faces(turn)
        between = time.thread_time()
        walked = ours.run(_walk_poses, turn)
        ended = time.thread_time()
        if in_lanes != walked:
            raise SystemExit(f"error: lanes found {in_lanes} faces, the walk {walked}")
        ratios.append((between - began) / (ended - between))
        times.append(1e6 * (between - began) / poses)
    # The first turn finds cold caches.
    return {"ratio": float(np.median(ratios[1:])), "us": float(np.median(times[1:]))}


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Processor time of a query in lanes over that of a walk")
    for name in ("pair", "faces", *(f"{speed:g} m/s" for speed in SPEEDS), "us"):
        table.add_column(name, justify="left" if name == "pair" else "right")
    for row in rows:
        at = [row[f"{speed:g} m/s"] for speed in SPEEDS]
        table.add_row(
            row["family"], str(row["faces"]), *(f"{one['ratio']:.2f}" for one in at), f"{at[0]['us']:.0f}"
        )
    return table


if __name__ == "__main__":
    main()
