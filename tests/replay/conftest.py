"""A run in contact, as it was and as it was recorded."""

from __future__ import annotations

import pytest

from hydro_sim_core import World
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.recording import Recorder
from hydro_sim_core.simulation.world.snapshot import take_snapshot

STEPS = 300


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """World, path of its recording, and its snapshot after every step."""
    world = World(published_scene("spatula_slip_welded"))
    path = tmp_path_factory.mktemp("run") / "run.mcap"
    recorder = Recorder(path, complete=True, drives=True)
    snapshots = [take_snapshot(world, epoch=0)]
    recorder.start(snapshots[0], world)
    for _ in range(STEPS):
        world.step()
        snapshots.append(take_snapshot(world, epoch=0))
        recorder.record(snapshots[-1], world)
    assert recorder.stop().error is None
    return world, path, snapshots
