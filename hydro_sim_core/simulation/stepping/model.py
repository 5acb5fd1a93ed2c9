"""Data of the compiled step: ``Model`` (constants), ``State``, ``Drives``, ``Loads`` and ``Scratch`` (memory)."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from hydro_sim_core.compilation import (
    Bool1D,
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    Float1D,
    Float2D,
    Float3D,
    Int1D,
)
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer, make_face_buffer
from hydro_sim_core.contact.pressure_field.query import QueryScratch, make_query_scratch
from hydro_sim_core.dynamics import Forest, KinematicTree, TreeScratch, make_scratch
from hydro_sim_core.simulation.stepping.between import BetweenScratch, make_between_scratch
from hydro_sim_core.simulation.stepping.face_points import POINTS
from hydro_sim_core.simulation.stepping.patch_table import PatchTable, make_patch_table
from hydro_sim_core.simulation.stepping.point_model import PointPairs, PointScratch, make_point_scratch
from hydro_sim_core.simulation.stepping.pulls import NUM_PULL_COLUMNS, STIFFNESS
from hydro_sim_core.simulation.stepping.slide_model import Slide, make_slide
from hydro_sim_core.solvers.options import SolverOptions, SolverScratch, make_solver_scratch
from hydro_sim_core.solvers.problem import ContactProblem, make_problem


class Model(NamedTuple):
    """The constants of a scene. All arrays are read-only.

    Attributes:
        tree: Bodies and joints.
        forest: Independent kinematic trees.
        geometries: Distinct shapes of the collision geometries, and skins of rigid ones.
        geometry_box: (G, 6) centre and half lengths of the box of each geometry, with its skin, in its frame, m;
            infinite for half spaces.
        geometry_body: (G,) body that carries each geometry, -1 for the world.
        geometry_row: (G,) row in ``geometries`` of each geometry, without its skin.
        stiffness: (G,) largest slope of each geometry's field, Pa/m; infinite for rigid ones.
        has_inside: (G,) whether it is known what lies inside each geometry: not for surfaces that are not closed.
        surface_velocity: (G, 3) velocity of each surface relative to its geometry (conveyor), in its axes, m/s.
        running: Indices of geometries with a surface velocity.
        grain: (G, 3) vector h of each geometry, in its axes: friction along it is sqrt(1 - |h|^2) times that across it.
        grained: Indices of geometries with a grain.
        R_BG: (G, 3, 3) orientation of each geometry in its body.
        p_BG: (G, 3) origin of each geometry in its body, m.
        pairs: (P, 2) geometries that may touch, in the query's canonical order.
        pair_rows: (P, 2) rows in ``geometries`` of the shapes with which they touch.
        pair_stride: (P,) way that the two may move relative to each other in a step without look-ahead, m.
        pair_room: (P,) depth by which a new overlap may exceed the present one, m.
        pair_foreseen: (P,) way within which a contact that begins is seen before, m.
        pair_thickness: (P,) half of the smallest extent of either body, m.
        pair_mass: (P,) mass of the lighter body, kg; infinite if neither moves freely.
        pair_rate: (P,) steps a second from which on overlaps that were not foreseen hold little energy; 0 if rigid.
        pair_flat: (P,) stiffness of a flat contact of the smaller body's largest side, N/m; 0 if rigid.
        pair_moments: (P,) which faces press with all moments, see ``face_points``.
        pair_axis: (P,) half length of the axis about which the mesh of A may be turned, m: 0 of a ball, which may be in
            every way; ``shortest_ways.NOT_ROUND`` where it may not be.
        pair_core: (P, 2) half length and radius of what of B the shortest way leads to, if B is round as well, m: its
            centre if it is a ball, the axis of a capsule, all of a cylinder; ``shortest_ways.NOT_ROUND`` if it is not,
            and ``CONVEX_MESH`` in place of the radius of a mesh that a round A rolls on.
        pair_touch: (P,) length of the shortest way where the two just touch, m; 0 where A is not turned.
        pair_friction: (P,) coefficient of friction.
        pair_dissipation: (P,) Hunt-Crossley dissipation, s/m; 0 with linear damping.
        pair_relaxation: (P,) relaxation time of linear damping, s; 0 with Hunt-Crossley damping.
        compensated: (nv,) 1 where a drive compensates its robot's gravity.
        link_body: (nl,) body that carries each link, -1 for the world.
        R_BL: (nl, 3, 3) orientation of each link in that body.
        p_BL: (nl, 3) origin of each link in that body, m.
        points: Pairs that touch at equivalent points; they are the last rows of ``pairs``.
        splits_faces: Whether a step is solved on triangles, fans around the centroids of the polygons.
        options: Solver options.
    """

    tree: KinematicTree
    forest: Forest
    geometries: GeometrySet
    geometry_box: ConstFloat2D
    geometry_body: ConstInt1D
    geometry_row: ConstInt1D
    stiffness: ConstFloat1D
    has_inside: ConstBool1D
    surface_velocity: ConstFloat2D
    running: ConstInt1D
    grain: ConstFloat2D
    grained: ConstInt1D
    R_BG: ConstFloat3D
    p_BG: ConstFloat2D
    pairs: ConstInt2D
    pair_rows: ConstInt2D
    pair_stride: ConstFloat1D
    pair_room: ConstFloat1D
    pair_foreseen: ConstFloat1D
    pair_thickness: ConstFloat1D
    pair_mass: ConstFloat1D
    pair_rate: ConstFloat1D
    pair_flat: ConstFloat1D
    pair_moments: ConstInt1D
    pair_axis: ConstFloat1D
    pair_core: ConstFloat2D
    pair_touch: ConstFloat1D
    pair_friction: ConstFloat1D
    pair_dissipation: ConstFloat1D
    pair_relaxation: ConstFloat1D
    compensated: ConstInt1D
    link_body: ConstInt1D
    R_BL: ConstFloat3D
    p_BL: ConstFloat2D
    points: PointPairs
    splits_faces: bool
    options: SolverOptions


class Drives(NamedTuple):
    """Targets and gains of the drives: effort = kp (q_target - q) + kd (v_target - v) + effort, clipped at the limit.

    All (nv,); a drive in effort mode has zero gains. ``limit`` is 0 where there is no drive. A prescribed velocity is
    ``v_target`` in the coming time step and ``v_after`` in later ones, regardless of the other fields.
    """

    kp: Float1D
    kd: Float1D
    q_target: Float1D
    v_target: Float1D
    effort: Float1D
    limit: Float1D
    v_after: Float1D


class Loads(NamedTuple):
    """External wrenches on links, and springs that pull them.

    Attributes:
        wrench: (nl, 6) of every link: torque and force at its origin, world axes, N m and N.
        num: (1,) number of links whose wrench is not zero.
        pull: (nl, NUM_PULL_COLUMNS) spring of every link, see ``pulls``; its stiffness is 0 where there is none.
        num_pulls: (1,) number of links with a spring.
    """

    wrench: Float2D
    num: Int1D
    pull: Float2D
    num_pulls: Int1D


#: What states know of the steps before, by field, and what that is where another state has been set.
WITHOUT_PAST = {"extrapolate": 0, "dt_previous": 0.0, "substep": 0.0, "push": 0.0, "overlaps": 1}


class State(NamedTuple):
    """The state of a scene, which changes from step to step.

    Attributes:
        q: (nq,) coordinates.
        v: (nv,) velocities.
        v_previous: (nv,) velocities a step earlier, for a guess of the next ones by extrapolation.
        dt_previous: (1,) length of that step, s; 0 if there was none.
        extrapolate: (trees,) 1 where extrapolation was the better guess for the last step.
        substep: (1,) length of the next sub-step of error control, s; 0 before the first.
        step: (1,) number of steps done.
        unconverged: (1,) number of steps whose momentum residual stayed above the tolerance; their result is used.
        unsettled: (1,) number of steps whose friction bounds differ from those of their solution by more than
            ``SETTLED_CHANGE``.
        push: (P, 3) force on B of every pair when the contact was last sound, in the frame of geometry B, N; zero for
            separate bodies.
        overlaps: (P,) 1 for every pair that overlapped at the last posture, or whose pose was set since.
        deep: (1,) number of steps in which a patch lost more than ``DEEP_SHARE`` of its force to dropped faces.
        faceless: (1,) number of steps in which a pair overlapped without faces.
    """

    q: Float1D
    v: Float1D
    v_previous: Float1D
    dt_previous: Float1D
    extrapolate: Int1D
    substep: Float1D
    step: Int1D
    unconverged: Int1D
    unsettled: Int1D
    push: Float2D
    overlaps: Int1D
    deep: Int1D
    faceless: Int1D


class Scratch(NamedTuple):
    """Preallocated memory of the step, owned by its world.

    Attributes:
        R_WB: (nb, 3, 3) body orientations at the beginning of the step.
        p_WB: (nb, 3) body origins, m.
        S: (nb, 6, 6) motion subspaces.
        tree: Scratch of the dynamics.
        M: (nv, nv) mass matrix.
        bias: (nv,) bias forces.
        gravity: (nv,) gravity forces, if drives compensate them.
        R_WG: (G, 3, 3) geometry orientations.
        R_WM: (3, 3) orientation of the mesh of a pair's geometry B, see ``round_sides``.
        p_WG: (G, 3) geometry origins, m.
        bounds: (G, 6) world boxes of the geometries, lower then upper, m; infinite for half spaces.
        query: Scratch of the contact query.
        faces: Contact faces.
        patches: Contact patches.
        between: Memory of the search for what lies between two bodies.
        points: Memory of contacts at equivalent points.
        problem: The convex problem.
        solver: Scratch of the solvers.
        factor: (nv, nv) Cholesky factor of A (of the mass matrix for accelerations), tree by tree.
        R_BA: (3, 3) orientation of geometry A in B of the present pair.
        p_BA: (3,) origin of A in B of the present pair, m.
        p_WR: (3,) reference point of the present patch, m.
        twist: (6,) relative twist of the present patch before the step.
        bend: (6,) how its motion over the step differs from that at its begin.
        response: (3, nv) L^-1 J^T of the linear rows of the present patch, with L the factor.
        jacobian: (6, nv) Jacobian of the present patch in the order of v.
        v_next: (nv,) velocities at the end of the step: guess, then solution.
        v_middle: (nv,) velocities at which Coriolis forces are evaluated.
        spins_alone: (trees,) free bodies whose spin nothing acts on.
        strays: (trees,) trees whose Coriolis forces do not agree with the solution.
        is_lost: (trees,) trees that are solved without Coriolis forces: strays, and trees that touch them.
        spin: (trees,) largest angular speed of a body of each tree, rad/s.
        q_next: (nq,) coordinates at the end of the step.
        applied: (nv,) generalised forces of the loads, if there are any.
        effort: (nv,) drive efforts of the last step, N m.
        push: (P, 3) next value of ``State.push``, N.
        overlaps: (P,) next value of ``State.overlaps``.
        faces_needed: (1,) number of contact faces of a step that did not fit into the buffers.
        pieces: (1,) number of pieces in which to take a step that is too long for the speeds.
        V_WB: (nb, 6) twists of the bodies about the world's origin.
        motion: (G,) largest way that a point of each geometry moves in the step, m.
        motion_before: (G,) the same with the velocities before the step, m.
        look: (1,) number of the poses at which overlaps are looked at.
        looked: (P,) such a number at which ``overlap_now`` of each pair was found.
        overlap_now: (P, 2) largest depth of each pair, m, and energy of its overlap, J, before anything moves.
        has_faces: (P,) whether it has faces then.
        X_moved: (2, 3, 4) poses of the geometries of the present pair at a later time.
        mean_push: (5,) direction of the force of the present patch; and scratch of ``sharp_edges``.
        edge_box: (6,) bounds of the faces at a sharp edge, lower then upper corner, in the frame of the patch, m.
        push_along: (3,) direction in which the present face pushes.
        face_points: (POINTS, 3) where it does, relative to its centroid, m.
        depth: (G,) largest depth of a face of each geometry, m.
        false_pair: (P,) rows of ``Model.pairs`` of pairs of which faces were left out (see ``false_faces``).
        num_false: (1,) number of these.
        slide: ``Slide``.
    """

    R_WB: Float3D
    p_WB: Float2D
    S: Float3D
    tree: TreeScratch
    M: Float2D
    bias: Float1D
    gravity: Float1D
    R_WG: Float3D
    R_WM: Float2D
    p_WG: Float2D
    bounds: Float2D
    query: QueryScratch
    faces: FaceBuffer
    patches: PatchTable
    between: BetweenScratch
    points: PointScratch
    problem: ContactProblem
    solver: SolverScratch
    factor: Float2D
    R_BA: Float2D
    p_BA: Float1D
    p_WR: Float1D
    twist: Float1D
    bend: Float1D
    response: Float2D
    jacobian: Float2D
    v_next: Float1D
    v_middle: Float1D
    spins_alone: Bool1D
    strays: Bool1D
    is_lost: Bool1D
    spin: Float1D
    q_next: Float1D
    applied: Float1D
    effort: Float1D
    push: Float2D
    overlaps: Int1D
    faces_needed: Int1D
    pieces: Int1D
    V_WB: Float2D
    motion: Float1D
    motion_before: Float1D
    look: Int1D
    looked: Int1D
    overlap_now: Float2D
    has_faces: Bool1D
    X_moved: Float3D
    mean_push: Float1D
    edge_box: Float1D
    push_along: Float1D
    face_points: Float2D
    depth: Float1D
    false_pair: Int1D
    num_false: Int1D
    slide: Slide


class MachineData(NamedTuple):
    """Arguments of the compiled step."""

    model: Model
    state: State
    drives: Drives
    loads: Loads
    scratch: Scratch


Struct = TypeVar("Struct", bound=tuple[Any, ...])


def copied(struct: Struct) -> Struct:
    """Deep copy of a struct of arrays."""
    fields = (copied(field) if isinstance(field, tuple) else field.copy() for field in struct)
    return type(struct)(*fields)


def overwrite(struct: Struct, values: Struct) -> None:
    """Copy the values of one struct of arrays into another."""
    for array, value in zip(struct, values, strict=True):
        array[:] = value


def freeze(struct: tuple[Any, ...]) -> None:
    """Make all arrays in a struct read-only, recursively."""
    for field in struct:
        if isinstance(field, tuple):
            freeze(field)
        elif isinstance(field, np.ndarray):
            field.flags.writeable = False


def make_state(q: np.ndarray, nv: int, num_trees: int, num_pairs: int) -> State:
    """State at rest and at time zero."""
    return State(
        q=np.array(q, dtype=float),
        v=np.zeros(nv),
        v_previous=np.zeros(nv),
        dt_previous=np.zeros(1),
        extrapolate=np.zeros(num_trees, dtype=np.int64),
        substep=np.zeros(1),
        step=np.zeros(1, dtype=np.int64),
        unconverged=np.zeros(1, dtype=np.int64),
        unsettled=np.zeros(1, dtype=np.int64),
        push=np.zeros((num_pairs, 3)),
        overlaps=np.ones(num_pairs, dtype=np.int64),
        deep=np.zeros(1, dtype=np.int64),
        faceless=np.zeros(1, dtype=np.int64),
    )


def make_drives(nv: int) -> Drives:
    """Drives without any effort."""
    return Drives(*(np.zeros(nv) for _ in Drives._fields))


def make_loads(num_links: int) -> Loads:
    """Loads without any wrench or spring."""
    return Loads(
        wrench=np.zeros((num_links, 6)),
        num=np.zeros(1, dtype=np.int64),
        pull=np.zeros((num_links, NUM_PULL_COLUMNS)),
        num_pulls=np.zeros(1, dtype=np.int64),
    )


def count_loads(loads: Loads) -> None:
    """Set the numbers of links with a wrench and with a spring, after either has changed."""
    loads.num[0] = np.any(loads.wrench, axis=1).sum()
    loads.num_pulls[0] = np.count_nonzero(loads.pull[:, STIFFNESS])


def _make_overlaps(num_pairs: int) -> dict[str, Any]:
    """What look-ahead keeps of each pair, and what it leaves out, by the fields of ``Scratch``."""
    return {
        "look": np.zeros(1, dtype=np.int64),
        "looked": np.full(num_pairs, -1),
        "overlap_now": np.zeros((num_pairs, 2)),
        "has_faces": np.zeros(num_pairs, dtype=np.bool_),
        "false_pair": np.zeros(num_pairs, dtype=np.int64),
        "num_false": np.zeros(1, dtype=np.int64),
    }


def make_scratch_memory(model: Model, num_coordinates: int, max_faces: int) -> Scratch:
    """Allocate a step's memory for ``num_coordinates`` entries of q and at most ``max_faces`` contact faces."""
    nb, nv = len(model.tree.parent), len(model.tree.damping)
    num_geometries, num_pairs = len(model.geometry_body), len(model.pairs)
    # A patch has at least one face, and the present pair writes behind the last patch.
    max_points, conditions = len(model.points.pairs), int(model.points.first_condition[-1])
    max_patches = min(num_pairs, max_faces + 1) + max_points
    most = max_faces * (POINTS if model.pair_moments.any() else 1)
    num_trees = len(model.forest.first) - 1
    problem = make_problem(num_trees, nv, max_patches, most, max_points, conditions)
    return Scratch(
        R_WB=np.zeros((nb, 3, 3)),
        p_WB=np.zeros((nb, 3)),
        S=np.zeros((nb, 6, 6)),
        tree=make_scratch(model.tree),
        M=np.zeros((nv, nv)),
        bias=np.zeros(nv),
        gravity=np.zeros(nv),
        R_WG=np.zeros((num_geometries, 3, 3)),
        R_WM=np.zeros((3, 3)),
        p_WG=np.zeros((num_geometries, 3)),
        bounds=np.zeros((num_geometries, 6)),
        query=make_query_scratch(model.geometries, max_faces, len(model.pairs)),
        faces=make_face_buffer(max_faces),
        patches=make_patch_table(max_patches, num_pairs),
        between=make_between_scratch(num_geometries, max_patches),
        points=make_point_scratch(model.points, (nb, num_coordinates, nv)),
        problem=problem,
        solver=make_solver_scratch(problem, model.options.numbers_per_face),
        factor=np.zeros((nv, nv)),
        R_BA=np.zeros((3, 3)),
        p_BA=np.zeros(3),
        p_WR=np.zeros(3),
        twist=np.zeros(6),
        bend=np.zeros(6),
        response=np.zeros((3, nv)),
        jacobian=np.zeros((6, nv)),
        v_next=np.zeros(nv),
        v_middle=np.zeros(nv),
        **_make_spins(num_trees),
        q_next=np.zeros(num_coordinates),
        applied=np.zeros(nv),
        effort=np.zeros(nv),
        push=np.zeros((num_pairs, 3)),
        overlaps=np.zeros(num_pairs, dtype=np.int64),
        faces_needed=np.zeros(1, dtype=np.int64),
        pieces=np.ones(1, dtype=np.int64),
        V_WB=np.zeros((nb, 6)),
        motion=np.zeros(num_geometries),
        motion_before=np.zeros(num_geometries),
        **_make_overlaps(num_pairs),
        X_moved=np.zeros((2, 3, 4)),
        mean_push=np.zeros(5),
        edge_box=np.zeros(6),
        push_along=np.zeros(3),
        face_points=np.zeros((POINTS, 3)),
        depth=np.zeros(num_geometries),
        slide=make_slide(num_trees, nv),
    )


def _make_spins(num_trees: int) -> dict[str, Any]:
    """What ``Scratch`` holds of each tree, for the spin of free bodies."""
    return {
        "spins_alone": np.zeros(num_trees, dtype=np.bool_),
        "strays": np.zeros(num_trees, dtype=np.bool_),
        "is_lost": np.zeros(num_trees, dtype=np.bool_),
        "spin": np.zeros(num_trees),
    }
