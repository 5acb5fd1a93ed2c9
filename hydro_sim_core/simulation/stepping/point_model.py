"""Data of contacts at equivalent points: constants, and memory of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    ConstInt1D,
    ConstInt2D,
    Float1D,
    Float2D,
    Float3D,
    Int1D,
    Int3D,
)
from hydro_sim_core.contact.equivalent_point.hull_set import (
    HullScratch,
    HullSet,
    make_hull_scratch,
)
from hydro_sim_core.contact.equivalent_point.manifold import Manifold, make_manifold
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES

#: Axes along which a contact has conditions at most.
MOST_AXES = 3


class PointPairs(NamedTuple):
    """Pairs of hulls that touch at equivalent points.

    Attributes:
        hulls: The hulls.
        hull_body: (H,) body that carries each hull, -1 for the world; a hull is in its frame.
        centre: (H, 3) of a ball around each hull, in its frame, m.
        extent: (H,) radius of that ball, m; infinite for half spaces.
        pairs: (Q, 2) hulls A and B.
        first_pair: (1,) row in ``Model.pairs`` of the first; the others follow.
        size: (Q,) extent of the smaller hull, m.
        stride: (Q,) way that the two may move relative to each other in a step, m.
        ellipsoid: (Q, 3) semi-axes e_t, e_o (1) and e_r (m) of friction; e_r is 0 where the patch gives it.
        first_condition: (Q + 1,) number of conditions that the pairs before have at most, along all axes.
        most_faces: (1,) number of faces that show all of their patches at most.
    """

    hulls: HullSet
    hull_body: ConstInt1D
    centre: ConstFloat2D
    extent: ConstFloat1D
    pairs: ConstInt2D
    first_pair: ConstInt1D
    size: ConstFloat1D
    stride: ConstFloat1D
    ellipsoid: ConstFloat2D
    first_condition: ConstInt1D
    most_faces: ConstInt1D


class PointScratch(NamedTuple):
    """Memory of a step for contacts at equivalent points. The world is in the posture at the end of the step.

    Attributes:
        num_faced: (1,) number of patches with faces, which come first.
        row: (Q,) pair of each contact of the step.
        q: (nq,) coordinates.
        v: (nv,) velocities.
        R_WB: (nb, 3, 3) orientations of the bodies.
        p_WB: (nb, 3) origins, m.
        S: (nb, 6, 6) motion subspaces.
        work: Memory of the search for contact.
        manifold: Points of the contact that is looked at.
        feature: (conditions,) feature of every condition of the problem.
        along: (conditions,) number of the axis of its contact to which each belongs.
        gap: (conditions,) gap of each at the end of the step, 0 where it presses, m.
        before: (conditions,) impulses that the conditions of one contact had, N s.
        feature_before: (conditions,) their features.
        along_before: (conditions,) their axes.
        pressed: (Q, 4) normal impulse of each (N s), and its equivalent contact point from the reference point (m).
        depth: (Q,) overlap that each contact may have at the end of the step, m.
        axis: (Q, MOST_AXES, 3) axes along which each touches, see ``Manifold``.
        num_axes: (Q,) number of them.
        odd: (Q,) what of each contact of the step is not as the last solution had it, see ``point_conditions``.
        unrepeated: (Q,) the same of each pair, of the last step that did not converge.
        is_turned: (Q,) whether bodies were seen to overlap along another axis than that of the first solves.
        outline: (conditions,) conditions around a patch, in order.
        p_WR: (Q, 3) reference points, m.
        still: (3, 3) orientation of the world in itself.
        origin: (3,) its origin, m.
        momentum2: (1,) squared momenta over masses of the island that is looked at, kg m^2/s^2.
        corners: (N, 2) outline of a patch along the tangents, m.
        tile: (3, 2) a triangle along them, m.
        clipped: (2, N, 2) what of it is in the outline, m.
        moments: (4,) sum of the impulses of the contact that is looked at (N s), and of its first moments about the
            reference point (N s m).
        shift: (3,) a point as the motion at the begin of the step has it.
        twist: (6,) relative twist of the contact that is looked at.
    """

    num_faced: Int1D
    row: Int1D
    q: Float1D
    v: Float1D
    R_WB: Float3D
    p_WB: Float2D
    S: Float3D
    work: HullScratch
    manifold: Manifold
    feature: Int1D
    along: Int1D
    gap: Float1D
    before: Float1D
    feature_before: Int1D
    along_before: Int1D
    pressed: Float2D
    depth: Float1D
    axis: Int3D
    num_axes: Int1D
    odd: Int1D
    unrepeated: Int1D
    is_turned: Int1D
    outline: Int1D
    p_WR: Float2D
    still: Float2D
    origin: Float1D
    momentum2: Float1D
    corners: Float2D
    tile: Float2D
    clipped: Float3D
    moments: Float1D
    shift: Float1D
    twist: Float1D


def faces_of_outline(corners: int) -> int:
    """Number of faces that show a patch with so many corners; a face has ``MAX_VERTICES`` at most."""
    return max(1, -(-(corners - 2) // (MAX_VERTICES - 2)))


def make_point_scratch(points: PointPairs, shape: Sequence[int]) -> PointScratch:
    """Allocate the memory of a step for a tree with ``shape`` bodies, coordinates and velocities."""
    nb, nq, nv = shape
    most = int(np.max(np.diff(points.first_condition), initial=0))
    total = int(points.first_condition[-1])
    return PointScratch(
        num_faced=np.zeros(1, dtype=np.int64),
        row=np.zeros(len(points.pairs), dtype=np.int64),
        q=np.zeros(nq),
        v=np.zeros(nv),
        R_WB=np.zeros((nb, 3, 3)),
        p_WB=np.zeros((nb, 3)),
        S=np.zeros((nb, 6, 6)),
        work=make_hull_scratch(points.hulls),
        manifold=make_manifold(most),
        feature=np.zeros(total, dtype=np.int64),
        along=np.zeros(total, dtype=np.int64),
        gap=np.zeros(total),
        before=np.zeros(most),
        feature_before=np.zeros(most, dtype=np.int64),
        along_before=np.zeros(most, dtype=np.int64),
        pressed=np.zeros((len(points.pairs), 4)),
        depth=np.zeros(len(points.pairs)),
        axis=np.zeros((len(points.pairs), MOST_AXES, 3), dtype=np.int64),
        num_axes=np.zeros(len(points.pairs), dtype=np.int64),
        odd=np.zeros(len(points.pairs), dtype=np.int64),
        unrepeated=np.zeros(len(points.pairs), dtype=np.int64),
        is_turned=np.zeros(len(points.pairs), dtype=np.int64),
        outline=np.zeros(most + 1, dtype=np.int64),
        p_WR=np.zeros((len(points.pairs), 3)),
        still=np.eye(3),
        origin=np.zeros(3),
        momentum2=np.zeros(1),
        corners=np.zeros((most + 1, 2)),
        tile=np.zeros((3, 2)),
        clipped=np.zeros((2, most + 8, 2)),
        moments=np.zeros(4),
        shift=np.zeros(3),
        twist=np.zeros(6),
    )
