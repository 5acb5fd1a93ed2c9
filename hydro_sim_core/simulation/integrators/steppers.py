"""Steppers: advance a world by time steps, with fixed or error-controlled convex steps."""

from __future__ import annotations

import copy
import math
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Entry
from hydro_sim_core.simulation.integrators.pieces import Told
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State
from hydro_sim_core.simulation.stepping.step import DONE, NOT_FINITE, TOO_FAST, advance
from hydro_sim_core.solvers.options import CONVERGED

Array = NDArray[np.float64]

#: How often a piece of a step that does not converge is cut into halves.
MOST_CUTS = 6
#: Sub-steps aim at this share of the allowed error, so that few are rejected; limits of their change in length.
SAFETY = 0.9
LEAST_FACTOR, LARGEST_FACTOR = 0.1, 5.0
#: A sub-step that reaches this share of what is left of a time step takes all of it. More than ``SAFETY``, so that one
#: that was rejected is not tried again.
NEARLY = 0.95
#: Relative difference of the velocity change of a tree below which whole and half sub-steps agree.
SMOOTH = 0.1
#: Largest number of sub-steps tried in a time step; the remainder is then taken as one step.
MOST_SUBSTEPS = 1000


class StepFailed(Exception):
    """A step cannot be completed; the state is that of the last good step. The message has reason and remedy."""


OVERFLOW = (
    "overflows; lower commands, gains or velocities, give a shorter time_step or solver.accuracy, or reset"
)


class Stepper(Protocol):
    """Advances a machine by whole time steps. Constructed from the machine, the time step (s) and the accuracy."""

    #: Entry points that it calls besides the solver of convex steps.
    entries: ClassVar[tuple[Entry, ...]]
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

    entries = (advance,)

    def __init__(self, machine: Machine, time_step: float, accuracy: float) -> None:
        self.machine = machine
        self._time_step = time_step
        self._accuracy = accuracy
        self._substeps = self._rejected = 0
        self._shortest = math.inf
        self.failed: State | None = None

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        for _ in range(steps):
            self._cross_time_step()

    def _cross_time_step(self) -> None:
        state, begin = self.machine.state, self.machine.copy_state()
        wanted, left = float(state.substep[0]) or self._time_step, self._time_step
        state.substep[0] = wanted
        tried = 0
        while left > 0.0:
            # A tiny remainder would cost as much as a whole sub-step.
            length = left if wanted >= NEARLY * left else min(wanted, 0.5 * left)
            error = self._take_substep(length)
            following = min(length * self._factor(error), self._time_step)
            tried += 1
            if error <= self._accuracy:
                left = 0.0 if length == left else left - length
                self._substeps += 1
                self._shortest = min(self._shortest, length)
                # A sub-step cut short by the end of the time step is no reason for shorter ones.
                wanted = max(wanted, following) if length < wanted else following
            else:
                self._rejected += 1
                wanted = following
            if tried == MOST_SUBSTEPS and left > 0.0:
                self._give_up(begin, left)
                wanted = left = 0.0
        state.substep[0] = wanted
        count_as_one(self.machine, begin)

    def _factor(self, error: float) -> float:
        if not math.isfinite(error):
            return LEAST_FACTOR
        wanted = SAFETY * math.sqrt(self._accuracy / error) if error > 0.0 else LARGEST_FACTOR
        return min(max(wanted, LEAST_FACTOR), LARGEST_FACTOR)

    def _take_substep(self, length: float) -> float:
        """Advance by ``length`` (s) unless whole and halves differ too much; return their difference, rad or m."""
        machine = self.machine
        begin = machine.copy_state()
        status = machine.advance(length, 1)
        if status == DONE:
            whole = machine.copy_state()
            machine.restore_state(begin)
            # Contacts at the beginning were found by the first call.
            status = machine.advance(0.5 * length, 1, same_contacts=True)
        if status == DONE:
            status = machine.advance(0.5 * length, 1)
        error = math.inf
        if status == DONE:
            error = float(np.max(np.abs(self._difference(whole.q, machine.state.q)), initial=0.0))
        if error <= self._accuracy:
            self._extrapolate(begin.v, whole)
        else:
            machine.restore_state(begin)
        return error

    def _extrapolate(self, v0: Array, whole: State) -> None:
        """Subtract the error estimate from the halves in the state, tree by tree, where it is small."""
        machine, state = self.machine, self.machine.state
        weight = machine.scratch.M.diagonal()
        tree = machine.tree_of_velocity
        error = np.bincount(tree, weight * (state.v - whole.v) ** 2)
        change = np.bincount(tree, weight * (state.v - v0) ** 2)
        is_smooth = error <= SMOOTH * SMOOTH * change
        state.v[:] += np.where(is_smooth[tree], state.v - whole.v, 0.0)
        state.q[:] += np.where(is_smooth[machine.tree_of_coordinate], state.q - whole.q, 0.0)
        machine.normalise_quaternions()

    def _difference(self, q: Array, other: Array) -> Array:
        """Differences of coordinates; quaternions count double, like rotation vectors."""
        return self.machine.coordinate_weights * (q - other)

    def _give_up(self, begin: State, left: float) -> None:
        """Take the rest of a time step as one step, and count it as unconverged."""
        self.failed = self.failed or begin
        machine = self.machine
        try:
            accept_step(machine, left, Told())
        except StepFailed:
            machine.restore_state(begin)
            raise
        machine.state.unconverged[0] += 1

    def statistics(self) -> dict[str, float | int]:
        """``substeps`` kept, ``rejected_substeps`` and the ``shortest_substep`` (s; 0 before the first)."""
        return {
            "substeps": self._substeps,
            "rejected_substeps": self._rejected,
            "shortest_substep": self._shortest if self._substeps else 0.0,
        }


def accept_step(machine: Machine, length: float, told: Told) -> Told:
    """Take one step of ``length`` (s) whether it converges or not, in the pieces that look-ahead asks for.

    ``told`` is of what comes before in the time step; returns it with the pieces.

    Raises:
        StepFailed: The step overflows.
    """
    status = machine.advance(length, 1, accept=True)
    if status == NOT_FINITE:
        raise StepFailed(OVERFLOW)
    if status != TOO_FAST:
        return told.with_last(machine, length)
    pieces = int(machine.scratch.pieces[0])
    for _ in range(pieces):
        told = accept_step(machine, length / pieces, told)
    return told


def count_as_one(machine: Machine, before: State) -> None:
    """Count the steps since ``before`` as one, which is unconverged if any of them is."""
    state = machine.state
    state.step[0] = before.step[0] + 1
    if state.unconverged[0] > before.unconverged[0]:
        machine.scratch.solver.report[CONVERGED] = 0.0
    for count, then in (
        (state.unconverged, before.unconverged),
        (state.unsettled, before.unsettled),
        (state.deep, before.deep),
        (state.faceless, before.faceless),
    ):
        count[0] = min(count[0], then[0] + 1)
