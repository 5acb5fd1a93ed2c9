"""Data of equivalent contact points in a step's problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D


class PointContacts(NamedTuple):
    """Contacts at equivalent points: the last patches of a problem.

    Each has conditions: points at which the bodies must not overlap at the end of the step. Vectors are in the axes of
    the patch, positions relative to its reference point.

    A condition that is not met to the last digit presses with the impulse ``(ahead - stiffness n . v)_+``, where n is
    its direction and v the velocity at its point. ``ahead`` contains the impulse of the solution before, so that
    repeated solves drive what is left of gaps and overlaps to zero with any stiffness (augmented Lagrangian).

    One condition of each may run: the closest point of two cores that cross, which a small turn moves far. Its gap is
    the least over how far it runs, u: that at u = 0, less ``u y`` and with ``bend u^2 / 2``, where
    ``y = lean - lead . V``, all per second.

    Attributes:
        first_patch: (1,) first patch of this kind.
        first: (patches,) first condition of each.
        end: (patches,) one past its last condition.
        normal: (patches, 3) unit normal from A into B, across which friction acts.
        tangents: (patches, 6) two unit vectors across it, one after the other.
        ellipsoid: (patches, 3) semi-axes e_t, e_o (1) and e_r (m) of the friction ellipsoid, in units of mu p_n.
        stiffness: (patches,) impulse lost per unit of the velocity n . v of a condition, N s^2/m.
        grip: (patches,) friction impulse per unit of slip, N s^2/m.
        held: (patches, 3) friction impulse of the solution before: along the tangents and about the normal, each
            divided by its semi-axis, N s.
        x: (conditions, 3) m.
        direction: (conditions, 3) unit vector from A into B along which a condition presses; the normal of its patch,
            unless that has conditions along several axes, or a body is round.
        ahead: (conditions,) N s.
        impulse: (conditions,) what each presses with, where the impulse of its patch was last asked for, N s.
        running: (patches,) condition of each whose point runs, -1 if none does.
        run: (patches, 3) change of that point per metre that it runs.
        lead: (patches, 6) change of its row, which gives n . v of a twist, per metre.
        lean: (patches,) see above, 1/s.
        bend: (patches,) see above, 1/(m s).
        reach: (patches, 2) how far it runs at least and at most, m.
        bound: (patches,) largest friction impulse, where it is known before a solve, N s.
        arm: (patches, 3) equivalent contact point, where it is, m.
        work: (10, 6) memory of the evaluation of one contact.
        is_coupled: (1,) whether friction acts at the point, and up to the bound, of the same velocities.
        share: (1,) share of friction that acts: less than 1 only on the way to a solution.
        is_new: (1,) whether the step has not been solved yet, so that bounds and points are not known.
    """

    first_patch: Int1D
    first: Int1D
    end: Int1D
    normal: Float2D
    tangents: Float2D
    ellipsoid: Float2D
    stiffness: Float1D
    grip: Float1D
    held: Float2D
    x: Float2D
    direction: Float2D
    ahead: Float1D
    impulse: Float1D
    running: Int1D
    run: Float2D
    lead: Float2D
    lean: Float1D
    bend: Float1D
    reach: Float2D
    bound: Float1D
    arm: Float2D
    work: Float2D
    is_coupled: Int1D
    share: Float1D
    is_new: Int1D


def make_point_contacts(patches: int, conditions: int, first_patch: int) -> PointContacts:
    """Allocate for at most so many patches and conditions; none of the first ``first_patch`` patches is one yet."""
    return PointContacts(
        first_patch=np.full(1, first_patch, dtype=np.int64),
        first=np.zeros(patches, dtype=np.int64),
        end=np.zeros(patches, dtype=np.int64),
        normal=np.zeros((patches, 3)),
        tangents=np.zeros((patches, 6)),
        ellipsoid=np.zeros((patches, 3)),
        stiffness=np.zeros(patches),
        grip=np.zeros(patches),
        held=np.zeros((patches, 3)),
        x=np.zeros((conditions, 3)),
        direction=np.zeros((conditions, 3)),
        ahead=np.zeros(conditions),
        impulse=np.zeros(conditions),
        running=np.full(patches, -1, dtype=np.int64),
        run=np.zeros((patches, 3)),
        lead=np.zeros((patches, 6)),
        lean=np.zeros(patches),
        bend=np.zeros(patches),
        reach=np.zeros((patches, 2)),
        bound=np.zeros(patches),
        arm=np.zeros((patches, 3)),
        work=np.zeros((10, 6)),
        is_coupled=np.zeros(1, dtype=np.int64),
        share=np.ones(1),
        is_new=np.zeros(1, dtype=np.int64),
    )
