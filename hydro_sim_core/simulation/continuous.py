"""Error-controlled integration of a scene at acceleration level, as a stepper beside the compiled convex ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import Radau

from hydro_sim_core.dynamics.kinematics import integrate_positions
from hydro_sim_core.simulation.continuous_forces import state_derivative, state_jacobian
from hydro_sim_core.simulation.model import Drives, Model, Scratch, State
from hydro_sim_core.simulation.step import DONE, NOT_FINITE

Array = NDArray[np.float64]

#: Local error to keep to where the scene gives no accuracy, relative to how far the state moves in a time step.
DEFAULT_ACCURACY = 1e-4
#: Error of a velocity that is always allowed, m/s or rad/s a unit of accuracy.
ABSOLUTE_SHARE = 1e-2


class _BuffersTooSmall(Exception):
    """The contact query found more faces than the buffers hold."""

    def __init__(self, num_faces: int) -> None:
        super().__init__(num_faces)
        self.num_faces = num_faces


class ContinuousStepper:
    """Integrates M(q) a = tau - bias + contact by Radau IIA of order 5 (SciPy's), as finely as the accuracy asks.

    A time step of the scene is cut into as many integration steps as the accuracy asks, at least one, so that a falling
    body cannot step over a thin one unseen.

    Args:
        accuracy: Relative error allowed in an integration step; the absolute one is ``ABSOLUTE_SHARE`` of it.
    """

    def __init__(self, accuracy: float = DEFAULT_ACCURACY) -> None:
        self._integration_steps = 0
        self._evaluations = 0
        self._accuracy = accuracy
        self._last_step = 0.0

    def diagnostics(self) -> dict[str, int]:
        """Integration steps and evaluations of the derivative, those for Jacobians included, since the start."""
        return {"integration_steps": self._integration_steps, "evaluations": self._evaluations}

    def advance(self, model: Model, state: State, drives: Drives, scratch: Scratch, steps: int) -> int:
        """Advance the state by ``steps`` time steps, as ``simulation.step.advance`` does.

        Returns:
            ``DONE``; ``NOT_FINITE`` if the state cannot be continued; or the number of faces that the buffers must
            hold. ``state`` is then at the last whole time step that could be reached.
        """
        try:
            for _ in range(steps):
                y = self._integrate(model, state, drives, scratch)
                if y is None:
                    return NOT_FINITE
                _store(model, state, scratch, y)
        except _BuffersTooSmall as too_small:
            return too_small.num_faces
        return DONE

    def _integrate(self, model: Model, state: State, drives: Drives, scratch: Scratch) -> Array | None:
        """State (nq + nv,) a time step later, at which ``scratch`` is then evaluated; None if it is out of reach."""
        dt, nq = model.options.dt, len(state.q)
        start = np.concatenate((state.q, state.v))
        rates, shifted = np.empty((2, len(start)))
        # A velocity that is wrong by its tolerance moves a coordinate by that much in a time step.
        tolerance = np.full(len(start), ABSOLUTE_SHARE * self._accuracy)
        tolerance[:nq] *= dt

        def derivative(_: float, change: Array) -> Array:
            self._evaluations += 1
            _check_room(state_derivative(model, state, drives, scratch, start + change, rates), scratch)
            return rates.copy()

        def jacobian(time: float, change: Array) -> Array:
            here, matrix = derivative(time, change), np.empty((len(start), len(start)))
            self._evaluations += len(start)
            num_faces = state_jacobian(model, state, drives, scratch, start + change, here, shifted, matrix)
            _check_room(num_faces, scratch)
            # SciPy refuses what is not finite by an exception; with zeros its Newton iterations fail and it gives up.
            return matrix if np.isfinite(matrix).all() else np.zeros_like(matrix)

        if not np.isfinite(derivative(0.0, np.zeros_like(start))).all():
            return None
        # Of the change since the step began: errors relative to coordinates would be relative to the choice of origin,
        # and larger than penetrations. A new Jacobian every step also makes n steps those of n calls, bit for bit.
        integrator = Radau(
            derivative,
            0.0,
            np.zeros_like(start),
            dt,
            first_step=min(self._last_step, dt) or None,
            rtol=self._accuracy,
            atol=tolerance,
            jac=jacobian,
        )
        proposed = 0.0
        while integrator.status == "running":
            integrator.step()
            self._integration_steps += 1
            # The last step is cut to fit, so what it proposes for the next one may be too short.
            is_last = integrator.status == "finished"
            proposed = max(proposed, integrator.h_abs) if is_last else integrator.h_abs
        if integrator.status == "failed":
            return None
        self._last_step = proposed
        derivative(dt, integrator.y)
        return start + integrator.y


def _check_room(num_faces: int, scratch: Scratch) -> None:
    if num_faces > len(scratch.faces.num_vertices):
        raise _BuffersTooSmall(num_faces)


def _store(model: Model, state: State, scratch: Scratch, y: Array) -> None:
    """Take over the state at a whole time step, with ``scratch`` evaluated there."""
    nq = len(state.q)
    state.v_previous[:] = state.v
    state.v[:] = y[nq:]
    # Over no time at all: this normalises the quaternions.
    integrate_positions(model.tree, y[:nq], state.v, 0.0, state.q)
    state.push[:] = scratch.push
    state.step[0] += 1
    state.deep[0] += scratch.patches.num_deep[0] > 0
    state.faceless[0] += scratch.patches.num_faceless[0] > 0
