"""Error-controlled integration of a scene at acceleration level, as a stepper beside the compiled convex ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics.kinematics import integrate_positions
from hydro_sim_core.simulation.integrators.continuous_forces import state_derivative
from hydro_sim_core.simulation.integrators.steppers import StepFailed
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import State

Array = NDArray[np.float64]

#: Local error to keep to where the scene gives no accuracy, relative to how far the state moves in a time step.
DEFAULT_ACCURACY = 1e-4
#: Error of a velocity that is always allowed, m/s or rad/s a unit of accuracy.
ABSOLUTE_SHARE = 1e-2
#: Integration steps below this share of the time step mean that no step is good enough.
LEAST_SHARE = 1e-9


UNREACHABLE = "cannot be integrated to the accuracy; raise solver.accuracy, or shorten time_step"


class _BuffersTooSmall(Exception):
    """The contact query found more faces than the buffers hold."""

    def __init__(self, num_faces: int) -> None:
        super().__init__(num_faces)
        self.num_faces = num_faces


@cache
def _thread_pools() -> ThreadpoolController:
    """The libraries that are loaded, SciPy's among them once its method was named."""
    return ThreadpoolController()


class ContinuousSteps:
    """Integrates M(q) a = tau - bias + contact by Radau IIA of order 5 (SciPy's), as finely as the accuracy asks.

    A time step of the scene is cut into as many integration steps as the accuracy asks, at least one, so that a falling
    body cannot step over a thin one unseen.

    Args:
        machine: What is advanced.
        time_step: Whole time steps, s.
        accuracy: Relative error allowed in an integration step; the absolute one is ``ABSOLUTE_SHARE`` of it.
    """

    entries = (state_derivative, integrate_positions)

    def __init__(self, machine: Machine, time_step: float, accuracy: float | None = None) -> None:
        self.machine = machine
        self._time_step = time_step
        self._integration_steps = 0
        self._evaluations = 0
        self._accuracy = DEFAULT_ACCURACY if accuracy is None else accuracy
        self._method = scipy.integrate.Radau
        self.failed: State | None = None

    def statistics(self) -> dict[str, float | int]:
        """Integration steps and evaluations of the derivative, those for Jacobians included, since the start."""
        return {"integration_steps": self._integration_steps, "evaluations": self._evaluations}

    def advance(self, steps: int) -> None:
        """Take ``steps`` time steps; see ``Stepper``."""
        last = int(self.machine.state.step[0]) + steps
        # SciPy's linear algebra rounds differently with another number of threads.
        with _thread_pools().limit(limits=1, user_api="blas"):
            while self.machine.state.step[0] < last:
                self._cross_time_step()

    def _cross_time_step(self) -> None:
        """Take one time step, unless the memory had to be enlarged for it."""
        try:
            y = self._integrate()
        except _BuffersTooSmall as too_small:
            self.machine.make_room(too_small.num_faces)
            return
        if y is None:
            self.failed = self.failed or self.machine.copy_state()
            raise StepFailed(UNREACHABLE)
        self._store(y)

    def _integrate(self) -> Array | None:
        """State (nq + nv,) a time step later, at which the memory is then evaluated; None if it is out of reach."""
        machine, dt = self.machine, self._time_step
        state, nq = machine.state, len(machine.state.q)
        start = np.concatenate((state.q, self._velocities()))
        rates, shifted = np.empty((2, len(start)))
        # A velocity that is wrong by its tolerance moves a coordinate by that much in a time step.
        tolerance = np.full(len(start), ABSOLUTE_SHARE * self._accuracy)
        tolerance[:nq] *= dt

        def evaluate(change: Array, jacobian: Array) -> Array:
            self._evaluations += 1 + len(jacobian)
            num_faces = state_derivative(machine.handle, dt, start + change, rates, shifted, jacobian)
            if num_faces > len(machine.scratch.faces.num_vertices):
                raise _BuffersTooSmall(num_faces)
            return rates.copy()

        def derivative(_: float, change: Array) -> Array:
            return evaluate(change, np.empty((0, 0)))

        def jacobian(_: float, change: Array) -> Array:
            matrix = np.empty((len(start), len(start)))
            evaluate(change, matrix)
            # SciPy refuses what is not finite by an exception; with zeros its Newton iterations fail and it gives up.
            return matrix if np.isfinite(matrix).all() else np.zeros_like(matrix)

        if not np.isfinite(derivative(0.0, np.zeros_like(start))).all():
            return None
        # Of the change since the step began: errors relative to coordinates would be relative to the choice of origin,
        # and larger than penetrations. A new Jacobian every step also makes n steps those of n calls, bit for bit.
        integrator = self._method(
            derivative,
            0.0,
            np.zeros_like(start),
            dt,
            first_step=min(float(state.substep[0]), dt) or None,
            rtol=self._accuracy,
            atol=tolerance,
            jac=jacobian,
        )
        proposed = 0.0
        while integrator.status == "running":
            # SciPy takes what overflows for an error that is too large, and shortens the step.
            with np.errstate(over="ignore", invalid="ignore"):
                integrator.step()
            self._integration_steps += 1
            # The last step is cut to fit, so what it proposes for the next one may be too short.
            is_last = integrator.status == "finished"
            proposed = max(proposed, integrator.h_abs) if is_last else integrator.h_abs
            if proposed < LEAST_SHARE * dt:
                return None
        if integrator.status == "failed":
            return None
        state.substep[0] = proposed
        derivative(dt, integrator.y)
        return start + integrator.y

    def _velocities(self) -> Array:
        """(nv,) velocities that a time step begins with: the state's, after what is prescribed has changed at once.

        What is carried keeps its generalised momentum in that change.
        """
        model, state = self.machine.model, self.machine.state
        told = model.forest.prescribed
        change = np.zeros(len(state.v))
        change[told] = self.machine.drives.v_target[told] - state.v[told]
        if np.any(change):
            unknown = model.forest.velocities
            M = TreeEvaluator(model.tree).update(state.q).mass_matrix()[unknown]
            change[unknown] = -np.linalg.solve(M[:, unknown], M[:, told] @ change[told])
        return state.v + change

    def _store(self, y: Array) -> None:
        """Take over the state at the end of a time step, at which the memory was evaluated last."""
        model, state, scratch = self.machine.model, self.machine.state, self.machine.scratch
        nq = len(state.q)
        state.v_previous[:] = state.v
        state.v[:] = y[nq:]
        # Over no time at all: this normalises the quaternions.
        integrate_positions(model.tree, y[:nq], state.v, 0.0, state.q)
        state.push[:] = scratch.push
        state.step[0] += 1
        state.deep[0] += scratch.patches.num_deep[0] > 0
        state.faceless[0] += scratch.patches.num_faceless[0] > 0
