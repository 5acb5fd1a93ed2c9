"""Defective surfaces: a stated repair that leaves the right solid, or one clear error."""

import time

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import tetrahedralisation
from hydro_sim_core.geometry.surface_repair import repair_surface
from support.geometry.fields import assert_valid_field
from support.geometry.surfaces import ball, cube, joined

BALL = ball()
BALL_VOLUME = BALL.volume


def turned(mesh, rows):
    faces = np.array(mesh.faces)
    faces[rows] = faces[rows][:, ::-1]
    return trimesh.Trimesh(mesh.vertices, faces, process=False)


def without(mesh, count):
    return trimesh.Trimesh(mesh.vertices, mesh.faces[count:], process=False)


def soup(mesh):
    """Every triangle with vertices of its own, as STL files have them."""
    corners = np.array(mesh.triangles).reshape(-1, 3)
    return trimesh.Trimesh(corners, np.arange(len(corners)).reshape(-1, 3), process=False)


def with_extra(mesh, *faces):
    return trimesh.Trimesh(mesh.vertices, np.vstack([mesh.faces, faces]), process=False)


def touching_cubes():
    """Two unit cubes with a common wall of the same two triangles, which both have."""
    cells = np.array(cube(0.0, 0.0, 0.0).triangles)
    mirrored = cells * [-1.0, 1.0, 1.0]
    both = np.vstack([cells, mirrored[:, ::-1]]).reshape(-1, 3)
    return trimesh.Trimesh(both, np.arange(len(both)).reshape(-1, 3), process=False)


#: The surface, the volume of the solid, words of the repair that is stated.
REPAIRED = {
    "inside out": (turned(BALL, slice(None)), BALL_VOLUME, "inside out turned"),
    "one triangle turned": (turned(BALL, [7]), BALL_VOLUME, "1 triangles turned to agree"),
    "every third triangle turned": (turned(BALL, slice(None, None, 3)), BALL_VOLUME, "turned to agree"),
    "duplicate vertices": (soup(BALL), BALL_VOLUME, "798 duplicate vertices merged"),
    "repeated triangle": (with_extra(BALL, BALL.faces[3]), BALL_VOLUME, "1 repeated triangles dropped"),
    "triangle without area": (with_extra(BALL, [5, 5, 9]), BALL_VOLUME, "1 triangles without area dropped"),
    "small hole": (without(BALL, 1), BALL_VOLUME, "holes with 3 open edges bridged"),
    "everything twice, once inside out": (
        with_extra(BALL, *np.asarray(BALL.faces)[:, ::-1]), BALL_VOLUME, "320 repeated triangles dropped",
    ),
    "cavity": (joined(BALL, turned(ball(0.5), slice(None))), BALL_VOLUME * 7.0 / 8.0, None),
    "solid within the solid": (joined(BALL, ball(0.5)), BALL_VOLUME, "parts of the surface that overlap"),
    "overlapping solids": (
        joined(cube(0.0, 0.0, 0.0), cube(0.5, 0.3, 0.2)), 2.0 - 0.5 * 0.7 * 0.8, "parts of the surface that overlap",
    ),
    "solids that share an edge": (
        joined(cube(0.0, 0.0, 0.0), cube(1.0, 1.0, 0.0)), 2.0, "edges of more than two triangles",
    ),
    "solids that share a wall": (touching_cubes(), 2.0, "2 repeated triangles dropped|4 repeated triangles"),
    "two solids, one inside out": (
        joined(BALL, turned(ball().apply_translation((3.0, 0.0, 0.0)), slice(None))),
        2.0 * BALL_VOLUME, "1 parts of the surface that were inside out turned",
    ),
}  # fmt: skip


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", sorted(REPAIRED))
def test_repaired(name):
    surface, volume, words = REPAIRED[name]
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.6)
    geometry = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=1e6)
    assert geometry.volume() == pytest.approx(volume, rel=2e-2)
    assert hs.mesh_quality(geometry).num_zero_gradient == 0
    if words is None:
        assert not any("turned" in repair or "overlap" in repair for repair in solid.repairs)
    else:
        assert any(part in repair for repair in solid.repairs for part in words.split("|")), solid.repairs


@pytest.mark.heavy(3)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_repairs_do_not_depend_on_the_unit(scale):
    surface = soup(turned(without(BALL, 1), [7]))
    vertices = scale * np.asarray(surface.vertices)
    geometry = hs.compliant_solid(vertices, surface.faces, modulus=1e6, resolution=0.6 * scale)
    assert_valid_field(geometry, 1e6)
    assert geometry.volume() == pytest.approx(BALL_VOLUME * scale**3, rel=2e-2)


def test_needle_that_the_mesher_leaves_out_is_told():
    """The tip of a needle is thinner than the mesher's envelope; what overlaps inside is not left out."""
    needle = trimesh.Trimesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, 50]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    )
    solid = hs.tetrahedralise(needle.vertices, needle.faces, resolution=6.0)
    outer = np.unique(solid.tetrahedra)
    missing = 50.0 - solid.vertices[outer, 2].max()
    (told,) = [repair for repair in solid.repairs if "too thin" in repair]
    assert missing > 0.5
    assert f"up to {missing:.2g} m" in told
    surface, *_ = REPAIRED["overlapping solids"]
    whole = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.6)
    assert not any("too thin" in repair for repair in whole.repairs)


def test_far_from_the_origin():
    surface = BALL.copy().apply_translation((1e5, -1e5, 1e5))
    geometry = hs.compliant_solid(surface.vertices, surface.faces, modulus=1e6, resolution=0.6)
    assert geometry.volume() == pytest.approx(BALL_VOLUME, rel=2e-2)


SQUARE = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
NOT_FINITE = np.array(BALL.vertices)
NOT_FINITE[17, 1] = np.nan
OPEN_BOX = without(cube(0.0, 0.0, 0.0), 2)

#: Vertices, triangles and words of the error.
REFUSED = {
    "no vertices": (np.empty((0, 3)), np.empty((0, 3), dtype=int), "triangles: has shape"),
    "no triangles": (BALL.vertices, np.empty((0, 3), dtype=int), "triangles: has shape"),
    "not a number": (NOT_FINITE, BALL.faces, r"vertices\[17\]: is .*give finite numbers"),
    "no such vertex": (BALL.vertices, [[0, 1, 999]], r"triangles\[0\].*indices 0 to 161"),
    "not integers": (BALL.vertices, [[0.0, 1.0, 2.0]], "integer"),
    "flat numbers": (np.zeros(9), BALL.faces, "vertices: has shape"),
    "one point": (np.zeros((8, 3)), cube(0.0, 0.0, 0.0).faces, "triangles: are 0 with an area"),
    "three triangles": (SQUARE, [[0, 1, 2], [0, 2, 3], [0, 1, 3]], "triangles: are 3 with an area"),
    "flat pillow": (SQUARE, [[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 1, 0]], "holes|no volume"),
    "open box": (OPEN_BOX.vertices, OPEN_BOX.faces, r"holes of 14 % of the surface \(4 open edges.*close the hole"),
    "half a ball": (BALL.vertices, BALL.faces[BALL.triangles_center[:, 2] > 0.0], "holes of .* close the hole"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name):
    vertices, triangles, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        hs.compliant_solid(vertices, triangles, modulus=1e6, source="part.stl")
    assert caught.value.source == "part.stl"
    assert caught.value.mend
    assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6), count=st.integers(4, 12), triangles=st.integers(1, 30), closed=st.booleans()
)
def test_any_triangles_are_repaired_or_refused_at_once(seed, count, triangles, closed):
    rng = np.random.default_rng(seed)
    vertices = rng.integers(0, 4, size=(count, 3)).astype(float)
    faces = rng.integers(0, count, size=(triangles, 3))
    if closed:
        faces = np.array(trimesh.creation.icosphere(subdivisions=0).faces) % count
    try:
        surface = repair_surface("part.stl", vertices, faces)
    except InputError:
        return
    assert surface.volume > 0.0
    assert surface.triangles.max() < len(surface.vertices)
    again = repair_surface("part.stl", surface.vertices, surface.triangles)
    assert not any("merged" in repair or "dropped" in repair for repair in again.repairs)


def test_tangled_surface_is_filled_or_refused_in_time(monkeypatch):
    """A closed surface of a few vertices that cuts through itself everywhere."""
    monkeypatch.setattr(tetrahedralisation, "_time_of_a_try", lambda *_: 1.0)
    faces = np.array(trimesh.creation.icosphere(subdivisions=0).faces)
    vertices = np.random.default_rng(2).normal(size=(12, 3))
    start = time.monotonic()
    try:
        geometry = hs.compliant_solid(vertices, faces, modulus=1e6, resolution=1.0)
    except InputError:
        pass
    else:
        assert hs.mesh_quality(geometry).num_zero_gradient == 0
    assert time.monotonic() - start < 300.0  # it ends: how soon says how busy the machine is
