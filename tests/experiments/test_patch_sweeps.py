"""Wrenches of patches do not jump as bodies go through each other, and jumps are noticed.

``benchmarks/fine_sweeps.py`` does the same in ten thousand steps.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.experiments.patch_moments import KINDS
from hydro_sim_core.experiments.patch_sweeps import PARTS, STEPS, sweeps

RECORD = Path(__file__).parents[2] / "benchmarks" / "results" / "fine_sweeps.json"
SWEEPS = 2
#: Change of a step over what stiffness allows, and growth of that as the step is cut: a jump grows by ``PARTS``.
ALLOWED, GROWTH = 1.0, 1.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_wrench_of_a_patch_does_not_jump(kind):
    found = list(sweeps(kind, SWEEPS))
    assert len(found) == SWEEPS
    for sweep in found:
        assert 0.01 < sweep.of_steps < ALLOWED
        assert sweep.of_parts < GROWTH * sweep.of_steps


def test_drakes_faces_jump():
    """A face that is dropped at once is in one of the parts of a step."""
    growth = [s.of_parts / s.of_steps for s in sweeps("ellipsoid on capsule", SWEEPS, every_polygon=False)]
    assert max(growth) > 3.0


def test_the_record_is_of_ten_thousand_steps_without_a_jump():
    record = json.loads(RECORD.read_text())
    rows = record["rows"]
    assert [row["pair"] for row in rows] == list(KINDS)
    assert (record["steps"], record["parts"]) == (STEPS, PARTS)
    assert (record["steps"] + record["parts"]) * sum(row["sweeps"] for row in rows) >= 10_000
    for row in rows:
        assert row["all_steps"] < ALLOWED, row["pair"]
        assert row["all_parts"] < ALLOWED, row["pair"]
    assert np.max([row["drakes_growth"] for row in rows]) > 3.0
