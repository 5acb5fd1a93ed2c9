"""One step's problem as a struct of preallocated arrays, shared by every solver.

Velocities are listed in the solver's order: sorted by island, then by kinematic tree (``islands``). An island, and a
tree within it, is then a range of indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, Int1D
from hydro_sim_core.solvers.islands import Islands, make_islands
from hydro_sim_core.solvers.points import PointContacts, make_point_contacts

#: Faces are processed in blocks of this many so that each arithmetic instruction works on a full vector register;
#: patches are padded with faces that carry nothing.
LANES = 16

#: Rows of a face block.
X = 0  # centroid relative to the patch's reference point, m (3)
N = 3  # unit normal from A into B (3)
ELASTIC = (
    6  # elastic force at the beginning of the step: area times pressure, N; negative in the margin layer
)
STIFFNESS_DT = 7  # dt k (or (dt + relaxation time) k with linear damping): lost force per unit of v_n, N s/m
FRICTION = 8  # mu times the lagged normal impulse, N s
SLIP = 9  # speed at which friction is 71 % of its bound, m/s
INVERSE_MASS = 10  # w, inverse mass that the face is taken to feel, 1/kg
NUM_FACE_ROWS = 11

#: Rows of ``ContactProblem.drift``: at the beginning of the step, during it, and for search directions (zero).
DRIFT_BEFORE, DRIFT, NO_DRIFT = range(3)

#: Columns of ``ContactProblem.limits``, which has one row for each joint limit.
LIMIT_SIGN, LIMIT_TARGET, LIMIT_INVERSE_R = range(3)


class ContactProblem(NamedTuple):
    """One step's problem: impulses in N s (or N m s), velocities in m/s (or rad/s), in the solver's order.

    Attributes:
        dt: (1,) time step, s.
        islands: Groups of coupled velocities and patches.
        A: (nv, nv) mass matrix plus implicit damping; only the diagonal blocks of the trees are defined.
        push: (nv,) impulse of all explicit forces; dampers, which act on the whole velocity, are not among them.
        momentum: (nv,) A v0 plus the impulse of all explicit forces.
        v0: (nv,) velocity at the beginning of the step.
        blocks: (blocks, NUM_FACE_ROWS * LANES) faces, row after row, in the axes of each patch's geometry B.
        first_block: (patches,) first block of each patch.
        end_block: (patches,) one past the last one.
        num_patches: (1,) number of patches in use.
        dissipation: (patches,) Hunt-Crossley dissipation, s/m.
        friction: (patches,) coefficient of friction.
        grain: (patches, 3) vector h in the patch's axes: friction along it is sqrt(1 - |h|^2) of that across.
        delassus: (patches,) w, inverse mass that a patch feels at its reference point, 1/kg: a third of the Frobenius
            norm of J A^-1 J^T over the linear rows.
        jacobian: (patches, 6, nv) twist of B relative to A at the reference point, angular first; defined in the
            patch's columns only.
        drift: (3, patches, 6) part of that twist that impulses do not change: from prescribed velocities and from
            surfaces that move over their bodies, such as conveyor belts; for its rows see ``DRIFT``.
        limits: (2 nv, 3) joint limits: sign, target velocity along the sign, inverse regularisation; lower limits
            first.
        drive_bias: (nv,) drive effort at v = 0 before saturation, N m.
        drive_gain: (nv,) decrease of the drive effort per unit of velocity, N m s.
        drive_limit: (nv,) effort limit, N m.
        speed_limit: (nv,) speed beyond which the drive does not accelerate.
        speed_gain: (nv,) decrease of an accelerating effort per unit of excess speed, N m s.
        joint_friction: (nv,) Coulomb friction, N m.
        joint_slip: (1,) speed below which that is regularised, rad/s or m/s.
        points: Contacts at equivalent points, which are the last patches; they have no faces.
    """

    dt: Float1D
    islands: Islands
    A: Float2D
    push: Float1D
    momentum: Float1D
    v0: Float1D
    blocks: Float2D
    first_block: Int1D
    end_block: Int1D
    num_patches: Int1D
    dissipation: Float1D
    friction: Float1D
    grain: Float2D
    delassus: Float1D
    jacobian: Float3D
    drift: Float3D
    limits: Float2D
    drive_bias: Float1D
    drive_gain: Float1D
    drive_limit: Float1D
    speed_limit: Float1D
    speed_gain: Float1D
    joint_friction: Float1D
    joint_slip: Float1D
    points: PointContacts


def num_blocks_needed(max_faces: int, max_patches: int) -> int:
    """Number of blocks that hold ``max_faces`` faces in any distribution over ``max_patches`` patches."""
    return max_faces // LANES + max_patches + 1


def make_problem(
    num_trees: int, nv: int, max_patches: int, max_faces: int, max_points: int = 0, max_conditions: int = 0
) -> ContactProblem:
    """Allocate a problem for these numbers of kinematic trees, velocities, patches and faces.

    Of the patches ``max_points`` may be contacts at equivalent points, with ``max_conditions`` in all.
    """
    return ContactProblem(
        dt=np.zeros(1),
        islands=make_islands(num_trees, nv, max_patches),
        A=np.zeros((nv, nv)),
        push=np.zeros(nv),
        momentum=np.zeros(nv),
        v0=np.zeros(nv),
        blocks=np.zeros((num_blocks_needed(max_faces, max_patches), NUM_FACE_ROWS * LANES)),
        first_block=np.zeros(max_patches, dtype=np.int64),
        end_block=np.zeros(max_patches, dtype=np.int64),
        num_patches=np.zeros(1, dtype=np.int64),
        dissipation=np.zeros(max_patches),
        friction=np.zeros(max_patches),
        grain=np.zeros((max_patches, 3)),
        delassus=np.zeros(max_patches),
        jacobian=np.zeros((max_patches, 6, nv)),
        drift=np.zeros((3, max_patches, 6)),
        limits=np.zeros((2 * nv, 3)),
        drive_bias=np.zeros(nv),
        drive_gain=np.zeros(nv),
        drive_limit=np.zeros(nv),
        speed_limit=np.zeros(nv),
        speed_gain=np.zeros(nv),
        joint_friction=np.zeros(nv),
        joint_slip=np.zeros(1),
        points=make_point_contacts(max_points, max_conditions, max_patches),
    )
