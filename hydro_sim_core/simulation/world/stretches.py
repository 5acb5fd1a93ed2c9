"""Stretches of steps that the compiled loop takes of a world, without its class."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.simulation.integrators.continuous import ContinuousSteps
from hydro_sim_core.simulation.integrators.soft import SoftSteps
from hydro_sim_core.simulation.integrators.steppers import (
    ErrorControlledSteps,
    FixedSteps,
    LoopStepper,
)
from hydro_sim_core.simulation.world.joint_wrenches import StepLoads
from hydro_sim_core.simulation.world.parts import WorldParts

Array = NDArray[np.float64]


class WorldStretches(WorldParts):
    """What the loop has to know before a stretch, and the world after it."""

    _loads_before: StepLoads

    @property
    def takes_plain_steps(self) -> bool:
        """Whether every step is a convex one of fixed length, unless that fails; plug-ins take others."""
        return type(self._stepper) is FixedSteps

    @property
    def takes_whole_steps(self) -> bool:
        """Whether every step is one compiled call unless that fails."""
        return type(self._stepper) in (FixedSteps, ErrorControlledSteps, ContinuousSteps, SoftSteps)

    @property
    def loop_stepper(self) -> LoopStepper:
        """The stepper, where it ``takes_whole_steps``."""
        return cast(LoopStepper, self._stepper)

    def begin_stretch(self) -> int:
        """Begin to take steps without this class; return how many may be taken until it has a word to say."""
        self._script.apply(self.time, self._drives)
        return self._script.steps_until_change(self.time, self.time_step)

    def end_stretch(self, before: tuple[Array, Array], loads: StepLoads) -> None:
        """Take notice that such steps were taken.

        Args:
            before: Coordinates (nq,) and velocities (nv,) at the begin of the last of them.
            loads: What pushed links then, see ``loads_of_next_step``.
        """
        self._before, self._loads_before = before, loads
