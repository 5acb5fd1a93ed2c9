"""Steppers: advance a world by time steps, with fixed or error-controlled convex steps."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Entry, Handle
from hydro_sim_core.simulation.integrators.other_steps import cross_otherwise, no_other_steps
from hydro_sim_core.simulation.integrators.pieces import Told
from hydro_sim_core.simulation.integrators.step_means import enlarged, suits
from hydro_sim_core.simulation.integrators.substeps import (
    GAVE_UP,
    Substeps,
    count_as_one_step,
    cross_time_steps,
    make_substeps,
    no_substeps,
    tell_with_rest,
)
from hydro_sim_core.simulation.stepping.fastest import FASTEST
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State, copied
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM, NOT_FINITE, TOO_FAST, advance

Array = NDArray[np.float64]

#: How often a piece of a step that does not converge is cut into halves.
MOST_CUTS = 6


#: What helps where a step overflows.
MEND = "lower commands, gains or velocities, give a shorter time_step or solver.accuracy, or reset"


class StepFailed(Exception):
    """A step cannot be completed; the state is that of the last good step.

    Args:
        reason: What the step does.
        mend: What helps.
        velocity: Row of the fastest velocity, if one is beyond ``FASTEST``.
        speed: That velocity, rad/s or m/s.
    """

    def __init__(self, reason: str, mend: str, velocity: int | None = None, speed: float = 0.0) -> None:
        super().__init__(f"{reason}; {mend}")
        self.reason, self.mend, self.velocity, self.speed = reason, mend, velocity, speed

    def told(self, names: Sequence[str]) -> str:
        """Reason and mend, with the fastest velocity by its name of ``names`` (nv,)."""
        if self.velocity is None:
            return str(self)
        of = f"'{names[self.velocity]}' is at {self.speed:.3g} rad/s or m/s, where {FASTEST:g} is the most"
        return f"{self.reason}: {of}; {self.mend}"


def overflow_of(machine: Machine, mend: str = MEND) -> StepFailed:
    """The failure of a step that began or ended with numbers beyond all bounds."""
    led = np.zeros_like(machine.state.v)
    told = machine.model.forest.prescribed
    led[told] = machine.drives.v_target[told]
    for v in (machine.state.v, led, machine.scratch.v_next):
        speeds = np.nan_to_num(np.abs(v), nan=0.0, posinf=np.inf)
        if speeds.size and speeds.max() > FASTEST:
            fastest = int(speeds.argmax())
            return StepFailed("overflows", mend, fastest, float(v[fastest]))
    return StepFailed("overflows", mend)


class Stepper(Protocol):
    """Advances a machine by whole time steps. Constructed from the machine, the time step (s) and the accuracy."""

    #: Entry points that it calls besides the solver of convex steps.
    entries: ClassVar[tuple[Entry, ...]]
    #: Whether it follows the motion within a time step, instead of taking what acts at the step's first posture.
    follows_motion: ClassVar[bool]
    machine: Machine
    #: State before the first step that did not meet its tolerance, for replay.
    failed: State | None

    def advance(self, steps: int) -> None:
        """Take time steps.

        Raises:
            StepFailed: A step cannot be completed.
        """

    def statistics(self) -> dict[str, float | int]:
        """Statistics of steps beyond plain ones, for diagnostics."""


class LoopStepper(Stepper, Protocol):
    """A stepper whose time steps the compiled loop can take, where they do not fail."""

    #: Takes a time step that is no convex one.
    takes: ClassVar[Entry]

    @property
    def substeps(self) -> Handle:
        """Memory of error control, see ``Substeps``."""

    @property
    def other_steps(self) -> Handle:
        """Memory of steps that are not convex ones, see ``OtherSteps``."""

    def statistics_of(self, counts: Array) -> dict[str, float | int]:
        """As ``statistics``, after a step of the loop with these ``Substeps.counts``."""


AnyStepper = TypeVar("AnyStepper", bound=Stepper)


def stepper_of(machine: Machine, like: AnyStepper) -> AnyStepper:
    """Make a stepper of another machine with the settings and statistics of the given one."""
    stepper = copy.copy(like)
    stepper.machine = machine
    return stepper


class FixedSteps:
    """Convex steps of fixed length.

    A step that does not converge, or in which bodies would meet too fast to be seen, is taken in pieces.
    """

    entries = (advance,)
    follows_motion = False
    takes = cross_otherwise

    def __init__(self, machine: Machine, time_step: float, accuracy: None = None) -> None:
        self.machine = machine
        self._time_step = time_step
        self._cut_steps = self._fast_steps = 0
        self.failed: State | None = None

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        machine = self.machine
        last = int(machine.state.step[0]) + steps
        while machine.state.step[0] < last:
            remaining = last - int(machine.state.step[0])
            status = machine.advance(self._time_step, remaining)
            if status != DONE:
                self._part(status)

    def _part(self, status: int) -> None:
        """Take a time step that cannot be taken whole, for the reason that ``status`` tells."""
        machine, before, is_cut = self.machine, self.machine.copy_state(), False
        try:
            if status == TOO_FAST:
                told = self._take_in_pieces(self._time_step, Told())
            else:
                told, is_cut = self._cut(self._time_step, Told())
        except StepFailed:
            machine.restore_state(before)
            raise
        self._fast_steps += status == TOO_FAST
        self._cut_steps += is_cut
        told.put_into(machine, self._time_step)

    def _take_in_pieces(self, length: float, told: Told) -> Told:
        """Take one step of ``length`` (s) in as many pieces as look-ahead asked for; each may be parted again.

        ``told`` is of what comes before in the time step; returns it with the pieces.
        """
        machine, before = self.machine, self.machine.copy_state()
        pieces = int(machine.scratch.pieces[0])
        for _ in range(pieces):
            status = machine.advance(length / pieces, 1)
            if status == TOO_FAST:
                told = self._take_in_pieces(length / pieces, told)
            elif status != DONE:
                told, _ = self._cut(length / pieces, told)
            else:
                told = told.with_last(machine, length / pieces)
        count_as_one(machine, before)
        return told

    def _cut(self, length: float, told: Told) -> tuple[Told, bool]:
        """Take one step of ``length`` (s) in pieces; False if none converge, so that it is taken whole and counted."""
        machine, before = self.machine, self.machine.copy_state()
        in_pieces = self._cut_into(2, length, told, MOST_CUTS)
        if in_pieces is not None:
            count_as_one(machine, before)
            return in_pieces, True
        machine.restore_state(before)
        self.failed = self.failed or before
        told = accept_step(machine, length, told)
        count_as_one(machine, before)
        return told, False

    def _cut_into(self, pieces: int, length: float, told: Told, cuts: int) -> Told | None:
        """Take equal pieces of a step of ``length`` (s), each in as many as look-ahead asks for.

        One that does not converge is taken in halves, down to ``cuts`` times; None if that does not help.
        """
        for _ in range(pieces):
            status = self.machine.advance(length / pieces, 1)
            parted = None
            if status == DONE:
                parted = told.with_last(self.machine, length / pieces)
            elif status == TOO_FAST:
                parted = self._cut_into(int(self.machine.scratch.pieces[0]), length / pieces, told, cuts)
            elif cuts > 1:
                parted = self._cut_into(2, length / pieces, told, cuts - 1)
            if parted is None:
                return None
            told = parted
        return told

    def statistics(self) -> dict[str, float | int]:
        """Numbers of time steps taken in pieces.

        ``cut_steps`` because the whole did not converge, ``fast_steps`` because contacts would begin within it, deep
        or unseen.
        """
        return {"cut_steps": self._cut_steps, "fast_steps": self._fast_steps}

    def statistics_of(self, counts: Array) -> dict[str, float | int]:
        """The same: the loop takes no such steps."""
        return self.statistics()

    @property
    def substeps(self) -> Handle:
        """See ``LoopStepper``."""
        return no_substeps()

    @property
    def other_steps(self) -> Handle:
        """See ``LoopStepper``."""
        return no_other_steps()


class ErrorControlledSteps:
    """Convex steps as long as accuracy allows, within each time step (Kurtz and Castro 2025).

    Every sub-step is taken once whole and once as two halves. The error of a first-order step grows with the square of
    its length, so the error of the halves is about the difference of the two results. Where this is a small part of the
    velocity change, it is subtracted (Richardson extrapolation), which makes smooth motion second order. Where an
    impact or the onset of slip makes the results disagree, the halves are kept: extrapolating an impact that only the
    halves resolve would return energy that the contact dissipated.

    Args:
        machine: Machine to advance.
        time_step: Whole time steps, s.
        accuracy: Largest difference of any coordinate allowed between a whole sub-step and its halves, rad or m.
    """

    entries = (cross_time_steps, tell_with_rest)
    follows_motion = True
    takes = cross_otherwise

    def __init__(self, machine: Machine, time_step: float, accuracy: float) -> None:
        self.machine = machine
        self._time_step = time_step
        self._accuracy = accuracy
        self._counts = np.array([0.0, 0.0, math.inf])
        self._memory: Handle | None = None
        self.failed: State | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State for copies: neither memory nor counts are shared."""
        return {**self.__dict__, "_memory": None, "_counts": self._counts.copy()}

    @property
    def substeps(self) -> Handle:
        """See ``LoopStepper``."""
        if self._memory is None or not suits(self._memory.struct.means, self.machine):
            self._memory = Handle(make_substeps(self.machine, self._accuracy, self._counts))
        return self._memory

    @property
    def other_steps(self) -> Handle:
        """See ``LoopStepper``."""
        return no_other_steps()

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        machine = self.machine
        last = int(machine.state.step[0]) + steps
        while machine.state.step[0] < last:
            remaining = last - int(machine.state.step[0])
            status = cross_time_steps(
                machine.handle, machine.solve, self.substeps, self._time_step, remaining
            )
            if status == NO_ROOM:
                machine.make_room(int(machine.scratch.faces_needed[0]))
            elif status == GAVE_UP:
                self._give_up()

    def _give_up(self) -> None:
        """Take the rest of a time step as one step, and count it as unconverged."""
        memory, machine = self.substeps, self.machine
        substeps: Substeps = memory.struct
        begin, left = copied(substeps.begin), float(substeps.left[0])
        self.failed = self.failed or begin
        try:
            accept_step(machine, left, Told()).put_into(machine, left)
        except StepFailed:
            machine.restore_state(begin)
            raise
        if not suits(substeps.means, machine):
            memory = Handle(substeps._replace(means=enlarged(substeps.means, machine)))
        tell_with_rest(machine.handle, memory, left, self._time_step)
        machine.state.unconverged[0] += 1
        machine.state.substep[0] = 0.0
        count_as_one(machine, begin)

    def statistics(self) -> dict[str, float | int]:
        """See ``statistics_of``."""
        return self.statistics_of(self._counts)

    def statistics_of(self, counts: Array) -> dict[str, float | int]:
        """``substeps`` kept, ``rejected_substeps`` and the ``shortest_substep`` (s; 0 before the first)."""
        taken, rejected, shortest = counts.tolist()
        return {
            "substeps": int(taken),
            "rejected_substeps": int(rejected),
            "shortest_substep": shortest if taken else 0.0,
        }


def accept_step(machine: Machine, length: float, told: Told) -> Told:
    """Take one step of ``length`` (s) whether it converges or not, in the pieces that look-ahead asks for.

    ``told`` is of what comes before in the time step; returns it with the pieces.

    Raises:
        StepFailed: The step overflows.
    """
    status = machine.advance(length, 1, accept=True)
    if status == NOT_FINITE:
        raise overflow_of(machine)
    if status != TOO_FAST:
        return told.with_last(machine, length)
    pieces = int(machine.scratch.pieces[0])
    for _ in range(pieces):
        told = accept_step(machine, length / pieces, told)
    return told


def count_as_one(machine: Machine, before: State) -> None:
    """Count the steps since ``before`` as one, which is unconverged if any of them is."""
    count_as_one_step.function(machine, before)
