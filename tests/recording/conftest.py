"""Recordings to look into."""

from __future__ import annotations

import pytest

from hydro_sim_core import World
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.recording import Recorder
from hydro_sim_core.simulation.world.snapshot import take_snapshot


@pytest.fixture
def world():
    """The gripper with the spatula, at its start."""
    return World(published_scene("spatula_slip_welded"))


@pytest.fixture
def record(tmp_path, world):
    """Record some steps, each after a call of ``before``; the report and what was handed over."""

    def run(steps, path=tmp_path / "run.mcap", before=lambda step: None, **options):
        recorder = Recorder(path, complete=True, **options)
        handed = [take_snapshot(world, epoch=0)]
        recorder.start(handed[0], world)
        for step in range(steps):
            before(step)
            world.step()
            handed.append(take_snapshot(world, epoch=0))
            recorder.record(handed[-1], world)
        return recorder.stop(), handed

    return run
