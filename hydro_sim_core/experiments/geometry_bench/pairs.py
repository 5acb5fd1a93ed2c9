"""The pairs of geometries of the benchmark, with their motions and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from hydro_sim_core.experiments.geometry_bench.shapes import bowl, lobed_solid
from hydro_sim_core.geometry import Geometry, cylinder, ellipsoid, sphere
from hydro_sim_core.geometry.geometry import FloatArray

#: Time between two queries, s.
TIME_STEP = 1e-3
MODULUS = 1e5
#: Factor on a pair's allowed share of Drake's time at speeds above the lowest.
ALLOWANCE_AT_SPEED = 1.5
LOWEST_SPEED = 0.1
SPEEDS = (LOWEST_SPEED, 1.0)


@dataclass(frozen=True)
class Circling:
    """Motion of A in the frame of B: on a circle, so that it never leaves.

    Attributes:
        center: (3,) centre of the circle, m.
        axis: (3,) unit vector through the centre.
        radius: Distance from the axis that moves at the given speed, m.
        turns: Whether A turns with the motion or keeps its orientation.
    """

    center: FloatArray
    axis: FloatArray
    radius: float
    turns: bool = False


@dataclass(frozen=True)
class BenchPair:
    """Two geometries; of a rigid and a compliant one A is the rigid one.

    Attributes:
        family: Kind of the two geometries.
        level: Refinement: 0 is the coarsest of the family.
        make: Makes A and B.
        X_BA: (4, 4) pose of A in B at the beginning.
        motion: Motion of A.
        target_share: Largest allowed share of Drake's time at the lowest speed; None without a target.
        target_seconds: Largest allowed time of a query, s; None without a target.
    """

    family: str
    level: int
    make: Callable[[], tuple[Geometry, Geometry]]
    X_BA: FloatArray
    motion: Circling
    target_share: float | None = None
    target_seconds: float | None = None

    def poses(self, speed: float, count: int) -> FloatArray:
        """Poses of A in B (count, 4, 4), ``TIME_STEP`` apart, at ``speed``, m/s."""
        motion = self.motion
        angles = speed * TIME_STEP / motion.radius * np.arange(count)
        turned = Rotation.from_rotvec(angles[:, None] * motion.axis).as_matrix()
        X_BA = np.tile(self.X_BA, (count, 1, 1))
        X_BA[:, :3, 3] = motion.center + turned @ (self.X_BA[:3, 3] - motion.center)
        if motion.turns:
            X_BA[:, :3, :3] = turned @ self.X_BA[:3, :3]
        return X_BA

    def share_allowed(self, speed: float) -> float | None:
        """Largest allowed share of Drake's time at ``speed``."""
        if self.target_share is None or speed <= LOWEST_SPEED:
            return self.target_share
        return ALLOWANCE_AT_SPEED * self.target_share


def all_pairs() -> list[BenchPair]:
    """Every pair, family by family, from coarse to fine."""
    hints = (0.02, 0.01, 0.005, 0.0025)
    compliant = [
        _spheres(level, hint, rigid=False, target_share=share)
        for level, (hint, share) in enumerate(zip(hints, (0.2, 0.12, 0.12, 0.08), strict=True))
    ]
    # The next finer mesh halves the edges, which gives four times the faces; half the depth halves their number.
    compliant.append(_spheres(4, 0.00125, rigid=False, overlap=0.1, target_share=0.08))
    rigid = [
        _spheres(level, hint, rigid=True, target_share=share)
        for level, (hint, share) in enumerate(zip(hints, (0.25, 0.17, 0.17, 0.17), strict=True))
    ]
    bubbles = [
        _bubble_on_cylinder(0, 0.02, 0.02, target_share=0.2),
        _bubble_on_cylinder(1, 0.005, 0.01, target_share=0.12),
        _bubble_on_cylinder(2, 0.0025, 0.005, target_share=0.12),
    ]
    lobed = [_lobed(level, layers, target_share=0.07) for level, layers in enumerate((2, 3, 3, 4))]
    return [*compliant, *bubbles, *lobed, *rigid, _lobed_in_bowl()]


_X, _Y, _Z = np.eye(3)


def _pose(euler: tuple[float, float, float], p_BA: FloatArray) -> FloatArray:
    X_BA = np.eye(4)
    X_BA[:3, :3] = Rotation.from_euler("xyz", euler).as_matrix()
    X_BA[:3, 3] = p_BA
    return X_BA


def _spheres(level: int, hint: float, *, rigid: bool, target_share: float, overlap: float = 0.2) -> BenchPair:
    """Spheres of radius 0.1 m; the overlap is a share of the radius."""
    radius = 0.1

    def make() -> tuple[Geometry, Geometry]:
        b = sphere(radius, resolution=hint, modulus=MODULUS)
        return (sphere(radius, resolution=hint) if rigid else b), b

    family = "spheres, rigid-compliant" if rigid else "spheres, compliant"
    apart = (2.0 - overlap) * radius * _X
    start = _pose((0.31, 0.52, 0.17), apart + 0.01 * _Y)
    return BenchPair(family, level, make, start, Circling(apart, _X, 0.01), target_share)


def _bubble_on_cylinder(
    level: int, bubble_hint: float, cylinder_hint: float, target_share: float
) -> BenchPair:
    """The bubble of a Soft-bubble gripper (semi-axes from its published model) pressed 11 mm into a cylinder."""

    def make() -> tuple[Geometry, Geometry]:
        bubble = ellipsoid(0.04165, 0.04165, 0.0625, resolution=bubble_hint, modulus=MODULUS)
        return bubble, cylinder(0.03, 0.15, resolution=cylinder_hint, modulus=MODULUS)

    apart = (0.04165 + 0.03 - 0.011) * _X
    start = _pose((0.1, 0.07, 0.3), apart + 0.005 * _Y)
    return BenchPair(
        "bubble-cylinder, compliant", level, make, start, Circling(apart, _X, 0.005), target_share
    )


def _lobed(level: int, layers: int, target_share: float) -> BenchPair:
    """Two lobed solids side by side, with the tips of two lobes of each pressed into two of the other."""
    tip = 0.05

    def make() -> tuple[Geometry, Geometry]:
        solid = lobed_solid(tip, level + 2, layers, MODULUS)
        return solid, solid

    towards = (_X + _Y) / np.sqrt(2.0)
    apart = (np.sqrt(2.0) * tip - 0.004) * towards
    start = _pose((0.05, 0.04, 0.03), apart + 0.003 * _Z)
    return BenchPair(
        "lobed solids, compliant", level, make, start, Circling(apart, towards, 0.003), target_share
    )


def _lobed_in_bowl() -> BenchPair:
    """A lobed solid of 51 200 tetrahedra and 3.5 N on three of its lobes, spinning in a bowl of 20 160 triangles."""
    opening, inner_radius = 1.3, 0.12

    def make() -> tuple[Geometry, Geometry]:
        return bowl(inner_radius, 0.01, opening, 70), lobed_solid(0.05, 4, 9, MODULUS)

    # The solid stands on a diagonal of an octant, slightly tilted.
    diagonal_down, _ = Rotation.align_vectors([-_Z], [(_X + _Y + _Z) / np.sqrt(3.0)])
    X_AB = np.eye(4)
    X_AB[:3, :3] = (Rotation.from_euler("xyz", [0.04, 0.03, 0.2]) * diagonal_down).as_matrix()
    X_AB[:3, 3] = -0.0838 * _Z
    X_BA = np.asarray(np.linalg.inv(X_AB), dtype=np.float64)
    # The lobes touch 0.04 m from the axis of the bowl.
    spin = Circling(X_BA[:3, 3], X_BA[:3, 2], 0.04, turns=True)
    return BenchPair("lobed solid in a rigid bowl", 0, make, X_BA, spin, target_seconds=1e-3)
