"""Sweeps of a body through a patch in fine steps: does its wrench jump by more than the step of the pose allows?

Pairs and poses are those of ``patch_moments``. From each pose the second body goes on in equal steps, turning about an
axis at random and shifting in a direction at random. Between two poses pressures on a face change by its steepness
times how far its points move, and forces turn with the body: that is what a step allows, of force and moment, without
a jump. The step of a sweep that changes most is then cut into parts. What changes evenly keeps its ratio to what is
allowed; a jump stays whole in one of the parts, and its ratio grows by their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.experiments.patch_moments import (
    ARM,
    LEAST_LOAD,
    SEED,
    geometries,
    random_poses,
    shifted,
    turned,
)
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]
#: Turn in a step, rad; the shift in it is as far as that moves a point at ``ARM``.
TURN = 7.5e-4
#: Steps of a sweep, and parts into which its worst one is cut.
STEPS, PARTS = 10, 10


@dataclass(frozen=True)
class Sweep:
    """Largest changes of the wrench in a sweep, over what stiffness allows.

    Attributes:
        of_steps: Of its steps.
        of_parts: Of the parts of the step with the largest change.
    """

    of_steps: float
    of_parts: float


class Measured(NamedTuple):
    """A patch as far as changes of its wrench are concerned.

    Attributes:
        force: (3,) N.
        moment: (3,) N m, about the origin of B.
        load: Sum of the forces of all faces, N.
        stiffness: Sum of area times steepness of what presses, N/m.
        arm: Distance of the farthest centroid that presses from the origin of B, m.
    """

    force: Array
    moment: Array
    load: float
    stiffness: float
    arm: float


def sweeps(kind: str, count: int, *, every_polygon: bool = True) -> Iterator[Sweep]:
    """Sweeps from random poses, those without contact left out.

    Args:
        kind: Of ``patch_moments.KINDS``.
        count: Number of sweeps.
        every_polygon: As of ``compute_patch``.
    """
    pair = geometries()[kind]
    return islice(_sweeps(*pair, every_polygon), count)


def _sweeps(a: Geometry, b: Geometry, every_polygon: bool) -> Iterator[Sweep]:
    rng = np.random.default_rng(SEED)
    for X_WA, X_WB in random_poses(a, b):
        axis, direction = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        if compute_patch(a, X_WA, b, X_WB).face_forces.sum() < LEAST_LOAD:
            continue
        path = _Path(a, X_WA, b, X_WB, axis, direction, every_polygon)
        changes = _changes([path.at(step) for step in range(STEPS + 1)], 1.0)
        worst = int(np.argmax(changes))
        parts = [path.at(worst + part / PARTS) for part in range(PARTS + 1)]
        yield Sweep(float(changes.max()), float(_changes(parts, 1.0 / PARTS).max()))


@dataclass(frozen=True, eq=False)
class _Path:
    """The poses of B in a sweep: those of a screw that begins at ``X_WB``."""

    a: Geometry
    X_WA: Array
    b: Geometry
    X_WB: Array
    axis: Array
    direction: Array
    every_polygon: bool

    def at(self, step: float) -> Measured:
        """The patch after so many steps."""
        X_WB = shifted(turned(self.X_WB, step * TURN * self.axis), step * TURN * ARM * self.direction)
        patch = compute_patch(self.a, self.X_WA, self.b, X_WB, every_polygon=self.every_polygon)
        return _measured(patch, X_WB[:3, 3])


def _measured(patch: ContactPatch, p_WB: Array) -> Measured:
    pressing, faces = patch.pressing, patch.faces
    steepness = np.linalg.norm(faces.field_gradients, axis=1)
    distances = np.linalg.norm(patch.centroids - p_WB, axis=1)[pressing]
    return Measured(
        patch.force_on_b,
        patch.moment_on_b(p_WB),
        float(patch.face_forces.sum()),
        float((patch.areas * steepness)[pressing].sum()),
        float(distances.max(initial=0.0)),
    )


def _changes(path: list[Measured], share: float) -> Array:
    """Changes of the wrench between poses that are ``share`` of a step apart, over what is allowed.

    Of force and moment the larger one counts, and of both ends what allows more.
    """
    ratios = []
    for before, after in pairwise(path):
        load, stiffness, arm = np.maximum(before[2:], after[2:])
        turn = share * TURN
        moves = turn * (arm + ARM)
        force = moves * stiffness + turn * load
        moment = arm * force + moves * load
        changes = np.linalg.norm(after.force - before.force), np.linalg.norm(after.moment - before.moment)
        ratios.append(max(changes[0] / force, changes[1] / moment) if load > 0.0 else 0.0)
    return np.array(ratios)
