"""A scene becomes a ``World`` that steps, and a runner that steps it at a fixed rate."""

from hydro_sim_core.simulation.drives import JointCommand
from hydro_sim_core.simulation.loading import load_scene, load_urdf
from hydro_sim_core.simulation.runner import FixedRateRunner
from hydro_sim_core.simulation.snapshot import Snapshot
from hydro_sim_core.simulation.timing import CommandReport, Distribution, RunnerReport
from hydro_sim_core.simulation.world import World

__all__ = [
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
