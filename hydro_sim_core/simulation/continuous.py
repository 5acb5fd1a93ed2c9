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

#: Local error to keep to where the scene gives no accuracy: relative, and in m, rad, m/s or rad/s.
DEFAULT_ACCURACY = 1e-5
#: The absolute error allowed is this part of the relative one: penetrations are micrometres where positions are metres.
ABSOLUTE_SHARE = 1e-3


class _BuffersTooSmall(Exception):
    """The contact query found more faces than the buffers hold."""

    def __init__(self, num_faces: int) -> None:
        super().__init__(num_faces)
        self.num_faces = num_faces


class ContinuousStepper:
    """Integrates M(q) a = tau - bias + contact by Radau IIA of order 5 (SciPy's), as finely as the accuracy asks.

    The scene's time step says how often the state is reported and commands are read. Integration steps are as much
    shorter as the accuracy asks, and never longer, so that a falling body cannot step over a thin one unseen.

    Args:
        accuracy: Relative error allowed in an integration step; the absolute one is ``ABSOLUTE_SHARE`` of it.
    """

    def __init__(self, accuracy: float = DEFAULT_ACCURACY) -> None:
        self._integration_steps = 0
        self._evaluations = 0
        self._accuracy = accuracy
        self._last_step: float | None = None

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
            reached = self._integrate(model, state, drives, scratch, steps)
        except _BuffersTooSmall as too_small:
            return too_small.num_faces
        return DONE if reached else NOT_FINITE

    def _integrate(self, model: Model, state: State, drives: Drives, scratch: Scratch, steps: int) -> bool:
        dt = model.options.dt
        rates, shifted = np.empty((2, len(state.q) + len(state.v)))

        def derivative(_: float, y: Array) -> Array:
            self._evaluations += 1
            _check_room(state_derivative(model, state, drives, scratch, y, rates), scratch)
            return rates.copy()

        def jacobian(time: float, y: Array) -> Array:
            at_y, matrix = derivative(time, y), np.empty((len(y), len(y)))
            self._evaluations += len(y)
            num_faces = state_jacobian(model, state, drives, scratch, y.copy(), at_y, shifted, matrix)
            _check_room(num_faces, scratch)
            # SciPy refuses what is not finite by an exception; with zeros its Newton iterations fail and it gives up.
            return matrix if np.isfinite(matrix).all() else np.zeros_like(matrix)

        y0 = np.concatenate((state.q, state.v))
        if not np.isfinite(derivative(0.0, y0)).all():
            return False
        end = steps * dt
        first_step = None if self._last_step is None else min(self._last_step, end)
        integrator = Radau(
            derivative,
            0.0,
            y0,
            end,
            first_step=first_step,
            max_step=dt,
            rtol=self._accuracy,
            atol=ABSOLUTE_SHARE * self._accuracy,
            jac=jacobian,
        )
        done = 0
        while done < steps:
            integrator.step()
            if integrator.status == "failed":
                return False
            self._integration_steps += 1
            # The last step is cut to fit, so what it proposes for the next one may be too short.
            proposed = integrator.h_abs
            self._last_step = (
                proposed if integrator.status == "running" else max(self._last_step or 0.0, proposed)
            )
            interpolate = integrator.dense_output()
            while done < steps and (done + 1) * dt <= integrator.t * (1.0 + 1e-12):
                done += 1
                derivative(0.0, y := interpolate(done * dt))
                _store(model, state, scratch, y)
        return True


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
