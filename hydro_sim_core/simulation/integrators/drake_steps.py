"""Stepper that takes steps as Drake does, for comparison with it."""

from __future__ import annotations

from hydro_sim_core.simulation.integrators.steppers import overflow_of
from hydro_sim_core.simulation.stepping.drake_step import advance_as_drake
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM, NOT_FINITE


class DrakeSteps:
    """Steps of fixed length, each taken whole; see ``drake_step``."""

    entries = (advance_as_drake,)
    follows_motion = False

    def __init__(self, machine: Machine, time_step: float, accuracy: None = None) -> None:
        self.machine = machine
        self._time_step = time_step
        self.failed: State | None = None

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        machine = self.machine
        last = int(machine.state.step[0]) + steps
        accept = False
        while machine.state.step[0] < last:
            remaining = 1 if accept else last - int(machine.state.step[0])
            status = advance_as_drake(machine.handle, machine.solve, self._time_step, remaining, accept)
            accept = False
            if status == NO_ROOM:
                machine.make_room(int(machine.scratch.faces_needed[0]))
            elif status == NOT_FINITE:
                raise overflow_of(machine)
            elif status != DONE:
                self.failed = self.failed or machine.copy_state()
                accept = True

    def statistics(self) -> dict[str, float | int]:
        """None beyond those of plain steps."""
        return {}
