"""How far a step of ours and one of Drake's are from 400 steps in their place, and from each other.

python benchmarks/drake_parity.py

From random states of three scenes. Errors are those of the change of velocity, relative to the largest change of any.
How many single steps of ours with ``parity: drake`` are Drake's to 1e-6 is counted of more states.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from measure import output_argument, write
from rich.progress import track

from hydro_sim_core.experiments.drake_parity import APPROXIMATIONS, SCENES, OurStep, drake_step, random_start

STARTS, PARTS = 15, 400
TIME_STEPS = (1e-3, 1e-2)
#: States of every scene, law and step from which single steps are compared, and what counts as equal: a difference of
#: this share of the largest velocity. As in ``tests/simulation/test_drake_parity.py``.
COMPARED, EQUAL = 30, 1e-6


def errors(scene: str, time_step: float) -> dict[str, Any]:
    """Errors of one step, median and largest of all starts, by program and law."""
    fine = OurStep(scene, "lagged", time_step / PARTS)
    steps: dict[str, Any] = {f"ours, {law}": OurStep(scene, law, time_step) for law in APPROXIMATIONS}
    steps |= {f"parity, {law}": OurStep(scene, law, time_step, parity="drake") for law in APPROXIMATIONS}
    steps |= {f"Drake, {law}": drake_step(scene, law, time_step) for law in APPROXIMATIONS}
    rng = np.random.default_rng(list(scene.encode()))
    found: dict[str, list[float]] = {
        name: [] for name in (*steps, *(f"apart, {law}" for law in APPROXIMATIONS))
    }
    for _ in range(STARTS):
        start = random_start(scene, rng)
        truth = fine(start, PARTS)
        change = np.abs(truth - fine.before(start)).max()
        after = {name: step(start) for name, step in steps.items()}
        for name, v in after.items():
            found[name].append(float(np.abs(v - truth).max() / change))
        for law in APPROXIMATIONS:
            apart = np.abs(after[f"parity, {law}"] - after[f"Drake, {law}"]).max()
            found[f"apart, {law}"].append(float(apart / change))
    return {name: [float(np.median(of_all)), max(of_all)] for name, of_all in found.items()}


def single_steps() -> dict[str, Any]:
    """How far single steps with parity are from Drake's: as shares of the change and of the largest velocity."""
    of_change, of_speed = [], []
    for scene, law, time_step in product(SCENES, APPROXIMATIONS, TIME_STEPS):
        ours, drake = OurStep(scene, law, time_step, parity="drake"), drake_step(scene, law, time_step)
        rng = np.random.default_rng(list(scene.encode()))
        shares = []
        for start in (random_start(scene, rng) for _ in range(COMPARED)):
            v, expected = ours(start), drake(start)
            apart = np.abs(v - expected).max()
            shares.append(apart / np.abs(expected - ours.before(start)).max())
            of_speed.append(apart / np.abs(expected).max())
        of_change.append(float(np.median(shares)))
    return {
        "states": len(of_speed),
        "equal": int(np.count_nonzero(np.array(of_speed) <= EQUAL)),
        "farthest": float(max(of_speed)),
        "medians_of_change": [min(of_change), max(of_change)],
    }


def main() -> None:
    """Print a table in Markdown and write the numbers."""
    out = output_argument(__doc__ or "", "drake_parity")
    cases = [(scene, time_step) for scene in SCENES for time_step in TIME_STEPS]
    rows: list[dict[str, Any]] = [
        {"scene": s, "time_step": dt, "errors": errors(s, dt)} for s, dt in track(cases, "scenes")
    ]
    names = list(rows[0]["errors"])
    print("| scene, ms |", " | ".join(names), "|")
    print("| --- |", " | ".join("---" for _ in names), "|")
    for row in rows:
        cells = [f"{median:.2g} / {most:.2g}" for median, most in row["errors"].values()]
        print(f"| {row['scene']}, {1e3 * row['time_step']:g} |", " | ".join(cells), "|")
    compared = single_steps()
    print(
        "single steps with parity: {equal} of {states} are Drake's, all to {farthest:.1e}".format(**compared)
    )
    write(out, {"starts": STARTS, "parts": PARTS, "rows": rows, "single_steps": compared})


if __name__ == "__main__":
    main()
