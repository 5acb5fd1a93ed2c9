"""Polygons in lanes: vector instructions, the faces of the walk that takes one pair after another, and kept pairs."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.compilation import ConstInt2D, Entry, Float1D, Float2D, Int2D, entry, kernel
from hydro_sim_core.compilation.ptx import object_code, translated
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.compilation.targets import levels
from hydro_sim_core.contact import GeometrySet, make_geometry_set
from hydro_sim_core.contact.poses import relative_pose
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH
from hydro_sim_core.contact.pressure_field.faces import (
    AHEAD,
    AREA,
    ASIDE,
    CENTROID,
    NORMAL,
    PRESSURE,
    FaceBuffer,
    axes_across,
    make_face_buffer,
)
from hydro_sim_core.contact.pressure_field.kept_pairs import NOTHING_KEPT, begin_pass
from hydro_sim_core.contact.pressure_field.lane_blocks import cut_block, cut_lane, fill_lane
from hydro_sim_core.contact.pressure_field.lane_planes import (
    cut_on_half_space,
    cut_on_rigid_half_space,
    cut_tetrahedra,
    cut_triangles,
)
from hydro_sim_core.contact.pressure_field.lane_walk import IN_DOUBT, walk_in_lanes
from hydro_sim_core.contact.pressure_field.lanes import BLOCK_ROWS, FACE, LANES
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch, make_query_scratch
from hydro_sim_core.contact.pressure_field.visits import NO_SLOT
from hydro_sim_core.contact.pressure_field.walk import walk_surface
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.simulation.batches.memory import Placed, Plan
from hydro_sim_core.simulation.batches.programs import HostProgram
from support.contact.pair import by_query
from support.contact.poses import pose, random_direction, random_rotation

CAPACITY = 4096
#: Relative difference of forces between lanes and the walk that takes one pair after another: round-off of planes.
ROUND_OFF = 1e-12

sphere = hs.geometry.sphere
PAIRS: dict[str, tuple[Geometry, Geometry, float]] = {
    "spheres": (sphere(0.1, resolution=0.02, modulus=1e5), sphere(0.08, resolution=0.02, modulus=2e5), 0.165),
    "with margins": (
        sphere(0.1, resolution=0.03, modulus=1e5, margin=1e-3),
        sphere(0.08, resolution=0.02, modulus=2e5, margin=2e-4),
        0.17,
    ),
    "rigid on compliant": (sphere(0.1, resolution=0.02), sphere(0.08, resolution=0.02, modulus=2e5), 0.165),
    "on the rigid ground": (sphere(0.1, resolution=0.02, modulus=1e5), hs.geometry.half_space(), 0.09),
    "on the compliant ground": (
        sphere(0.1, resolution=0.02, modulus=1e5),
        hs.geometry.half_space(1e5, slab_thickness=0.1),
        0.09,
    ),
    "rigid on the compliant ground": (
        sphere(0.1, resolution=0.02),
        hs.geometry.half_space(1e5, slab_thickness=0.1),
        0.09,
    ),
}


@entry
def one_by_one(
    geometries: GeometrySet, R_BA: Float2D, p_BA: Float1D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """The walk that takes one pair after another."""
    return walk_surface(geometries, 0, 1, R_BA, p_BA, False, scratch, faces, 0)


@entry
def in_lanes(
    geometries: GeometrySet, pair: int, R_BA: Float2D, p_BA: Float1D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """The walk in lanes, with what was kept in row ``pair``."""
    begin_pass(scratch.kept)
    return walk_in_lanes(geometries, 0, 1, pair, R_BA, p_BA, scratch, faces, 0)


class Query:
    """Queries of one pair, each form with memory of its own."""

    def __init__(self, a: Geometry, b: Geometry) -> None:
        assert canonical_order(a.kind, b.kind)
        self.geometries = make_geometry_set((a, b))
        self._scratch = [make_query_scratch(self.geometries, CAPACITY, 1) for _ in range(3)]
        self._faces = [make_face_buffer(CAPACITY) for _ in range(3)]

    def one_by_one(self, X_BA: np.ndarray) -> np.ndarray:
        """Rows of the faces (F, NUM_ROWS)."""
        return self._rows(0, one_by_one(self.geometries, *parts(X_BA), self._scratch[0], self._faces[0]))

    def fresh(self, X_BA: np.ndarray) -> np.ndarray | None:
        """The same in lanes without anything kept; None in doubt."""
        pose = parts(X_BA)
        return self._rows(1, in_lanes(self.geometries, NOTHING_KEPT, *pose, self._scratch[1], self._faces[1]))

    def again(self, X_BA: np.ndarray) -> np.ndarray | None:
        """The same in lanes with the pairs of the last call."""
        return self._rows(2, in_lanes(self.geometries, 0, *parts(X_BA), self._scratch[2], self._faces[2]))

    def walks_begun(self) -> int:
        """How often ``again`` has begun a walk."""
        return int(self._scratch[2].generation[0])

    def polygons(self, X_BA: np.ndarray) -> tuple[FaceBuffer, np.ndarray]:
        """The faces of ``fresh`` with polygons, and which of them had none."""
        found = self.fresh(X_BA)
        assert found is not None
        faces = self._faces[1]
        had_none = faces.num_vertices[: len(found)] == 0
        complete_polygons(self.geometries, 0, 1, *parts(X_BA), self._scratch[1].work, faces, 0, len(found))
        return FaceBuffer(
            faces.data[:, : len(found)], *(array[: len(found)] for array in faces[1:])
        ), had_none

    def _rows(self, form: int, count: int) -> np.ndarray | None:
        assert count < CAPACITY
        return None if count == IN_DOUBT else self._faces[form].data[:, :count].T.copy()


def parts(X_BA: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return relative_pose(X_BA, np.eye(4))


def wrench(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Force and moment about B's origin (6,), and the sum of the faces' forces, N."""
    load = rows[:, AREA] * np.maximum(rows[:, PRESSURE], 0.0)
    forces = load[:, None] * rows[:, NORMAL : NORMAL + 3]
    moments = np.cross(rows[:, CENTROID : CENTROID + 3], forces)
    return np.concatenate([forces.sum(axis=0), moments.sum(axis=0)]), float(load.sum())


def motion(distance: float, count: int, step: float, seed: int) -> list[np.ndarray]:
    """Poses of A above B, each moved by about ``step`` (m) from the one before it, and turned along."""
    rng = np.random.default_rng(seed)
    rotation, way, poses = random_rotation(rng), np.array([0.0, 0.0, distance]), []
    for _ in range(count):
        poses.append(pose(way, rotation))
        way = way + step * random_direction(rng)
        rotation = Rotation.from_rotvec(5.0 * step * random_direction(rng)).as_matrix() @ rotation
    return poses


@pytest.mark.parametrize(
    "name", ["cut_tetrahedra", "cut_triangles", "cut_on_rigid_half_space", "cut_on_half_space"]
)
def test_lanes_are_vector_instructions(name: str) -> None:
    """One stride or branch that the compiler does not see through costs a factor of four, and nothing else tells."""
    from hydro_sim_core.compilation import compiler

    forms: dict[str, Entry] = {
        "cut_tetrahedra": cut_tetrahedra,
        "cut_triangles": cut_triangles,
        "cut_on_rigid_half_space": cut_on_rigid_half_space,
        "cut_on_half_space": cut_on_half_space,
    }
    with compiler._own_settings():
        code = str(compiler._translated(forms[name], next(iter(levels()))))
    for operation in ("fdiv", "fmul", "fcmp"):
        widths = re.findall(rf"{operation} (?:\w+ )*(<\d+ x double>|double)", code)
        scalar = widths.count("double")
        assert len(widths) > 8
        # Of a half space's field a few numbers are computed once. One loop over lines that stays a loop would be more.
        assert scalar <= (8 if name == "cut_on_half_space" else 0), f"{scalar} {operation} stand alone"


@pytest.mark.parametrize("name", PAIRS)
def test_faces_are_those_of_one_pair_after_another(name: str) -> None:
    a, b, distance = PAIRS[name]
    query, doubts = Query(a, b), 0
    for X_BA in motion(distance, 20, 5e-3, len(name)):
        expected, found = query.one_by_one(X_BA), query.fresh(X_BA)
        if found is None:
            doubts += 1
            continue
        assert len(found) == len(expected) > 5
        (force, load), (force_found, _) = wrench(expected), wrench(found)
        assert np.abs(force_found - force).max() <= ROUND_OFF * load
        assert found[:, AREA].sum() == pytest.approx(expected[:, AREA].sum(), rel=ROUND_OFF)
    assert doubts <= 1


@pytest.mark.parametrize("step", [1e-9, 1e-4, 1e-3, 2e-2])
@pytest.mark.parametrize("name", PAIRS)
def test_what_is_kept_changes_no_bit(name: str, step: float) -> None:
    """At rest, within a skin, beyond it, and with steps as long as elements; apart in between, and together again."""
    a, b, distance = PAIRS[name]
    query, apart = Query(a, b), pose([0.0, 0.0, 1.0])
    poses = motion(distance, 24, step, len(name))
    for X_BA in [*poses[:12], apart, apart, *poses[12:], poses[0]]:
        again, fresh = query.again(X_BA), query.fresh(X_BA)
        assert (again is None) == (fresh is None)
        if again is not None and fresh is not None:
            assert again.tobytes() == fresh.tobytes()


@pytest.mark.parametrize("name", PAIRS)
def test_polygons_are_those_of_the_faces(name: str) -> None:
    a, b, distance = PAIRS[name]
    (X_BA,) = motion(distance, 1, 0.0, 5)
    faces, had_none = Query(a, b).polygons(X_BA)
    assert had_none.mean() > 0.4  # the others are parted where the pressure is zero
    total = faces.data[AREA].sum()
    for f, n in enumerate(faces.num_vertices):
        corners, area, center = (
            faces.polygons[f, :n],
            faces.data[AREA, f],
            faces.data[CENTROID : CENTROID + 3, f],
        )
        arms = corners - center
        parts_of_fan = 0.5 * np.cross(arms, np.roll(arms, -1, axis=0))
        assert np.linalg.norm(parts_of_fan.sum(axis=0)) == pytest.approx(area, abs=1e-11 * total)
        # The centroid of the polygon, seen from itself.
        weights = np.linalg.norm(parts_of_fan, axis=1)
        off = weights @ (arms + np.roll(arms, -1, axis=0)) / 3.0
        assert np.abs(off).max() <= 1e-10 * total**0.5 * area + 1e-14 * total
        if not had_none[f]:
            continue
        # Second moments, of triangles of the centroid and two corners.
        flat = arms @ np.array(axes_across(faces.data[NORMAL : NORMAL + 3, f])).T
        ahead = np.roll(flat, -1, axis=0)
        outer = sum(np.einsum("ni,nj->nij", x, x) for x in (flat, ahead, flat + ahead))
        moments = np.einsum("n,nij->ij", weights, outer) / (12.0 * area)
        p, q = faces.data[AHEAD : AHEAD + 2, f], faces.data[ASIDE : ASIDE + 2, f]
        points = np.array([p, q - 0.5 * p, -q - 0.5 * p])
        lengths = np.square(flat).sum(axis=1)
        assert np.abs(points.T @ points / 3.0 - moments).max() <= 1e-10 * lengths.max() + 1e-14 * total
        # The first lies towards one of the farthest corners.
        towards = flat @ p / np.linalg.norm(p)
        assert towards.max() == pytest.approx(lengths.max() ** 0.5, rel=1e-9)


def test_flush_bodies_are_left_to_one_pair_after_another() -> None:
    """Faces of both meshes coincide: round-off decides which pairs have polygons, and lanes have no rules for that."""
    ball = hs.geometry.sphere(0.1, resolution=0.03, modulus=1e5)
    X_BA = pose([0.0, 0.0, 0.17], Rotation.from_rotvec([np.pi, 0.0, 0.0]).as_matrix())
    query = Query(ball, ball)
    assert query.fresh(X_BA) is None
    assert query.again(X_BA) is None
    walks = query.walks_begun()
    assert query.again(X_BA) is None
    assert query.walks_begun() == walks  # the place of the doubt was looked at first
    scratch, faces = make_query_scratch(query.geometries, CAPACITY), make_face_buffer(CAPACITY)
    count = by_query(query.geometries, 0, 1, *parts(X_BA), scratch, faces, 0)
    assert count > 10
    assert faces.data[:, :count].T.tobytes() == query.one_by_one(X_BA).tobytes()


@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-7, 1e-4])
def test_doubt_that_is_kept_changes_no_bit(step: float) -> None:
    """Flush bodies that part and meet again: what was in doubt is looked at first, and only then."""
    ball = hs.geometry.sphere(0.1, resolution=0.03, modulus=1e5)
    flush = pose([0.0, 0.0, 0.17], Rotation.from_rotvec([np.pi, 0.0, 0.0]).as_matrix())
    query, rng, in_doubt = Query(ball, ball), np.random.default_rng(7), 0
    for k in range(24):
        X_BA = flush.copy()
        X_BA[:3, 3] += step * rng.standard_normal(3) * (k % 4 != 0)
        again, fresh = query.again(X_BA), query.fresh(X_BA)
        assert (again is None) == (fresh is None)
        in_doubt += fresh is None
        if again is not None and fresh is not None:
            assert again.tobytes() == fresh.tobytes()
    assert in_doubt >= 6


class Cutting(NamedTuple):
    """A block of pairs to be cut, with the fields of ``QueryScratch`` that this takes."""

    geometries: GeometrySet
    block: Float1D
    in_lanes: Int2D
    pairs: ConstInt2D
    R_BA: Float2D
    p_BA: Float1D
    polygons: Float2D


@kernel
def cut_pairs(cutting, solve, dt):
    geometries, pairs = cutting.geometries, cutting.pairs
    on_half_space = geometries.kind[1] != COMPLIANT_MESH
    for lane in range(pairs.shape[0]):
        fill_lane(geometries, pairs[lane, 0], pairs[lane, 1], NO_SLOT, 0, on_half_space, cutting, lane)
    cut_block(geometries, 0, 1, cutting.R_BA, cutting.p_BA, cutting)
    for lane in range(pairs.shape[0]):
        column = cut_lane(geometries, 0, 1, cutting.R_BA, cutting.p_BA, lane, cutting)
        for row in range(cutting.polygons.shape[1]):
            cutting.polygons[lane, row] = cutting.block[(FACE + row) * LANES + column]


@entry
def nothing(dt: float) -> float:
    """Stands for a solver."""
    return dt


@entry
def cut_at_once(cutting: Cutting, dt: float) -> None:
    """All lanes at once, as on a processor."""
    cut_pairs(cutting, nothing, dt)


@pytest.fixture(scope="module")
def cut_side_by_side() -> str:
    return translated(cut_pairs, nothing, Cutting, SideBySide())


@pytest.mark.parametrize(
    "name", ["spheres", "rigid on compliant", "on the rigid ground", "rigid on the compliant ground"]
)
def test_one_polygon_after_another_has_the_bits_of_all_at_once(name, cut_side_by_side):
    """As where one thread steps a world: fewer pairs than lanes, and worlds side by side."""
    a, b, distance = PAIRS[name]
    query, (X_BA, *_) = Query(a, b), motion(distance, 1, 0.0, 5)
    count, (R_BA, p_BA) = len(query.fresh(X_BA)), parts(X_BA)
    pairs = np.ascontiguousarray(query._faces[1].elements[:count][: LANES - 3])
    assert len(pairs) == LANES - 3
    given = Cutting(
        query.geometries,
        np.zeros(BLOCK_ROWS * LANES),
        np.zeros((LANES, 4), dtype=np.int64),
        pairs,
        R_BA,
        p_BA,
        np.zeros((len(pairs), BLOCK_ROWS - FACE)),
    )
    plan = Plan(given, SideBySide(), 2)
    program = HostProgram(object_code(cut_side_by_side, (plan.words, plan.structs), 2))
    placed = Placed(plan, 3, np, lambda array: array.ctypes.data)
    program.run(placed, 0.0)
    cut_at_once(given, 0.0)
    assert np.all(given.polygons[:, AREA] > 0.0)
    for i in range(3):
        polygons = plan.from_lane(np.ascontiguousarray(placed.lane_of(i)), "polygons")
        assert np.array_equal(polygons, given.polygons)
