"""A controller of a task that does nothing, and says so."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from hydro_sim_core.simulation import JointCommand


class Still:
    """Stands still for ten periods."""

    def __init__(self, model: Any, period: float) -> None:
        self.robot = SimpleNamespace(phase="stand still")

    def script(self, measured: Any) -> Iterator[dict[str, JointCommand]]:
        for _ in range(10):
            yield {"joint_1": JointCommand(position=measured.positions["joint_1"])}
