"""Faces of which a part presses at the end of a step: what a step loses by pressing at points is little."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.experiments.flat_box import GRAVITY, MASS, SIZE, FlatBox
from support.benchmarks import imported

RECORD = Path(__file__).parents[2] / "benchmarks" / "results" / "partial_faces.json"


@pytest.fixture(scope="module")
def partial_faces():
    with imported("partial_faces") as module:
        yield module


@pytest.mark.parametrize(
    ("tilt", "speed", "rate"),
    [(0.0, -0.01, 0.0), (1e-3, -0.02, 0.1), (-2e-3, 0.02, -0.3), (1e-3, 0.5, 0.0), (0.02, 0.0, -0.2)],
)
def test_the_exact_impulse_is_that_of_very_many_springs(partial_faces, tilt, speed, rate):
    """Springs across the underside, each by itself at its end of the step."""
    box, dt, count = FlatBox(1e7), partial_faces.TIME_STEP, 200_000
    z = 0.5 * SIZE[2] - box.depth
    y = SIZE[1] * ((np.arange(count) + 0.5) / count - 0.5)
    # Places and their velocities relative to the centre of mass, in the world.
    across, up = (
        np.cos(tilt) * y + 0.5 * SIZE[2] * np.sin(tilt),
        np.sin(tilt) * y - 0.5 * SIZE[2] * np.cos(tilt),
    )
    pressure = np.maximum(-box.bedding * (z + up + dt * (speed + rate * across)), 0.0)
    force = dt * SIZE[0] * SIZE[1] / count * np.array([pressure.sum(), (pressure * across).sum()])
    found = partial_faces.exact_impulse(box.bedding, z, tilt, speed, rate)
    np.testing.assert_allclose(found, force, rtol=1e-4, atol=1e-9 * MASS * GRAVITY * dt)


@pytest.mark.parametrize(("modulus", "worst"), [(1e6, 8e-3), (1e7, 4e-2)])
def test_a_box_that_is_lifted_while_it_turns_loses_little(partial_faces, modulus, worst):
    """Of the largest force, in one step; without a margin, whose faces are not there, up to a hundred times as much."""
    name, box = "lifted off while it turns", FlatBox(modulus)
    row, bare = (partial_faces.row(name, box, margin) for margin in (None, 0.0))
    assert row["in_pieces"] == 0
    assert row["missing_force"] < worst
    assert row["excess_force"] < 1e-9
    assert row["moment"] < worst
    assert abs(row["missing_in_all"]) < 1.2e-3
    assert bare["missing_force"] > 5.0 * row["missing_force"]


def test_faces_with_one_point_are_noticed(partial_faces):
    """At their centroids, as in Drake, a turning box loses the moment of the pressure within them."""
    world = FlatBox(1e7).world
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            FlatBox,
            "world",
            lambda box, _, *rest, **more: world({"parity": "drake"}, *rest, **more),
        )
        assert partial_faces.row("rocks", FlatBox(1e7), None)["moment"] > 100.0 * 3e-5


def test_the_record_has_all_motions(partial_faces):
    rows = json.loads(RECORD.read_text())["rows"]
    assert len(rows) == 2 * len(partial_faces.STARTS) * len(partial_faces.MODULI)
    with_margin = [row for row in rows if row["margin"] > 0.0]
    # What decision 29 says of them.
    assert max(row["missing_in_all"] for row in with_margin if "20 mrad" not in row["motion"]) < 4e-3
    assert max(row["missing_force"] for row in with_margin if row["motion"].startswith("rocks")) < 2e-2
