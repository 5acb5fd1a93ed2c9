"""Simulation: ``World``, a scene that can be stepped, and a runner that steps it at a fixed rate."""

from hydro_sim_core.simulation.batches.batch import BatchWorld
from hydro_sim_core.simulation.loading import load_scene, load_urdf
from hydro_sim_core.simulation.running.runner import FixedRateRunner
from hydro_sim_core.simulation.running.timing import CommandReport, Distribution, RunnerReport
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.drives import JointCommand
from hydro_sim_core.simulation.world.snapshot import Snapshot

__all__ = [
    "BatchWorld",
    "CommandReport",
    "Distribution",
    "FixedRateRunner",
    "JointCommand",
    "RunnerReport",
    "Snapshot",
    "World",
    "load_scene",
    "load_urdf",
]
