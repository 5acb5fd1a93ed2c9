"""A hundred thousand random steps at equivalent contact points (``experiments/point_reliability.py``)."""

from __future__ import annotations

import sys
import time

from measure import write
from random_steps import follow, make_series_parser

from hydro_sim_core.experiments.point_reliability import run_scenes


def main() -> int:
    """Run, print, write; 1 if a step broke a promise."""
    arguments = make_series_parser(__doc__ or "", "point_reliability", 100_000).parse_args()
    begin = time.perf_counter()
    report = follow(run_scenes(arguments.seed, arguments.steps, arguments.first), arguments.steps)
    seconds = round(time.perf_counter() - begin, 1)
    options = {"seed": arguments.seed, "first": arguments.first, "seconds": seconds}
    write(arguments.out, {**options, **report.as_dict()})
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
