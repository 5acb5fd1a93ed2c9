"""Memory of the Radau IIA method (``radau``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D
from hydro_sim_core.simulation.integrators.continuous_jacobian import LinearPatches, make_linear_patches
from hydro_sim_core.simulation.integrators.step_means import StepMeans


class Radau(NamedTuple):
    """Memory of the method, for a state of n coordinates and velocities.

    Attributes:
        accuracy: (1,) relative error allowed in an integration step; the absolute one is ``ABSOLUTE_SHARE`` of it.
        counts: (3,) what was done since the start.
        progress: (8,) how the last integration step went.
        start: (n,) state at the begin of the time step.
        y: (n,) change since then.
        f: (n,) its rate.
        at: (n,) scratch: state at which the derivative is taken.
        pace: (n,) how fast each number has lately changed, 1/s of its unit.
        scale: (n,) allowed error.
        error: (n,) estimate of the error.
        trial: (n,) scratch.
        jacobian: (n, n) of the rate.
        linear: Patches as linear functions of the state, for it.
        real: (n, n) factors of the real system.
        pair: (n, n) real part of the factors of the complex system.
        imaginary: (n, n) imaginary part.
        exchanged: (n,) row exchanges of the real system.
        exchanged_pair: (n,) those of the complex system.
        Z: (3, n) change from the begin of the step to each stage.
        W: (3, n) the same in terms of the eigenvectors.
        F: (3, n) rates at the stages, then the Newton step.
        last: (3, n) stages of the step before.
        means: What is told of the time step.
        tree_of_v: (nv,) tree of every velocity.
    """

    accuracy: Float1D
    counts: Float1D
    progress: Float1D
    start: Float1D
    y: Float1D
    f: Float1D
    at: Float1D
    pace: Float1D
    scale: Float1D
    error: Float1D
    trial: Float1D
    jacobian: Float2D
    linear: LinearPatches
    real: Float2D
    pair: Float2D
    imaginary: Float2D
    exchanged: Int1D
    exchanged_pair: Int1D
    Z: Float2D
    W: Float2D
    F: Float2D
    last: Float2D
    means: StepMeans
    tree_of_v: Int1D


def make_radau(
    size: int, patches: int, accuracy: float, counts: np.ndarray, means: StepMeans, tree_of_v: np.ndarray
) -> Radau:
    """Memory for states of ``size`` coordinates and velocities and a number of patches; ``counts`` (3,) goes on."""
    vector, matrix = (size,), (size, size)
    return Radau(
        accuracy=np.array([accuracy]),
        counts=counts,
        progress=np.zeros(8),
        start=np.zeros(vector),
        y=np.zeros(vector),
        f=np.zeros(vector),
        at=np.zeros(vector),
        pace=np.zeros(vector),
        scale=np.zeros(vector),
        error=np.zeros(vector),
        trial=np.zeros(vector),
        jacobian=np.zeros(matrix),
        linear=make_linear_patches(size, patches),
        real=np.zeros(matrix),
        pair=np.zeros(matrix),
        imaginary=np.zeros(matrix),
        exchanged=np.zeros(vector, dtype=np.int64),
        exchanged_pair=np.zeros(vector, dtype=np.int64),
        Z=np.zeros((3, size)),
        W=np.zeros((3, size)),
        F=np.zeros((3, size)),
        last=np.zeros((3, size)),
        means=means,
        tree_of_v=tree_of_v.astype(np.int64),
    )
