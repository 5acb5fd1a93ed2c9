"""Stepper with error-controlled integration at acceleration level (Radau IIA)."""

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

#: Default accuracy: local error relative to the change of the state in a time step.
DEFAULT_ACCURACY = 1e-4
#: Absolute error of a velocity that is always allowed, m/s or rad/s per unit of accuracy.
ABSOLUTE_SHARE = 1e-2
#: Smallest integration step as a share of the time step; below it the integration fails.
LEAST_SHARE = 1e-9


UNREACHABLE = "cannot be integrated to the accuracy; raise solver.accuracy, or shorten time_step"


class _BuffersTooSmall(Exception):
    """The contact query found more faces than the buffers hold."""

    def __init__(self, num_faces: int) -> None:
        super().__init__(num_faces)
        self.num_faces = num_faces


@cache
def _thread_pools() -> ThreadpoolController:
    """Thread pools of the loaded libraries, including SciPy's once its integrator is imported."""
    return ThreadpoolController()


def velocities_after_jumps(machine: Machine) -> Array:
    """Velocities (nv,) at the begin of a time step: the state's after jumps of prescribed velocities.

    Bodies on a prescribed one keep their generalised momentum in the jump.
    """
    model, state = machine.model, machine.state
    told = model.forest.prescribed
    change = np.zeros(len(state.v))
    change[told] = machine.drives.v_target[told] - state.v[told]
    if np.any(change):
        unknown = model.forest.velocities
        M = TreeEvaluator(model.tree).update(state.q).mass_matrix()[unknown]
        change[unknown] = -np.linalg.solve(M[:, unknown], M[:, told] @ change[told])
    return state.v + change


class ContinuousSteps:
    """Integrates M(q) a = tau - bias + contact by SciPy's Radau IIA of order 5 to a given accuracy.

    A time step of the scene takes as many integration steps as the accuracy needs and at least one, so that a falling
    body cannot pass a thin one undetected.

    Args:
        machine: Machine to advance.
        time_step: Time step of the scene, s.
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
        # SciPy's linear algebra rounds differently with different numbers of threads.
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
        """State (nq + nv,) a time step later, at which the scratch memory is then evaluated; None on failure."""
        machine, dt = self.machine, self._time_step
        state, nq = machine.state, len(machine.state.q)
        start = np.concatenate((state.q, velocities_after_jumps(machine)))
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
            # SciPy raises on values that are not finite; with zeros its Newton iterations fail and it gives up.
            return matrix if np.isfinite(matrix).all() else np.zeros_like(matrix)

        if not np.isfinite(derivative(0.0, np.zeros_like(start))).all():
            return None
        # Relative to the change since the step began: errors relative to coordinates would depend on the choice of
        # origin and exceed penetrations. A new Jacobian every step makes n steps bit-identical to n calls.
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
            # SciPy takes an overflow for too large an error, and shortens the step.
            with np.errstate(over="ignore", invalid="ignore"):
                integrator.step()
            self._integration_steps += 1
            # The last step is cut to fit, so its proposal for the next one may be too short.
            is_last = integrator.status == "finished"
            proposed = max(proposed, integrator.h_abs) if is_last else integrator.h_abs
            if proposed < LEAST_SHARE * dt:
                return None
        if integrator.status == "failed":
            return None
        state.substep[0] = proposed
        derivative(dt, integrator.y)
        return start + integrator.y

    def _store(self, y: Array) -> None:
        """Take over the state at the end of a time step, at which the memory was evaluated last."""
        model, state, scratch = self.machine.model, self.machine.state, self.machine.scratch
        nq = len(state.q)
        state.v_previous[:] = state.v
        state.v[:] = y[nq:]
        # Integration over zero time normalises the quaternions.
        integrate_positions(model.tree, y[:nq], state.v, 0.0, state.q)
        state.push[:] = scratch.push
        state.step[0] += 1
        state.deep[0] += scratch.patches.num_deep[0] > 0
        state.faceless[0] += scratch.patches.num_faceless[0] > 0
