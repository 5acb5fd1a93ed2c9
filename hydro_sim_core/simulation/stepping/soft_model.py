"""Data of smooth contact beside the model: the clouds of all geometries and the parameters of all pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    Bool1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt2D,
    Float1D,
    Float2D,
)
from hydro_sim_core.contact.soft_distance.kernels import PairMemory, make_pair_memory
from hydro_sim_core.solvers.bounded import BoundedImpulses, make_bounded_impulses


class SoftPairs(NamedTuple):
    """Clouds and parameters, by the model's geometries and pairs. All arrays are read-only.

    Attributes:
        planes: (G, 6, N) planes of every geometry in its frame, in blocks: points, m, and normals; of those of
            no pair none.
        balls: (G, 4, B) balls about the blocks, see ``soft_distance.weighing``.
        counts: (G, 2) number of its planes, and of its points that may press: of a half space none.
        areas: (G, N) area of every cell, m^2.
        parameters: (P, NUM_PARAMETERS) of every pair, see ``soft_distance.kernels``.
        stages: Evaluations of a step: 1 of Euler's method, 4 of Runge and Kutta's.
    """

    planes: ConstFloat3D
    balls: ConstFloat3D
    counts: ConstInt2D
    areas: ConstFloat2D
    parameters: ConstFloat2D
    stages: int


class SoftScratch(NamedTuple):
    """Memory of steps under smooth contact.

    Attributes:
        pair: Memory of one pair.
        R_BA: (3, 3) orientation of A in B of the present pair.
        p_BA: (3,) origin of A in B, m.
        twist: (6,) twist of B relative to A at the origin of B, in its axes.
        wrench: (6,) wrench on B about its origin, in its axes.
        no_jacobian: (0, 0).
        y: (nq + nv,) coordinates and velocities at a stage.
        slope: (nq + nv,) their time derivative.
        change: (nq + nv,) weighted sum of the derivatives of all stages.
        mean: (P, 9) mean over the stages of every pair's moment about the world's origin, force and normal force on B.
        bounded: Impulses of rigid stops and friction of joints.
        is_rigid: (nv,) whether joints have stops that are rigid.
        braked: (nv,) impulses of friction so far, N s or N m s.
        moved: (nv,) by how much impulses move the joints, m or rad.
    """

    pair: PairMemory
    R_BA: Float2D
    p_BA: Float1D
    twist: Float1D
    wrench: Float1D
    no_jacobian: Float2D
    y: Float1D
    slope: Float1D
    change: Float1D
    mean: Float2D
    bounded: BoundedImpulses
    is_rigid: Bool1D
    braked: Float1D
    moved: Float1D


def no_soft_pairs() -> SoftPairs:
    """Clouds and parameters where there is no smooth contact."""
    return SoftPairs(
        planes=np.zeros((0, 6, 0)),
        balls=np.zeros((0, 4, 0)),
        counts=np.zeros((0, 2), dtype=np.int64),
        areas=np.zeros((0, 0)),
        parameters=np.zeros((0, 0)),
        stages=0,
    )


def make_soft_scratch(soft: SoftPairs, nq: int, nv: int) -> SoftScratch:
    """Memory for states of ``nq`` coordinates and ``nv`` velocities."""
    return SoftScratch(
        pair=make_pair_memory(soft.planes.shape[2]),
        R_BA=np.zeros((3, 3)),
        p_BA=np.zeros(3),
        twist=np.zeros(6),
        wrench=np.zeros(6),
        no_jacobian=np.zeros((0, 0)),
        y=np.zeros(nq + nv),
        slope=np.zeros(nq + nv),
        change=np.zeros(nq + nv),
        mean=np.zeros((len(soft.parameters), 9)),
        bounded=make_bounded_impulses(nv),
        is_rigid=np.zeros(nv, dtype=bool),
        braked=np.zeros(nv),
        moved=np.zeros(nv),
    )
