"""Options and scratch memory of the solvers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D
from hydro_sim_core.compilation.teams import Team, make_team
from hydro_sim_core.solvers.patch_terms import NUM_SUMS
from hydro_sim_core.solvers.problem import LANES, ContactProblem


class SolverOptions(NamedTuple):
    """Options of a solve.

    Attributes:
        tolerance: Momentum residual to reach, relative to the momenta that the step exchanges.
        max_iterations: Iterations of the method allowed a solve.
        stiction_speed: Regularisation speed of contact friction, m/s.
        lags: Whether the law bounds friction by normal impulses that are known before the solve.
        relag: With such a law, solve again when an impact changes the bounds.
        keeps_bounds: Whether the friction bounds and regularisation speeds that faces were loaded with are kept.
        numbers_per_face: Memory that the method keeps for every face, in floats.
    """

    tolerance: float
    max_iterations: int
    stiction_speed: float
    lags: bool
    relag: bool
    keeps_bounds: bool = False
    numbers_per_face: int = 0


#: Entries of ``SolverScratch.report``.
ITERATIONS, RESIDUAL, CONVERGED, SOLVES, FRICTION_CHANGE = range(5)
NUM_REPORT = 5


class SolverScratch(NamedTuple):
    """Memory of the solvers.

    Attributes:
        v: (nv,) velocities in the solver's order: initial guess, then solution.
        twists: (patches, 6) relative twists of the patches.
        direction_twists: (patches, 6) change of these twists along the search direction.
        patch_impulse: (patches, 6) wrench impulse of the solution about the reference point, N m s and N s.
        normal_impulse: (patches, 3) sum of the faces' impulses along their normals, N s.
        patch_hessians: (patches, 6, 6) Hessian of every patch.
        product: (6, nv) patch Hessian times Jacobian.
        hessian: (nv, nv).
        matrix: (nv, nv) second matrix of a method: a Hessian without symmetry, or the Cholesky factor of A.
        residual: (nv,) residual of the momentum balance.
        impulse: (nv,) generalised impulse of contacts and joints.
        direction: (nv,) search direction.
        inertia_direction: (nv,) A times the direction.
        momentum_gap: (nv,) A v minus the momentum at the start of a line search.
        trial_twist: (6,) relative twist along a line search.
        of_patches: (patches, 2) numbers found of each patch, see ``patch_work``.
        number: (1,) what threads need to know to find them.
        sums: (NUM_SUMS * LANES,) accumulators of one patch.
        of_velocities: (2, nv) values that the method stores for every velocity.
        of_faces: (blocks, numbers * LANES) values that the method stores for every face, laid out as the face blocks.
        island_report: (NUM_REPORT,) report on the island that is being solved.
        reports: (trees, NUM_REPORT) report on every island.
        report: (NUM_REPORT,) worst value of each entry over all islands.
        team: The threads that solve together; the others have this memory too, but for what is one patch's or island's.
    """

    v: Float1D
    twists: Float2D
    direction_twists: Float2D
    patch_impulse: Float2D
    normal_impulse: Float2D
    patch_hessians: Float3D
    product: Float2D
    hessian: Float2D
    matrix: Float2D
    residual: Float1D
    impulse: Float1D
    direction: Float1D
    inertia_direction: Float1D
    momentum_gap: Float1D
    trial_twist: Float1D
    of_patches: Float2D
    number: Float1D
    sums: Float1D
    of_velocities: Float2D
    of_faces: Float2D
    island_report: Float1D
    reports: Float2D
    report: Float1D
    team: Team


#: From how much it pays to share work among a team, some 50 and 10 us of one thread's time: faces that are found, and
#: blocks of faces that are evaluated or solved. ``Team.least`` has both, by their places.
FACES_TO_SHARE, BLOCKS_TO_SHARE = 500, 128
LEAST_FACES, LEAST_BLOCKS = range(2)
#: What each thread of a team has for itself: memory of the patch or island that it works on.
OWN = ("product", "trial_twist", "sums", "island_report")


def make_solver_scratch(problem: ContactProblem, numbers_per_face: int = 0) -> SolverScratch:
    """Allocate the scratch memory for a problem; ``numbers_per_face`` as in ``SolverOptions``."""
    max_patches, _, nv = problem.jacobian.shape
    return SolverScratch(
        v=np.zeros(nv),
        twists=np.zeros((max_patches, 6)),
        direction_twists=np.zeros((max_patches, 6)),
        patch_impulse=np.zeros((max_patches, 6)),
        normal_impulse=np.zeros((max_patches, 3)),
        patch_hessians=np.zeros((max_patches, 6, 6)),
        product=np.zeros((6, nv)),
        hessian=np.zeros((nv, nv)),
        matrix=np.zeros((nv, nv)),
        residual=np.zeros(nv),
        impulse=np.zeros(nv),
        direction=np.zeros(nv),
        inertia_direction=np.zeros(nv),
        momentum_gap=np.zeros(nv),
        trial_twist=np.zeros(6),
        of_patches=np.zeros((max_patches, 2)),
        number=np.zeros(1),
        sums=np.zeros(NUM_SUMS * LANES),
        of_velocities=np.zeros((2, nv)),
        of_faces=np.zeros((len(problem.blocks), numbers_per_face * LANES)),
        island_report=np.zeros(NUM_REPORT),
        reports=np.zeros((len(problem.islands.island), NUM_REPORT)),
        report=np.zeros(NUM_REPORT),
        team=make_team(FACES_TO_SHARE, BLOCKS_TO_SHARE),
    )
