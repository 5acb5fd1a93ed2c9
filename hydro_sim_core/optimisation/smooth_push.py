"""The push of a T under smooth contact, with derivatives by JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.planar_push.bodies import KD, KP, soft_pushing
from hydro_sim_core.experiments.planar_push.paths import spline_weights
from hydro_sim_core.optimisation.jax_library import require_jax
from hydro_sim_core.simulation.soft import soft_system

Array = NDArray[np.float64]


class SmoothPush:
    """Where the T ends by the via points of the finger, and the derivatives of that.

    Args:
        points: Of each cloud.
        time_step: Of Euler's method, s.
        duration: s.
        rest: How long the finger rests at the end, s.
        via_points: Number of via points, the start included.
    """

    def __init__(self, points: int, time_step: float, duration: float, rest: float, via_points: int) -> None:
        jax = require_jax()
        jnp = jax.numpy
        world = soft_pushing(points, "euler", time_step).world
        system = soft_system(world).as_arrays_of(jnp)
        self.steps = round(duration / time_step)
        share = np.minimum(time_step * np.arange(1, self.steps + 1) / (duration - rest), 1.0)
        weights = jnp.asarray(spline_weights(via_points, share))
        names = list(world.velocity_names)
        driven = np.array([names.index("along_x"), names.index("along_y")])
        coordinates = np.array(system.tree.q_of_v[driven])
        free = int(system.tree.q_index[np.flatnonzero(system.tree.num_q == 7)[0]])
        start, rest_v = jnp.asarray(world.q), jnp.zeros(len(names))

        def end(via: Any) -> Any:
            def advance(state: tuple[Any, Any], target: Any) -> tuple[tuple[Any, Any], None]:
                q, v = state
                pull = KP * (target - q[coordinates]) - KD * v[driven]
                tau = jnp.zeros(len(names)).at[driven].set(pull)
                return system.step(q, v, tau, time_step, "euler"), None

            begun = start.at[coordinates].set(via[0])
            (q, _), _ = jax.lax.scan(advance, (begun, rest_v), weights @ via)
            w, x, y, z = q[free], q[free + 1], q[free + 2], q[free + 3]
            heading = jnp.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
            return jnp.stack([q[free + 4], q[free + 5], heading])

        def end_twice(via: Any) -> tuple[Any, Any]:
            value = end(via)
            return value, value

        self._evaluate: Callable[[Any], tuple[Any, Any]] = jax.jit(jax.jacfwd(end_twice, has_aux=True))

    def end_and_slopes(self, via: Array) -> tuple[Array, Array]:
        """Place and heading (3,) of the T at the end, m and rad, and derivatives (3, K, 2) by via points (K, 2)."""
        slopes, end = self._evaluate(via)
        return np.asarray(end), np.asarray(slopes)
