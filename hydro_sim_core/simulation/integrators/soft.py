"""Stepper under smooth contact (Beker 2025): explicit steps of fixed length."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.integrators.other_steps import cross_soft, soft_memory, velocities_after_jumps
from hydro_sim_core.simulation.integrators.soft_forces import advance_soft
from hydro_sim_core.simulation.integrators.soft_friction import longest_friction_step
from hydro_sim_core.simulation.integrators.steppers import overflow_of
from hydro_sim_core.simulation.integrators.substeps import no_substeps
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State
from hydro_sim_core.simulation.stepping.soft_model import make_soft_scratch
from hydro_sim_core.simulation.stepping.step import DONE

logger = logging.getLogger(__name__)

#: Steps after which friction is looked at; then again each time as many were taken as before.
_FIRST_LOOK = 50
MEND = "give a shorter time_step, a lower solver.soft.stiffness or lower gains of drives, or reset"


class SoftSteps:
    """Explicit steps of M(q) a = tau - bias + smooth contact, by Euler's method or that of Runge and Kutta.

    Args:
        machine: Machine to advance, with the clouds of its geometries.
        time_step: Length of a step, s.
        accuracy: None; steps have a fixed length.
    """

    entries = (advance_soft, velocities_after_jumps)
    follows_motion = False
    #: Takes a time step in the compiled loop, with ``other_steps``.
    takes = cross_soft

    def __init__(self, machine: Machine, time_step: float, accuracy: None = None) -> None:
        if machine.soft is None:
            raise InputError("SoftSteps", "machine", "has no clouds", "make it by a World with model: soft")
        self._machine = machine
        self._time_step = time_step
        self._data: tuple[Handle, Handle, Any] | None = None
        self._other: Handle | None = None
        self._make_room()
        self.failed: State | None = None
        #: Step at which friction is looked at next; never again once there was a warning.
        self._next_look = float(_FIRST_LOOK)

    @property
    def machine(self) -> Machine:
        """The machine."""
        return self._machine

    @machine.setter
    def machine(self, machine: Machine) -> None:
        self._machine = machine
        self._data = self._other = None  # memory is not shared

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: handles are invalid in another process."""
        return {**self.__dict__, "_data": None, "_other": None}

    def _make_room(self) -> None:
        """Make room to show all points of all pairs."""
        machine = self._machine
        assert machine.soft is not None
        needed = int(machine.soft.counts[machine.model.pairs, 1].sum())
        if needed > len(machine.scratch.faces.num_vertices):
            machine.make_room(needed)

    def _handles(self) -> tuple[Handle, Handle]:
        """Handles of the clouds and of memory of one's own, made when they are first needed."""
        if self._data is None:
            soft, state = self._machine.soft, self._machine.state
            assert soft is not None
            memory = make_soft_scratch(soft, len(state.q), len(state.v))
            self._data = Handle(soft), Handle(memory), (soft, memory)
        return self._data[:2]

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        machine = self._machine
        told = machine.model.forest.prescribed
        if len(told):
            v = np.empty(len(machine.state.v))
            velocities_after_jumps(machine.handle, v)
            machine.state.v[:] = v
        soft, memory = self._handles()
        if advance_soft(machine.handle, soft, memory, self._time_step, steps) != DONE:
            self.failed = self.failed or machine.copy_state()
            raise overflow_of(machine, MEND)
        number = int(machine.state.step[0])
        if number >= self._next_look:
            self._next_look = 2.0 * number
            self._look_at_friction()

    def _look_at_friction(self) -> None:
        """Warn, once, if steps are too long for friction."""
        longest = longest_friction_step(self._machine)
        if self._time_step > longest:
            self._next_look = math.inf
            logger.warning(
                "friction under smooth contact needs steps below %.2g ms here, and they take %.2g ms: what lies still "
                "trembles; give a shorter time_step, or a solver.soft.stiction_velocity %.2g times as large",
                1e3 * longest,
                1e3 * self._time_step,
                self._time_step / longest,
            )

    def statistics(self) -> dict[str, float | int]:
        """No statistics: every step is one step."""
        return {}

    def statistics_of(self, counts: NDArray[np.float64]) -> dict[str, float | int]:
        """None either."""
        return {}

    @property
    def other_steps(self) -> Handle:
        """See ``LoopStepper``."""
        self._handles()
        assert self._data is not None
        if self._other is None:
            self._other = soft_memory(*self._data[2])
        return self._other

    @property
    def substeps(self) -> Handle:
        """See ``LoopStepper``."""
        return no_substeps()
