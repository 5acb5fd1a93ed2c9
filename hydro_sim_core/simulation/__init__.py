"""A scene becomes a ``World`` that steps, and a runner that steps it at a fixed rate."""

from hydro_sim_core.simulation.runner import FixedRateRunner
from hydro_sim_core.simulation.snapshot import Snapshot
from hydro_sim_core.simulation.timing import Distribution, RunnerReport
from hydro_sim_core.simulation.world import World, load_scene, load_urdf

__all__ = ["Distribution", "FixedRateRunner", "RunnerReport", "Snapshot", "World", "load_scene", "load_urdf"]
