"""Writes PTX of a step that reads four numbers and uses three behind a branch; in a process, see ``shape_code``.

python tests/support/compilation/gated_loads.py step|plain
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, entry, kernel
from hydro_sim_core.compilation.ptx import ptx, shape_code, shape_step, translated
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.simulation.batches.memory import Plan


class Numbers(NamedTuple):
    """Memory of a world."""

    read: Float1D
    written: Float1D


@entry
def nothing(dt: float) -> float:
    """Stands for a solver."""
    return dt


@kernel
def gated(numbers, solve, dt):
    """Reads all first."""
    read, written = numbers.read, numbers.written
    a, b, c, d = read[0], read[1], read[2], read[3]
    if a > dt:
        written[0] = b * c + d
        written[1] = solve(d)


def main() -> None:
    """Write it with the options of the step of many worlds, or with those of other programs."""
    {"step": shape_step, "plain": shape_code}[sys.argv[1]]()
    plan = Plan(Numbers(np.zeros(4), np.zeros(2)), SideBySide(), 32)
    code = translated(gated, nothing, Numbers, plan.memory)
    sys.stdout.write(ptx(code, (plan.words, plan.structs), plan.lanes))


if __name__ == "__main__":
    main()
