"""A million random steps, each checked for its balance of momentum and energy (``experiments/reliability.py``)."""

from __future__ import annotations

import logging
import sys

from measure import write
from random_steps import follow, make_series_parser

from hydro_sim_core.experiments.random_parts import USUAL, WIDE
from hydro_sim_core.experiments.reliability import run_scenes


def main() -> int:
    """Run, print, write; 1 if a step broke a promise."""
    parser = make_series_parser(__doc__ or "", "reliability", 1_000_000)
    parser.add_argument(
        "--wide", action="store_true", help="arms, all solvers and extremes, see random_parts.WIDE"
    )
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # rigid shells that the rigid ground lets through are meant to be
    ranges = WIDE if arguments.wide else USUAL
    scenes = run_scenes(arguments.seed, arguments.steps, arguments.first, ranges)
    report = follow(scenes, arguments.steps)
    write(
        arguments.out,
        {"seed": arguments.seed, "first": arguments.first, "wide": arguments.wide, **report.as_dict()},
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
