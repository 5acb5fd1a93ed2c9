"""Large patches, found thread after thread on the processor: its faces to the last bit, in every kind of pair."""

from __future__ import annotations

import math
import sys
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given

import hydro_sim_core as hs
from hydro_sim_core.compilation import Handle, grid_code
from hydro_sim_core.contact import PatchQuery, compute_patch, make_geometry_set
from hydro_sim_core.contact.poses import relative_pose
from hydro_sim_core.contact.pressure_field.faces import make_face_buffer
from hydro_sim_core.contact.pressure_field.grid import search as grid_search
from hydro_sim_core.contact.pressure_field.grid.programs import (
    TETRAHEDRA,
    TETRAHEDRA_ON_HALF_SPACE,
    TRIANGLES,
    TRIANGLES_ON_HALF_SPACE,
)
from hydro_sim_core.contact.pressure_field.grid.search import ROWS, GridFaces, tree_order
from hydro_sim_core.contact.pressure_field.grid.sums import SUM_AREA, SUM_FALLING, SUM_FORCE, SUM_MOMENT
from hydro_sim_core.contact.pressure_field.query import find_faces, make_query_scratch
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry
from support.contact.host_grids import search_of, sorted_rows, translated
from support.contact.pair import by_tree
from support.contact.poses import pose, random_rotation
from support.contact.random_scenes import Scene, scenes

GRIDS = (TETRAHEDRA, TRIANGLES, TETRAHEDRA_ON_HALF_SPACE, TRIANGLES_ON_HALF_SPACE)
ROOM = 4000


def ball(modulus: float | None, margin: float = 0.0) -> Geometry:
    return hs.geometry.sphere(0.1, resolution=0.04, modulus=modulus, margin=margin)


def brick(modulus: float, margin: float = 0.0) -> Geometry:
    return hs.geometry.box(0.2, 0.15, 0.1, modulus=modulus, margin=margin)


SOFT_GROUND = hs.geometry.half_space(1e5, slab_thickness=0.1)
PAIRS = {
    "compliant mesh, compliant mesh": (ball(1e5), brick(2e5)),
    "with margins": (ball(1e5, 3e-3), brick(2e5, 2e-3)),
    "coarse mesh, fine mesh": (brick(2e5, 2e-3), ball(1e5, 3e-3)),
    "coarse rigid mesh, fine mesh": (hs.geometry.box(0.2, 0.15, 0.1), ball(1e5)),
    "rigid mesh, compliant mesh": (ball(None), brick(2e5)),
    "compliant mesh, rigid mesh, swapped": (brick(2e5, 2e-3), ball(None)),
    "skin, compliant mesh": (replace(ball(1e9, 1e-3), is_skin=True), brick(2e5, 2e-3)),
    "compliant mesh, rigid half space": (ball(1e5), hs.geometry.half_space()),
    "half space, compliant mesh, swapped": (hs.geometry.half_space(), brick(1e5, 2e-3)),
    "compliant mesh, compliant half space": (ball(1e5, 3e-3), SOFT_GROUND),
    "rigid mesh, compliant half space": (ball(None), SOFT_GROUND),
}


def poses(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses in which the ball's lowest part is in the brick or the ground, all of it turned."""
    rng = np.random.default_rng(seed)
    X_WB = pose(rng.normal(size=3), random_rotation(rng))
    return X_WB @ pose([0.02, 0.01, 0.08], random_rotation(rng)), X_WB


def on_processor(a: Geometry, b: Geometry, R_BA: np.ndarray, p_BA: np.ndarray, every: bool = False):
    """Rows of the faces of a canonical pair, and the force on what is no face."""
    geometries, faces = make_geometry_set((a, b)), make_face_buffer(ROOM)
    scratch = make_query_scratch(geometries, ROOM)
    if every:
        count = find_faces(geometries, 0, 1, R_BA, p_BA, True, scratch, faces, 0)
    else:
        count = by_tree(Handle(geometries), 0, 1, R_BA, p_BA, Handle(scratch), Handle(faces), 0)
    assert count <= ROOM
    rows = sorted_rows(faces.data[:ROWS, :count], faces.polygons[:count], faces.num_vertices[:count])
    return rows, float(scratch.report[DROPPED_FORCE])


def rows_of(found: GridFaces) -> np.ndarray:
    return sorted_rows(found.data, found.polygons, found.num_vertices)


def canonical(name: str, seed: int):
    """The search of a pair, its geometries in canonical order, and the pose of the first in the second."""
    (a, b), (X_WA, X_WB) = PAIRS[name], poses(seed)
    if name.endswith("swapped"):
        X_WA, X_WB = X_WB, X_WA
    search, first, second = search_of(a, b)
    placed = (X_WA, X_WB)
    return search, (a, b)[first], (a, b)[second], *relative_pose(placed[first], placed[second])


@pytest.mark.parametrize("name", PAIRS)
def test_faces_have_the_bits_of_the_search_by_trees(name):
    for seed in range(3):
        search, a, b, R_BA, p_BA = canonical(name, seed)
        expected, dropped = on_processor(a, b, R_BA, p_BA)
        found = search.find(R_BA, p_BA)
        assert len(expected) > 10
        assert np.array_equal(rows_of(found), expected)
        assert found.dropped == pytest.approx(dropped, rel=1e-12)
        assert found.num_met >= found.num_pairs > 0


@pytest.mark.parametrize("name", PAIRS)
def test_every_polygon_is_found_where_it_is_asked_for(name):
    """More than the contact faces, where there are others."""
    (a, b), (X_WA, X_WB) = PAIRS[name], poses(1)
    if name.endswith("swapped"):
        X_WA, X_WB = X_WB, X_WA
    search, first, second = search_of(a, b, every=True)
    R_BA, p_BA = relative_pose((X_WA, X_WB)[first], (X_WA, X_WB)[second])
    expected, _ = on_processor((a, b)[first], (a, b)[second], R_BA, p_BA, every=True)
    assert np.array_equal(rows_of(search.find(R_BA, p_BA)), expected)


@pytest.mark.parametrize(("name", "finer"), [("with margins", 0), ("coarse mesh, fine mesh", 1)])
def test_order_and_bits_are_the_same_every_time(name, finer):
    """Faces follow the leaves of the finer mesh, then of the other; another query in between changes nothing."""
    search, a, b, R_BA, p_BA = canonical(name, 2)
    first = search.find(R_BA, p_BA)
    other = search.find(R_BA, p_BA + 0.01)
    second = search.find(R_BA, p_BA)
    assert not np.array_equal(other.sums, first.sums)
    for name in ("data", "polygons", "num_vertices", "elements", "sums"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name
    rank = np.empty(len(a.elements) + len(b.elements), dtype=np.int64)
    geometries = make_geometry_set((a, b))
    leaves = geometries.links[geometries.links[:, 0] < 0, 1]
    rank[leaves] = np.arange(len(leaves))
    key = rank[first.elements[finer]] * len(rank) + rank[first.elements[1 - finer]]
    assert (np.diff(key) >= 0).all()
    assert (np.diff(key) == 0).any(), "no polygon crosses the line of zero pressure"


class Launches:
    """A program that writes down which of its kernels ran."""

    def __init__(self, program) -> None:
        self.place, self._launch, self.names = program.place, program.launch, []

    def launch(self, name: str, n: int) -> None:
        self.names.append(name)
        self._launch(name, n)


@pytest.mark.parametrize(
    ("name", "every", "ways"),
    [
        ("compliant mesh, compliant mesh", True, {"make"}),
        ("compliant mesh, compliant mesh", False, {"make", "move"}),
        ("with margins", False, {"make", "write"}),
        ("compliant mesh, rigid half space", False, {"write"}),
    ],
)
def test_polygons_are_made_once_where_pairs_have_no_more_than_one(name, every, ways):
    (a, b), (X_WA, X_WB) = PAIRS[name], poses(1)
    search, _, _ = search_of(a, b, every=every)
    search._program = recorded = Launches(search._program)
    search.find(*relative_pose(X_WA, X_WB))
    found = {one.partition("_")[0] for one in recorded.names}
    assert found & {"make", "move", "write"} == ways


@pytest.mark.parametrize("name", PAIRS)
def test_sums_are_those_of_the_faces(name):
    search, _, _, R_BA, p_BA = canonical(name, 0)
    found = search.find(R_BA, p_BA)
    patch = by_patch_query(name, 0)
    X_WS = poses(0)[1]
    presses = patch.pressures > 0.0
    forces = patch.areas[:, None] * np.maximum(patch.pressures, 0.0)[:, None] * patch.normals
    exact = np.array([math.fsum(column) for column in forces.T])
    turned = X_WS[:3, :3] @ found.sums[SUM_FORCE : SUM_FORCE + 3]
    sign = -1.0 if name.endswith("swapped") else 1.0
    assert sign * turned == pytest.approx(exact, rel=1e-12, abs=1e-12 * np.abs(forces).sum())
    assert found.sums[SUM_AREA] == pytest.approx(patch.areas[patch.pressures >= 0.0].sum(), rel=1e-12)
    falls = presses & (patch.gradients.min(axis=1) <= 0.0)
    assert found.sums[SUM_FALLING] == pytest.approx((patch.areas * patch.pressures)[falls].sum(), rel=1e-12)
    assert np.isfinite(found.sums[SUM_MOMENT : SUM_MOMENT + 3]).all()


def by_patch_query(name: str, seed: int, every: bool = False):
    """The patch as a GPU would give it to users."""
    (a, b), (X_WA, X_WB) = PAIRS[name], poses(seed)
    if name.endswith("swapped"):
        X_WA, X_WB = X_WB, X_WA
    query = PatchQuery(a, b, every_polygon=every, backend="cpu")
    query._search, query._numpy = search_of(a, b, every=every)[0], np
    query._set = make_geometry_set((a, b))
    return query.at(X_WA, X_WB)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_users_get_the_patch_that_compute_patch_gives(name, every):
    (a, b), (X_WA, X_WB) = PAIRS[name], poses(1)
    if name.endswith("swapped"):
        X_WA, X_WB = X_WB, X_WA
    found = by_patch_query(name, 1, every)
    expected = compute_patch(a, X_WA, b, X_WB, every_polygon=every)
    load = expected.face_forces.sum()
    assert found.num_faces == expected.num_faces
    assert found.area == pytest.approx(expected.area, rel=1e-12)
    assert found.force_on_b == pytest.approx(expected.force_on_b, abs=1e-11 * load)
    for point in ([0.0, 0.0, 0.0], [1.0, -2.0, 0.5]):
        assert found.moment_on_b(point) == pytest.approx(expected.moment_on_b(point), abs=1e-10 * load)
    assert found.dropped_force == pytest.approx(expected.dropped_force, rel=1e-9, abs=1e-12 * load)
    assert found.energy == expected.energy
    same = [np.sort(patch.areas) for patch in (found, expected)]
    assert np.array_equal(*same)
    for quantity in ("centroids", "normals", "areas", "pressures", "gradients"):
        on_host, there = getattr(found, quantity), getattr(found.arrays, quantity)
        assert there == pytest.approx(on_host, rel=1e-12, abs=1e-12), quantity
    assert len(found.polygons) == found.num_faces
    assert found.arrays.vertices.shape == found.faces.vertices.shape


def test_on_the_processor_it_is_compute_patch():
    a, b = PAIRS["with margins"]
    X_WA, X_WB = poses(0)
    query = PatchQuery(a, b, backend="cpu")
    found, expected = query.at(X_WA, X_WB), compute_patch(a, X_WA, b, X_WB)
    assert query.backend == "cpu"
    assert np.array_equal(found.force_on_b, expected.force_on_b)
    assert np.array_equal(found.moment_on_b([0, 0, 0]), expected.moment_on_b([0, 0, 0]))
    assert np.array_equal(found.arrays.areas, expected.areas)
    assert (found.num_faces, found.area) == (expected.num_faces, expected.area)


@pytest.mark.parametrize("name", PAIRS)
def test_where_nothing_touches_there_is_no_face(name):
    search, _, _, R_BA, p_BA = canonical(name, 0)
    p_BA[2] += 5.0
    found = search.find(R_BA, p_BA)
    assert found.data.shape == (ROWS, 0)
    assert found.polygons.shape[0] == len(found.num_vertices) == found.elements.shape[1] == 0
    assert not found.sums.any()
    assert found.dropped == 0.0


def test_a_body_inside_another_is_told_as_by_the_processor():
    """Without a face, whether bodies overlap is asked of the processor."""
    shell = hs.geometry.box(1.0, 1.0, 1.0, modulus=1e5)
    small = hs.geometry.sphere(0.01, resolution=0.01)
    query = PatchQuery(small, shell, backend="cpu")
    query._search = SimpleNamespace(find=lambda R, p: SimpleNamespace(num_vertices=np.zeros(0)))
    here = compute_patch(small, pose([3.0, 0, 0]), shell, np.eye(4))
    assert query.at(pose([3.0, 0, 0]), np.eye(4)).num_faces == here.num_faces == 0


@pytest.mark.heavy(5)
@given(scene=scenes)
def test_random_meshes_in_random_poses_have_the_same_bits(scene: Scene):
    """No pair that has a polygon is left out: of flat elements, aligned bodies, bodies far from their origins."""
    a, b = scene.bodies()
    search, first, second = search_of(a, b)
    placed = scene.poses()
    R_BA, p_BA = relative_pose(placed[first], placed[second])
    expected, _ = on_processor((a, b)[first], (a, b)[second], R_BA, p_BA)
    assert np.array_equal(rows_of(search.find(R_BA, p_BA)), expected)


def test_nodes_know_what_follows_them_and_their_pressures():
    geometries = make_geometry_set((ball(1e5), brick(2e5, 2e-3), ball(None), hs.geometry.half_space()))
    after, pressures = tree_order(geometries)
    for g in range(3):
        begin, end = geometries.node_start[g : g + 2]
        for node in range(begin, end, 7):
            below = [node]
            for one in below:
                if geometries.links[one, 0] >= 0:
                    below += list(geometries.links[one])
            assert after[node] == max(below) + 1 == node + len(below)
            elements = geometries.links[[one for one in below if geometries.links[one, 0] < 0], 1]
            corners = geometries.elements[elements]
            values = geometries.pressure[corners] if g < 2 else np.array([-np.inf, np.inf])
            assert tuple(pressures[node]) == (values.min(), values.max())


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_code_for_a_gpu_calls_nothing(grid):
    """Every kernel stands in it whole, without a library, and fuses no multiplication with an addition."""
    code = grid_code.ptx(translated(grid), grid, "sm_90")
    for name in grid.names:
        assert f".entry {name}(" in code
    assert "call" not in code.replace(".callprototype", "")
    assert "fma" not in code
    assert ".extern" not in code


# --- What goes wrong ------------------------------------------------------------------------------------------------


class LittleMemory:
    """NumPy without room for longer arrays of floats or ints, and what a GPU says of its memory."""

    ndarray, int64 = np.ndarray, np.int64
    zeros, asarray, cumsum = (staticmethod(function) for function in (np.zeros, np.asarray, np.cumsum))

    def __init__(self, floats: int, ints: int = 10**6) -> None:
        self.room = {np.float64: floats, np.int64: ints}
        runtime = SimpleNamespace(memGetInfo=lambda: (8_000_000, 10**9))
        self.cuda = SimpleNamespace(runtime=runtime)

    def empty(self, shape, dtype=np.float64):
        if np.prod(shape) > self.room[dtype]:
            raise MemoryError
        return np.empty(shape, dtype)

    def get_default_memory_pool(self):
        return SimpleNamespace(free_bytes=lambda: 2_000_000)


def test_faces_that_nobody_holds_are_let_go():
    (a, b), (X_WA, X_WB) = PAIRS["with margins"], poses(1)
    search, _, _ = search_of(a, b)
    found = search.find(*relative_pose(X_WA, X_WB))
    faces = weakref.ref(found.polygons)
    del found
    assert faces() is None


def test_a_memory_that_is_too_small_says_how_many_faces_fit():
    (a, b), (X_WA, X_WB) = PAIRS["with margins"], poses(1)
    R_BA, p_BA = relative_pose(X_WA, X_WB)
    faces = len(search_of(a, b)[0].find(R_BA, p_BA).num_vertices)
    small = search_of(a, b, numpy=LittleMemory(ROWS * faces - 1), source="PatchQuery")[0]
    fit = int(0.95 * 10_000_000 / grid_search.FACE_BYTES)
    told = rf"\d+ faces.*where the GPU has 0\.01 GB free; at most {fit} fit: use coarser meshes"
    with pytest.raises(InputError, match=told):
        small.find(R_BA, p_BA)
    pairs = search_of(a, b, numpy=LittleMemory(10**6, 1000))[0]
    with pytest.raises(InputError, match="pairs of elements that may meet"):
        pairs.find(R_BA, p_BA)


def test_bad_arguments_are_told():
    a, b = PAIRS["compliant mesh, compliant mesh"]
    with pytest.raises(InputError, match="'gpu' is unknown; give one of 'auto', 'cpu', 'cuda'"):
        PatchQuery(a, b, backend="gpu")
    with pytest.raises(InputError, match="no pressure-field contact"):
        PatchQuery(ball(None), ball(None))
    with pytest.raises(InputError, match="make a geometry"):
        PatchQuery(a, "brick")
    with pytest.raises(InputError, match="X_WA"):
        PatchQuery(a, b).at(np.zeros((4, 4)), np.eye(4))


def test_without_a_gpu_auto_takes_the_processor(monkeypatch):
    a, b = PAIRS["compliant mesh, compliant mesh"]
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr("hydro_sim_core.contact.patch_query.PAYS", 1)
    assert PatchQuery(a, b).backend == "cpu"
    with pytest.raises(InputError, match=r"PatchQuery: backend 'cuda'.*CuPy, which is not installed"):
        PatchQuery(a, b, backend="cuda")
