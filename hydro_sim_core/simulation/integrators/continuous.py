"""Stepper with error-controlled integration at acceleration level (Radau IIA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle
from hydro_sim_core.simulation.integrators.other_steps import continuous_memory, cross_continuous
from hydro_sim_core.simulation.integrators.radau import EVALUATIONS, STEPS
from hydro_sim_core.simulation.integrators.step_means import suits
from hydro_sim_core.simulation.integrators.steppers import StepFailed, overflow_of
from hydro_sim_core.simulation.integrators.substeps import no_substeps
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM, NOT_FINITE

Array = NDArray[np.float64]

#: Default accuracy: local error relative to the change of the state in a time step.
DEFAULT_ACCURACY = 1e-4
UNREACHABLE = "cannot be integrated to the accuracy", "raise solver.accuracy, or shorten time_step"


class ContinuousSteps:
    """Integrates M(q) a = tau - bias + contact by the Radau IIA method of order 5 to a given accuracy.

    A time step of the scene takes as many integration steps as the accuracy needs and at least one, so that a falling
    body cannot pass a thin one undetected.

    Args:
        machine: Machine to advance.
        time_step: Time step of the scene, s.
        accuracy: Relative error allowed in an integration step; the absolute one is ``ABSOLUTE_SHARE`` of it.
    """

    entries = (cross_continuous,)
    follows_motion = True
    #: Takes a time step, with ``other_steps``.
    takes = cross_continuous

    def __init__(self, machine: Machine, time_step: float, accuracy: float | None = None) -> None:
        self.machine = machine
        self._time_step = time_step
        self._accuracy = DEFAULT_ACCURACY if accuracy is None else accuracy
        self._counts = np.zeros(3)
        self._memory: Handle | None = None
        self.failed: State | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State for copies: neither memory nor counts are shared."""
        return {**self.__dict__, "_memory": None, "_counts": self._counts.copy()}

    @property
    def other_steps(self) -> Handle:
        """See ``LoopStepper``."""
        if self._memory is None or not suits(self._memory.struct.radau.means, self.machine):
            self._memory = continuous_memory(self.machine, self._accuracy, self._counts)
        return self._memory

    @property
    def substeps(self) -> Handle:
        """See ``LoopStepper``."""
        return no_substeps()

    def statistics(self) -> dict[str, float | int]:
        """See ``statistics_of``."""
        return self.statistics_of(self._counts)

    def statistics_of(self, counts: Array) -> dict[str, float | int]:
        """Integration steps and evaluations of the derivative, without those of Jacobians, since the start."""
        return {"integration_steps": int(counts[STEPS]), "evaluations": int(counts[EVALUATIONS])}

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        machine = self.machine
        last = int(machine.state.step[0]) + steps
        while machine.state.step[0] < last:
            status = cross_continuous(machine.handle, self.other_steps, self._time_step)
            if status == NO_ROOM:
                machine.make_room(int(machine.scratch.faces_needed[0]))
            elif status == NOT_FINITE:
                self.failed = self.failed or machine.copy_state()
                raise overflow_of(machine)
            elif status != DONE:
                self.failed = self.failed or machine.copy_state()
                raise StepFailed(*UNREACHABLE)
