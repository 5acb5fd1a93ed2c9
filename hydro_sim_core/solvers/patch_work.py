# mypy: allow-untyped-defs
"""What a solver does with each patch of an island by itself; a team shares the patches if they are many."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.teams import (
    ABOUT,
    KIND,
    PART,
    PARTS,
    end_part,
    meet,
    parts_to_share,
    publish,
    take_part,
)
from hydro_sim_core.solvers.face_laws import LAGGED, friction_softness
from hydro_sim_core.solvers.options import LEAST_BLOCKS
from hydro_sim_core.solvers.patch_terms import (
    change_of_friction_bounds,
    evaluate_patch,
    is_point,
    patch_slope,
    update_patch_friction_bounds,
)
from hydro_sim_core.solvers.problem import DRIFT

#: Jobs of a team that solves: impulses and Hessians of patches, slopes along a direction, friction bounds by the law
#: and by the lagged one, how far they are from those of other velocities, and islands.
NUM_JOBS = 6
EVALUATE, SLOPES, BOUNDS, LAGGED_BOUNDS, CHANGES, SOLVE = range(NUM_JOBS)


@kernel
def relative_twists(problem, island, v, drift, twists):
    """Twists of B relative to A of an island's patches at velocities ``v``; ``drift`` is a row of ``problem.drift``.

    Reads problem.islands: first_patch, patches.
    """
    islands = problem.islands
    for i in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[i]
        relative_twist(problem, p, v, drift, twists[p])


@kernel
def relative_twist(problem, p, v, drift, twist):
    """Twist (6,) of B relative to A of one patch; arguments as for ``relative_twists``.

    Reads problem: drift, jacobian; problem.islands: columns.
    """
    J, V, columns = problem.jacobian[p], problem.drift[drift, p], problem.islands.columns[p]
    # Six sums beside each other: one alone waits for each of its additions.
    w0, w1, w2, u0, u1, u2 = V[0], V[1], V[2], V[3], V[4], V[5]
    for side in range(2):
        for k in range(columns[side, 0], columns[side, 1]):
            w0, w1, w2 = w0 + J[0, k] * v[k], w1 + J[1, k] * v[k], w2 + J[2, k] * v[k]
            u0, u1, u2 = u0 + J[3, k] * v[k], u1 + J[4, k] * v[k], u2 + J[5, k] * v[k]
    twist[0], twist[1], twist[2], twist[3], twist[4], twist[5] = w0, w1, w2, u0, u1, u2


@kernel
def evaluate_patches(problem, law, island, scratch):
    """Write twists, impulses and Hessians of an island's patches at ``scratch.v``."""
    _for_patches(problem, law, EVALUATE, _evaluate, island, 0.0, scratch)


@kernel
def find_slopes(problem, law, island, alpha, scratch):
    """Write to ``of_patches`` the power of each patch's impulse at ``twists + alpha direction_twists`` along these."""
    _for_patches(problem, law, SLOPES, _find_slope, island, alpha, scratch)


@kernel
def set_bounds(problem, law, lags, island, stiction_speed, scratch):
    """Set friction bounds at ``twists``, by the law if it ``lags``."""
    if lags:
        _for_patches(problem, law, BOUNDS, _set_bounds, island, stiction_speed, scratch)
    else:
        # Only the regularisation speed matters. From the law's own impulse, which falls where faces slide, it would be
        # too small to converge.
        _for_patches(problem, LAGGED, LAGGED_BOUNDS, _set_bounds, island, stiction_speed, scratch)


@kernel
def find_changes(problem, law, island, scratch):
    """Write to ``of_patches`` how far friction bounds at ``twists`` are from those set, and their sums, N s."""
    _for_patches(problem, law, CHANGES, _find_changes, island, 0.0, scratch)


@kernel
def do_part_for_patches(problem, law, scratch):
    """Do the part of one of these jobs that a helper has taken.

    Reads scratch: number; scratch.team: task, words.
    """
    task, island, number = scratch.team.task, scratch.team.words[ABOUT], scratch.number[0]
    kind, part, parts = task[KIND], task[PART], task[PARTS]
    if kind == EVALUATE:
        _part_of_patches(problem, law, _evaluate, island, number, part, parts, scratch)
    elif kind == SLOPES:
        _part_of_patches(problem, law, _find_slope, island, number, part, parts, scratch)
    elif kind == BOUNDS:
        _part_of_patches(problem, law, _set_bounds, island, number, part, parts, scratch)
    elif kind == CHANGES:
        _part_of_patches(problem, law, _find_changes, island, number, part, parts, scratch)
    else:
        _part_of_patches(problem, LAGGED, _set_bounds, island, number, part, parts, scratch)


@kernel
def _for_patches(problem, law, kind, work, island, number, scratch):
    """Do some ``work`` for each patch of an island; as a team, if they have many faces.

    Args:
        problem: ``ContactProblem``.
        law: ``FaceLaw``.
        kind: Kind of the job.
        work: Kernel (problem, law, p, number, scratch).
        island: Index of the island.
        number: What else it needs to know.
        scratch: ``SolverScratch``.

    Reads scratch.team: least, task.
    Writes scratch: number.
    """
    team = scratch.team
    parts = parts_to_share(team)
    if parts > 1 and blocks_of(problem, island) < team.least[LEAST_BLOCKS]:
        parts = 1
    if parts == 1:
        _part_of_patches(problem, law, work, island, number, 0, 1, scratch)
        return
    scratch.number[0] = number
    publish(team, kind, island, parts)
    while take_part(team):
        _part_of_patches(problem, law, work, island, number, team.task[PART], parts, scratch)
        end_part(team)
    meet(team, parts)


@kernel
def _part_of_patches(problem, law, work, island, number, part, parts, scratch):
    """Do the work of one of the parts of an island's patches, which has about as many faces as the others.

    Reads problem.islands: first_patch, patches.
    """
    islands, before = problem.islands, 0
    total = blocks_of(problem, island) if parts > 1 else 1
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        # A patch belongs to the part that its first block falls into.
        if before * parts // total == part:
            work(problem, law, p, number, scratch)
        before += weight_of(problem, p) if parts > 1 else 0


@kernel
def _evaluate(problem, law, p, _, scratch):
    """Work of ``evaluate_patches``.

    Reads scratch: patch_hessians, patch_impulse, sums, twists, v.
    Writes scratch: patch_hessians, patch_impulse, sums, twists.
    """
    relative_twist(problem, p, scratch.v, DRIFT, scratch.twists[p])
    impulse, hessian = scratch.patch_impulse[p], scratch.patch_hessians[p]
    evaluate_patch(problem, law, p, scratch.twists[p], scratch.sums, impulse, hessian)


@kernel
def _find_slope(problem, law, p, alpha, scratch):
    """Work of ``find_slopes``.

    Reads scratch: direction_twists, sums, trial_twist, twists.
    Writes scratch: of_patches, sums, trial_twist.
    """
    V, dV = scratch.trial_twist, scratch.direction_twists[p]
    for k in range(6):
        V[k] = scratch.twists[p, k] + alpha * dV[k]
    scratch.of_patches[p, 0] = patch_slope(problem, law, p, V, dV, scratch.sums)


@kernel
def _set_bounds(problem, law, p, stiction_speed, scratch):
    """Work of ``set_bounds``; contacts at equivalent points have none.

    Reads scratch: twists.
    """
    if not is_point(problem, p):
        softness, V = friction_softness(stiction_speed), scratch.twists[p]
        update_patch_friction_bounds(problem, law, p, V, stiction_speed, softness)


@kernel
def _find_changes(problem, law, p, _, scratch):
    """Work of ``find_changes``; contacts at equivalent points have no bounds.

    Reads scratch: sums, twists.
    Writes scratch: of_patches, sums.
    """
    change, total = 0.0, 0.0
    if not is_point(problem, p):
        change, total = change_of_friction_bounds(problem, law, p, scratch.twists[p], scratch.sums)
    scratch.of_patches[p, 0], scratch.of_patches[p, 1] = change, total


@kernel(inline=True)
def weight_of(problem, p):
    """Work that a patch makes, in blocks of faces; a contact at an equivalent point has none, and counts as one.

    Reads problem: end_block, first_block.
    """
    return 1 if is_point(problem, p) else max(problem.end_block[p] - problem.first_block[p], 1)


@kernel
def blocks_of(problem, island):
    """Work that all patches of an island make, in blocks of faces.

    Reads problem.islands: first_patch, patches.
    """
    islands, total = problem.islands, 0
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        total += weight_of(problem, islands.patches[n])
    return total
